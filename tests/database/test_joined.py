"""Several databases end to end."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ambulo.database.database import Database
from ambulo.database.joined import frame_offsets, join_databases
from ambulo.errors import DatabaseError
from ambulo.prepare.pipeline import prepare_take
from ambulo.synthesis.performance import synthesize


@pytest.fixture(scope="module")
def databases() -> list[Database]:
    clips = [prepare_take(performance.motion) for performance in synthesize(0, 2.0)]
    return [
        Database.from_clips(clips[:1], {"walk": [(0, 50)]}),
        Database.from_clips(clips[1:], {"walk": [(10, 20)], "run": [(0, 5)]}),
    ]


def test_frames_clips_and_tags_lie_one_after_the_other(databases: list[Database]) -> None:
    joined, offsets = join_databases(databases), frame_offsets(databases)
    assert joined.frame_count == sum(database.frame_count for database in databases)
    for database, offset in zip(databases, offsets, strict=True):
        for frame in (0, 17, database.frame_count - 1):
            assert_array_equal(joined.positions[offset + frame], database.positions[frame])
            assert joined.locate(int(offset + frame))[0].name == database.locate(frame)[0].name
    assert_array_equal(joined.mask(("walk",)), np.concatenate([database.mask(("walk",)) for database in databases]))
    assert np.count_nonzero(joined.mask(("run",))) == 5


def test_one_is_itself_and_none_is_refused(databases: list[Database]) -> None:
    assert join_databases(databases[:1]) is databases[0]
    with pytest.raises(DatabaseError, match="no database"):
        join_databases([])


def test_what_does_not_fit_is_refused(databases: list[Database]) -> None:
    import copy
    from dataclasses import replace

    slower = copy.copy(databases[1])
    slower.rate = 30.0
    with pytest.raises(DatabaseError, match="rate"):
        join_databases([databases[0], slower])
    other = copy.copy(databases[1])
    other.skeleton = replace(other.skeleton, names=("root2", *other.skeleton.names[1:]))
    with pytest.raises(DatabaseError, match="skeleton"):
        join_databases([databases[0], other])

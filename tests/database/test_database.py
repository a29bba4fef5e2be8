"""The database in memory: clips, tags, masks, frames to clips."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.database.database import Database
from ambulo.errors import DatabaseError, QueryError
from ambulo.formats.tag_file import TagRange
from ambulo.motion.skeleton import Skeleton
from ambulo.prepare.clip import PreparedClip

SKELETON = Skeleton(("root", "hips"), np.array([-1, 0]), np.array([[0, 0, 0], [0, 1, 0]]), roles={"hips": 1})


def clip(
    name: str, frames: int, *, rate: float = 60.0, start_time: float = 0.0, skeleton: Skeleton = SKELETON
) -> PreparedClip:
    rng = np.random.default_rng(frames)
    joints = skeleton.joint_count
    return PreparedClip(
        name,
        skeleton,
        rate,
        rng.normal(size=(frames, joints, 3)),
        np.tile(np.float32([0, 0, 0, 1]), (frames, joints, 1)),
        rng.normal(size=(frames, joints, 3)),
        rng.normal(size=(frames, joints, 3)),
        rng.integers(0, 2, (frames, 2)),
        np.ones(frames),
        start_time=start_time,
    )


def test_frames_lie_end_to_end() -> None:
    a, b = clip("a", 10), clip("b", 20)
    database = Database.from_clips([a, b])
    assert database.frame_count == 30
    assert [(c.name, c.start, c.stop) for c in database.clips] == [("a", 0, 10), ("b", 10, 30)]
    assert np.array_equal(database.positions[10:], b.positions)
    assert np.array_equal(database.angular_velocities[:10], a.angular_velocities)
    assert database.contacts.dtype == database.valid.dtype == np.uint8
    assert database.duration == 0.5


def test_frame_to_clip() -> None:
    database = Database.from_clips([clip("a", 10), clip("b", 20), clip("c", 1)])
    assert database.clip_of_frame([0, 9, 10, 29, 30]).tolist() == [0, 0, 1, 1, 2]
    assert database.clip_of_frame(np.array([[5], [15]])).shape == (2, 1)
    for wrong in (-1, 31):
        with pytest.raises(QueryError, match=str(wrong)):
            database.clip_of_frame([0, wrong])


def test_locate_gives_the_time_in_the_take() -> None:
    database = Database.from_clips([clip("a", 10), clip("b", 20, start_time=2.0)])
    found, seconds = database.locate(16)
    assert found.name == "b"
    assert seconds == pytest.approx(2.1)


def test_tags_as_frame_ranges() -> None:
    database = Database.from_clips([clip("a", 10), clip("b", 20)], {"walk": [(2, 8), (6, 14)], "turn": [(12, 30)]})
    assert database.tags["walk"].tolist() == [[2, 14]]
    assert [c.tags for c in database.clips] == [("walk",), ("turn", "walk")]
    assert np.flatnonzero(database.mask(["walk", "turn"])).tolist() == [12, 13]
    assert database.mask("turn").sum() == 18
    assert database.mask([]).all()


def test_tags_in_seconds_of_each_take() -> None:
    clips = [clip("a", 10), clip("b", 60, start_time=1.0)]
    database = Database.from_clips(clips, [[], [TagRange(1.5, None, "run"), TagRange(0.0, 0.5, "trimmed_away")]])
    assert database.tags["run"].tolist() == [[40, 70]]
    assert "trimmed_away" not in database.tags


def test_an_unknown_tag_lists_the_nearest() -> None:
    database = Database.from_clips([clip("a", 10)], {"walking": [(0, 5)], "run": [(5, 10)]})
    with pytest.raises(QueryError, match="'walking'") as caught:
        database.mask(["run", "walkin"])
    assert caught.value.key == "walkin"


def test_clips_that_do_not_fit_are_refused() -> None:
    other = Skeleton(("root", "pelvis"), np.array([-1, 0]), np.zeros((2, 3)))
    with pytest.raises(DatabaseError, match="at least one"):
        Database.from_clips([])
    with pytest.raises(DatabaseError, match="different skeletons"):
        Database.from_clips([clip("a", 5), clip("b", 5, skeleton=other)])
    with pytest.raises(DatabaseError, match="different rates"):
        Database.from_clips([clip("a", 5), clip("b", 5, rate=30.0)])

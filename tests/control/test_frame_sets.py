"""Which frames may be shown: order and repetition of tags do not matter, and what is kept is bounded."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ambulo.control import frame_sets
from ambulo.control.frame_sets import FrameSets
from ambulo.control.settings import SearchSettings
from ambulo.database.database import Database
from ambulo.matching.index import SearchIndex


@pytest.fixture
def sets(database: Database, index: SearchIndex) -> FrameSets:
    return FrameSets(database, index, SearchSettings(), 0.75)


def test_tags_in_any_order_are_one_question(sets: FrameSets) -> None:
    names = ("walk", "locomotion", "neutral")
    found = {id(sets.of((*order, order[0]), ())) for order in permutations(names)}
    assert len(found) == 1
    assert sets.of(names, ()).required == tuple(sorted(names))


def test_what_is_kept_is_bounded_and_found_again(sets: FrameSets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_sets, "_KEPT_SETS", 4)
    first = sets.of(("walk",), ())
    for tag in ("run", "idle", "locomotion", "neutral"):
        sets.of((tag,), ())
        sets.of((tag, "locomotion"), ()) if tag in ("run",) else None
    assert len(sets._by_tags) <= 4
    again = sets.of_key(first.key)
    assert again is not None and again is not first
    assert_array_equal(again.allowed, first.allowed)
    assert sets.of_key(12345) is None


def test_what_is_kept_is_bounded_in_bytes(sets: FrameSets, monkeypatch: pytest.MonkeyPatch) -> None:
    orders = list(permutations(("walk", "locomotion", "neutral")))
    one = sets.of(orders[0], ())
    assert one.byte_count >= 9 * len(one.allowed)
    monkeypatch.setattr(frame_sets, "_KEPT_BYTES", 2 * one.byte_count)
    for order in orders:  # other orders of the same tags take no more
        assert sets.of(order, ()) is one
    for tag in ("run", "idle", "locomotion", "neutral"):
        assert tag in sets.of((tag,), ()).required
        kept = {id(found): found for found in sets._by_tags.values()}
        assert len(kept) == 1 or sum(found.byte_count for found in kept.values()) <= 2 * one.byte_count
    assert sets.of(orders[1], ()) is not one


def test_a_run_ends_where_its_tags_or_its_clip_end(sets: FrameSets, database: Database) -> None:
    chosen = sets.of(("walk",), ())
    allowed = chosen.allowed
    clip = database.clip_of_frame(np.arange(database.frame_count))
    for frame in np.flatnonzero(allowed)[:: max(int(allowed.sum()) // 50, 1)]:
        stop = int(chosen.run_stops[frame])
        assert allowed[frame:stop].all() and (clip[frame:stop] == clip[frame]).all()
        assert stop == database.frame_count or not allowed[stop] or clip[stop] != clip[frame]
    assert (chosen.run_stops[~allowed] == 0).all()

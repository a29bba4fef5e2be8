"""The algebra of ranges against masks, which say the same in a plainer way."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ambulo.database import range_algebra
from ambulo.database.tags import merge_ranges, ranges_to_mask

FRAMES = 60
pairs = st.lists(st.tuples(st.integers(0, FRAMES), st.integers(0, FRAMES))).map(merge_ranges)
cuts = st.lists(st.integers(1, FRAMES - 1), unique=True).map(lambda cuts: np.array([0, *sorted(cuts), FRAMES]))


def mask(ranges: np.ndarray) -> np.ndarray:
    return ranges_to_mask(ranges, FRAMES)


def check(ranges: np.ndarray, expected: np.ndarray) -> None:
    assert np.array_equal(mask(ranges), expected)
    assert ranges.dtype == np.int64 and ranges.shape == (len(ranges), 2)
    assert (ranges[:, 0] < ranges[:, 1]).all()
    assert (ranges[1:, 0] > ranges[:-1, 1]).all()


@given(pairs, pairs)
def test_union_intersection_and_complement_are_those_of_sets(one: np.ndarray, other: np.ndarray) -> None:
    check(range_algebra.union(one, other), mask(one) | mask(other))
    check(range_algebra.intersection(one, other), mask(one) & mask(other))
    check(range_algebra.complement(one, FRAMES), ~mask(one))


@given(pairs)
def test_a_mask_gives_its_ranges_back(ranges: np.ndarray) -> None:
    assert np.array_equal(range_algebra.mask_to_ranges(mask(ranges)), ranges)


@given(pairs, cuts, st.integers(0, 9), st.integers(0, 9))
def test_ranges_widen_within_their_clips(ranges: np.ndarray, cuts: np.ndarray, before: int, after: int) -> None:
    expected = np.zeros(FRAMES, bool)
    inside = mask(ranges)
    for start, stop in pairwise(cuts):
        for frame in range(start, stop):
            # A frame is widened to where the range is at most `before` frames ahead or `after` frames back.
            window = inside[max(frame - after, start) : min(frame + before + 1, stop)]
            expected[frame] = window.any()
    check(range_algebra.widen(ranges, before, after, cuts[:-1], cuts[1:]), expected)


@given(pairs, cuts)
def test_pieces_lie_in_their_clips_and_make_up_the_ranges(ranges: np.ndarray, cuts: np.ndarray) -> None:
    pieces, bounds = range_algebra.split(ranges, cuts[:-1], cuts[1:])
    assert (pieces[:, 0] < pieces[:, 1]).all()
    assert ((bounds[:, 0] <= pieces[:, 0]) & (pieces[:, 1] <= bounds[:, 1])).all()
    assert np.isin(bounds[:, 0], cuts[:-1]).all()
    assert np.array_equal(merge_ranges(pieces), ranges)
    assert (pieces[:, 1] - pieces[:, 0]).sum() == mask(ranges).sum()

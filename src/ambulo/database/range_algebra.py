"""The algebra of frame ranges: int64 ``[n, 2]``, half-open, sorted, neither overlapping nor touching."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ranges = NDArray[np.int64]


def no_ranges() -> Ranges:
    """No frames at all."""
    return np.zeros((0, 2), np.int64)


def union(one: Ranges, other: Ranges) -> Ranges:
    """Frames of either."""
    return _count(np.concatenate([one, other]), 1)


def intersection(one: Ranges, other: Ranges) -> Ranges:
    """Frames of both."""
    return _count(np.concatenate([one, other]), 2)


def complement(ranges: Ranges, frame_count: int) -> Ranges:
    """Frames of ``[0, frame_count)`` that are not in the ranges."""
    edges = np.concatenate([[0], ranges.ravel(), [frame_count]]).astype(np.int64).reshape(-1, 2)
    return edges[edges[:, 1] > edges[:, 0]]


def split(ranges: Ranges, clip_starts: NDArray[np.int64], clip_stops: NDArray[np.int64]) -> tuple[Ranges, Ranges]:
    """The pieces of ranges by clip, and the clip ``[start, stop)`` of each piece; pieces of two clips may touch."""
    if not len(ranges):
        return no_ranges(), no_ranges()
    first = np.searchsorted(clip_starts, ranges[:, 0], side="right") - 1
    last = np.searchsorted(clip_starts, ranges[:, 1], side="left") - 1
    counts = last - first + 1
    which = np.repeat(np.arange(len(ranges)), counts)
    clip = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + first[which]
    bounds = np.stack([clip_starts[clip], clip_stops[clip]], axis=1).astype(np.int64)
    pieces = np.stack([np.maximum(ranges[which, 0], bounds[:, 0]), np.minimum(ranges[which, 1], bounds[:, 1])], axis=1)
    return pieces, bounds


def widen(
    ranges: Ranges,
    before: int,
    after: int,
    clip_starts: NDArray[np.int64],
    clip_stops: NDArray[np.int64],
) -> Ranges:
    """Ranges with some frames more on either side, each within its clip."""
    pieces, bounds = split(ranges, clip_starts, clip_stops)
    wide = np.stack(
        [np.maximum(pieces[:, 0] - before, bounds[:, 0]), np.minimum(pieces[:, 1] + after, bounds[:, 1])], axis=1
    )
    return _count(wide, 1)


def mask_to_ranges(mask: NDArray[np.bool_]) -> Ranges:
    """The ranges in which a mask ``[F]`` is true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return edges.astype(np.int64).reshape(-1, 2)


def _count(ranges: Ranges, least: int) -> Ranges:
    """Frames that lie in at least so many of the ranges, which may overlap."""
    ranges = ranges[ranges[:, 1] > ranges[:, 0]]
    if not len(ranges):
        return no_ranges()
    places, inverse = np.unique(ranges, return_inverse=True)
    steps = np.zeros(len(places), np.int64)
    np.add.at(steps, inverse.reshape(ranges.shape)[:, 0], 1)
    np.add.at(steps, inverse.reshape(ranges.shape)[:, 1], -1)
    inside = np.concatenate([[False], np.cumsum(steps) >= least])
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    return places[edges].astype(np.int64).reshape(-1, 2)

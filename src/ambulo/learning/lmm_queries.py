"""Queries to train and judge a projector on: what a controller may ask, with the exact answers.

A query at run time has the pose's features of the frame that is shown, and the trajectory's of the wish. So one kind of
query takes both from different frames; the other is D. Holden's, a frame's features with noise of a random size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ambulo.learning.lmm_frames import LmmFrames

if TYPE_CHECKING:
    from ambulo.matching.index import FrameMask, SearchIndex

Float = NDArray[np.float32]

_BLOCK = 16384


@dataclass(frozen=True)
class Queries:
    """Queries and where exact search lands.

    Attributes:
        queries: float32 ``[Q, D]``, normalised and weighted.
        rows: int64 ``[Q]``, the best row of the training data.
    """

    queries: Float
    rows: NDArray[np.int64]


def draw_queries(
    frames: LmmFrames,
    index: SearchIndex,
    mask: FrameMask | None,
    count: int,
    seed: int = 0,
    *,
    mixed: float = 0.6,
    noise: float = 1.0,
) -> Queries:
    """Draw queries and answer them by exact search.

    Args:
        frames: the training data.
        index: over the database's features.
        mask: frames that may be jumped to.
        count: how many.
        seed: which ones.
        mixed: part of the queries whose trajectory is of another frame (a little noise on both); the rest are a frame
            with noise of up to ``noise`` times Holden's ``std + 1``.
        noise: see above.
    """
    random = np.random.default_rng([seed, 11])
    total, width = frames.features.shape
    schema = index.feature_set.schema
    is_pose = np.array([schema.groups[group].joint >= 0 for group in schema.group_of_dimension])
    coefficients = index.feature_set.coefficients(frames.weights).astype(np.float32)
    std = frames.features.std(axis=0)
    row_of = np.full(index.feature_set.frame_count, -1, np.int64)
    row_of[frames.frames] = np.arange(total)
    queries, rows = np.empty((count, width), np.float32), np.empty(count, np.int64)
    for start in range(0, count, _BLOCK):
        size = min(_BLOCK, count - start)
        one, other = random.integers(0, total, size), random.integers(0, total, size)
        normal = random.standard_normal((size, width)).astype(np.float32)
        strength = random.random((size, 1)).astype(np.float32)
        recombined = random.random((size, 1)) < mixed
        base = np.where(recombined & ~is_pose, frames.features[other], frames.features[one])
        spread = np.where(recombined, 0.2 * std, noise * (std + 1.0)).astype(np.float32)
        asked = base + normal * strength * spread
        # The index takes raw features and weighs them itself.
        raw = asked / coefficients + index.feature_set.mean
        found = index.search(raw, mask=mask, weights=frames.weights).frames
        queries[start : start + size], rows[start : start + size] = asked, row_of[found]
    return Queries(queries, rows)

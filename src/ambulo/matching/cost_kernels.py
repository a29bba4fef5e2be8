"""The exact cost of a frame: the one definition that every search method ends in.

All methods may *discard* frames by float32 bounds with a margin; whichever frames are left are compared by this cost,
in float64 and in one fixed order of additions, and on equality by the lower frame index. So all methods agree to the
last bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ambulo.maths.kernels import kernel, strict_kernel

# Unit roundoff of float32, and what a sum of squares over up to a thousand dimensions can lose in it.
ROUND = 2.0**-24
_SUM_ERROR = 1.0 + 1024.0 * ROUND


@strict_kernel
def _square(value: Any, query: Any, coefficient: Any) -> Any:
    scaled = np.float64(np.float32((np.float64(value) - np.float64(query)) * coefficient))
    return scaled * scaled


@strict_kernel
def exact_cost(raw: Any, frame: Any, query: Any, coefficients: Any) -> float:
    """Sum over dimensions of ``((raw[frame] - query) * coefficients)^2``.

    The scaled difference is rounded to float32, so that its square is exact in float64 and it does not matter whether
    the machine fuses the product with the sum; the sums are four partial ones, added pairwise.
    """
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    count = query.shape[0]
    whole = count - count % 4
    for i in range(0, whole, 4):
        a += _square(raw[frame, i], query[i], coefficients[i])
        b += _square(raw[frame, i + 1], query[i + 1], coefficients[i + 1])
        c += _square(raw[frame, i + 2], query[i + 2], coefficients[i + 2])
        d += _square(raw[frame, i + 3], query[i + 3], coefficients[i + 3])
    if whole < count:
        a += _square(raw[frame, whole], query[whole], coefficients[whole])
    if whole + 1 < count:
        b += _square(raw[frame, whole + 1], query[whole + 1], coefficients[whole + 1])
    if whole + 2 < count:
        c += _square(raw[frame, whole + 2], query[whole + 2], coefficients[whole + 2])
    return (a + b) + (c + d)


@strict_kernel
def frame_cost(raw: Any, frame: Any, query: Any, coefficients: Any, penalty: Any) -> Any:
    """The exact cost plus the frame's own penalty, see :class:`~ambulo.matching.binding.Shared`."""
    cost = exact_cost(raw, frame, query, coefficients)
    if penalty.shape[0] > 0:
        cost += np.float64(penalty[frame])
    return cost


@kernel
def raised_by(penalty: Any) -> Any:
    """What all costs of a search with penalties are higher by than those that are told."""
    return np.float64(penalty[penalty.shape[0] - 1]) if penalty.shape[0] > 0 else 0.0


@kernel
def is_skipped(frame: Any, start: int, stop: int, skips: Any, n: int) -> Any:
    """Whether a frame is no candidate of query ``n``: in ``[start, stop)``, or in one of ``skips[n]``."""
    skipped = start <= frame < stop
    for k in range(skips.shape[1]):
        skipped = skipped or skips[n, k, 0] <= frame < skips[n, k, 1]
    return skipped


@kernel
def limit_of(best: float, margin: float) -> Any:
    """The float32 squared distance beyond which a frame cannot cost ``best`` or less.

    Args:
        best: a cost; negative where nothing can be better.
        margin: what a distance in float32 can be wrong by.
    """
    if best < 0.0:
        return np.float32(-1.0)
    root = math.sqrt(best) + margin
    return np.float32(root * root * _SUM_ERROR + 1e-37)


@kernel
def candidate_costs(raw: Any, frames: Any, query: Any, coefficients: Any, penalty: Any, costs: Any) -> None:
    """Fill ``costs [n]`` with the costs of ``frames``, int32 ``[n]``."""
    for place in range(frames.shape[0]):
        costs[place] = frame_cost(raw, frames[place], query, coefficients, penalty)


@kernel
def begin(
    raw: Any,
    query: Any,
    coefficients: Any,
    current: int,
    allowed: Any,
    clip_starts: Any,
    clip_stops: Any,
    penalty: Any,
    bias: float,
    surround: int,
) -> tuple[float, float, int, int]:
    """What a search starts with.

    Returns the cost of the current frame (infinite where there is none), the cost that a candidate must stay below
    (the current frame's minus the bias, infinite where continuing is not allowed), and the frames ``[start, stop)``
    around the current one that are no candidates.
    """
    if current < 0:
        return np.inf, np.inf, 0, 0
    cost = frame_cost(raw, current, query, coefficients, penalty)
    if not allowed[current]:
        return cost, np.inf, 0, 0
    low, high = 0, clip_starts.shape[0]
    while high - low > 1:
        middle = (low + high) // 2
        if clip_starts[middle] <= current:
            low = middle
        else:
            high = middle
    start = max(current - surround + 1, clip_starts[low])
    stop = min(current + surround, clip_stops[low])
    return cost, cost - bias, start, stop


@kernel
def first_wrong(queries: Any, currents: Any, frame_count: int) -> Any:
    """Where the first value is that cannot be searched with, or -1.

    Query ``n`` has the places ``n (D + 1)`` to ``n (D + 1) + D``: one a dimension that is not finite, the last one for
    a current frame out of range.
    """
    dimensions = queries.shape[1]
    for n in range(queries.shape[0]):
        for d in range(dimensions):
            if not np.isfinite(queries[n, d]):
                return n * (dimensions + 1) + d
        if currents[n] < -1 or currents[n] >= frame_count:
            return n * (dimensions + 1) + dimensions
    return -1

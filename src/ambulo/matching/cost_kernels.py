"""The exact cost of a frame: the one definition that every search method ends in.

All methods may *discard* frames by float32 bounds with a margin; whichever frames are left are compared by this cost,
in float64 and in one fixed order of additions, and on equality by the lower frame index. So all methods agree to the
last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ambulo.maths.kernels import kernel, strict_kernel


@strict_kernel
def exact_cost(raw: Any, frame: Any, query: Any, coefficients: Any) -> float:
    """Sum over dimensions of ``((raw[frame] - query) * coefficients)^2``; four partial sums, added pairwise."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    count = query.shape[0]
    whole = count - count % 4
    for i in range(0, whole, 4):
        s = (np.float64(raw[frame, i]) - np.float64(query[i])) * coefficients[i]
        t = (np.float64(raw[frame, i + 1]) - np.float64(query[i + 1])) * coefficients[i + 1]
        u = (np.float64(raw[frame, i + 2]) - np.float64(query[i + 2])) * coefficients[i + 2]
        v = (np.float64(raw[frame, i + 3]) - np.float64(query[i + 3])) * coefficients[i + 3]
        a += s * s
        b += t * t
        c += u * u
        d += v * v
    if whole < count:
        s = (np.float64(raw[frame, whole]) - np.float64(query[whole])) * coefficients[whole]
        a += s * s
    if whole + 1 < count:
        t = (np.float64(raw[frame, whole + 1]) - np.float64(query[whole + 1])) * coefficients[whole + 1]
        b += t * t
    if whole + 2 < count:
        u = (np.float64(raw[frame, whole + 2]) - np.float64(query[whole + 2])) * coefficients[whole + 2]
        c += u * u
    return (a + b) + (c + d)


@kernel
def all_costs(raw: Any, query: Any, coefficients: Any, costs: Any) -> None:
    """Fill ``costs [F]`` with the exact cost of every frame."""
    for frame in range(raw.shape[0]):
        costs[frame] = exact_cost(raw, frame, query, coefficients)


@kernel
def begin(
    raw: Any,
    query: Any,
    coefficients: Any,
    current: int,
    allowed: Any,
    clip_starts: Any,
    clip_stops: Any,
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
    cost = exact_cost(raw, current, query, coefficients)
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

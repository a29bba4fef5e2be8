"""Search of boxes over runs of consecutive frames: the classic scheme of motion matching."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ambulo.matching.cost_kernels import ROUND, begin, first_wrong, frame_cost, is_skipped, limit_of, raised_by
from ambulo.maths.kernels import kernel

SMALL = 16
LARGE = 64
# Rows are padded with zeros to a multiple of so many dimensions: a vector register.
CHUNK = 8


@kernel
def fill_bounds(rows: Any, size: int, low: Any, high: Any) -> None:
    """Bounds ``[boxes, P]`` of every ``size`` rows ``[n, P]``."""
    for box in range(low.shape[0]):
        for d in range(rows.shape[1]):
            least, most = rows[box * size, d], rows[box * size, d]
            for row in range(box * size + 1, min((box + 1) * size, rows.shape[0])):
                least, most = min(least, rows[row, d]), max(most, rows[row, d])
            low[box, d], high[box, d] = least, most


@kernel
def _box_distance(query: Any, ratios: Any, low: Any, high: Any, box: int) -> Any:
    """Squared distance to a box. All dimensions at once: looking at the limit in between costs twice as much."""
    total = np.float32(0.0)
    for d in range(query.shape[0]):
        below, above = ratios[d] * low[box, d] - query[d], query[d] - ratios[d] * high[box, d]
        outside = below if below > above else above
        outside = outside if outside > 0.0 else np.float32(0.0)
        total += outside * outside
    return total


@kernel
def _row_distance(query: Any, ratios: Any, rows: Any, row: int) -> Any:
    total = np.float32(0.0)
    for d in range(query.shape[0]):
        difference = query[d] - ratios[d] * rows[row, d]
        total += difference * difference
    return total


@kernel
def search_boxes(
    queries: Any,
    currents: Any,
    bias: float,
    surround: int,
    skips: Any,
    raw: Any,
    coefficients: Any,
    allowed: Any,
    clip_starts: Any,
    clip_stops: Any,
    penalty: Any,
    mean: Any,
    ratios: Any,
    reach: float,
    rows: Any,
    row_frames: Any,
    small_low: Any,
    small_high: Any,
    large_low: Any,
    large_high: Any,
    frames: Any,
    costs: Any,
    tests: Any,
) -> Any:
    """Exact nearest candidate of each query; see :func:`ambulo.matching.tree_kernels.search_tree` for what is shared.

    Args:
        queries, currents, bias, surround, skips, raw, coefficients, allowed, clip_starts, clip_stops, penalty, mean: as
            there.
        ratios: float32 ``[P]``, this search's weights over those of ``rows``.
        reach: greatest length of a row times the ratios.
        rows: float32 ``[n, P]``, normalised features of the candidates, P being D rounded up to a multiple of 8.
        row_frames: int32 ``[n]``.
        small_low, small_high: float32 ``[boxes, P]`` of 16 rows each; large_low, large_high: of 64.
        frames, costs, tests: as there; boxes and rows tested are counted.
    """
    wrong = first_wrong(queries, currents, raw.shape[0])
    if wrong >= 0:
        return wrong
    count = rows.shape[0]
    query = np.zeros(rows.shape[1], np.float32)
    box_tests, row_tests = 0, 0
    raised = raised_by(penalty)
    for n in range(queries.shape[0]):
        current = currents[n]
        cost, best, skip_start, skip_stop = begin(
            raw, queries[n], coefficients, current, allowed, clip_starts, clip_stops, penalty, bias, surround
        )
        costs[1, n] = cost - raised
        best_frame = current if best < np.inf else -1
        best_cost = cost if best < np.inf else np.inf
        challenged = False
        square = 0.0
        for d in range(mean.shape[0]):
            value = (np.float64(queries[n, d]) - mean[d]) * coefficients[d]
            query[d] = value
            square += value * value
        # Normalised values are rounded once more than the tree's coordinates: twice its margin.
        margin = 2.0 * ROUND * (reach + math.sqrt(square))
        limit = limit_of(best, margin)
        for large in range(large_low.shape[0]):
            box_tests += 1
            if _box_distance(query, ratios, large_low, large_high, large) > limit:
                continue
            first = large * (LARGE // SMALL)
            for small in range(first, min(first + LARGE // SMALL, small_low.shape[0])):
                box_tests += 1
                if _box_distance(query, ratios, small_low, small_high, small) > limit:
                    continue
                for row in range(small * SMALL, min((small + 1) * SMALL, count)):
                    row_tests += 1
                    if _row_distance(query, ratios, rows, row) > limit:
                        continue
                    frame = np.int64(row_frames[row])
                    if is_skipped(frame, skip_start, skip_stop, skips, n):
                        continue
                    value = frame_cost(raw, frame, queries[n], coefficients, penalty)
                    if value < best or (value == best and challenged and frame < best_frame):
                        best, best_cost, best_frame, challenged = value, value, frame, True
                        limit = limit_of(best, margin)
        frames[n] = best_frame
        costs[0, n] = best_cost - raised
    tests[0] += box_tests
    tests[1] += row_tests
    return -1


@kernel
def search_scan(
    queries: Any,
    currents: Any,
    bias: float,
    surround: int,
    skips: Any,
    raw: Any,
    coefficients: Any,
    allowed: Any,
    clip_starts: Any,
    clip_stops: Any,
    penalty: Any,
    candidates: Any,
    frames: Any,
    costs: Any,
    tests: Any,
) -> Any:
    """Exact nearest candidate of each query by comparing every one of ``candidates``, int32 ``[n]``, ascending."""
    wrong = first_wrong(queries, currents, raw.shape[0])
    if wrong >= 0:
        return wrong
    raised = raised_by(penalty)
    for n in range(queries.shape[0]):
        cost, best, skip_start, skip_stop = begin(
            raw, queries[n], coefficients, currents[n], allowed, clip_starts, clip_stops, penalty, bias, surround
        )
        costs[1, n] = cost - raised
        best_frame = currents[n] if best < np.inf else -1
        best_cost = cost if best < np.inf else np.inf
        for place in range(candidates.shape[0]):
            frame = np.int64(candidates[place])
            if is_skipped(frame, skip_start, skip_stop, skips, n):
                continue
            value = frame_cost(raw, frame, queries[n], coefficients, penalty)
            if value < best:
                best, best_cost, best_frame = value, value, frame
        tests[1] += candidates.shape[0]
        frames[n] = best_frame
        costs[0, n] = best_cost - raised
    return -1

"""Search of the 8-wide box tree: closest child first, float32 bounds, exact costs for what is left."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from ambulo.matching.address_kernels import float32_at, float64_at, int32_at, int64_at, uint8_at
from ambulo.matching.cost_kernels import ROUND, begin, first_wrong, frame_cost, is_skipped, limit_of, raised_by
from ambulo.matching.lanes_kernels import CHUNK, LANES, LEAF, box_bounds, leaf_costs, lowest_lane, prefetch
from ambulo.maths.kernels import kernel

# No child hangs in this place of a node.
NO_CHILD = -(2**31)
_STACK = 512
# Beyond this length of coordinates float32 squares come near overflow.
LONGEST = 1e15


@kernel
def rotate_query(query: Any, mean: Any, axes: Any, ratios: Any, out: Any, work: Any) -> float:
    """Fill ``out`` with the query along the tree's axes, times ``ratios``; returns its length."""
    work[:] = 0.0
    for d in range(query.shape[0]):
        z = np.float64(query[d]) - mean[d]
        for k in range(work.shape[0]):
            work[k] += z * axes[d, k]
    square = 0.0
    for k in range(work.shape[0]):
        value = work[k] * ratios[k]
        out[k] = value
        square += value * value
    return math.sqrt(square)


@kernel
def search_tree(
    queries: Any,
    currents: Any,
    bias: float,
    surround: int,
    skips: Any,
    table: Any,
    reach: float,
    frames: Any,
    costs: Any,
    tests: Any,
) -> Any:
    """:func:`search_arrays` of the arrays in a table: their order there is that of its arguments."""
    return search_arrays(
        queries,
        currents,
        bias,
        surround,
        skips,
        carray(float32_at(table[0, 0]), (table[0, 1], table[0, 2])),
        carray(float64_at(table[1, 0]), (table[1, 1],)),
        carray(uint8_at(table[2, 0]), (table[2, 1],)),
        carray(int64_at(table[3, 0]), (table[3, 1],)),
        carray(int64_at(table[4, 0]), (table[4, 1],)),
        carray(float32_at(table[5, 0]), (table[5, 1],)),
        carray(float64_at(table[6, 0]), (table[6, 1],)),
        carray(float64_at(table[7, 0]), (table[7, 1], table[7, 2])),
        carray(float32_at(table[8, 0]), (table[8, 1],)),
        carray(float32_at(table[9, 0]), (table[9, 1],)),
        carray(int32_at(table[10, 0]), (table[10, 1],)),
        carray(float32_at(table[11, 0]), (table[11, 1],)),
        carray(int32_at(table[12, 0]), (table[12, 1],)),
        reach,
        frames,
        costs,
        tests,
    )


@kernel
def search_arrays(
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
    axes: Any,
    ratios: Any,
    boxes: Any,
    children: Any,
    tiles: Any,
    tile_frames: Any,
    reach: float,
    frames: Any,
    costs: Any,
    tests: Any,
) -> Any:
    """Exact nearest candidate of each query.

    Args:
        queries: float32 ``[N, D]``, raw.
        currents: int64 ``[N]``, the frame now playing, -1 for none.
        bias: what a jump costs more than going on.
        surround: frames nearer than this to the current one, in its clip, are no candidates.
        skips: int64 ``[N, K, 2]``, ranges of frames that are no candidates for that query.
        raw: float32 ``[F, D]``.
        coefficients: float64 ``[D]``, weight over scale, of this search.
        allowed: uint8 ``[F]``, whether a frame may go on being played.
        clip_starts: int64 ``[C]``; clip_stops: int64 ``[C]``.
        penalty: see :class:`~ambulo.matching.binding.Shared`. The tree has its root as one more coordinate, in which
            queries are 0.
        mean: float64 ``[D]``, the tree's origin.
        axes: float64 ``[D, P]``, raw minus mean to the tree's coordinates, P a multiple of 4.
        ratios: float32 ``[P]``, this search's weights over those that the tree was built with, a coordinate.
        boxes: float32, flat ``[nodes, B, 2, 8]``.
        children: int32, flat ``[nodes, 8]``: a node, ``-1 - leaf``, or :data:`NO_CHILD`.
        tiles: float32, flat ``[leaves, P, 16]``.
        tile_frames: int32, flat ``[leaves, 16]``, -1 where there is no frame.
        reach: greatest length of a frame's tree coordinates times their ratios.
        frames: int64 ``[N]``, out: the best frame, the current one if none beats it, -1 if there is none at all.
        costs: float32 ``[2, N]``, out: of the best frame, of the current one.
        tests: int64 ``[2]``, nodes and leaves tested are added.

    Returns:
        -1, or what :func:`ambulo.matching.cost_kernels.first_wrong` found; then nothing was searched.
    """
    wrong = first_wrong(queries, currents, raw.shape[0])
    if wrong >= 0:
        return wrong
    padded = ratios.shape[0]
    chunks = padded // CHUNK
    node_size, leaf_size = boxes.shape[0] * LANES // max(children.shape[0], 1), padded * LEAF
    box_chunks = node_size // (CHUNK * 2 * LANES)
    query, work = np.empty(padded, np.float32), np.empty(padded, np.float64)
    found = np.empty(LEAF, np.float32)
    stack, stack_bounds = np.empty(_STACK, np.int32), np.empty(_STACK, np.float32)
    node_tests, leaf_tests = 0, 0
    raised = raised_by(penalty)
    for n in range(queries.shape[0]):
        current = currents[n]
        cost, best, skip_start, skip_stop = begin(
            raw, queries[n], coefficients, current, allowed, clip_starts, clip_stops, penalty, bias, surround
        )
        costs[1, n] = cost - raised
        # A candidate must be strictly better than going on; among candidates the lower index wins a tie.
        best_frame = current if best < np.inf else -1
        best_cost = cost if best < np.inf else np.inf
        challenged = False
        length = rotate_query(queries[n], mean, axes, ratios, query, work)
        margin = ROUND * (reach + length)
        limit = limit_of(best, margin)
        depth = 0
        if limit >= 0.0 and length < LONGEST and children.shape[0] > 0:
            stack[0], stack_bounds[0] = 0, 0.0
            depth = 1
        elif limit >= 0.0:
            # Squares would overflow float32, here or in the boxes: compare everything.
            for place in range(tile_frames.shape[0]):
                frame = np.int64(tile_frames[place])
                if frame < 0 or is_skipped(frame, skip_start, skip_stop, skips, n):
                    continue
                value = frame_cost(raw, frame, queries[n], coefficients, penalty)
                if value < best or (value == best and challenged and frame < best_frame):
                    best, best_cost, best_frame, challenged = value, value, frame, True
        while depth > 0:
            depth -= 1
            if stack_bounds[depth] > limit:
                continue
            reference = stack[depth]
            if reference >= 0:
                node_tests += 1
                near = box_bounds(boxes, reference * node_size, query, ratios, box_chunks, limit, found)
                base = depth
                while near != 0:
                    lane = lowest_lane(near)
                    near &= near - 1
                    child = children[reference * LANES + lane]
                    if child == NO_CHILD:
                        continue
                    bound = found[lane]
                    place = depth
                    while place > base and stack_bounds[place - 1] < bound:
                        stack[place], stack_bounds[place] = stack[place - 1], stack_bounds[place - 1]
                        place -= 1
                    stack[place], stack_bounds[place] = child, bound
                    depth += 1
                    if child >= 0:
                        prefetch(boxes, child * node_size, 8)
                    else:
                        prefetch(tiles, (-1 - child) * leaf_size, 4)
            else:
                leaf_tests += 1
                leaf = -1 - reference
                near = leaf_costs(tiles, leaf * leaf_size, query, ratios, chunks, limit, found)
                while near != 0:
                    # The nearest first: it lowers the limit for the others.
                    lane = lowest_lane(near)
                    others = near & (near - 1)
                    while others != 0:
                        other = lowest_lane(others)
                        others &= others - 1
                        if found[other] < found[lane]:
                            lane = other
                    if found[lane] > limit:
                        break
                    near ^= 1 << lane
                    frame = np.int64(tile_frames[leaf * LEAF + lane])
                    if frame < 0 or is_skipped(frame, skip_start, skip_stop, skips, n):
                        continue
                    value = frame_cost(raw, frame, queries[n], coefficients, penalty)
                    if value < best or (value == best and challenged and frame < best_frame):
                        best, best_cost, best_frame, challenged = value, value, frame, True
                        limit = limit_of(best, margin)
        frames[n] = best_frame
        costs[0, n] = best_cost - raised
    tests[0] += node_tests
    tests[1] += leaf_tests
    return -1

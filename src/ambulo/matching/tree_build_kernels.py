"""Building the 8-wide box tree: median splits of items, full bottom nodes, boxes from the leaves up."""

from __future__ import annotations

from typing import Any

import numpy as np

from ambulo.matching.lanes_kernels import LANES, LEAF
from ambulo.matching.tree_kernels import NO_CHILD
from ambulo.maths.kernels import kernel, strict_kernel

# Items looked at when the widest dimension of a range is sought.
_SAMPLE = 1024
# Coordinates of a place in a leaf that holds no frame: far from everything, and its square is still finite.
_FAR = 1e17


@strict_kernel
def rotate_rows(raw: Any, frames: Any, mean: Any, axes: Any, rows: Any) -> Any:
    """Fill ``rows [n, P]`` with the tree coordinates of some frames. Returns the greatest length of one."""
    work = np.empty(rows.shape[1], np.float64)
    longest = 0.0
    for i in range(frames.shape[0]):
        work[:] = 0.0
        for d in range(mean.shape[0]):
            z = np.float64(raw[frames[i], d]) - mean[d]
            for k in range(work.shape[0]):
                work[k] += z * axes[d, k]
        square = 0.0
        for k in range(work.shape[0]):
            rows[i, k] = work[k]
            square += work[k] * work[k]
        longest = max(longest, square)
    return np.sqrt(longest)


@kernel
def _widest(rows: Any, order: Any, start: int, stop: int, dimensions: int) -> int:
    step = max((stop - start) // _SAMPLE, 1)
    best, widest = 0, -1.0
    for d in range(dimensions):
        total, square, count = 0.0, 0.0, 0
        first = rows[order[start], d]
        for i in range(start, stop, step):
            value = np.float64(rows[order[i], d] - first)
            total += value
            square += value * value
            count += 1
        spread = square / count - (total / count) ** 2
        if spread > widest:
            best, widest = d, spread
    return best


@kernel
def _select(keys: Any, order: Any, start: int, stop: int, middle: int) -> None:
    """Reorder ``[start, stop)`` so that no key before ``middle`` is greater than one from it on (Hoare's selection)."""
    low, high = start, stop - 1
    while low < high:
        a, b, c = keys[low], keys[(low + high) // 2], keys[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@kernel
def _push(todo: Any, depth: int, start: int, stop: int, parts: int, unit: int, node: int, place: int) -> None:
    # One by one: assigning a tuple to a row takes two seconds to compile.
    todo[depth, 0], todo[depth, 1], todo[depth, 2] = start, stop, parts
    todo[depth, 3], todo[depth, 4], todo[depth, 5] = unit, node, place


@kernel
def build_nodes(
    rows: Any, order: Any, capacity: int, dimensions: int, children: Any, leaf_starts: Any
) -> tuple[int, int]:
    """Split items into leaves of ``capacity`` and hang them in nodes of eight.

    A bottom node gets exactly eight full leaves wherever possible: the nodes above may be less full, they are few.

    Args:
        rows: float32 ``[n, P]``, coordinates of the items.
        order: int32 ``[n]``, reordered so that each leaf is a range of it.
        capacity: items a leaf.
        dimensions: how many coordinates may be split on.
        children: int32 ``[enough * 8]``, out.
        leaf_starts: int64 ``[enough]``, out: where each leaf starts in ``order``; one more for the end.

    Returns:
        how many nodes and how many leaves there are.
    """
    count = rows.shape[0]
    keys = np.empty(count, np.float32)
    # Ranges still to be cut: start, stop, into how many children, of what whole size, of which node, from which place.
    todo = np.empty((256, 6), np.int64)
    nodes, leaves = 1, 0
    children[:LANES] = NO_CHILD
    _push(todo, 0, 0, count, -1, 0, 0, 0)
    depth = 1
    # leaf_starts is filled left to right, since the left half is always cut first.
    while depth > 0:
        depth -= 1
        start, stop, parts = todo[depth, 0], todo[depth, 1], todo[depth, 2]
        unit, node, place = todo[depth, 3], todo[depth, 4], todo[depth, 5]
        if parts < 0:
            # A fresh node: how many children, in what units?
            items = stop - start
            unit = capacity
            bottom = unit * LANES
            if items > bottom:
                whole = bottom
                while whole * LANES < items:
                    whole *= LANES
                parts = (items + whole - 1) // whole
                unit = bottom
            else:
                parts = (items + unit - 1) // unit
        if parts == 1:
            if stop - start <= capacity:
                children[node * LANES + place] = -1 - leaves
                leaf_starts[leaves] = start
                leaves += 1
            else:
                children[node * LANES + place] = nodes
                children[nodes * LANES : (nodes + 1) * LANES] = NO_CHILD
                _push(todo, depth, start, stop, -1, 0, nodes, 0)
                nodes += 1
                depth += 1
            continue
        left = parts // 2
        units = (stop - start + unit - 1) // unit
        middle = start + (units * left // parts) * unit
        d = _widest(rows, order, start, stop, dimensions)
        for i in range(start, stop):
            keys[i] = rows[order[i], d]
        _select(keys, order, start, stop, middle)
        _push(todo, depth, middle, stop, parts - left, unit, node, place + left)
        _push(todo, depth + 1, start, middle, left, unit, node, place)
        depth += 2
    leaf_starts[leaves] = count
    return nodes, leaves


@kernel
def fill_leaves(
    rows: Any, frames: Any, order: Any, item_starts: Any, leaf_starts: Any, leaves: int, tiles: Any, tile_frames: Any
) -> None:
    """Copy the frames of each leaf into its tile.

    Args:
        rows: float32 ``[n, P]``, tree coordinates of the frames.
        frames: int32 ``[n]``, their indices in the database.
        order: int32 ``[items]``, see :func:`build_nodes`.
        item_starts: int64 ``[items + 1]``, the rows of each item.
        leaf_starts: int64 ``[leaves + 1]``.
        leaves: number of leaves.
        tiles: float32 ``[leaves, P, 16]``, out.
        tile_frames: int32 ``[leaves, 16]``, out.
    """
    for leaf in range(leaves):
        lane = 0
        for place in range(leaf_starts[leaf], leaf_starts[leaf + 1]):
            item = order[place]
            for row in range(item_starts[item], item_starts[item + 1]):
                tile_frames[leaf, lane] = frames[row]
                for d in range(rows.shape[1]):
                    tiles[leaf, d, lane] = rows[row, d]
                lane += 1
        for empty in range(lane, LEAF):
            tile_frames[leaf, empty] = -1
            for d in range(rows.shape[1]):
                tiles[leaf, d, empty] = _FAR


@kernel
def fill_boxes(children: Any, nodes: int, tiles: Any, tile_frames: Any, boxes: Any) -> None:
    """Boxes ``[nodes, B, 2, 8]`` of all children, the last nodes first: a child always comes after its parent."""
    for node in range(nodes - 1, -1, -1):
        for place in range(LANES):
            child = children[node * LANES + place]
            for d in range(boxes.shape[1]):
                low, high = np.float32(_FAR), np.float32(-_FAR)
                if child >= 0:
                    for lane in range(LANES):
                        low = min(low, boxes[child, d, 0, lane])
                        high = max(high, boxes[child, d, 1, lane])
                elif child != NO_CHILD:
                    for lane in range(LEAF):
                        if tile_frames[-1 - child, lane] >= 0:
                            low = min(low, tiles[-1 - child, d, lane])
                            high = max(high, tiles[-1 - child, d, lane])
                boxes[node, d, 0, place] = low
                boxes[node, d, 1, place] = high


@strict_kernel
def place_rows(rows: Any, ids: Any, dimensions: Any, values: Any, places: Any, depth: int, parts: Any) -> None:
    """The part of space that each row lies in.

    Args:
        rows: float32 ``[n, P]``, coordinates of the items.
        ids: int32 ``[n]``, by which equal coordinates are told apart.
        dimensions, values, places: of each cut, ``[2^depth - 1]``: a row lies left of it when its coordinate in that
            dimension is less than the value, or equal and its id less than the place. The cuts of cut i are 2i + 1
            and 2i + 2.
        depth: how many cuts lead to a part.
        parts: uint16 ``[n]``, out.
    """
    for i in range(rows.shape[0]):
        cut = 0
        for _ in range(depth):
            value = rows[i, dimensions[cut]]
            left = value < values[cut] or (value == values[cut] and ids[i] < places[cut])
            cut = 2 * cut + (1 if left else 2)
        parts[i] = cut - (2**depth - 1)


@kernel
def keep_frames(member: Any, children: Any, nodes: int, tile_frames: Any) -> None:
    """Take all frames but the members out of a tree's leaves, and what is empty then out of its nodes.

    Args:
        member: bool ``[F]``.
        children: int32 ``[nodes * 8]``, changed.
        nodes: number of nodes.
        tile_frames: int32 ``[leaves, 16]``, changed.
    """
    full = np.zeros(tile_frames.shape[0], np.bool_)
    for leaf in range(tile_frames.shape[0]):
        for lane in range(LEAF):
            frame = tile_frames[leaf, lane]
            if frame >= 0:
                if member[frame]:
                    full[leaf] = True
                else:
                    tile_frames[leaf, lane] = -1
    alive = np.zeros(nodes, np.bool_)
    for node in range(nodes - 1, -1, -1):
        for place in range(LANES):
            child = children[node * LANES + place]
            if child == NO_CHILD:
                continue
            if (child >= 0 and alive[child]) or (child < 0 and full[-1 - child]):
                alive[node] = True
            else:
                children[node * LANES + place] = NO_CHILD

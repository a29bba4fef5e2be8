"""Building a search tree that does not fit into memory: space is cut into parts, and each part's tree built alone.

Where the cuts go is found from a sample, so that parts are about equally full; then every frame is sent to its part in
one pass over the features, and the parts' trees are hung below a few nodes of their own. What comes out is one tree
like any other, searched by the same kernel, and as exact: cuts decide how fast a search is, not what it finds.

In memory at a time: one part (about 240 bytes a frame of it), and 6 bytes a frame of all.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.database.storage import release
from ambulo.matching.search_tree import Grown, TreeSpace, grow, run_means, runs_of

SHARD_FRAMES = 1 << 20
"""Frames of one part: a quarter of a gigabyte while it is built. Smaller sets are built in one piece."""

# Frames that the cuts are found from, and frames that are sent to their parts at a time.
_SAMPLE = 1 << 17
_CHUNK = 1 << 16


class _Cuts(NamedTuple):
    """See :func:`ambulo.matching.tree_build_kernels.place_rows`."""

    dimensions: NDArray[np.int32]
    values: NDArray[np.float32]
    places: NDArray[np.int32]
    depth: int


def build_shards(
    space: TreeSpace,
    frames: NDArray[np.int32],
    clip_starts: NDArray[np.int64],
    leaves: str,
    shard_frames: int,
    scratch: Path | None,
) -> tuple[Grown, float]:
    """The tree of some frames, and the greatest length of their coordinates.

    Args:
        space: coordinates.
        frames: int32 ``[n]``, ascending.
        clip_starts, leaves: see :class:`~ambulo.matching.search_tree.SearchTree`.
        shard_frames: frames that are built at a time, about.
        scratch: folder for the arrays; None keeps them in memory.
    """
    from ambulo.matching.lanes_kernels import LANES, LEAF
    from ambulo.matching.tree_kernels import LONGEST, NO_CHILD

    depth = max(1, int(np.ceil(np.log2(frames.shape[0] / shard_frames))))
    cuts = _cut(space, frames, depth)
    parts, reach = _place(space, frames, clip_starts, leaves, cuts)
    flat = reach >= LONGEST
    tops = _top_nodes(depth)
    width, box_dimensions = space.axes.shape[1], space.box_dimensions
    with ExitStack() as stack:
        boxes, children, tiles, tile_frames = (
            stack.enter_context(_Growing(scratch, name, dtype, shape))
            for name, dtype, shape in (
                ("boxes", np.float32, (box_dimensions, 2, LANES)),
                ("children", np.int32, (LANES,)),
                ("tiles", np.float32, (width, LEAF)),
                ("tile_frames", np.int32, (LEAF,)),
            )
        )
        if not flat:
            boxes.append(np.zeros((len(tops), box_dimensions, 2, LANES), np.float32))
            children.append(np.full((len(tops), LANES), NO_CHILD, np.int32))
        roots = np.full(1 << depth, NO_CHILD, np.int32)
        for part in range(1 << depth):
            own = frames[parts == part]
            if not own.shape[0]:
                continue
            rows, _ = space.rows(own)
            grown = grow(rows, own, clip_starts, leaves, box_dimensions, flat=flat)
            if not flat:
                roots[part] = children.count
                shifted = np.where(grown.children >= 0, grown.children + children.count, grown.children - tiles.count)
                children.append(np.where(grown.children == NO_CHILD, NO_CHILD, shifted).astype(np.int32))
                boxes.append(grown.boxes)
            tiles.append(grown.tiles)
            tile_frames.append(grown.tile_frames)
            if scratch is not None:  # the features are a map of a file that is being built
                release(space.feature_set.raw)
        whole = Grown(boxes.array(), children.array(), tiles.array(), tile_frames.array())
    if not flat:
        _hang(whole, tops, roots)
    return whole, reach


def _cut(space: TreeSpace, frames: NDArray[np.int32], depth: int) -> _Cuts:
    """Where to cut so that all parts of a sample are equally full: always through the widest coordinate's middle."""
    ids = frames[:: max(-(-frames.shape[0] // _SAMPLE), 1)]
    rows, _ = space.rows(ids)
    count = (1 << depth) - 1
    cuts = _Cuts(np.zeros(count, np.int32), np.zeros(count, np.float32), np.zeros(count, np.int32), depth)
    inside = {0: np.arange(ids.shape[0])}
    for cut in range(count):
        members = inside.pop(cut)
        if members.shape[0] > 1:
            spread = rows[members, : space.box_dimensions].var(axis=0, dtype=np.float64)
            dimension = int(np.argmax(spread))
            order = members[np.lexsort((ids[members], rows[members, dimension]))]
            middle = order[order.shape[0] // 2]
            cuts.dimensions[cut], cuts.values[cut] = dimension, rows[middle, dimension]
            cuts.places[cut] = ids[middle]
            half = order.shape[0] // 2
            inside[2 * cut + 1], inside[2 * cut + 2] = np.sort(order[:half]), np.sort(order[half:])
        else:
            inside[2 * cut + 1], inside[2 * cut + 2] = members, members[:0]
    return cuts


def _place(
    space: TreeSpace, frames: NDArray[np.int32], clip_starts: NDArray[np.int64], leaves: str, cuts: _Cuts
) -> tuple[NDArray[np.uint16], float]:
    """The part of each frame, uint16 ``[n]``, and the greatest length; a temporal leaf goes to one part as a whole."""
    from ambulo.matching.lanes_kernels import LEAF
    from ambulo.matching.tree_build_kernels import place_rows

    parts = np.zeros(frames.shape[0], np.uint16)
    reach = 0.0
    starts = runs_of(frames, clip_starts, LEAF) if leaves == "temporal" else None
    for start, stop in _chunks(frames.shape[0], starts):
        rows, longest = space.rows(frames[start:stop])
        reach = max(reach, longest)
        if starts is None:
            place_rows(rows, frames[start:stop], *cuts, parts[start:stop])
            continue
        own = starts[np.searchsorted(starts, start) : np.searchsorted(starts, stop)]
        found = np.zeros(own.shape[0], np.uint16)
        place_rows(run_means(rows, np.append(own, stop) - start), frames[own], *cuts, found)
        parts[start:stop] = np.repeat(found, np.diff(np.append(own, stop)))
    return parts, reach


def _chunks(count: int, starts: NDArray[np.int64] | None) -> Iterator[tuple[int, int]]:
    """Ranges of at most so many frames that cover all; where runs are given, none is cut."""
    start = 0
    while start < count:
        stop = min(start + _CHUNK, count)
        if starts is not None and stop < count:
            stop = int(starts[np.searchsorted(starts, stop, side="right") - 1])
        yield start, stop
        start = stop


def _top_nodes(depth: int) -> list[tuple[int, int, int]]:
    """The nodes above the parts, parents first: first part, how many parts, how many of them a child has."""
    nodes, level = [], [(0, 1 << depth)]
    while level and level[0][1] > 1:
        below = []
        for first, count in level:
            levels = int(np.log2(count))
            children = 1 << (levels % 3 or 3)
            nodes.append((first, count, count // children))
            below += [(first + i * (count // children), count // children) for i in range(children)]
        level = below
    return nodes


def _hang(tree: Grown, tops: list[tuple[int, int, int]], roots: NDArray[np.int32]) -> None:
    """Fill the nodes above the parts: their children and boxes, the last first."""
    from ambulo.matching.tree_kernels import NO_CHILD

    number = {(first, count): node for node, (first, count, _) in enumerate(tops)}
    for node in range(len(tops) - 1, -1, -1):
        first, count, each = tops[node]
        # As in every node: places without a child have boxes that hold nothing.
        tree.boxes[node, :, 0], tree.boxes[node, :, 1] = 1e17, -1e17
        for place in range(count // each):
            part = first + place * each
            child = int(roots[part]) if each == 1 else number[part, each]
            if child != NO_CHILD and bool((tree.children[child] != NO_CHILD).any()):
                tree.children[node, place] = child
                tree.boxes[node, :, 0, place] = tree.boxes[child, :, 0].min(axis=1)
                tree.boxes[node, :, 1, place] = tree.boxes[child, :, 1].max(axis=1)


class _Growing:
    """An array that grows by rows: in memory, or in a file that is mapped in the end."""

    def __init__(self, folder: Path | None, name: str, dtype: Any, shape: tuple[int, ...]) -> None:
        self._dtype, self._shape = np.dtype(dtype), shape
        self._pieces: list[NDArray[Any]] = []
        self._file: BinaryIO | None = None if folder is None else (folder / f"{name}.part").open("wb+")
        self.count = 0

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows."""
        self.count += rows.shape[0]
        if self._file is None:
            self._pieces.append(rows)
        else:
            self._file.write(np.ascontiguousarray(rows, self._dtype).data)

    def array(self) -> NDArray[Any]:
        """All rows."""
        if self._file is None or not self.count:
            return np.concatenate([np.zeros((0, *self._shape), self._dtype), *self._pieces])
        self._file.flush()
        buffer = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_WRITE)
        return np.frombuffer(buffer, self._dtype).reshape(self.count, *self._shape)

    def __enter__(self) -> _Growing:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

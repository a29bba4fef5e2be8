"""The 8-wide tree of boxes over rotated features: the fastest exact search that we know for motion.

Features of motion have a low intrinsic dimension: rotated to principal axes, the first dozen hold nearly all of the
variance, so a box needs only those for a good lower bound and a frame is discarded after a few products. A node holds
eight child boxes side by side, one vector instruction a face; a leaf holds sixteen frames, near each other in feature
space (*spatial*) or in time (*temporal*).

The axes are those of each feature group by itself. A weight then scales whole axes, so that the one tree serves any
weights exactly; measured on motion, axes of all groups together are no faster (three positions and three directions
of one trajectory are what depends on each other most).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import QueryError
from ambulo.matching.binding import NO_PENALTY, Bound, Shared
from ambulo.matching.features import FeatureSet

Array = NDArray[Any]

# Frames that the axes are found from: any orthonormal axes are exact, these only need to be good.
_SAMPLE = 65536
# Boxes bound as many coordinates as hold this share of the variance: 12 to 16 of 27 on motion, where one more costs as
# much as it saves, and nearly all where no direction is preferred.
_VARIANCE = 0.93


LEAVES = ("spatial", "temporal")


@dataclass(frozen=True, eq=False)
class SearchTree:
    """A built tree over some frames.

    Attributes:
        feature_set: whose frames.
        leaves: ``spatial`` or ``temporal``.
        reach: greatest length of a frame's coordinates.
        axes: float64 ``[D, P]``, raw minus mean to the tree's coordinates, P being D rounded up to a multiple of 4.
        axis_groups: int64 ``[P]``, the feature group of each axis; -1 for padding and for the penalty's.
        boxes: float32 ``[nodes, B, 2, 8]``, lower and upper faces of eight children.
        children: int32 ``[nodes, 8]``.
        tiles: float32 ``[leaves, P, 16]``.
        tile_frames: int32 ``[leaves, 16]``, -1 for none.
    """

    feature_set: FeatureSet
    leaves: str
    reach: float
    axes: NDArray[np.float64]
    axis_groups: NDArray[np.int64]
    boxes: NDArray[np.float32]
    children: NDArray[np.int32]
    tiles: NDArray[np.float32]
    tile_frames: NDArray[np.int32]

    ARRAYS: ClassVar[tuple[str, ...]] = ("axes", "axis_groups", "boxes", "children", "tiles", "tile_frames")

    @classmethod
    def build(
        cls,
        feature_set: FeatureSet,
        frames: NDArray[np.int32],
        clip_starts: NDArray[np.int64],
        *,
        leaves: str = "spatial",
        box_dimensions: int = 0,
        penalty: NDArray[np.float32] = NO_PENALTY,
        gap: float = np.inf,
        shard_frames: int = 0,
        scratch: Path | None = None,
    ) -> SearchTree:
        """Build over some frames.

        Args:
            feature_set: the features.
            frames: int32 ``[n]``, ascending; all their features are finite.
            clip_starts: int64 ``[C]``; a temporal leaf never crosses one.
            leaves: ``spatial`` or ``temporal``.
            box_dimensions: coordinates that boxes bound, rounded up to a multiple of 4; 0 chooses by variance.
            penalty: float32 ``[F]``, not negative, added to the cost of each frame; ``[0]`` for none. Its root is one
                more coordinate, in which every query is 0: so the search stays exact, and as fast.
            gap: frames whose penalties lie more than this apart get trees of their own, below one node; of a tree that
                is built in one piece.
            shard_frames: frames that are built at a time, 0 for the usual number (``sharded_tree``).
            scratch: folder for the arrays of a tree of several shards; None keeps them in memory.
        """
        from ambulo.matching.sharded_tree import SHARD_FRAMES, build_shards
        from ambulo.matching.tree_kernels import LONGEST

        if leaves not in LEAVES:
            raise QueryError(f"leaves are {' or '.join(LEAVES)}, not {leaves!r}", key="leaves")
        space = tree_space(feature_set, frames, box_dimensions, penalty)
        if frames.shape[0] > (shard_frames or SHARD_FRAMES):
            grown, reach = build_shards(space, frames, clip_starts, leaves, shard_frames or SHARD_FRAMES, scratch)
        else:
            rows, reach = space.rows(frames)
            flat = reach >= LONGEST
            parts = penalty_parts(penalty, frames, gap) if len(penalty) and not flat else [slice(None)]
            grown = hang_together(
                [grow(rows[part], frames[part], clip_starts, leaves, space.box_dimensions, flat=flat) for part in parts]
            )
        return cls(feature_set, leaves, reach, space.axes, space.axis_groups, *grown)

    def only(self, frames: NDArray[np.int32]) -> SearchTree:
        """This tree without the frames that are not among some of its own, int32 ``[n]``: 4 bytes a frame, in no time.

        A tree of those frames alone is smaller and searched faster, but takes 240 bytes a frame to build.
        """
        from ambulo.matching.tree_build_kernels import keep_frames

        member = np.zeros(self.feature_set.frame_count, np.bool_)
        member[frames] = True
        children, tile_frames = np.array(self.children), np.array(self.tile_frames)
        keep_frames(member, children.reshape(-1), children.shape[0], tile_frames)
        return replace(self, children=children, tile_frames=tile_frames)

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return int(self.boxes.shape[0])

    @property
    def leaf_count(self) -> int:
        """Number of leaves."""
        return int(self.tiles.shape[0])

    @property
    def kind(self) -> str:
        """``tree`` or ``tree_temporal``."""
        return "tree" if self.leaves == "spatial" else "tree_temporal"

    @property
    def box_dimensions(self) -> int:
        """Coordinates that boxes bound."""
        return int(self.boxes.shape[1])

    def ratios(self, weights: ArrayLike | None) -> NDArray[np.float32]:
        """Some group weights over those that the tree was built with, for each axis, float32 ``[P]``."""
        values = self.feature_set.schema.checked_weights(weights).astype(np.float64)
        ratios = np.ones(self.axes.shape[1], np.float32)
        inside = self.axis_groups >= 0
        ratios[inside] = (values / _built_weights(self.feature_set))[self.axis_groups[inside]]
        return ratios

    def bind(self, shared: Shared, weights: ArrayLike | None) -> Bound:
        """The compiled search and what it needs for some group weights."""
        from ambulo.matching.address_kernels import address_table
        from ambulo.matching.tree_kernels import search_tree

        ratios = self.ratios(weights)
        arrays = (
            *shared,
            self.feature_set.mean.astype(np.float64),
            self.axes,
            ratios,
            self.boxes.reshape(-1),
            self.children.reshape(-1),
            self.tiles.reshape(-1),
            self.tile_frames.reshape(-1),
        )
        reach = self.reach * float(ratios.max(initial=0.0))
        return Bound(search_tree, (address_table(arrays), reach), arrays)

    def to_arrays(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Arrays to store, and the JSON-ready rest."""
        return {name: getattr(self, name) for name in self.ARRAYS}, {"leaves": self.leaves, "reach": self.reach}

    @classmethod
    def from_arrays(cls, feature_set: FeatureSet, arrays: Mapping[str, Array], rest: Mapping[str, Any]) -> SearchTree:
        """Inverse of :meth:`to_arrays`; the arrays may be memory-mapped."""
        own = {name: arrays[name] for name in cls.ARRAYS}
        return cls(feature_set=feature_set, leaves=rest["leaves"], reach=float(rest["reach"]), **own)


class Grown(NamedTuple):
    """The arrays of a tree, see :class:`SearchTree`."""

    boxes: NDArray[np.float32]
    children: NDArray[np.int32]
    tiles: NDArray[np.float32]
    tile_frames: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class TreeSpace:
    """The coordinates of a tree.

    Attributes:
        feature_set: what is turned.
        axes, axis_groups: see :class:`SearchTree`.
        box_dimensions: how many coordinates boxes bound.
        place: the coordinate of the penalty's root; -1 for none.
        penalty: float32 ``[F]``, or ``[0]``.
    """

    feature_set: FeatureSet
    axes: NDArray[np.float64]
    axis_groups: NDArray[np.int64]
    box_dimensions: int
    place: int
    penalty: NDArray[np.float32]

    def rows(self, frames: NDArray[np.int32]) -> tuple[NDArray[np.float32], float]:
        """Coordinates of some frames, float32 ``[n, P]``, and the greatest length of one."""
        from ambulo.matching.tree_build_kernels import rotate_rows

        rows = np.empty((frames.shape[0], self.axes.shape[1]), np.float32)
        if not frames.shape[0]:
            return rows, 0.0
        mean = self.feature_set.mean.astype(np.float64)
        reach = float(rotate_rows(self.feature_set.raw, frames, mean, self.axes, rows))
        if self.place >= 0:
            rows[:, self.place] = np.sqrt(self.penalty[frames])
            reach = float(np.hypot(reach, rows[:, self.place].max()))
        return rows, reach


def tree_space(
    feature_set: FeatureSet, frames: NDArray[np.int32], box_dimensions: int, penalty: NDArray[np.float32]
) -> TreeSpace:
    """The coordinates of a tree over some frames; arguments as in :meth:`SearchTree.build`."""
    from ambulo.matching.lanes_kernels import CHUNK

    axes, axis_groups, variance = group_axes(feature_set, frames)
    place = -1
    if len(penalty):
        spread = float(penalty[frames].mean(dtype=np.float64)) if len(frames) else 0.0
        place = int(np.searchsorted(-variance, -spread))
        axes = np.insert(axes, place, 0.0, axis=1)
        axis_groups, variance = np.insert(axis_groups, place, -1), np.insert(variance, place, spread)
    padded = -(-axes.shape[1] // CHUNK) * CHUNK
    extra = padded - axes.shape[1]
    axes = np.ascontiguousarray(np.pad(axes, ((0, 0), (0, extra))))
    axis_groups = np.pad(axis_groups, (0, extra), constant_values=-1)
    box_dimensions = min(-(-(box_dimensions or _enough(variance)) // CHUNK) * CHUNK, padded)
    return TreeSpace(feature_set, axes, axis_groups, box_dimensions, place, penalty)


def grow(
    rows: NDArray[np.float32],
    frames: NDArray[np.int32],
    clip_starts: NDArray[np.int64],
    leaves: str,
    box_dimensions: int,
    *,
    flat: bool,
) -> Grown:
    """The tree of some frames, from their coordinates ``[n, P]``; ``flat`` makes leaves and no nodes."""
    from ambulo.matching import tree_build_kernels as kernels
    from ambulo.matching.lanes_kernels import LANES, LEAF

    count, padded = rows.shape
    if leaves == "temporal":
        item_starts, capacity = runs_of(frames, clip_starts, LEAF), 1
        items = run_means(rows, item_starts)
    else:
        item_starts, capacity, items = np.arange(count + 1, dtype=np.int64), LEAF, rows
    item_count = item_starts.shape[0] - 1
    most = item_count // capacity + 8
    most += most // 4 + 64
    order = np.arange(item_count, dtype=np.int32)
    children = np.empty(most * LANES, np.int32)
    leaf_starts = np.zeros(most + 1, np.int64)
    node_count, leaf_count = 0, 0
    if item_count and not flat:
        node_count, leaf_count = kernels.build_nodes(items, order, capacity, box_dimensions, children, leaf_starts)
    elif item_count:
        # No nodes: the kernel then compares every frame.
        leaf_count = -(-item_count // capacity)
        leaf_starts[: leaf_count + 1] = np.minimum(np.arange(leaf_count + 1) * capacity, item_count)
    tiles = np.empty((leaf_count, padded, LEAF), np.float32)
    tile_frames = np.empty((leaf_count, LEAF), np.int32)
    boxes = np.empty((node_count, box_dimensions, 2, LANES), np.float32)
    children = children[: node_count * LANES].reshape(node_count, LANES).copy()
    kernels.fill_leaves(rows, frames, order, item_starts, leaf_starts, leaf_count, tiles, tile_frames)
    kernels.fill_boxes(children.reshape(-1), node_count, tiles, tile_frames, boxes)
    return Grown(boxes, children, tiles, tile_frames)


def penalty_parts(
    penalty: NDArray[np.float32], frames: NDArray[np.int32], gap: float
) -> Sequence[NDArray[np.int64] | slice]:
    """Where in ``frames`` those are whose penalties lie together, the lowest ones first; eight parts at most.

    Frames that a bonus prefers are searched over a wide radius, the others over a narrow one: in a tree of both, few
    nodes could be left out. Penalties that differ little are better in one.
    """
    from ambulo.matching.lanes_kernels import LANES

    own = penalty[frames]
    levels = np.unique(own)
    cuts = levels[1:][np.diff(levels) > gap][: LANES - 1]
    if not len(cuts):
        return [slice(None)]
    part = np.searchsorted(cuts, own, side="right")
    return [np.nonzero(part == number)[0] for number in range(len(cuts) + 1)]


def hang_together(parts: Sequence[Grown]) -> Grown:
    """One tree of up to eight, below a node of its own; in the order in which equally near ones are searched."""
    from ambulo.matching.lanes_kernels import LANES
    from ambulo.matching.tree_kernels import NO_CHILD

    if len(parts) == 1:
        return parts[0]
    children = np.full((1, LANES), NO_CHILD, np.int32)
    # Places without a child have boxes that hold nothing.
    boxes = np.empty((1, *parts[0].boxes.shape[1:]), np.float32)
    boxes[:, :, 0], boxes[:, :, 1] = 1e17, -1e17
    nodes, leaves, below = 1, 0, []
    for place, part in enumerate(parts):
        children[0, place] = nodes
        boxes[0, :, 0, place] = part.boxes[0, :, 0].min(axis=1)
        boxes[0, :, 1, place] = part.boxes[0, :, 1].max(axis=1)
        shifted = np.where(part.children >= 0, part.children + nodes, part.children - leaves)
        below.append(np.where(part.children == NO_CHILD, NO_CHILD, shifted).astype(np.int32))
        nodes, leaves = nodes + part.children.shape[0], leaves + part.tiles.shape[0]
    return Grown(
        np.concatenate([boxes, *(part.boxes for part in parts)]),
        np.concatenate([children, *below]),
        np.concatenate([part.tiles for part in parts]),
        np.concatenate([part.tile_frames for part in parts]),
    )


def group_axes(
    feature_set: FeatureSet, frames: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Orthonormal axes of the weighted features, each within one feature group, greatest variance first.

    Returns:
        float64 ``[D, D]`` that takes raw minus mean to coordinates, int64 ``[D]``, the group of each axis, and float64
        ``[D]``, the variance along each.
    """
    sample = frames[:: max(-(-frames.shape[0] // _SAMPLE), 1)]
    schema = feature_set.schema
    coefficients = feature_set.coefficients(_built_weights(feature_set))
    rows = (feature_set.raw[sample].astype(np.float64) - feature_set.mean) * coefficients
    dimension_count = schema.dimension_count
    vectors, variance = np.eye(dimension_count), np.zeros(dimension_count)
    for group in schema.groups:
        inside = slice(group.start, group.stop)
        # einsum adds in one fixed order; a threaded product would not, and the same inputs must give the same bytes.
        covariance = np.einsum("ni,nj->ij", rows[:, inside], rows[:, inside], optimize=False) / max(sample.shape[0], 1)
        if np.isfinite(covariance).all():
            variance[inside], vectors[inside, inside] = np.linalg.eigh(covariance)
    # An eigenvector's sign is arbitrary; the greatest component is made positive.
    vectors *= np.where(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(dimension_count)] < 0.0, -1.0, 1.0)
    order = np.argsort(-variance, kind="stable")
    return coefficients[:, None] * vectors[:, order], schema.group_of_dimension[order], np.maximum(variance[order], 0.0)


def _built_weights(feature_set: FeatureSet) -> NDArray[np.float64]:
    """The weights that coordinates have: the schema's, but 1 for 0, so that any weight is a multiple of them."""
    weights = feature_set.schema.weights.astype(np.float64)
    return np.where(weights > 0.0, weights, 1.0)


def _enough(variance: NDArray[np.float64]) -> int:
    total = variance.sum()
    if not total > 0.0:
        return 1
    return int(np.searchsorted(np.cumsum(variance) / total, _VARIANCE) + 1)


def runs_of(frames: NDArray[np.int32], clip_starts: NDArray[np.int64], longest: int) -> NDArray[np.int64]:
    """Where runs of consecutive frames start in ``frames``, at most so long, within one clip; and the end."""
    count = frames.shape[0]
    if count == 0:
        return np.zeros(1, np.int64)
    breaks = np.ones(count, bool)
    clip = np.searchsorted(clip_starts, frames, side="right")
    breaks[1:] = (np.diff(frames) != 1) | (np.diff(clip) != 0)
    run_starts = np.nonzero(breaks)[0]
    position = np.arange(count) - np.repeat(run_starts, np.diff(np.append(run_starts, count)))
    return np.append(np.nonzero(position % longest == 0)[0], count).astype(np.int64)


def run_means(rows: NDArray[np.float32], starts: NDArray[np.int64]) -> NDArray[np.float32]:
    """Mean of each run of rows."""
    if rows.shape[0] == 0:
        return rows
    return np.asarray(np.add.reduceat(rows, starts[:-1], axis=0) / np.diff(starts)[:, None], np.float32)

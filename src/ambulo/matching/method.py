"""Which search method an index uses, chosen by counting the work that each does on typical queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import DatabaseError, QueryError, nearest_names
from ambulo.matching.binding import NO_PENALTY, Bound, Shared, no_skips
from ambulo.matching.features import FeatureSet
from ambulo.matching.search_boxes import SearchBoxes
from ambulo.matching.search_tree import SearchTree
from ambulo.matching.sharded_tree import SHARD_FRAMES

Array = NDArray[Any]

# Up to here a scan is as fast as anything, and needs nothing built.
_SCAN_FRAMES = 64
# Methods are compared on whole clips of about so many frames, with so many queries.
_SAMPLE_FRAMES = 65_536
_SAMPLE_QUERIES = 256
# Measured on motion (benchmarks/search.py): from there on a bonus is worth two trees.
_TELLING_GAP = 0.3
# Nanoseconds on a present-day machine: a node's test, more of it for each dimension of its boxes, and a leaf's test.
_NODE_PRICE, _FACE_PRICE, _LEAF_PRICE = 30.0, 1.5, 45.0


class Method(Protocol):
    """A search structure over some frames."""

    @property
    def kind(self) -> str: ...
    def bind(self, shared: Shared, weights: ArrayLike | None) -> Bound: ...
    def to_arrays(self) -> tuple[dict[str, Array], dict[str, Any]]: ...


@dataclass(frozen=True, eq=False)
class SearchScan:
    """No structure: compares every one of ``frames``, int32 ``[n]``."""

    frames: NDArray[np.int32]
    kind: ClassVar[str] = "scan"

    def bind(self, shared: Shared, weights: ArrayLike | None) -> Bound:
        """The compiled search and what it needs."""
        from ambulo.matching.boxes_kernels import search_scan

        return Bound(search_scan, (*shared, self.frames), ())

    def to_arrays(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Nothing: the frames are stored with the index."""
        return {}, {}


@dataclass(frozen=True)
class Kind:
    """A kind of method.

    Attributes:
        meaning: for messages and documentation.
        build: from features, frames, clip starts, the frames' penalties, and a folder for what is too large for memory.
        load: from features, frames, stored arrays and the stored rest.
    """

    meaning: str
    build: Callable[[FeatureSet, NDArray[np.int32], NDArray[np.int64], NDArray[np.float32], Path | None], Method]
    load: Callable[[FeatureSet, NDArray[np.int32], Mapping[str, Array], Mapping[str, Any]], Method]


def _tree_of(
    leaves: str,
) -> Callable[[FeatureSet, NDArray[np.int32], NDArray[np.int64], NDArray[np.float32], Path | None], Method]:
    return lambda features, frames, starts, penalty, scratch: SearchTree.build(
        features, frames, starts, leaves=leaves, penalty=penalty, scratch=scratch
    )


def _load_tree(
    features: FeatureSet, _: NDArray[np.int32], arrays: Mapping[str, Array], rest: Mapping[str, Any]
) -> Method:
    return SearchTree.from_arrays(features, arrays, rest)


KINDS: Mapping[str, Kind] = {
    "tree": Kind("8-wide box tree, leaves of frames near in feature space", _tree_of("spatial"), _load_tree),
    "tree_temporal": Kind("8-wide box tree, leaves of consecutive frames", _tree_of("temporal"), _load_tree),
    "boxes": Kind(
        "two levels of boxes over 16 and 64 consecutive frames",
        lambda features, frames, _, penalty, __: SearchBoxes.build(features, frames, penalty),
        lambda features, _, arrays, rest: SearchBoxes.from_arrays(features, arrays, rest),
    ),
    "scan": Kind(
        "every frame, one after the other",
        lambda _, frames, *__: SearchScan(frames),
        lambda _, frames, __, ___: SearchScan(frames),
    ),
}
"""The methods by name."""


def build_method(
    kind: str,
    feature_set: FeatureSet,
    frames: NDArray[np.int32],
    clip_starts: NDArray[np.int64],
    penalty: NDArray[np.float32] = NO_PENALTY,
    scratch: Path | None = None,
) -> Method:
    """Build a method of a kind over some frames, int32 ``[n]``, ascending, all finite.

    Args:
        penalty: float32 ``[F]``, not negative, added to the cost of each frame; ``[0]`` for none.
        scratch: folder for arrays that are too large for memory; None keeps them in memory.

    Raises:
        QueryError: an unknown kind.
    """
    if kind not in KINDS:
        raise QueryError(f"no search method {kind!r}; {nearest_names(kind, KINDS)}", key="kind")
    return KINDS[kind].build(feature_set, frames, clip_starts, penalty, scratch)


def narrowed_method(
    whole: Method,
    feature_set: FeatureSet,
    frames: NDArray[np.int32],
    clip_starts: NDArray[np.int64],
    penalty: NDArray[np.float32] = NO_PENALTY,
    gap: float = np.inf,
) -> Method:
    """A method over some of the frames of another: of its own, but a view of the other where that would be large.

    Frames whose penalties lie more than ``gap`` apart are held apart in it.
    """
    if isinstance(whole, SearchTree) and frames.shape[0] > SHARD_FRAMES:
        return whole.only(frames)
    if isinstance(whole, SearchTree):
        return SearchTree.build(feature_set, frames, clip_starts, leaves=whole.leaves, penalty=penalty, gap=gap)
    return build_method(whole.kind, feature_set, frames, clip_starts, penalty)


def method_from_arrays(
    kind: str,
    feature_set: FeatureSet,
    frames: NDArray[np.int32],
    arrays: Mapping[str, Array],
    rest: Mapping[str, Any],
) -> Method:
    """Inverse of a method's ``to_arrays``.

    Raises:
        DatabaseError: an unknown kind.
    """
    if kind not in KINDS:
        raise DatabaseError(
            f"the index was made by an unknown search method {kind!r}", remedy="build the database again"
        )
    return KINDS[kind].load(feature_set, frames, arrays, rest)


def choose_method(
    feature_set: FeatureSet,
    frames: NDArray[np.int32],
    clip_starts: NDArray[np.int64],
    clip_stops: NDArray[np.int64],
) -> str:
    """The kind that does the least work on queries made from the data itself.

    Work is counted, not timed (boxes and frames tested, each at a typical price), so that the same features give the
    same index, whatever else the machine is doing. Boxes over consecutive frames need not be tried: on everything
    measured they cost several times a tree (``benchmarks/search.py``).
    """
    if frames.shape[0] <= _SCAN_FRAMES:
        return "scan"
    sample = frames[: int(np.searchsorted(frames, _sample_end(frames, clip_stops)))]
    queries, currents = typical_queries(feature_set, sample, _SAMPLE_QUERIES)
    allowed = np.zeros(feature_set.frame_count, np.uint8)
    allowed[sample] = 1
    shared = Shared(feature_set.raw, feature_set.coefficients(), allowed, clip_starts, clip_stops, NO_PENALTY)
    found = np.empty(queries.shape[0], np.int64)
    costs = np.empty((2, queries.shape[0]), np.float32)
    work: dict[str, float] = {}
    for kind, leaves in (("tree", "spatial"), ("tree_temporal", "temporal")):
        method = SearchTree.build(feature_set, sample, clip_starts, leaves=leaves)
        tests = np.zeros(2, np.int64)
        bound = method.bind(shared, None)
        bound.kernel(queries, currents, 0.0, 20, no_skips(len(queries)), *bound.arguments, found, costs, tests)
        work[kind] = (_NODE_PRICE + _FACE_PRICE * method.box_dimensions) * int(tests[0]) + _LEAF_PRICE * int(tests[1])
    return min(work, key=lambda kind: work[kind])


def typical_queries(
    feature_set: FeatureSet, frames: NDArray[np.int32], count: int, seed: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Queries as a controller asks them: the pose of one frame, the trajectory of another.

    Returns:
        float32 ``[count, D]``, raw, and int64 ``[count]``, the frames whose pose they have.
    """
    random = np.random.default_rng(seed)
    playing = frames[random.integers(frames.shape[0], size=count)].astype(np.int64)
    wished = frames[random.integers(frames.shape[0], size=count)]
    queries = feature_set.raw[playing].copy()
    for group in feature_set.schema.groups:
        if group.joint < 0:
            queries[:, group.start : group.stop] = feature_set.raw[wished, group.start : group.stop]
    return queries, playing


def telling_gap(
    feature_set: FeatureSet,
    frames: NDArray[np.int32],
    cost: Callable[[NDArray[np.float32], NDArray[np.int64]], NDArray[np.float32]],
) -> float:
    """By how much the bonuses of frames must differ so that trees of their own pay: a share of the usual best cost.

    Args:
        feature_set, frames: what is searched.
        cost: what the best frames cost, of queries and the frames that are playing.
    """
    return _TELLING_GAP * float(np.median(cost(*typical_queries(feature_set, frames, 64))))


def _sample_end(frames: NDArray[np.int32], clip_stops: NDArray[np.int64]) -> int:
    """End of the clip in which the sample of frames is full."""
    if frames.shape[0] <= _SAMPLE_FRAMES:
        return int(clip_stops[-1])
    last = int(frames[_SAMPLE_FRAMES])
    return int(clip_stops[int(np.searchsorted(clip_stops, last, side="right"))])

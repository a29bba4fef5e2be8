"""The search index: the best frame for a query, exactly, under tags, exclusions and any weights."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.database.storage import release
from ambulo.errors import DatabaseError, QueryError
from ambulo.matching.binding import NO_PENALTY, Bound, Shared
from ambulo.matching.features import FeatureSet
from ambulo.matching.frame_mask import FrameMask as FrameMask
from ambulo.matching.frame_mask import penalties
from ambulo.matching.method import build_method, choose_method, method_from_arrays, narrowed_method, telling_gap
from ambulo.matching.query_arrays import NONE_PLAYING, query_frames, query_rows, query_skips

Array = NDArray[Any]

# Masks and weights whose trees and factors are kept; the one used longest ago goes first.
_KEPT_MASKS = 64
_KEPT_BYTES = 1 << 30
_KEPT_WEIGHTS = 64


class SearchResult(NamedTuple):
    """Answers to N queries.

    Attributes:
        frames: int64 ``[N]``: the best candidate; the current frame where none beats it; -1 where nothing is allowed.
        costs: float32 ``[N]``, squared weighted distance of ``frames`` (infinite for -1).
        current_costs: float32 ``[N]``, of the current frames (infinite for -1).
    """

    frames: NDArray[np.int64]
    costs: NDArray[np.float32]
    current_costs: NDArray[np.float32]


class Rival(NamedTuple):
    """One of the best frames for a query: its cost, and that cost by feature group."""

    frame: int
    cost: float
    costs: dict[str, float]


class SearchIndex:
    """Exact nearest-frame search. Make one with :meth:`build` or :meth:`from_arrays`.

    Every answer equals that of comparing all frames in float64 (:mod:`ambulo.matching.search_brute` states it),
    whatever the method inside; equal costs go to the lower frame.

    Attributes:
        feature_set: the features searched.
        clip_starts, clip_stops: int64 ``[C]``.
        whole: the mask of all frames.
        tests: int64 ``[2]``, boxes and leaves (or frames) tested since the index was made.
    """

    def __init__(
        self,
        feature_set: FeatureSet,
        clip_starts: NDArray[np.int64],
        clip_stops: NDArray[np.int64],
        whole: FrameMask,
        candidates: NDArray[np.bool_],
    ) -> None:
        self.feature_set = feature_set
        self.clip_starts, self.clip_stops = clip_starts, clip_stops
        self.whole = whole
        self.tests = np.zeros(2, np.int64)
        self._candidates = candidates
        self._dimension_count = feature_set.dimension_count
        self._frame_count = feature_set.frame_count
        self._masks: OrderedDict[bytes, FrameMask] = OrderedDict()
        self._bounds: OrderedDict[tuple[int, bytes | None], tuple[FrameMask, Bound]] = OrderedDict()

    @classmethod
    def build(
        cls,
        feature_set: FeatureSet,
        clip_starts: ArrayLike,
        clip_stops: ArrayLike,
        valid: ArrayLike | None = None,
        *,
        end_margin_frames: int = 20,
        kind: str | None = None,
        scratch: Path | None = None,
    ) -> SearchIndex:
        """Index the frames of a database.

        Args:
            feature_set: F frames.
            clip_starts: ``[C]``, ascending.
            clip_stops: ``[C]``, exclusive.
            valid: ``[F]``, zero where a frame must never be shown; None where all may. Frames whose features are not
                finite are never candidates.
            end_margin_frames: the last frames of each clip, which are no candidates: there is nothing left to play.
            kind: a name from :data:`ambulo.matching.method.KINDS`; None measures which is fastest on these features
                (by counting the work of typical queries, so that the same features always give the same answer).
            scratch: folder for arrays that are too large for memory; None keeps them in memory.

        Raises:
            QueryError: the clips do not fit the features, or the kind is unknown.
        """
        from ambulo.matching.moment_kernels import finite_rows

        starts = np.ascontiguousarray(clip_starts, np.int64)
        stops = np.ascontiguousarray(clip_stops, np.int64)
        frame_count = feature_set.frame_count
        good = starts.ndim == 1 and starts.shape == stops.shape and bool((stops >= starts).all())
        if not good or (starts.size and (starts[0] < 0 or stops[-1] > frame_count or (starts[1:] < stops[:-1]).any())):
            raise QueryError(
                f"the clips must be ascending ranges within the {frame_count} frames of the features", key="clip_starts"
            )
        allowed = np.zeros(frame_count, bool)
        candidates = np.zeros(frame_count, bool)
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            allowed[start:stop] = True
            candidates[start : max(stop - end_margin_frames, start)] = True
        if valid is not None:
            usable = np.asarray(valid).astype(bool)
            if usable.shape != (frame_count,):
                raise QueryError(f"valid must be [{frame_count}], got {list(usable.shape)}", key="valid")
            allowed &= usable
        for start in range(0, frame_count, 1 << 18):
            finite_rows(feature_set.raw[start : start + (1 << 18)], allowed[start : start + (1 << 18)])
            if scratch is not None:  # the features are a map of a file that is being built
                release(feature_set.raw)
        candidates &= allowed
        frames = np.nonzero(candidates)[0].astype(np.int32)
        name = kind or choose_method(feature_set, frames, starts, stops)
        method = build_method(name, feature_set, frames, starts, scratch=scratch)
        return cls(feature_set, starts, stops, FrameMask(allowed.astype(np.uint8), frames, method), candidates)

    @property
    def kind(self) -> str:
        """Which method searches: a name from :data:`ambulo.matching.method.KINDS`."""
        return self.whole.method.kind

    @property
    def candidate_count(self) -> int:
        """How many frames may be jumped to."""
        return self.whole.candidate_count

    @property
    def candidates(self) -> NDArray[np.bool_]:
        """bool ``[F]``, frames that may be jumped to: valid, and not too near the end of their clip."""
        return self._candidates

    def mask(
        self, frames: ArrayLike, *, playable: ArrayLike | None = None, bonus: ArrayLike | None = None
    ) -> FrameMask:
        """Hold searches to some frames; pass the result to :meth:`search`. The same frames give the same object.

        Takes about 0.2 microseconds a frame once, for a search structure of its own; a search with it is then faster
        than one without.

        Args:
            frames: bool ``[F]``, which may be jumped to.
            playable: bool ``[F]``, which may go on being played; None for ``frames``.
            bonus: float32 ``[F]``, by how much less a frame costs than its distance; a negative one makes it dearer.
                The search stays exact: what a frame's bonus lacks to the best one is the square of one more coordinate.

        Raises:
            QueryError: wrong shapes, or a bonus that is not finite.
        """
        wanted = self._checked_mask(frames)
        going_on = wanted if playable is None else self._checked_mask(playable)
        extra = NO_PENALTY if bonus is None else np.ascontiguousarray(bonus, np.float32)
        if bonus is not None and (extra.shape != (self._frame_count,) or not np.isfinite(extra).all()):
            raise QueryError(f"a bonus must be [{self._frame_count}] finite numbers, got {extra.shape}", key="bonus")
        digest = hashlib.blake2b(np.packbits(wanted).tobytes(), digest_size=16)
        digest.update(np.packbits(going_on).tobytes())
        digest.update(extra.tobytes())
        key = digest.digest()
        found = self._masks.get(key)
        if found is None:
            chosen = np.nonzero(self._candidates & wanted)[0].astype(np.int32)
            shown = (wanted | going_on) & (self.whole.allowed != 0)
            penalty, best = penalties(extra, shown)
            gap = self._telling_gap if len(penalty) and self.candidate_count else np.inf
            method = narrowed_method(self.whole.method, self.feature_set, chosen, self.clip_starts, penalty, gap)
            found = FrameMask(self.whole.allowed * going_on, chosen, method, penalty, best)
            self._masks[key] = found
            kept = sum(mask.byte_count for mask in self._masks.values())
            while len(self._masks) > 1 and (len(self._masks) > _KEPT_MASKS or kept > _KEPT_BYTES):
                gone = self._masks.popitem(last=False)[1]
                kept -= gone.byte_count
                self._bounds = OrderedDict((k, entry) for k, entry in self._bounds.items() if entry[0] is not gone)
        else:
            self._masks.move_to_end(key)
        return found

    def search(
        self,
        queries: ArrayLike,
        *,
        current: ArrayLike | None = None,
        mask: FrameMask | None = None,
        weights: ArrayLike | None = None,
        bias: float = 0.0,
        surround_frames: int = 20,
        skips: NDArray[np.int64] | None = None,
    ) -> SearchResult:
        """Best frame for each of N queries.

        Where the current frame may go on being played (valid and in the mask), it wins unless a candidate costs less
        than it does minus ``bias``, and frames of its clip nearer than ``surround_frames`` are no candidates: going on
        already stands for them. Elsewhere the best candidate wins outright.

        Args:
            queries: float32 ``[N, D]`` (or ``[D]`` for one), raw: in metres, m/s and unit directions.
            current: int64 ``[N]``, frames now playing, -1 for none; None for none at all.
            mask: from :meth:`mask` of this index; None allows all frames.
            weights: float32 ``[G]`` in place of the schema's own, one a feature group. No rebuild.
            bias: what a jump costs more than going on.
            surround_frames: see above.
            skips: int64 ``[N, K, 2]``, ranges of frames that are no candidates for that query.

        Raises:
            QueryError: wrong shapes, values that are not finite, or a current frame out of range.
        """
        asked = query_rows(queries, self._dimension_count)
        count = asked.shape[0]
        playing = NONE_PLAYING if current is None and count == 1 else query_frames(current, count)
        frames = np.empty(count, np.int64)
        costs = np.empty((2, count), np.float32)
        bound = self._bind(mask, weights)
        status = bound.kernel(
            asked, playing, float(bias), int(surround_frames), query_skips(skips, count), *bound.arguments, frames,
            costs, self.tests,
        )  # fmt: skip
        if status >= 0:
            self._refuse(asked, playing, int(status))
        if mask is not None and mask.best_bonus != 0.0 and not len(mask.penalty):
            costs -= np.float32(mask.best_bonus)
        return SearchResult(frames, costs[0], costs[1])

    @cached_property
    def _telling_gap(self) -> float:
        return telling_gap(self.feature_set, self.whole.frames, lambda q, now: self.search(q, current=now).costs)

    def explain(self, query: ArrayLike, frame: int, weights: ArrayLike | None = None) -> dict[str, float]:
        """What a frame costs for a raw query ``[D]``, by feature group; the values add up to its cost."""
        asked = self._one_query(query)
        if not 0 <= frame < self._frame_count:
            raise QueryError(f"frame {frame} is outside the database's {self._frame_count} frames", frame=int(frame))
        row = self.feature_set.raw[frame].astype(np.float64)
        squares = ((row - asked.astype(np.float64)) * self.feature_set.coefficients(weights)) ** 2
        groups = self.feature_set.schema.groups
        return {group.name: float(squares[group.start : group.stop].sum()) for group in groups}

    def top(
        self,
        query: ArrayLike,
        k: int,
        *,
        current: int = -1,
        mask: FrameMask | None = None,
        weights: ArrayLike | None = None,
        surround_frames: int = 20,
        separation_frames: int = 1,
    ) -> list[Rival]:
        """The k best candidates for one query, best first, for explanations: by comparing all frames.

        Costs have the bonuses of the mask in them; the costs by group have not.

        Args:
            query: raw, ``[D]``.
            k: how many at most.
            current: as in :meth:`search`; it is not listed itself.
            mask, weights, surround_frames: as in :meth:`search`.
            separation_frames: of candidates in one clip that are nearer than this, only the best is listed.
        """
        from ambulo.matching.cost_kernels import candidate_costs

        asked = self._one_query(query)
        chosen = self.whole if mask is None else mask
        frames = chosen.frames
        costs = np.empty(frames.shape[0], np.float64)
        coefficients = self.feature_set.coefficients(weights)
        candidate_costs(self.feature_set.raw, frames, asked, coefficients, chosen.penalty, costs)
        costs -= chosen.best_bonus

        def close(frame: int, distance: int) -> None:
            """Take the frames of one clip that are nearer than this to one of its frames out of the race."""
            clip = int(np.searchsorted(self.clip_starts, frame, side="right")) - 1
            start = max(frame - distance + 1, int(self.clip_starts[clip]))
            stop = min(frame + distance, int(self.clip_stops[clip]))
            costs[np.searchsorted(frames, start) : np.searchsorted(frames, stop)] = np.inf

        if current >= 0 and chosen.allowed[current]:
            close(current, surround_frames)
        rivals: list[Rival] = []
        while len(rivals) < min(k, frames.shape[0]):
            # The first of equal ones is the lower frame.
            place = int(np.argmin(costs))
            cost, frame = float(costs[place]), int(frames[place])
            if cost == np.inf:
                break
            rivals.append(Rival(frame, cost, self.explain(asked, frame, weights)))
            close(frame, max(separation_frames, 1))
        return rivals

    def to_arrays(self) -> dict[str, Array]:
        """All that :meth:`from_arrays` needs besides the features, as arrays to store; equal indices, equal bytes."""
        arrays, rest = self.whole.method.to_arrays()
        description = json.dumps({"kind": self.kind, "rest": rest}, sort_keys=True)
        stored: dict[str, Array] = {
            "clip_starts": self.clip_starts,
            "clip_stops": self.clip_stops,
            "allowed": self.whole.allowed,
            "candidates": self._candidates.astype(np.uint8),
            "description": np.frombuffer(description.encode(), np.uint8),
            **{f"method.{name}": array for name, array in arrays.items()},
        }
        # Wide items first: in a file they then lie where a memory map can use them as they are.
        return dict(sorted(stored.items(), key=lambda item: -item[1].itemsize))

    @classmethod
    def from_arrays(cls, feature_set: FeatureSet, arrays: Mapping[str, Array]) -> SearchIndex:
        """Inverse of :meth:`to_arrays`; the arrays may be memory-mapped and are not copied.

        Raises:
            DatabaseError: an array is missing, or they are of another database.
        """
        try:
            arrays = {name: np.require(array, requirements=["C", "A", "W"]) for name, array in arrays.items()}
            description = json.loads(arrays["description"].tobytes())
            candidates = arrays["candidates"].astype(bool)
            own = {name.removeprefix("method."): array for name, array in arrays.items() if name.startswith("method.")}
            frames = np.nonzero(candidates)[0].astype(np.int32)
            method = method_from_arrays(description["kind"], feature_set, frames, own, description["rest"])
            whole = FrameMask(arrays["allowed"], frames, method)
            if candidates.shape[0] != feature_set.frame_count:
                raise ValueError(f"{candidates.shape[0]} frames indexed, {feature_set.frame_count} in the features")
            return cls(feature_set, arrays["clip_starts"], arrays["clip_stops"], whole, candidates)
        except (KeyError, TypeError, ValueError) as error:
            raise DatabaseError(
                f"the search index cannot be read: {error}", remedy="build the database again"
            ) from None

    def _bind(self, mask: FrameMask | None, weights: ArrayLike | None) -> Bound:
        """A mask's kernel and its arguments for some weights, from a cache: a search repeats both."""
        chosen = self.whole if mask is None else mask
        key = (id(chosen), None if weights is None else np.asarray(weights, np.float32).tobytes())
        found = self._bounds.get(key)
        if found is not None and found[0] is chosen:
            return found[1]
        if chosen.allowed.shape[0] != self._frame_count:
            raise QueryError("the mask was made by another index", key="mask")
        coefficients = self.feature_set.coefficients(weights)
        shared = Shared(
            *(self.feature_set.raw, coefficients, chosen.allowed, self.clip_starts, self.clip_stops),
            chosen.searched_penalty,
        )
        bound = chosen.method.bind(shared, weights)
        self._bounds[key] = (chosen, bound)
        if len(self._bounds) > _KEPT_WEIGHTS:
            self._bounds.popitem(last=False)
        return bound

    def _checked_mask(self, frames: ArrayLike) -> NDArray[np.bool_]:
        wanted = np.asarray(frames)
        if wanted.dtype != np.bool_ or wanted.shape != (self._frame_count,):
            raise QueryError(
                f"a mask must be bool [{self._frame_count}], got {wanted.dtype} {list(wanted.shape)}", key="mask"
            )
        return wanted

    def _one_query(self, query: ArrayLike) -> NDArray[np.float32]:
        asked = query_rows(query, self._dimension_count)
        if asked.shape[0] != 1:
            raise QueryError(f"one query is expected, got {asked.shape[0]}", key="query")
        if not np.isfinite(asked).all():
            self._refuse(asked, NONE_PLAYING, int(np.argmin(np.isfinite(asked[0]))))
        only: NDArray[np.float32] = asked[0]
        return only

    def _refuse(self, queries: Array, current: Array, status: int) -> NoReturn:
        query, place = divmod(status, self._dimension_count + 1)
        if place == self._dimension_count:
            raise QueryError(
                f"the current frame {current[query]} of query {query} is outside the database's "
                f"{self._frame_count} frames",
                frame=int(current[query]),
                remedy="pass -1 where nothing is playing",
            )
        name = self.feature_set.schema.dimension_names[place]
        raise QueryError(f"{name!r} of query {query} is {queries[query, place]}", key=name, remedy="queries are finite")

"""How the frames of a database are searched: weights and bias of each kind of search, and what a frame costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from ambulo.control.explanation import Candidate
from ambulo.control.frame_sets import FrameSet
from ambulo.control.intent import Intent, Tags
from ambulo.control.missing import Missing
from ambulo.control.settings import SearchSettings
from ambulo.database.annotation_settings import NO_TRANSITION
from ambulo.database.range_algebra import mask_to_ranges, split
from ambulo.errors import ControlError, QueryError, nearest_names

if TYPE_CHECKING:
    from ambulo.database.database import Database
    from ambulo.matching.features import FeatureSet
    from ambulo.matching.index import SearchIndex


class FrameSearch:
    """The searches of one controller.

    Args:
        database: built, or made in memory.
        index: of its features.
        settings: bias, emphasis of an impatient search, surroundings.
        weights: float32 ``[G]``, one a feature group.
        pose_emphasis: what the weights of joint features are multiplied by.
        missing: what was passed over.
    """

    def __init__(
        self,
        database: Database,
        index: SearchIndex,
        settings: SearchSettings,
        weights: NDArray[np.float32],
        pose_emphasis: float,
        missing: Missing,
    ) -> None:
        self.missing = missing
        self.index = index
        self.schema = index.feature_set.schema
        self.weights = weights
        self.surround_frames = round(settings.surround * database.rate)
        self._channels = [group.channel for group in self.schema.groups if group.channel]
        self._database = database
        self._bias = settings.bias
        weights = weights * _trust(index.feature_set, settings)
        of_pose = np.array([group.joint >= 0 for group in self.schema.groups])
        self.pose_coefficients: NDArray[np.float64] = index.feature_set.coefficients(np.where(of_pose, weights, 0.0))
        """Weight over scale of the dimensions that describe the pose, 0 for all others; ``[D]``."""
        own = (weights * np.where(of_pose, pose_emphasis, 1.0)).astype(np.float32)
        # None for the schema's own weights, for which the index is fastest.
        self._usual_weights = None if np.array_equal(own, self.schema.weights) else own
        self._eager_weights = (own * np.where(of_pose, 1.0, settings.impatient_emphasis)).astype(np.float32)

    def search(
        self,
        frame_set: FrameSet,
        queries: NDArray[np.float32],
        current: NDArray[np.int64],
        eager: NDArray[np.bool_],
        skips: NDArray[np.int64] | None = None,
        numbers: Tags = (),
    ) -> NDArray[np.int64]:
        """The frame for each query, under the rules of its kind."""
        found = np.empty_like(current)
        for kind in (False, True):
            chosen = eager == kind
            if chosen.all():
                found = self._search_alike(frame_set, queries, current, kind, skips, numbers)
            elif chosen.any():
                own = None if skips is None else skips[chosen]
                found[chosen] = self._search_alike(frame_set, queries[chosen], current[chosen], kind, own, numbers)
        lost = found < 0
        if lost.any() and skips is not None:
            # There is nothing but what was just left: better that than nothing.
            found[lost] = self.search(frame_set, queries[lost], current[lost], eager[lost], None, numbers)
        elif lost.any():
            _raise_no_frame(frame_set, self._database)
        return found

    def _search_alike(
        self,
        frame_set: FrameSet,
        queries: NDArray[np.float32],
        current: NDArray[np.int64],
        eager: bool,
        skips: NDArray[np.int64] | None,
        numbers: Tags,
    ) -> NDArray[np.int64]:
        return self.index.search(
            queries,
            current=current,
            mask=frame_set.mask,
            weights=self.weights_for(eager, numbers),
            bias=0.0 if eager else self._bias,
            surround_frames=self.surround_frames,
            skips=skips,
        ).frames

    def nearest(
        self,
        frame_set: FrameSet,
        queries: NDArray[np.float32],
        own: NDArray[np.int64],
        eager: bool,
        numbers: Tags,
        count: int,
        separation: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """The next best places after a character's own one, exactly, by one search for each.

        Args:
            frame_set: what may be shown.
            queries: float32 ``[n, D]``, raw.
            own: int64 ``[n]``, frames.
            eager, numbers: the kind of the search.
            count: K, places a query.
            separation: frames by which places in one clip are apart, and from the own one, at least.

        Returns:
            Frames int64 ``[n, K]``, best first, -1 where there are no more; their costs float64 ``[n, K]``; what the
            own frames cost, float64 ``[n]``.
        """
        weights = self.weights_for(eager, numbers)
        found = np.full((len(own), count), -1, np.int64)
        costs = np.full((len(own), count), np.inf)
        skips = np.zeros((len(own), count + 1, 2), np.int64)
        nobody = np.full(len(own), -1, np.int64)
        rows = self.index.feature_set.raw[own].astype(np.float64)
        own_costs = np.square((rows - queries) * self.index.feature_set.coefficients(weights)).sum(axis=1)
        if frame_set.mask is not None:
            own_costs -= [frame_set.mask.bonus(int(frame)) for frame in own]
        last = own
        for place in range(count):
            clips = np.searchsorted(self.index.clip_starts, last, side="right") - 1
            skips[:, place, 0] = np.maximum(last - separation + 1, self.index.clip_starts[clips])
            skips[:, place, 1] = np.minimum(last + separation, self.index.clip_stops[clips])
            skips[last < 0, place] = 0
            result = self.index.search(
                queries, current=nobody, mask=frame_set.mask, weights=weights,
                skips=np.ascontiguousarray(skips[:, : place + 1]),
            )  # fmt: skip
            last = found[:, place] = result.frames
            costs[:, place] = result.costs
            if (last < 0).all():
                break
        return found, costs, own_costs

    def weights_for(self, eager: bool, numbers: Tags) -> NDArray[np.float32] | None:
        """The weights of a search in which these numbers are asked: the others count nothing."""
        weights = self._eager_weights if eager else self._usual_weights
        unasked = [g for g, group in enumerate(self.schema.groups) if group.channel and group.channel not in numbers]
        if not unasked:
            return weights
        weights = self.weights.copy() if weights is None else weights.copy()
        weights[unasked] = 0.0
        return weights

    def ask_numbers(self, queries: NDArray[np.float32], intent: Intent, who: NDArray[np.int64]) -> Tags:
        """Write the wanted numbers into raw queries; returns the names of those that are compared.

        Raises:
            QueryError: one is not, and the intent does not pass over what is missing.
        """
        for name, values in intent.numbers.items():
            if name in self._channels:
                group = next(group for group in self.schema.groups if group.channel == name)
                queries[:, group.start] = values[who]
                continue
            error = QueryError(
                f"the number {name!r} is not compared; {nearest_names(name, self._channels)}",
                key="numbers",
                remedy=f'list it in the project: [[features]] kind = "number", channel = "{name}"; then build',
            )
            if intent.on_missing == "raise":
                raise error
            self.missing.tell(f"the number {name!r}", error)
        return tuple(name for name in self._channels if name in intent.numbers)

    def number_bits(self, numbers: Tags) -> int:
        """The numbers of a search, a bit each."""
        return sum(1 << place for place, name in enumerate(self._channels) if name in numbers)

    def numbers_of(self, bits: int) -> Tags:
        """Back from :meth:`number_bits`."""
        return tuple(name for place, name in enumerate(self._channels) if bits >> place & 1)

    def stillest_frame(self, frame_set: FrameSet) -> int:
        """The candidate that best fits standing still: its own pose, and a trajectory that goes nowhere."""
        features = self.index.feature_set
        still = np.zeros(self.schema.dimension_count, np.float32)
        counted = np.zeros(len(self.schema.groups), np.float32)
        for place, group in enumerate(self.schema.groups):
            counted[place] = 0.0 if group.kind in ("position", "number") else 1.0
            if group.kind == "trajectory_direction":
                still[group.start + 1 : group.stop : 2] = 1.0
        if not counted.any():
            counted[:] = 1.0
            still = features.mean
        found = self.index.search(still[None], current=np.array([-1]), mask=frame_set.mask, weights=counted)
        if found.frames[0] < 0:
            _raise_no_frame(frame_set, self._database)
        return int(found.frames[0])

    def candidate(
        self, query: NDArray[np.float32], frame: int, weights: NDArray[np.float32] | None, frame_set: FrameSet
    ) -> Candidate:
        costs = self.index.explain(query, frame, weights)
        bonus = 0.0 if frame_set.mask is None else frame_set.mask.bonus(frame)
        clip, time = self._database.locate(frame)
        return Candidate(
            frame=frame,
            clip=clip.name,
            time=time,
            cost=float(sum(costs.values())) - bonus,
            costs={name: float(cost) for name, cost in costs.items()},
            bonus=bonus,
        )


def _trust(features: FeatureSet, settings: SearchSettings) -> NDArray[np.float32]:
    """What the weight of each feature group is multiplied by, so that no spread counts as less than the settings say.

    Features are compared in units of their spread in the database. In takes that all go straight on, that of future
    directions is noise: a wish to turn would be a hundred times as far from every frame as two poses are from each
    other, and the search would chase the noise.
    """
    least = {
        "trajectory_position": settings.position_spread,
        "trajectory_velocity": settings.position_spread,
        "trajectory_direction": settings.direction_spread,
    }
    spreads = np.array([features.scale[group.start] for group in features.schema.groups])
    known = np.array([least.get(group.kind, 0.0) for group in features.schema.groups])
    trust: NDArray[np.float32] = (spreads / np.maximum(spreads, known)).astype(np.float32)
    return trust


def _raise_no_frame(frame_set: FrameSet, database: Database) -> NoReturn:
    """Refuse tags whose frames all lie where nothing can be jumped to: in no-transition zones, or at ends of clips."""
    asked = f" with {' and '.join(map(repr, frame_set.required))}" if frame_set.required else ""
    closed = frame_set.allowed & ~database.transition_ok
    if closed.any():
        there = mask_to_ranges(closed)
        pieces, _ = split(there, database.clip_starts, database.clip_stops)
        zones = []
        for start, stop in pieces[:3].tolist():
            clip, begin = database.locate(start)
            zones.append(f"{clip.name} from {begin:.2f} to {begin + (stop - start) / database.rate:.2f} s")
        more = f" and {len(pieces) - 3} more" if len(pieces) > 3 else ""
        rest = int(np.count_nonzero(frame_set.allowed & ~closed))
        what = "all of them" if not rest else f"all but {rest}, which lie at the ends of clips,"
        raise ControlError(
            f"no frame{asked} can be jumped to: {what} lie in {NO_TRANSITION} ({', '.join(zones)}{more})",
            key="required_tags",
            remedy=f"let the {NO_TRANSITION} range begin later or stop earlier, so that there is where to land",
        )
    raise ControlError(
        f"no frame{asked} can be jumped to: the clips are too short, or what may be shown lies at their ends",
        key="required_tags",
        remedy="add longer clips" + (", or ask for fewer tags" if asked else ""),
    )

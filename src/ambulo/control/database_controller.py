"""What the controllers that play a database share: the wish becomes a query, the query a frame.

The wish drives a *simulation object* by springs; its predicted trajectory and the present pose form the query; the
search says whether to jump and where to. What is shown then is up to the controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.control.appointments import Appointments
from ambulo.control.commitments import NOBODY, Commitments, no_commitments
from ambulo.control.controller import generator_of, start_arrays
from ambulo.control.explanation import Candidate, Explanation
from ambulo.control.frame_sets import FrameSet, FrameSets
from ambulo.control.intent import Intent, Tags
from ambulo.control.kernel_arrays import FrameArrays, Planned, Playing, PoseArrays, Shown, Ties, Wishes, empty_plan
from ambulo.control.memory import Memory, blank_memory
from ambulo.control.player_state import PlayerState as PlayerState
from ambulo.control.pose import Pose
from ambulo.control.query_layout import query_layout
from ambulo.control.settings import ControlSettings
from ambulo.control.simulation_object import simulation_pose, start_simulation
from ambulo.control.step_checks import check_state, check_step, raise_foreign_state, raise_not_finite
from ambulo.errors import ControlError, QueryError, nearest_names
from ambulo.motion.skeleton import Skeleton

if TYPE_CHECKING:
    from ambulo.database.database import Database
    from ambulo.matching.index import SearchIndex

NOWHERE = np.zeros(0, np.bool_)

_Self = TypeVar("_Self", bound="DatabaseController")


class Plan(NamedTuple):
    """What a step decides before anything is shown; fields as in :class:`PlayerState` where they have the same name.

    Attributes:
        planned: what the kernel found out.
        jump: int64 ``[N]``, frame to jump to, -1 to go on.
        transitioned: bool ``[N]``.
        stops: int64 ``[N]``, where each character's run ends.
        memory, commitments: after the step.
        groups: characters of equal tags and their frames.
    """

    planned: Planned
    query: NDArray[np.float32]
    query_frame: NDArray[np.int64]
    chosen_frame: NDArray[np.int64]
    tag_set: NDArray[np.int64]
    eager: NDArray[np.bool_]
    jump: NDArray[np.int64]
    transitioned: NDArray[np.bool_]
    stops: NDArray[np.int64]
    memory: Memory
    commitments: Commitments
    groups: list[tuple[NDArray[np.int64], FrameSet]]


class DatabaseController:
    """Base of the controllers that play a database.

    Args:
        database: built, or made in memory.
        index: exact search over features of that database.
        settings: springs, search and tags.
        weights: one a feature group in place of the schema's own.
        interval: seconds between two searches while the wish stays.
        minimum_run: seconds that a candidate can be played at least.
        patience: seconds of disobedience after which a search puts the trajectory first.
        pose_emphasis: what the weights of joint features are multiplied by in a search.
    """

    state_kind: type[PlayerState] = PlayerState
    """What :meth:`start` returns."""

    def __init__(
        self,
        database: Database,
        index: SearchIndex,
        settings: ControlSettings,
        weights: ArrayLike | None,
        *,
        interval: float,
        minimum_run: float,
        patience: float,
        pose_emphasis: float = 1.0,
    ) -> None:
        from ambulo.control import query_kernels

        if index.feature_set.frame_count != database.frame_count:
            raise QueryError(
                f"the index is of {index.feature_set.frame_count} frames, the database has {database.frame_count}",
                key="index",
                remedy="build the index from the features of this database",
            )
        self.database = database
        self.index = index
        self.settings = settings
        self.interval = interval
        self.schema = index.feature_set.schema
        self.weights = self.schema.checked_weights(weights)
        self.patience = patience
        self.pose_emphasis = pose_emphasis
        self._set_search_weights()
        self.frame_sets = FrameSets(database, index, settings.search, minimum_run)
        self._query_kernels = query_kernels
        self._features = np.ascontiguousarray(index.feature_set.raw, np.float32)
        # Plain arrays of the memory maps: a kernel would look at a map's class anew in every call.
        self._frames = FrameArrays(*(np.asarray(getattr(database, name)) for name in FrameArrays._fields))
        self._parents = np.ascontiguousarray(database.skeleton.parents, np.int32)
        self._constants = settings.simulation.constants()
        search = settings.search
        self._limits = np.array([search.velocity_change, search.facing_change, interval, patience])
        self._layout = query_layout(self.schema)
        self._surround_frames = round(settings.search.surround * database.rate)
        self._brief_frames = round(search.memory_brief * database.rate)
        self._margin_frames = round(search.memory_margin * database.rate)
        self._free = NOWHERE if database.transition_ok.all() else database.transition_ok
        self._appointments = Appointments(self)
        self._everyone: dict[int, NDArray[np.int64]] = {}

    @property
    def skeleton(self) -> Skeleton:
        """The database's skeleton."""
        return self.database.skeleton

    @property
    def trajectory_times(self) -> NDArray[np.float64]:
        """Seconds ahead of the K points of ``Pose.trajectory_positions``, float64 ``[K]``."""
        return self._layout.times

    def with_weights(self: _Self, weights: Mapping[str, float]) -> _Self:
        """The same controller with some feature groups weighted otherwise.

        Raises:
            QueryError: a name is not a feature group, or a weight is negative or not finite.
        """
        names = [group.name for group in self.schema.groups]
        values = self.weights.copy()
        for name, weight in weights.items():
            if name not in names:
                raise QueryError(f"no feature group {name!r}; {nearest_names(str(name), names)}", key=str(name))
            try:
                values[names.index(name)] = weight
            except (TypeError, ValueError):
                raise QueryError(f"the weight of {name!r} is {weight!r}, not a number", key=name) from None
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.weights = self.schema.checked_weights(values)
        other._set_search_weights()
        return other

    def _start(self, count: int, seed: int, position: ArrayLike | None, facing: ArrayLike | None) -> PlayerState:
        """N characters that stand, in the database's stillest pose."""
        positions, rotations = start_arrays(count, position, facing)
        heading = 2.0 * np.arctan2(rotations[:, 1], rotations[:, 3]).astype(np.float64)
        root = np.column_stack([positions.astype(np.float64), heading, np.zeros((count, 2))])
        frame_set = self.frame_sets.of((), ())
        still = self._stillest_frame(frame_set)
        timer = generator_of(seed).uniform(0.0, self.interval, count)
        timer[0] = 0.0
        frames = np.full(count, still, np.int64)
        return PlayerState(
            playhead=frames.astype(np.float64),
            timer=timer,
            wish=np.column_stack([np.zeros((count, 2)), heading]),
            impatience=np.zeros(count),
            root=root,
            simulation=start_simulation(positions, heading),
            query=np.repeat(self._features[still][None], count, axis=0),
            query_frame=frames,
            chosen_frame=frames,
            tag_set=np.full(count, frame_set.key, np.int64),
            eager=np.zeros(count, np.bool_),
            arriving=np.zeros(count, np.bool_),
            memory=blank_memory(frames),
            commitments=no_commitments(count),
        )

    def _plan(self, state: PlayerState, intent: Intent, dt: float) -> Plan:
        """Move the simulation objects, decide who searches, and search."""
        check_state(state, self.state_kind, self.schema.dimension_count, "query")
        count = len(state.playhead)
        check_step(count, intent, dt)
        planned = empty_plan(count, len(self._layout.times), self.schema.dimension_count)
        jump, transitioned = np.full(count, -1, np.int64), np.zeros(count, np.bool_)
        query, query_frame, chosen_frame, tag_set = state.query, state.query_frame, state.chosen_frame, state.tag_set
        eager = state.eager
        playing = Playing(*(getattr(state, name) for name in Playing._fields))
        commitments, busy, entered = self._appointments.before(state, intent, dt)
        ties = Ties(commitments.stop, busy, self._free)
        stops = np.empty(count, np.int64)
        groups, jumped = [], []
        for required, preferred, members in intent.groups():
            frame_set = self.frame_sets.of(required, preferred)
            who = self._all(count) if members is None else members
            groups.append((who, frame_set))
            searching = self._query_kernels.plan(
                who, Wishes(intent.velocity, intent.facing), playing, ties, frame_set.run_stops, self._features,
                self._layout, self._constants, self._limits, dt * self.database.rate, dt, planned,
            )  # fmt: skip
            if searching < -count:
                raise_foreign_state()
            if searching < 0:
                raise_not_finite(-1 - searching)
            if (searching or len(entered)) and query is state.query:
                query, query_frame = query.copy(), query_frame.copy()
                chosen_frame, tag_set, eager = chosen_frame.copy(), tag_set.copy(), eager.copy()
            if searching:
                seekers = who if searching == len(who) else who[planned.due[who]]
                asked, leaving = planned.query[seekers], planned.current[seekers]
                self._ask_numbers(asked, intent, seekers)
                hurried = planned.eager[seekers]
                skips = state.memory.skips(seekers, self.settings.search.memory)
                found = self._search(frame_set, asked, leaving, hurried, skips, tuple(intent.numbers))
                transitioned[seekers] = found != leaving
                jump[seekers] = np.where(found == leaving, -1, found)
                query[seekers], query_frame[seekers] = asked, leaving
                chosen_frame[seekers], tag_set[seekers], eager[seekers] = found, frame_set.key, hurried
                jumped.append(seekers[found != leaving])
            own = entered[np.isin(entered, who)] if len(entered) else entered
            if len(own):
                jump[own] = self._appointments.entries(commitments, own)
                transitioned[own], eager[own] = True, False
                query_frame[own], chosen_frame[own], tag_set[own] = -1, jump[own], frame_set.key
                jumped.append(own)
            start = np.where(jump[who] >= 0, jump[who], state.playhead[who].astype(np.int64))
            stops[who] = np.maximum(frame_set.run_stops[start], commitments.stop[who])
        movers = np.concatenate(jumped) if jumped else NOBODY
        left = state.playhead[movers].astype(np.int64)
        memory = state.memory.later(dt, movers, left, jump[movers], self._margin_frames, self._brief_frames)
        transitioned |= state.arriving
        return Plan(
            planned, query, query_frame, chosen_frame, tag_set, eager, jump, transitioned, stops, memory, commitments,
            groups,
        )  # fmt: skip

    def _state_after(self, plan: Plan, shown: Shown, dt: float) -> PlayerState:
        """What is remembered of a step."""
        planned = plan.planned
        return PlayerState(
            shown.playhead, planned.timer, planned.wish, planned.impatience, shown.root, planned.simulation, plan.query,
            plan.query_frame, plan.chosen_frame, plan.tag_set, plan.eager, np.zeros(len(shown.playhead), np.bool_),
            plan.memory, self._appointments.after(plan.commitments, dt, shown.playhead),
        )  # fmt: skip

    def _pose_after(self, plan: Plan, shown: Shown, arrays: PoseArrays) -> Pose:
        """What is shown after a step."""
        position, rotation = simulation_pose(plan.planned.simulation)
        return Pose.of_arrays(
            arrays,
            contacts=shown.contacts,
            transitioned=plan.transitioned,
            frames=shown.frames,
            trajectory_positions=plan.planned.trajectory_positions,
            trajectory_directions=plan.planned.trajectory_directions,
            simulation_position=position,
            simulation_rotation=rotation,
            animated_positions=arrays.global_positions,
        )

    @property
    def features(self) -> NDArray[np.float32]:
        """Raw features of all frames, float32 ``[F, D]``."""
        return self._features

    @property
    def pose_coefficients(self) -> NDArray[np.float64]:
        """Weight over scale of the dimensions that describe the pose, 0 for all others; float64 ``[D]``."""
        of_pose = np.array([group.joint >= 0 for group in self.schema.groups])
        return self.index.feature_set.coefficients(np.where(of_pose, self.weights, 0.0))

    def run_stops_of(self, intent: Intent, character: int) -> NDArray[np.int64]:
        """Where runs end for what a character is asked, int64 ``[F]``."""
        for required, preferred, members in intent.groups():
            if members is None or character in members:
                return self.frame_sets.of(required, preferred).run_stops
        raise ControlError(f"character {character} of {intent.count}", key="character")

    def explain(self, state: PlayerState, character: int = 0) -> Explanation:
        """Why a character shows what it shows: its last search again, with costs by feature group."""
        check_state(state, self.state_kind, self.schema.dimension_count, "query")
        if not 0 <= character < len(state.playhead):
            raise ControlError(f"character {character} of {len(state.playhead)}", key="character")
        frame_set = self.frame_sets.of_key(state.tag_set[character]) or self.frame_sets.of((), ())
        query = state.query[character]
        chosen, continuing = int(state.chosen_frame[character]), int(state.query_frame[character])
        if not max(chosen, continuing) < self.database.frame_count:
            raise_foreign_state()
        weights = self._weights_for(bool(state.eager[character]), ())
        rivals = self.index.top(
            query, 2, current=continuing, mask=frame_set.mask, weights=weights,
            surround_frames=self._surround_frames,
        )  # fmt: skip
        others = [int(rival.frame) for rival in rivals if int(rival.frame) != chosen]
        if chosen == continuing and not others:
            others = [int(rival.frame) for rival in rivals][:1]
        return Explanation(
            winner=self._candidate(query, chosen, weights, frame_set),
            runner_up=self._candidate(query, others[0], weights, frame_set) if others else None,
            continuing=self._candidate(query, continuing, weights, frame_set) if continuing >= 0 else None,
            required_tags=frame_set.required,
            preferred_tags=frame_set.preferred,
            candidate_count=frame_set.candidate_count,
            filtered=dict(frame_set.filtered),
            age=float(self.interval - state.timer[character]),
        )

    def _set_search_weights(self) -> None:
        """The weights that searches use; None where they are the schema's own, for which the index is fastest."""
        of_pose = np.array([group.joint >= 0 for group in self.schema.groups])
        weights = (self.weights * np.where(of_pose, self.pose_emphasis, 1.0)).astype(np.float32)
        self._search_weights = None if np.array_equal(weights, self.schema.weights) else weights
        hurry = self.settings.search.impatient_emphasis
        self._eager_weights = (weights * np.where(of_pose, 1.0, hurry)).astype(np.float32)

    def _candidate(
        self, query: NDArray[np.float32], frame: int, weights: NDArray[np.float32] | None, frame_set: FrameSet
    ) -> Candidate:
        costs = self.index.explain(query, frame, weights)
        bonus = 0.0 if frame_set.mask is None else frame_set.mask.bonus(frame)
        clip, time = self.database.locate(frame)
        return Candidate(
            frame=frame,
            clip=clip.name,
            time=time,
            cost=float(sum(costs.values())) - bonus,
            costs={name: float(cost) for name, cost in costs.items()},
            bonus=bonus,
        )

    def _search(
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
            found[lost] = self._search(frame_set, queries[lost], current[lost], eager[lost], None, numbers)
        elif lost.any():
            _raise_no_frame(frame_set)
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
            weights=self._weights_for(eager, numbers),
            bias=0.0 if eager else self.settings.search.bias,
            surround_frames=self._surround_frames,
            skips=skips,
        ).frames

    def _weights_for(self, eager: bool, numbers: Tags) -> NDArray[np.float32] | None:
        """The weights of a search in which these numbers are asked: the others count nothing."""
        weights = self._eager_weights if eager else self._search_weights
        unasked = [g for g, group in enumerate(self.schema.groups) if group.channel and group.channel not in numbers]
        if not unasked:
            return weights
        weights = self.weights.copy() if weights is None else weights.copy()
        weights[unasked] = 0.0
        return weights

    def _ask_numbers(self, queries: NDArray[np.float32], intent: Intent, who: NDArray[np.int64]) -> None:
        """Write the wanted numbers into raw queries."""
        for name, values in intent.numbers.items():
            groups = [group for group in self.schema.groups if group.channel == name]
            if not groups:
                known = [group.channel for group in self.schema.groups if group.channel]
                raise QueryError(
                    f"the number {name!r} is not compared; {nearest_names(name, known)}",
                    key="numbers",
                    remedy=f'list it in the project: [[features]] kind = "number", channel = "{name}"; then build',
                )
            queries[:, groups[0].start] = values[who]

    def _stillest_frame(self, frame_set: FrameSet) -> int:
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
            _raise_no_frame(frame_set)
        return int(found.frames[0])

    def _all(self, count: int) -> NDArray[np.int64]:
        everyone = self._everyone.get(count)
        if everyone is None:
            everyone = self._everyone[count] = np.arange(count)
        return everyone


def _raise_no_frame(frame_set: FrameSet) -> NoReturn:
    """Refuse tags whose frames all lie in the margins at the ends of clips, where the index has no candidates."""
    asked = f" with {' and '.join(map(repr, frame_set.required))}" if frame_set.required else ""
    raise ControlError(
        f"no frame{asked} can be jumped to: the clips are too short, or what may be shown lies at their ends",
        key="required_tags",
        remedy="add longer clips" + (", or ask for fewer tags" if asked else ""),
    )

"""What the controllers that play a database share: the wish becomes a query, the query a frame.

The wish drives a *simulation object* by springs; its predicted trajectory and the present pose form the query; the
search says whether to jump and where to. What is shown then is up to the controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.control.appointments import Appointments
from ambulo.control.commitments import NOBODY, Commitments, no_commitments
from ambulo.control.controller import generator_of, start_arrays
from ambulo.control.explanation import Explanation
from ambulo.control.frame_search import FrameSearch
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
    numbers: NDArray[np.int64]
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
        self.frame_search = FrameSearch(database, index, settings.search, self.weights, pose_emphasis)
        self.frame_sets = FrameSets(database, index, settings.search, minimum_run)
        self._query_kernels = query_kernels
        self._features = np.ascontiguousarray(index.feature_set.raw, np.float32)
        # Plain arrays of the memory maps: a kernel would look at a map's class anew in every call.
        self._frames = FrameArrays(*(np.asarray(getattr(database, name)) for name in FrameArrays._fields))
        self._parents = np.ascontiguousarray(database.skeleton.parents, np.int32)
        self._constants = settings.simulation.constants()
        search = settings.search
        self._limits = np.array([search.velocity_change, search.facing_change, interval, patience, search.rest_speed])
        self._layout = query_layout(self.schema)
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
        other.frame_search = FrameSearch(
            self.database, self.index, self.settings.search, other.weights, self.pose_emphasis
        )
        return other

    def start(
        self, count: int = 1, seed: int = 0, position: ArrayLike | None = None, facing: ArrayLike | None = None
    ) -> Any:
        """See :meth:`Controller.start`."""
        raise NotImplementedError

    def step(self, state: Any, intent: Intent, dt: float) -> tuple[Any, Pose]:
        """See :meth:`Controller.step`."""
        raise NotImplementedError

    def _start(self, count: int, seed: int, position: ArrayLike | None, facing: ArrayLike | None) -> PlayerState:
        """N characters that stand, in the database's stillest pose."""
        positions, rotations = start_arrays(count, position, facing)
        heading = 2.0 * np.arctan2(rotations[:, 1], rotations[:, 3]).astype(np.float64)
        root = np.column_stack([positions.astype(np.float64), heading, np.zeros((count, 2))])
        frame_set = self.frame_sets.of((), ())
        still = self.frame_search.stillest_frame(frame_set)
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
            numbers=np.zeros(count, np.int64),
            arriving=np.zeros(count, np.bool_),
            memory=blank_memory(frames),
            commitments=no_commitments(count),
        )

    def arrive(self, state: PlayerState, before: DatabaseController, intent: Intent) -> PlayerState:
        """Characters of another controller that go on here: where they are, in the pose most like the one they are in.

        Args:
            state: of ``before``; not changed.
            before: what they were played by, of the same skeleton; it need not play the same database.
            intent: what they are asked next.

        Raises:
            QueryError: this database has nothing with the required tags.
        """
        count = len(state.playhead)
        same = [(g.name, g.size) for g in before.schema.groups] == [(g.name, g.size) for g in self.schema.groups]
        frames = np.empty(count, np.int64)
        query = np.repeat(self._features[:1], count, axis=0)
        tag_set = np.empty(count, np.int64)
        for required, preferred, members in intent.groups():
            frame_set = self.frame_sets.of(required, preferred)
            who = self._all(count) if members is None else members
            tag_set[who] = frame_set.key
            if same:
                # The pose that was shown, and the future that was last asked for.
                query[who] = state.query[who]
                shown = before.features[np.minimum(state.playhead[who].astype(np.int64), len(before.features) - 1)]
                of_pose = np.flatnonzero(before.pose_coefficients)
                query[np.ix_(who, of_pose)] = shown[:, of_pose]
                nobody = np.full(len(who), -1, np.int64)
                frames[who] = self.frame_search.search(frame_set, query[who], nobody, np.zeros(len(who), np.bool_))
            else:
                frames[who] = self.frame_search.stillest_frame(frame_set)
                query[who] = self._features[frames[who]]
        arrived = PlayerState(
            playhead=frames.astype(np.float64), timer=np.full(count, self.interval), wish=state.wish.copy(),
            impatience=np.zeros(count), root=state.root.copy(), simulation=state.simulation.copy(), query=query,
            query_frame=np.full(count, -1, np.int64), chosen_frame=frames, tag_set=tag_set,
            eager=np.zeros(count, np.bool_), numbers=np.zeros(count, np.int64),
            arriving=np.ones(count, np.bool_), memory=blank_memory(frames), commitments=no_commitments(count),
        )  # fmt: skip
        return self._own(arrived)

    def _own(self, state: PlayerState) -> PlayerState:
        """The state as this controller's kind."""
        return state

    def _plan(self, state: PlayerState, intent: Intent, dt: float) -> Plan:
        """Move the simulation objects, decide who searches, and search."""
        check_state(state, self.state_kind, self.schema.dimension_count, "query")
        count = len(state.playhead)
        check_step(count, intent, dt)
        planned = empty_plan(count, len(self._layout.times), self.schema.dimension_count)
        jump, transitioned = np.full(count, -1, np.int64), np.zeros(count, np.bool_)
        query, query_frame, chosen_frame, tag_set = state.query, state.query_frame, state.chosen_frame, state.tag_set
        eager, numbers = state.eager, state.numbers
        playing = Playing(*(getattr(state, name) for name in Playing._fields))
        commitments, busy, entered = self._appointments.before(state, intent, dt)
        ties = Ties(commitments.stop, busy, self._free)
        groups, jumped = [], []
        for required, preferred, members in intent.groups():
            frame_set = self.frame_sets.of(required, preferred)
            who = self._all(count) if members is None else members
            groups.append((who, frame_set))
            # Something else is asked than what was last searched for, or a number, which may have changed.
            other = (state.tag_set if members is None else state.tag_set[who]) != frame_set.key
            if intent.numbers or other.any():
                asks = (busy[who] == 0) & (other | bool(intent.numbers))
                busy[who[asks]] = 3
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
                numbers = numbers.copy()
            if searching:
                seekers = who if searching == len(who) else who[planned.due[who]]
                asked, leaving = planned.query[seekers], planned.current[seekers]
                self.frame_search.ask_numbers(asked, intent, seekers)
                hurried = planned.eager[seekers]
                skips = state.memory.skips(seekers, self.settings.search.memory)
                found = self.frame_search.search(frame_set, asked, leaving, hurried, skips, tuple(intent.numbers))
                transitioned[seekers] = found != leaving
                jump[seekers] = np.where(found == leaving, -1, found)
                query[seekers], query_frame[seekers] = asked, leaving
                chosen_frame[seekers], tag_set[seekers], eager[seekers] = found, frame_set.key, hurried
                numbers[seekers] = self.frame_search.number_bits(intent)
                jumped.append(seekers[found != leaving])
            own = entered[np.isin(entered, who)] if len(entered) else entered
            if len(own):
                jump[own] = self._appointments.entries(commitments, own)
                transitioned[own], eager[own] = True, False
                query_frame[own], chosen_frame[own], tag_set[own] = -1, jump[own], frame_set.key
                jumped.append(own)
        start = np.where(jump >= 0, jump, state.playhead.astype(np.int64))
        if len(groups) == 1:
            stops = np.maximum(groups[0][1].run_stops[start], commitments.stop)
        else:
            stops = np.empty(count, np.int64)
            for who, frame_set in groups:
                stops[who] = np.maximum(frame_set.run_stops[start[who]], commitments.stop[who])
        memory = self._remember(state, jumped, jump, planned, dt)
        transitioned |= state.arriving
        return Plan(
            planned, query, query_frame, chosen_frame, tag_set, eager, numbers, jump, transitioned, stops, memory,
            commitments, groups,
        )  # fmt: skip

    def _remember(
        self, state: PlayerState, jumped: list[NDArray[np.int64]], jump: NDArray[np.int64], planned: Planned, dt: float
    ) -> Memory:
        """The memory after a step in which some jumped; whoever changes its mind too often searches later."""
        movers = np.concatenate(jumped) if jumped else NOBODY
        if not len(movers):
            return state.memory.older(dt)
        left = state.playhead[movers].astype(np.int64)
        if self.settings.search.dwell > 0.0:
            # Who changes its mind again and again keeps to the new choice for a while, or it never finishes a step.
            hasty = movers[state.memory.is_hasty(movers, left, self._brief_frames)]
            planned.timer[hasty] = np.maximum(planned.timer[hasty], self.settings.search.dwell)
        return state.memory.later(dt, movers, left, jump[movers], self._margin_frames, self._brief_frames)

    def _state_after(self, plan: Plan, shown: Shown, dt: float) -> PlayerState:
        """What is remembered of a step."""
        planned = plan.planned
        return PlayerState(
            shown.playhead, planned.timer, planned.wish, planned.impatience, shown.root, planned.simulation, plan.query,
            plan.query_frame, plan.chosen_frame, plan.tag_set, plan.eager, plan.numbers,
            np.zeros(len(shown.playhead), np.bool_), plan.memory,
            self._appointments.after(plan.commitments, dt, shown.playhead),
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

    def check_asked(self, required: Tags, event: str | None) -> None:
        """Refuse required tags, or the tag of an event, that this database cannot show.

        Raises:
            QueryError: it lacks them; the key is ``event`` where only the event is missing.
        """
        self.frame_sets.of(required, ())
        if event is not None:
            self._appointments.markers(event)

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
        numbers = self.frame_search.numbers_of(int(state.numbers[character]))
        weights = self.frame_search.weights_for(bool(state.eager[character]), numbers)
        rivals = self.index.top(
            query, 2, current=continuing, mask=frame_set.mask, weights=weights,
            surround_frames=self.frame_search.surround_frames,
        )  # fmt: skip
        others = [int(rival.frame) for rival in rivals if int(rival.frame) != chosen]
        if chosen == continuing and not others:
            others = [int(rival.frame) for rival in rivals][:1]
        return Explanation(
            winner=self.frame_search.candidate(query, chosen, weights, frame_set),
            runner_up=self.frame_search.candidate(query, others[0], weights, frame_set) if others else None,
            continuing=self.frame_search.candidate(query, continuing, weights, frame_set) if continuing >= 0 else None,
            required_tags=frame_set.required,
            preferred_tags=frame_set.preferred,
            candidate_count=frame_set.candidate_count,
            filtered=dict(frame_set.filtered),
            age=float(self.interval - state.timer[character]),
        )

    def _all(self, count: int) -> NDArray[np.int64]:
        everyone = self._everyone.get(count)
        if everyone is None:
            everyone = self._everyone[count] = np.arange(count)
        return everyone

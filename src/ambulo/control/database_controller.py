"""What the controllers that play a database share: the wish becomes a query, the query a frame.

The wish drives a *simulation object* by springs; its predicted trajectory and the present pose form the query; the
search says whether to jump and where to. What is shown then is up to the controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.control.commitments import no_commitments
from ambulo.control.controller import generator_of, start_arrays
from ambulo.control.explanation import Explanation
from ambulo.control.frame_search import FrameSearch
from ambulo.control.frame_sets import FrameSets
from ambulo.control.intent import Intent, Tags
from ambulo.control.kernel_arrays import FrameArrays, PoseArrays, Shown
from ambulo.control.memory import blank_memory
from ambulo.control.planner import Plan, Planner
from ambulo.control.player_state import PlayerState as PlayerState
from ambulo.control.pose import Pose
from ambulo.control.settings import ControlSettings
from ambulo.control.simulation_object import simulation_pose, start_simulation
from ambulo.control.step_checks import check_state, raise_foreign_state
from ambulo.errors import ControlError, QueryError, nearest_names
from ambulo.motion.skeleton import Skeleton

if TYPE_CHECKING:
    from ambulo.database.database import Database
    from ambulo.matching.index import SearchIndex

_Self = TypeVar("_Self", bound="DatabaseController")


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
        self.frame_sets = FrameSets(database, index, settings.search, minimum_run)
        self._features = np.ascontiguousarray(index.feature_set.raw, np.float32)
        # Plain arrays of the memory maps: a kernel would look at a map's class anew in every call.
        self._frames = FrameArrays(*(np.asarray(getattr(database, name)) for name in FrameArrays._fields))
        self._parents = np.ascontiguousarray(database.skeleton.parents, np.int32)
        self._weigh(self.weights)

    def _weigh(self, weights: NDArray[np.float32]) -> None:
        """Make all that depends on the weights."""
        self.weights = weights
        self.frame_search = FrameSearch(
            self.database, self.index, self.settings.search, weights, self.pose_emphasis, self.frame_sets.missing
        )
        self.planner = Planner(
            self.database, self._features, self.settings, self.frame_search, self.frame_sets,
            interval=self.interval, patience=self.patience,
        )  # fmt: skip
        self._constants = self.planner.rules.constants

    @property
    def skeleton(self) -> Skeleton:
        """The database's skeleton."""
        return self.database.skeleton

    @property
    def trajectory_times(self) -> NDArray[np.float64]:
        """Seconds ahead of the K points of ``Pose.trajectory_positions``, float64 ``[K]``."""
        return self.planner.rules.layout.times

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
        other._weigh(self.schema.checked_weights(values))
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
            frame_set = self.frame_sets.of(required, preferred, intent.on_missing)
            who = self.planner.all_of(count) if members is None else members
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

    def _plan(self, state: Any, intent: Intent, dt: float) -> Plan:
        check_state(state, self.state_kind, self.schema.dimension_count, "query")
        return self.planner.plan(state, intent, dt)

    def _state_after(self, plan: Plan, shown: Shown, dt: float) -> PlayerState:
        """What is remembered of a step."""
        planned = plan.planned
        return PlayerState(
            shown.playhead, planned.timer, planned.wish, planned.impatience, shown.root, planned.simulation, plan.query,
            plan.query_frame, plan.chosen_frame, plan.tag_set, plan.eager, plan.numbers,
            np.zeros(len(shown.playhead), np.bool_), plan.memory,
            self.planner.appointments.after(plan.commitments, dt, shown.playhead),
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
        return self.frame_search.pose_coefficients

    def check_asked(self, required: Tags, event: str | None) -> None:
        """Refuse required tags, or the tag of an event, that this database cannot show.

        Raises:
            QueryError: it lacks them; the key is ``event`` where only the event is missing.
        """
        self.frame_sets.of(required, ())
        if event is not None:
            self.planner.appointments.markers(event)

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
            passed_over=dict(frame_set.passed_over),
            age=float(self.interval - state.timer[character]),
        )

"""Learned motion matching at run time: three small networks in place of the database.

A character's state is its features and latents. Ten times a second, and whenever the wish changes, the *projector*
says where a search would land; the *stepper* plays on from frame to frame; the *decompressor* makes the pose. The wish,
the query, the simulation object, inertialization and foot lock are those of motion matching itself.

No torch is needed, and no database either: where one is given, frames are named after the nearest ones in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.control.controller import generator_of, start_arrays
from ambulo.control.explanation import Candidate, Explanation
from ambulo.control.intent import Intent
from ambulo.control.kernel_arrays import Pace, Playing, Reach, Rules, Ties, Wishes, empty_plan, empty_pose
from ambulo.control.missing import Missing
from ambulo.control.pose import Pose
from ambulo.control.query_layout import query_layout
from ambulo.control.settings import ControlSettings
from ambulo.control.simulation_object import simulation_pose, start_simulation
from ambulo.control.step_checks import check_state, check_step, raise_foreign_state, raise_not_finite
from ambulo.errors import ControlError, QueryError, nearest_names
from ambulo.learning.inference import Inference
from ambulo.learning.lmm_model import LmmModel
from ambulo.learning.lmm_names import FrameNames
from ambulo.learning.lmm_state import LmmSettings, LmmState
from ambulo.motion.skeleton import Skeleton

if TYPE_CHECKING:
    from ambulo.control.database_controller import DatabaseController
    from ambulo.control.player_state import PlayerState
    from ambulo.database.database import Database
    from ambulo.matching.index import SearchIndex

Float = NDArray[np.float32]


class LearnedMotionMatching:
    """A controller that plays a trained model.

    Args:
        model: trained.
        settings: springs and search.
        own: what learned motion matching adds to them.
        database: to name frames by.
        index: exact search over the features of that database.
    """

    def __init__(
        self,
        model: LmmModel,
        settings: ControlSettings | None = None,
        own: LmmSettings | None = None,
        *,
        database: Database | None = None,
        index: SearchIndex | None = None,
    ) -> None:
        from ambulo.control import query_kernels
        from ambulo.learning import lmm_kernels

        self.model = model
        self.settings = settings or ControlSettings()
        self.own = own or LmmSettings()
        self.schema = model.schema
        self._query_kernels, self._kernels = query_kernels, lmm_kernels
        self._missing = Missing("the model")
        self._decompressor = Inference(model.decompressor)
        self._stepper = Inference(model.stepper)
        self._projector = Inference(model.projector)
        self._mean, self._coefficients = model.feature_mean, model.feature_coefficients
        self._names = FrameNames(model, database, index, self.settings.search) if database and index else None
        search = self.settings.search
        self._constants = self.settings.simulation.constants()
        limits = [search.velocity_change, search.facing_change, search.interval, search.patience, search.rest_speed]
        self._layout = query_layout(self.schema)
        self._rules = Rules(self._layout, self._constants, np.array(limits))
        of_pose = [self.schema.groups[group].joint >= 0 for group in self.schema.group_of_dimension]
        self._hurry = np.where(of_pose, 1.0, search.impatient_emphasis**2).astype(np.float32)
        layout = model.layout
        self._parents = layout.parents
        self._blocks = np.array([block.start for block in layout.columns.values()], np.int64)
        self._places = np.full(layout.joint_count, -1, np.int64)
        self._places[layout.moving] = np.arange(len(layout.moving))
        self._width = len(model.start)
        self.toes = toe_joints(model.skeleton)

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton of the poses."""
        return self.model.skeleton

    @property
    def trajectory_times(self) -> NDArray[np.float64]:
        """Seconds ahead of the K points of ``Pose.trajectory_positions``, float64 ``[K]``."""
        return self._layout.times

    def with_weights(self, weights: Mapping[str, float]) -> LearnedMotionMatching:
        """The same controller: what a network was trained to find cannot be weighed otherwise afterwards.

        Raises:
            QueryError: a name is not a feature group.
            ControlError: a weight is another one than the schema's.
        """
        for name, weight in weights.items():
            names = [group.name for group in self.schema.groups]
            if name not in names:
                raise QueryError(f"no feature group {name!r}; {nearest_names(str(name), names)}", key=str(name))
            own = self.schema.groups[names.index(name)].weight
            if not np.isclose(float(weight), own):
                raise ControlError(
                    f"the weight of {name!r} was {own:g} when the networks were trained and cannot be {weight:g} now",
                    key=name,
                    remedy="change it in the project file, build and train again; or use motion matching",
                )
        return self

    def start(
        self, count: int = 1, seed: int = 0, position: ArrayLike | None = None, facing: ArrayLike | None = None
    ) -> LmmState:
        """N characters that stand, in the model's stillest pose. See :meth:`Controller.start`."""
        positions, rotations = start_arrays(count, position, facing)
        heading = 2.0 * np.arctan2(rotations[:, 1], rotations[:, 3]).astype(np.float64)
        interval = self.settings.search.interval
        timer = generator_of(seed).uniform(0.0, interval, count)
        timer[0] = 0.0
        values = np.repeat(self.model.start[None], count, axis=0)
        features = np.ascontiguousarray(values[:, : self.schema.dimension_count])
        return LmmState(
            values=values,
            timer=timer,
            wish=np.column_stack([np.zeros((count, 2)), heading]),
            impatience=np.zeros(count),
            root=np.column_stack([positions.astype(np.float64), heading, np.zeros((count, 2))]),
            simulation=start_simulation(positions, heading),
            since=np.zeros(count),
            dragged=np.zeros(count),
            toes=np.zeros((count, 2, 3)),
            query=features,
            landed=features,
            continuing=features,
            jumped=np.zeros(count, np.bool_),
            eager=np.zeros(count, np.bool_),
            playhead=np.full(count, -1.0) if self._names is None else self._names.nearest(self._raw(values)),
        )

    def arrive(self, state: PlayerState, before: DatabaseController, intent: Intent) -> LmmState:
        """Characters that motion matching has played go on here: where they are, from the pose that they are in.

        The first step projects in any case and says that it jumped, so that wrappers smooth the change.

        Args:
            state: of ``before``; not changed.
            before: what they were played by. Poses go on where it plays the database that frames are named by.
            intent: what they are asked next.
        """
        count = len(state.root)
        started = self.start(count)
        values = started.values
        if self._names is not None and before.database is self._names.database:
            raw = np.stack([self._names.raw(int(frame)) for frame in state.playhead])
            values = self._projector(np.ascontiguousarray((raw - self._mean) * self._coefficients, np.float32))
        return replace(
            started,
            values=values,
            timer=np.zeros(count),
            wish=state.wish.copy(),
            root=state.root.copy(),
            simulation=state.simulation.copy(),
            since=np.full(count, 2.0 * self.own.refresh),
        )

    def step(self, state: LmmState, intent: Intent, dt: float) -> tuple[LmmState, Pose]:
        """One step of N characters. See :meth:`Controller.step`.

        Raises:
            ControlError: shapes differ, a number is not finite, ``dt`` is not positive, or tags are asked for that the
                model was not trained on.
        """
        check_state(state, LmmState, self._width, "values")
        count, width = len(state.values), self.schema.dimension_count
        check_step(count, intent, dt)
        self._check_asked(intent)
        planned = empty_plan(count, len(self._layout.times), width)
        everyone = np.arange(count)
        # The plan reads the pose's features from the row that the playhead names: here, each character's own.
        playing = Playing(
            everyone.astype(np.float64), state.timer, state.wish, state.impatience, state.root, state.simulation
        )
        since = state.since + dt
        overdue = (since > self.own.latest) | (state.dragged > self.own.drag)
        searching = self._query_kernels.plan(
            everyone, Wishes(intent.velocity, intent.facing), playing, self._ties(overdue),
            Reach(np.full(count, count + 2, np.int64), self._raw(state.values)), self._rules, Pace(0.0, float(dt)),
            planned,
        )  # fmt: skip
        if searching < -count:
            raise_foreign_state()
        if searching < 0:
            raise_not_finite(-1 - searching)
        values = state.values
        transitioned = np.zeros(count, np.bool_)
        searched = {name: getattr(state, name) for name in ("query", "landed", "continuing", "jumped", "eager")}
        if searching:
            who = np.flatnonzero(planned.due)
            values = values.copy()
            query = (planned.query[who] - self._mean) * self._coefficients
            found = self._projector(query)
            going_on = state.values[who, :width]
            hurried = planned.eager[who]
            jumps = self._is_better(query, found[:, :width], going_on, hurried) | overdue[who]
            values[who[jumps]] = found[jumps]
            since[who[jumps]] = 0.0
            transitioned[who] = jumps
            fresh = {
                "query": query, "landed": found[:, :width], "continuing": going_on, "jumped": jumps, "eager": hurried,
            }  # fmt: skip
            for name, rows in fresh.items():
                searched[name] = searched[name].copy()
                searched[name][who] = rows
        rates = self._stepper(values)
        after = np.empty_like(values)
        self._kernels.step_on(values, rates, self.model.lowest, self.model.highest, dt, after)
        rows = self._decompressor(after)
        arrays = empty_pose(count, len(self._parents))
        root, contacts = np.empty((count, 6)), np.empty((count, 2), np.uint8)
        self._kernels.show(
            rows, self._blocks, self._places, self.model.layout.offsets, self._parents, state.root, planned.simulation,
            self._constants, dt, arrays, root, contacts,
        )  # fmt: skip
        landing = np.flatnonzero(transitioned)
        if len(landing):
            self._kernels.move_at_jumps(
                self._decompressor(values[landing]), landing, self._blocks, self._places, self._parents, dt, arrays
            )
        toes, dragged = np.empty((count, 2, 3)), np.empty(count)
        self._kernels.follow_toes(
            self.toes, arrays.global_positions, contacts, transitioned, state.toes, state.dragged, toes, dragged
        )
        playhead = state.playhead
        if self._names is not None:
            playhead = self._names.play_on(playhead, dt)
            # Anew also where other feet stand than in the frame so far: the stepper's time is not quite the clip's.
            unlike = planned.due | (self._names.contacts(playhead) != contacts).any(axis=1)
            if unlike.any():
                playhead[unlike] = self._names.nearest(self._raw(after[unlike]))
        position, rotation = simulation_pose(planned.simulation)
        pose = Pose.of_arrays(
            arrays,
            contacts=contacts,
            transitioned=transitioned,
            frames=np.rint(playhead).astype(np.int64),
            trajectory_positions=planned.trajectory_positions,
            trajectory_directions=planned.trajectory_directions,
            simulation_position=position,
            simulation_rotation=rotation,
            animated_positions=arrays.global_positions,
        )
        shown = LmmState(
            after, planned.timer, planned.wish, planned.impatience, root, planned.simulation, since, dragged, toes,
            **searched, playhead=playhead,
        )  # fmt: skip
        return shown, pose

    def explain(self, state: LmmState, character: int = 0) -> Explanation:
        """Why a character shows what it shows: the last projection, and what going on would have cost.

        The runner-up is what exact search would have found, where there is a database to search.
        """
        check_state(state, LmmState, self._width, "values")
        if not 0 <= character < len(state.values):
            raise ControlError(f"character {character} of {len(state.values)}", key="character")
        query = state.query[character]
        landed = self._candidate(query, state.landed[character])
        continuing = self._candidate(query, state.continuing[character])
        exact = None
        if self._names is not None:
            frame = int(self._names.nearest(query[None] / self._coefficients + self._mean)[0])
            features = (self._names.raw(frame) - self._mean) * self._coefficients
            exact = replace(self._candidate(query, features), frame=frame)
        return Explanation(
            winner=landed if state.jumped[character] else continuing,
            runner_up=exact,
            continuing=continuing,
            required_tags=tuple(self.model.manifest.tags),
            candidate_count=0 if self._names is None else self._names.candidate_count,
            filtered={},
            age=float(self.settings.search.interval - state.timer[character]),
        )

    def _candidate(self, query: Float, features: Float) -> Candidate:
        squares = np.square(query - features)
        costs = {group.name: float(squares[group.start : group.stop].sum()) for group in self.schema.groups}
        frame, clip, time = -1, "", 0.0
        if self._names is not None:
            frame = int(self._names.nearest(features[None] / self._coefficients + self._mean)[0])
            clip, time = self._names.locate(frame)
        return Candidate(frame, clip, time, float(squares.sum()), costs)

    def _is_better(self, query: Float, landed: Float, going_on: Float, hurried: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Where the projection beats going on: by the bias, or by anything at all where somebody is impatient."""
        weights = np.where(hurried[:, None], self._hurry, np.float32(1.0))
        cost = (np.square(query - landed) * weights).sum(axis=1)
        going = (np.square(query - going_on) * weights).sum(axis=1)
        better: NDArray[np.bool_] = cost + np.where(hurried, 0.0, self.settings.search.bias) < going
        return better

    def _raw(self, values: Float) -> Float:
        return np.asarray(values[:, : self.schema.dimension_count] / self._coefficients + self._mean, np.float32)

    def _ties(self, overdue: NDArray[np.bool_]) -> Ties:
        """Nobody is kept from searching, and who is due to be put back on the data does so even at rest."""
        busy = np.where(overdue, 3, 0).astype(np.uint8)
        return Ties(np.zeros(len(overdue), np.int64), busy, np.zeros(0, np.bool_))

    def _check_asked(self, intent: Intent) -> None:
        """Refuse what a model cannot do, or tell that it is passed over."""
        known = set(self.model.manifest.tags)
        foreign = sorted({tag for required, _, _ in intent.groups() for tag in required if tag not in known})
        if foreign:
            error = ControlError(
                f"the model was not trained to show {' and '.join(map(repr, foreign))} alone",
                key="required_tags",
                remedy=f"train one with `ambulo train lmm PROJECT --tags {foreign[0]}`, or use motion matching",
            )
            self._refuse(intent, " and ".join(map(repr, foreign)), error)
        for what, asked in (("event", any(intent.events())), ("numbers", bool(intent.numbers))):
            if asked:
                error = ControlError(
                    f"a trained model follows no {what.removesuffix('s')}s", key=what, remedy="use motion matching"
                )
                self._refuse(intent, what, error)

    def _refuse(self, intent: Intent, what: str, error: ControlError) -> None:
        if intent.on_missing == "raise":
            raise error
        self._missing.tell(what, error)


def toe_joints(skeleton: Skeleton) -> NDArray[np.int64]:
    """Left and right toe (the foot where there is no toe), int64 ``[2]``; none ``[0]`` where a leg ends in neither."""
    roles = skeleton.roles
    found = [roles.get(f"{side}_toe", roles.get(f"{side}_foot", -1)) for side in ("left", "right")]
    return np.array(found if min(found) >= 0 else [], np.int64)

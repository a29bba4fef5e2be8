"""One character that plays a project: its controller, what is asked of it, its last seconds. No clock, no sockets.

Everything here happens in one thread, the one that calls; :mod:`ambulo.studio.clock` is that thread in the server.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ambulo.control import input_file
from ambulo.control.controller import Controller, State
from ambulo.control.explanation import Candidate, Explanation
from ambulo.control.handover import hand_over
from ambulo.control.intent import Intent
from ambulo.control.pose import Pose
from ambulo.database.database import Database
from ambulo.errors import ControlError, StudioError, nearest_names
from ambulo.studio import frames, messages
from ambulo.studio.history import History, Moment, Wish
from ambulo.studio.open_project import OpenProject, ProjectOpener

STEP_RATE = 60.0
"""Steps a second; slow motion takes fewer of the same length, so that it changes nothing."""

HISTORY_SECONDS = 30.0

Reply = list[messages.ServerMessage]


class Session:
    """A character, its past and its settings.

    Args:
        projects: names of the projects that can be chosen; the first is opened.
        opener: opens one of them.
        controller: name of the controller to begin with.
        history_seconds: how far back one can rewind.
        seed: for the controller.

    Raises:
        AmbuloError: the first project cannot be opened, or there is no such controller.
    """

    def __init__(
        self,
        projects: Sequence[str],
        opener: ProjectOpener,
        *,
        controller: str = "motion_matching",
        history_seconds: float = HISTORY_SECONDS,
        seed: int = 0,
    ) -> None:
        if not projects:
            raise StudioError("there is no project to play")
        self.projects = list(projects)
        self.history_seconds = history_seconds
        self.rate = 1.0
        self.paused = False
        self.wish = Wish()
        self.required_tags: tuple[str, ...] = ()
        self.epoch = 0
        self.project: OpenProject
        self.controller_name: str
        self._controller: Controller
        self._weights: dict[str, float]
        self._opener = opener
        self._seed = seed
        self._history = History(max(round(history_seconds * STEP_RATE), 1))
        self._tick = 0
        self._open: dict[str, OpenProject] = {}
        self._choose_project(self.projects[0], controller)

    # --- what is shown -----------------------------------------------------------------------------------------------

    @property
    def now(self) -> Moment:
        """The moment that is shown."""
        return self._history.now

    @property
    def oldest_tick(self) -> int:
        """The first tick that can be rewound to."""
        return self._history.oldest

    @property
    def newest_tick(self) -> int:
        """The last tick that can be shown."""
        return self._history.newest

    def frame(self) -> bytes:
        """The binary frame of the moment shown."""
        now, database = self.now, self.project.shown
        _, clip_time = database.locate(now.frame)
        header = frames.encode_header(
            tick=now.tick,
            oldest=self._history.oldest,
            newest=self._history.newest,
            paused=self.paused,
            transitioned=now.transitioned,
            characters=1,
            joints=database.skeleton.joint_count,
            asked_points=now.asked_points,
            matched_points=len(self.project.trajectory_times),
            frame=now.frame,
            sequence=now.wish.sequence,
            rate=self.rate,
            step_microseconds=now.microseconds,
            clip=int(database.clip_of_frame(now.frame)),
            clip_time=clip_time,
            epoch=self.epoch,
        )
        return header + now.body

    def hello(self) -> messages.Hello:
        """What a page must know when it comes."""
        return self.project.hello(self.projects, self.history_seconds, self._weights)

    def status(self) -> messages.Status:
        """What is set."""
        return messages.Status(
            controller=self.controller_name,
            paused=self.paused,
            rate=self.rate,
            weights=dict(self._weights),
            required_tags=list(self.required_tags),
        )

    def choice(self) -> messages.Choice:
        """Why the moment shown shows what it shows, with the weights of now."""
        return self.explanation()()

    def explanation(self) -> Callable[[], messages.Choice]:
        """What :meth:`choice` would say of this moment, to be worked out later and in any thread."""
        return partial(_explain, self._controller, self.project.shown, self.now)

    def input_file(self) -> messages.InputFile:
        """What was asked in the moments kept, as a file that :func:`ambulo.control.input_file.load_inputs` reads."""
        steps: list[dict[str, object]] = []
        last: object = None
        for place, moment in enumerate(self._history.until_now()):
            (vx, vz), (fx, fz) = moment.wish.velocity, moment.wish.facing
            entry = {"velocity": [vx, 0.0, vz], "facing": [fx, 0.0, fz], "tags": list(moment.required_tags)}
            if entry != last:
                steps.append({"time": place / STEP_RATE, **entry})
                last = entry
        head = {"format": input_file.FORMAT, "version": input_file.VERSION, "rate": STEP_RATE, "characters": 1}
        text = json.dumps({**head, "steps": steps}, indent=1) + "\n"
        return messages.InputFile(f"{self.project.name}-input.json", text)

    # --- what happens ------------------------------------------------------------------------------------------------

    def advance(self) -> None:
        """One step from the moment shown. The moments after it, if any, are forgotten.

        Raises:
            AmbuloError: the controller cannot follow; nothing has changed.
        """
        began = time.perf_counter()
        state, pose = self._controller.step(self.now.state, self._intent(), 1.0 / STEP_RATE)
        self._keep(state, pose, (time.perf_counter() - began) * 1e6)

    def apply(self, message: messages.ClientMessage) -> Reply:
        """Do what a page says. Returns what all pages should be told.

        Raises:
            AmbuloError: it cannot be done; nothing has changed.
        """
        match message:
            case messages.Input():
                self.wish = Wish(message.velocity, message.facing, message.sequence)
                return []
            case messages.Seen() | messages.Train() | messages.StopTraining():
                return []  # for the server; the character does not care
            case messages.Pause():
                self.paused = message.paused
                return [self.status()]
            case messages.Step():
                self.paused = True
                self._step(message.frames)
                return [self.status(), self.choice()]
            case messages.Rate():
                self.rate = message.rate
                return [self.status()]
            case messages.Rewind():
                self.paused = True
                self._history.seek(message.tick)
                return [self.status(), self.choice()]
            case messages.SetWeights():
                self._set_weights(message.weights)
                return [self.status(), self.choice()]
            case messages.SetTags():
                self._set_tags(tuple(dict.fromkeys(message.required)))
                return [self.status()]
            case messages.ChooseController():
                self._choose_controller(message.name)
                return [self.status()]
            case messages.ChooseProject():
                self._choose_project(message.name, self.controller_name)
                return [self.hello(), self.status()]
            case messages.Restart():
                self._start(self._controller.start(seed=self._seed))
                return [self.status()]
            case messages.SaveInput():
                return [self.input_file()]

    def release(self) -> None:
        """Nobody steers any more: the character is asked to stand."""
        self.wish = Wish(sequence=self.wish.sequence)

    def _intent(self, required_tags: tuple[str, ...] | None = None) -> Intent:
        (vx, vz), (fx, fz) = self.wish.velocity, self.wish.facing
        return Intent(
            velocity=np.array([[vx, 0.0, vz]], np.float32),
            facing=np.array([[fx, 0.0, fz]], np.float32),
            required_tags=self.required_tags if required_tags is None else required_tags,
        )

    def _keep(self, state: State, pose: Pose, microseconds: float) -> None:
        frame = self.project.shown_frame(pose)
        matched = self.project.matched_trajectory(frame, pose.root_position[0], pose.root_rotation[0])
        body = frames.encode_body(pose, *matched, self._intent().velocity)
        self._tick = self._history.now.tick + 1 if len(self._history) else self._tick + 1
        self._history.append(
            Moment(
                tick=self._tick,
                state=state,
                body=body,
                asked_points=pose.trajectory_positions.shape[1],
                frame=frame,
                transitioned=bool(pose.transitioned[0]),
                wish=self.wish,
                required_tags=self.required_tags,
                microseconds=microseconds,
            )
        )

    def _step(self, count: int) -> None:
        target = self.now.tick + count
        if count < 0:
            self._history.seek(target)
            return
        while self.now.tick < target:
            if self._history.in_past:
                self._history.seek(self.now.tick + 1)
            else:
                self.advance()

    def _start(self, state: State, controller: Controller | None = None) -> None:
        """Begin anew from a state; the past is forgotten, ticks go on."""
        controller = controller or self._controller
        began = time.perf_counter()
        state, pose = controller.step(state, self._intent(), 1.0 / STEP_RATE)
        self._tick = self._history.newest if len(self._history) else 0
        self._history.clear()
        self._keep(state, pose, (time.perf_counter() - began) * 1e6)

    def _set_weights(self, weights: dict[str, float]) -> None:
        self._controller = self._controller.with_weights(weights)
        self._weights.update(weights)

    def _set_tags(self, required: tuple[str, ...]) -> None:
        # Steps are pure, so whether the controller can follow is found out by trying.
        self._controller.step(self.now.state, self._intent(required), 1.0 / STEP_RATE)
        self.required_tags = required

    def _choose_controller(self, name: str) -> None:
        controller = self.project.controller(name).with_weights(self._weights)
        try:
            state = hand_over(self.now.state, self._controller, controller, self._intent())
        except ControlError:  # of another kind: it begins standing, where the character is
            state = self._start_here(controller)
        self._start(state, controller)
        self._controller, self.controller_name = controller, name

    def play_trained(self, project: OpenProject, name: str) -> Reply:
        """Go on with a controller that was just trained, where the character is, if that project is still open.

        Returns what all pages should be told: there is one more to choose from.

        Raises:
            AmbuloError: it cannot do what is asked of the character; the one before goes on.
        """
        if self.project is not project:
            return []
        self._choose_controller(name)
        return [self.hello(), self.status()]

    def _choose_project(self, name: str, controller_name: str) -> None:
        if name not in self.projects:
            raise StudioError(f"no project {name!r}; {nearest_names(name, self.projects)}", key="project")
        project = self._open.get(name) or self._opener(name)
        controller = project.controller(controller_name)
        state = controller.start(seed=self._seed)
        # Nothing above has changed anything; from here on nothing is refused.
        self._open[name] = project
        self.project, self.controller_name, self._controller = project, controller_name, controller
        self._weights = {group.name: float(group.weight) for group in project.index.feature_set.schema.groups}
        self.required_tags = ()
        self.epoch += 1
        self._start(state)

    def replace_project(self, project: OpenProject) -> Reply:
        """Play on with a project that was built again; the character stays where it is. Ticks go on, the past goes.

        Tags that the new database lacks are no longer required. Returns what all pages should be told.

        Raises:
            AmbuloError: the project's controller cannot be made; nothing has changed.
        """
        name = project.name
        if name != self.project.name:
            if name in self._open:
                self._open[name] = project
            return []
        groups = project.index.feature_set.schema.groups
        weights = {g.name: self._weights.get(g.name, float(g.weight)) for g in groups}
        controller = project.controller(self.controller_name).with_weights(weights)
        required = tuple(tag for tag in self.required_tags if tag in project.shown.tags)
        try:
            state = hand_over(self.now.state, self._controller, controller, self._intent(required))
        except ControlError:  # another skeleton, or a controller that plays no frames
            state = self._start_here(controller)
        controller.step(state, self._intent(required), 1.0 / STEP_RATE)  # steps are pure: refused now, not later
        self._open[name] = self.project = project
        self._controller, self._weights, self.required_tags = controller, weights, required
        self.epoch += 1
        self._start(state)
        return [self.hello(), self.status()]

    def _start_here(self, controller: Controller) -> State:
        """A state of a controller that begins where the character is."""
        root = np.frombuffer(self.now.body, "<f4", 3)
        turn = np.frombuffer(self.now.body, "<f4", 4, 12 * self.project.database.skeleton.joint_count)
        # The direction that +Z takes under the root's rotation.
        facing = [2 * (turn[0] * turn[2] + turn[3] * turn[1]), 0.0, 1 - 2 * (turn[0] ** 2 + turn[1] ** 2)]
        return controller.start(seed=self._seed, position=[root[0], 0.0, root[2]], facing=facing)


def _explain(controller: Controller, database: Database, moment: Moment) -> messages.Choice:
    why: Explanation = controller.explain(moment.state)
    clip, clip_time = database.locate(moment.frame)
    return messages.Choice(
        tick=moment.tick,
        clip=clip.name,
        time=clip_time,
        winner=_candidate(why.winner),
        runner_up=None if why.runner_up is None else _candidate(why.runner_up),
        continuing=None if why.continuing is None else _candidate(why.continuing),
        candidate_count=int(why.candidate_count),
        filtered={reason: int(count) for reason, count in why.filtered.items()},
        age=float(why.age),
    )


def _candidate(candidate: Candidate) -> messages.CandidateInfo:
    return messages.CandidateInfo(
        candidate.frame, candidate.clip, candidate.time, candidate.cost, dict(candidate.costs)
    )

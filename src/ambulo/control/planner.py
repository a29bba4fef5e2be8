"""The first half of a step: the wish moves the simulation object and becomes a query, the query a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.control.appointments import Appointments
from ambulo.control.commitments import NOBODY, Commitments
from ambulo.control.frame_search import FrameSearch
from ambulo.control.frame_sets import FrameSet, FrameSets
from ambulo.control.intent import Intent
from ambulo.control.kernel_arrays import Pace, Planned, Playing, Reach, Rules, Ties, Wishes, empty_plan
from ambulo.control.memory import Memory
from ambulo.control.player_state import PlayerState
from ambulo.control.query_layout import query_layout
from ambulo.control.step_checks import check_step, raise_foreign_state, raise_not_finite

if TYPE_CHECKING:
    from ambulo.control.settings import ControlSettings
    from ambulo.database.database import Database

_ALL_FREE = np.zeros(0, np.bool_)


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


class Planner:
    """What the characters of one controller do next. Nothing is remembered here: all of it is in their states.

    Args:
        database: what is played.
        features: raw, of all of its frames, float32 ``[F, D]``.
        settings: springs and search.
        frame_search: compares the frames.
        frame_sets: which frames may be shown.
        interval: seconds between two searches while the wish stays.
        patience: seconds of disobedience after which a search puts the trajectory first.
    """

    def __init__(
        self,
        database: Database,
        features: NDArray[np.float32],
        settings: ControlSettings,
        frame_search: FrameSearch,
        frame_sets: FrameSets,
        *,
        interval: float,
        patience: float,
    ) -> None:
        from ambulo.control import query_kernels

        search = settings.search
        self.frame_search = frame_search
        self.frame_sets = frame_sets
        self.appointments = Appointments(database, features, frame_search.pose_coefficients, frame_sets, search)
        limits = np.array([search.velocity_change, search.facing_change, interval, patience, search.rest_speed])
        self.rules = Rules(query_layout(frame_search.schema), settings.simulation.constants(), limits)
        self._kernels = query_kernels
        self._features = features
        self._rate = database.rate
        self._settings = search
        self.brief_frames = round(search.memory_brief * database.rate)
        self.margin_frames = round(search.memory_margin * database.rate)
        self._free = _ALL_FREE if database.transition_ok.all() else database.transition_ok
        self._everyone: dict[int, NDArray[np.int64]] = {}

    def all_of(self, count: int) -> NDArray[np.int64]:
        """The indices of N characters."""
        everyone = self._everyone.get(count)
        if everyone is None:
            everyone = self._everyone[count] = np.arange(count)
        return everyone

    def plan(self, state: PlayerState, intent: Intent, dt: float) -> Plan:
        """Move the simulation objects, decide who searches, and search.

        Raises:
            ControlError: the intent is of other characters, a number is not finite, the step goes nowhere, or the state
                is of another database.
            QueryError: the database cannot show what is asked.
        """
        count = len(state.playhead)
        check_step(count, intent, dt)
        planned = empty_plan(count, len(self.rules.layout.times), self.frame_search.schema.dimension_count)
        jump, transitioned = np.full(count, -1, np.int64), np.zeros(count, np.bool_)
        query, query_frame, chosen_frame, tag_set = state.query, state.query_frame, state.chosen_frame, state.tag_set
        eager, numbers = state.eager, state.numbers
        playing = Playing(*(getattr(state, name) for name in Playing._fields))
        wishes, pace = Wishes(intent.velocity, intent.facing), Pace(float(dt * self._rate), float(dt))
        commitments, busy, entered = self.appointments.before(state, intent, dt)
        ties = Ties(commitments.stop, busy, self._free)
        groups, jumped = [], []
        for required, preferred, members in intent.groups():
            frame_set = self.frame_sets.of(required, preferred, intent.on_missing)
            who = self.all_of(count) if members is None else members
            groups.append((who, frame_set))
            # Something else is asked than what was last searched for, or a number, which may have changed.
            other = (state.tag_set if members is None else state.tag_set[who]) != frame_set.key
            if intent.numbers or other.any():
                asks = (busy[who] == 0) & (other | bool(intent.numbers))
                busy[who[asks]] = 3
            reach = Reach(frame_set.run_stops, self._features)
            searching = self._kernels.plan(who, wishes, playing, ties, reach, self.rules, pace, planned)
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
                asked_numbers = self.frame_search.ask_numbers(asked, intent, seekers)
                hurried = planned.eager[seekers]
                skips = state.memory.skips(seekers, self._settings.memory)
                found = self.frame_search.search(frame_set, asked, leaving, hurried, skips, asked_numbers)
                transitioned[seekers] = found != leaving
                jump[seekers] = np.where(found == leaving, -1, found)
                query[seekers], query_frame[seekers] = asked, leaving
                chosen_frame[seekers], tag_set[seekers], eager[seekers] = found, frame_set.key, hurried
                numbers[seekers] = self.frame_search.number_bits(asked_numbers)
                jumped.append(seekers[found != leaving])
            own = entered[np.isin(entered, who)] if len(entered) else entered
            if len(own):
                jump[own] = self.appointments.entries(commitments, own)
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
        if self._settings.dwell > 0.0:
            # Who changes its mind again and again keeps to the new choice for a while, or it never finishes a step.
            hasty = movers[state.memory.is_hasty(movers, left, self.brief_frames)]
            planned.timer[hasty] = np.maximum(planned.timer[hasty], self._settings.dwell)
        return state.memory.later(dt, movers, left, jump[movers], self.margin_frames, self.brief_frames)

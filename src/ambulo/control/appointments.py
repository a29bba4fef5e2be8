"""How the commitments of characters run: asked for, planned, waited for, entered, played and done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ambulo.control.commitments import NOBODY, Commitments
from ambulo.control.events import Markers, best_entry, event_key, find_markers
from ambulo.control.intent import Intent
from ambulo.errors import QueryError

if TYPE_CHECKING:
    from ambulo.control.frame_sets import FrameSets
    from ambulo.control.player_state import PlayerState
    from ambulo.control.settings import SearchSettings
    from ambulo.database.database import Database


class Appointments:
    """The events of the characters of one controller. Nothing is remembered here but what the database says."""

    def __init__(
        self,
        database: Database,
        features: NDArray[np.float32],
        coefficients: NDArray[np.float64],
        frame_sets: FrameSets,
        search: SearchSettings,
    ) -> None:
        self._database, self._features, self._coefficients = database, features, coefficients
        self._frame_sets = frame_sets
        self._lead = round(search.event_lead * database.rate)
        self._wait = round(search.event_wait * database.rate)
        self._markers: dict[str, Markers] = {}
        self._tags: dict[int, str] = {event_key(tag): tag for tag in database.tags}

    def markers(self, tag: str) -> Markers:
        """Where ranges of a tag begin.

        Raises:
            QueryError: there is none that can be shown.
        """
        if tag not in self._markers:
            self._markers[tag] = find_markers(self._database, tag, self._lead)
        return self._markers[tag]

    def before(
        self, state: PlayerState, intent: Intent, dt: float
    ) -> tuple[Commitments, NDArray[np.uint8], NDArray[np.int64]]:
        """What the characters are committed to in this step.

        Returns:
            The commitments, uint8 ``[N]`` of how busy each is (:class:`ambulo.control.kernel_arrays.Ties`), and int64
            of those who jump into theirs now.
        """
        commitments, count = state.commitments, len(state.playhead)
        asked = [(n, event) for n, event in enumerate(intent.events()) if event is not None]
        if not asked and not commitments.any:
            return commitments, np.zeros(count, np.uint8), NOBODY
        commitments = commitments.copy()
        for n, (tag, seconds) in asked:
            if intent.on_missing == "raise" or self._can_show(tag):
                self._ask(commitments, n, tag, seconds, dt)
        for n in np.flatnonzero((commitments.event >= 0) & (commitments.marker < 0)).tolist():
            self._plan(commitments, state, intent, n)
        # A jump is made in the step that begins nearest to its time.
        entered = np.flatnonzero(commitments.delay < 0.5 * dt)
        commitments.delay[entered] = np.inf
        commitments.stop[entered] = commitments.reach[entered]
        busy = np.where(commitments.stop > 0, 1, 0).astype(np.uint8)
        busy[np.isfinite(commitments.delay)] = 1
        busy[entered] = 2
        commitments.delay[np.isfinite(commitments.delay)] -= dt
        return commitments, busy, entered

    def entries(self, commitments: Commitments, who: NDArray[np.int64]) -> NDArray[np.int64]:
        """The frames to jump to, so that each marker is shown in the seconds that are left."""
        ahead = np.rint(commitments.seconds[who] * self._database.rate).astype(np.int64)
        frames: NDArray[np.int64] = commitments.marker[who] - np.maximum(ahead, 0)
        return frames

    def after(self, commitments: Commitments, dt: float, playhead: NDArray[np.float64]) -> Commitments:
        """The commitments a step later; those that have been played are done."""
        if not commitments.any:
            return commitments
        commitments.seconds[...] -= dt
        done = np.flatnonzero((commitments.stop > 0) & (playhead >= commitments.stop - 1))
        commitments.clear(done)
        return commitments

    def _can_show(self, tag: str) -> bool:
        """Whether there is a range of that tag; where there is none, that is told once."""
        try:
            self.markers(tag)
        except QueryError as error:
            self._frame_sets.missing.tell(f"the event {tag!r}", error)
            return False
        return True

    def _ask(self, commitments: Commitments, n: int, tag: str, seconds: float, dt: float) -> None:
        key = event_key(tag)
        known = commitments.event[n] == key and abs(commitments.seconds[n] - seconds) <= 1.5 * dt
        if known or seconds < 0.0:
            return
        self.markers(tag)
        one = np.array([n])
        commitments.clear(one)
        commitments.event[n], commitments.seconds[n] = key, seconds

    def _plan(self, commitments: Commitments, state: PlayerState, intent: Intent, n: int) -> None:
        rate = self._database.rate
        remaining = float(commitments.seconds[n]) * rate
        if remaining > self._lead + self._wait:
            return
        playhead = float(state.playhead[n])
        run_stop = int(self._frame_sets.of_character(intent, n).run_stops[int(playhead)])
        entry = best_entry(
            self._features, self._coefficients, self.markers(self._tags[int(commitments.event[n])]),
            playhead, run_stop, remaining, self._wait,
        )  # fmt: skip
        if entry is not None:
            commitments.marker[n], commitments.reach[n] = entry.marker, entry.stop
            commitments.delay[n] = entry.delay / rate

"""Whether events came when they were asked for: a tagged range's first frame, shown at the second that was said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec
import numpy as np

if TYPE_CHECKING:
    from ambulo.control.recording import Recording
    from ambulo.database.database import Database


class EventMet(msgspec.Struct, frozen=True):
    """What became of an event.

    Attributes:
        tag: whose range was to begin.
        asked: second at which.
        begins: for each character the second at which a range of the tag begins nearest to that; null where none does
            from a tenth of a second before it on.
    """

    tag: str
    asked: float
    begins: tuple[float | None, ...]


_NEVER = 1 << 40
EARLIEST = 0.1
"""Seconds before its time from which on a range counts as the one that was asked for."""


def events_met(recording: Recording, database: Database, events: Iterable[tuple[str, float]]) -> list[EventMet]:
    """When the ranges of events began.

    Args:
        recording: its frames are of the database.
        database: what was played.
        events: tag and second of each.
    """
    found = []
    reach = 0.5 + database.rate / recording.rate  # a step shows the frame that is nearest to its time
    for tag, asked in events:
        starts = database.tags.get(tag, np.zeros((0, 2), np.int64))[:, 0]
        begins: list[float | None] = []
        for frames in recording.frames.T:
            late = np.full(len(frames), _NEVER)
            if len(starts):
                before = np.searchsorted(starts, frames, side="right") - 1
                late = np.where(before >= 0, frames - starts[np.maximum(before, 0)], _NEVER)
            # The step that shows a range's first frame, and whose step before showed none of its frames.
            follows = np.zeros(len(frames), bool)
            follows[1:] = frames[1:] - frames[:-1] == late[1:] - late[:-1]
            onset = np.flatnonzero((late <= reach) & ~follows & (recording.times >= asked - EARLIEST))
            nearest = onset[np.argmin(np.abs(recording.times[onset] - asked))] if len(onset) else None
            begins.append(None if nearest is None else round(float(recording.times[nearest]), 3))
        found.append(EventMet(tag, asked, tuple(begins)))
    return found

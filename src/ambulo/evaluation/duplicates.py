"""Stretches of motion that a database holds twice, or nearly so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from ambulo.evaluation.transitions import best_elsewhere
from ambulo.maths import quaternions

if TYPE_CHECKING:
    from ambulo.database.database import Database
    from ambulo.matching.index import SearchIndex

CLOSE = np.radians(3.0)
"""Radians: no joint of two near-identical poses turns apart more than this."""

SHORTEST = 0.5
"""Seconds: shorter likenesses are what makes jumps possible, and no waste."""

_STEP = 0.25
_MOST = 8192


class Duplicate(msgspec.Struct, frozen=True):
    """Two stretches that are nearly the same: clips and seconds of their takes, and how long."""

    clip: str
    start: float
    other_clip: str
    other_start: float
    seconds: float


def duplicates(
    database: Database, index: SearchIndex, usable: NDArray[np.bool_], *, most: int = _MOST
) -> tuple[Duplicate, ...]:
    """Near-identical stretches, the longest first. A mirrored clip is compared like any other.

    From frames a quarter of a second apart the best other frame is searched, and where it is close, both are followed
    in both directions as long as they stay close.

    Args:
        database: searched.
        index: over it.
        usable: bool ``[F]``: frames that may be shown.
        most: how many frames are asked at most; in larger databases they lie further apart.
    """
    frames = np.flatnonzero(usable & index.whole.allowed.astype(bool))
    step = max(round(_STEP * database.rate), -(-len(frames) // most))
    asked = frames[::step]
    if not len(asked):
        return ()
    found, _ = best_elsewhere(database, index, asked, usable)
    runs: set[tuple[int, int, int]] = set()
    for frame, other in zip(asked.tolist(), found.tolist(), strict=True):
        if other < 0 or not _close(database, frame, other, 1)[0]:
            continue
        low, high = sorted((frame, other))
        if any(start <= low < stop and high - low == shift for start, stop, shift in runs):
            continue
        start, stop = _follow(database, low, high)
        if stop - start >= SHORTEST * database.rate:
            runs.add((start, stop, high - low))
    told = []
    said = np.zeros(database.frame_count, bool)
    for start, stop, shift in sorted(runs, key=lambda run: (run[0] - run[1], run)):
        if said[start:stop].mean() > 0.5:  # one stretch with many likenesses is told once
            continue
        said[start:stop] = True
        (clip, begin), (other_clip, other_begin) = database.locate(start), database.locate(start + shift)
        seconds = round((stop - start) / database.rate, 3)
        told.append(Duplicate(clip.name, round(begin, 3), other_clip.name, round(other_begin, 3), seconds))
    return tuple(told)


def _close(database: Database, frame: int, other: int, count: int) -> NDArray[np.bool_]:
    """bool ``[count]``: whether the poses from two frames on are near-identical, the roots' ways included."""
    one, two = slice(frame, frame + count), slice(other, other + count)
    angles = quaternions.angle_between(database.rotations[one, 1:], database.rotations[two, 1:])
    speeds = [
        quaternions.inverse_rotate(database.rotations[part, 0], database.velocities[part, 0]) for part in (one, two)
    ]
    apart = np.linalg.norm(speeds[0] - speeds[1], axis=-1)
    return np.asarray((angles.max(axis=-1) < CLOSE) & (apart < 0.1))


def _follow(database: Database, low: int, high: int) -> tuple[int, int]:
    """The stretch around ``low`` in which it stays close to the frames ``high - low`` later."""
    clips = database.clip_of_frame([low, high])
    starts, stops = database.clip_starts[clips], database.clip_stops[clips]
    back = int(min(low - starts[0], high - starts[1]))
    ahead = int(min(stops[0] - low, stops[1] - high))
    close = _close(database, low - back, high - back, back + ahead)
    before = np.flatnonzero(~close[: back + 1])
    after = np.flatnonzero(~close[back:])
    start = low - back + (int(before[-1]) + 1 if len(before) else 0)
    stop = low + (int(after[0]) if len(after) else ahead)
    if clips[0] == clips[1]:
        stop = min(stop, start + (high - low))  # a loop is one stretch and its repetition, not ever more of itself
    return start, stop

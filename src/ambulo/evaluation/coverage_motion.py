"""Which speeds and turns a database has, minutes a tag, and the memory that each part takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from ambulo.database.annotation_settings import JUNK
from ambulo.database.range_algebra import split
from ambulo.database.tags import ranges_to_mask

if TYPE_CHECKING:
    from ambulo.database.database import Database
    from ambulo.matching.index import SearchIndex

SPEED_STEP = 0.5
"""m/s a row of the speed and turn table."""

TURN_STEP = 30.0
"""Degrees a second a column."""

_MOST_SPEED, _MOST_TURN = 12.0, 360.0
_SPARSE = 0.5


class MotionTable(msgspec.Struct, frozen=True):
    """Seconds of motion by speed over the ground and turn rate.

    Attributes:
        speeds: edges of the rows, m/s; the last row also holds what is faster.
        turn_rates: edges of the columns, degrees a second, to the left positive; the outer ones hold what is beyond.
        seconds: ``[rows][columns]``.
        sparse: cells ``(speed, turn rate)``, their middles, with less than half a second of motion that lie between
            cells with more: what to shoot next.
    """

    speeds: tuple[float, ...]
    turn_rates: tuple[float, ...]
    seconds: tuple[tuple[float, ...], ...]
    sparse: tuple[tuple[float, float], ...]


class TagCoverage(msgspec.Struct, frozen=True):
    """How much of a tag there is: seconds, ranges (cut at clips), clips, and speed in m/s (10 %, median, 90 %)."""

    tag: str
    seconds: float
    ranges: int
    clips: int
    speed: tuple[float, float, float]


class MemoryPart(msgspec.Struct, frozen=True):
    """What one part takes: megabytes (10^6 bytes), and megabytes an hour of motion."""

    name: str
    megabytes: float
    an_hour: float


def usable_frames(database: Database) -> NDArray[np.bool_]:
    """bool ``[F]``: frames without glitches that are no junk."""
    junk = database.tags.get(JUNK)
    usable = np.asarray(database.valid).astype(bool)
    return usable if junk is None else usable & ~ranges_to_mask(junk, database.frame_count)


def motion_table(database: Database, usable: NDArray[np.bool_]) -> MotionTable:
    """Count the usable frames by speed and turn rate."""
    speed = database.number("speed")[usable]
    turn = np.degrees(database.number("turn_rate")[usable])
    top = min(max(float(speed.max(initial=0.0)), SPEED_STEP), _MOST_SPEED)
    rows = max(int(np.ceil(top / SPEED_STEP)), 1)
    columns = round(2 * _MOST_TURN / TURN_STEP) + 1  # an odd number: one column is straight ahead
    row = np.minimum((speed / SPEED_STEP).astype(np.int64), rows - 1)
    column = np.clip(np.round(turn / TURN_STEP).astype(np.int64) + columns // 2, 0, columns - 1)
    counts = np.zeros((rows, columns), np.int64)
    np.add.at(counts, (row, column), 1)
    seconds = counts / database.rate
    speeds = SPEED_STEP * np.arange(rows + 1)
    turns = TURN_STEP * (np.arange(columns + 1) - columns / 2)
    middles = (0.5 * (speeds[1:] + speeds[:-1]), 0.5 * (turns[1:] + turns[:-1]))
    sparse = [
        (round(float(middles[0][r]), 3), round(float(middles[1][c]), 3)) for r, c in np.argwhere(_between(seconds))
    ]
    return MotionTable(
        tuple(speeds.tolist()),
        tuple(turns.tolist()),
        tuple(tuple(round(value, 3) for value in line) for line in seconds.tolist()),
        tuple(sparse),
    )


def _between(seconds: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Sparse cells that have fuller ones on both sides, along the row or along the column."""
    full = seconds >= _SPARSE
    inside = np.zeros(full.shape, bool)
    for axis in (0, 1):
        before = np.maximum.accumulate(full, axis)
        after = np.flip(np.maximum.accumulate(np.flip(full, axis), axis), axis)
        inside |= before & after
    return inside & ~full


def tag_coverage(database: Database) -> list[TagCoverage]:
    """Every tag, that with most motion first."""
    speed = database.number("speed")
    found = []
    for tag, ranges in database.tags.items():
        pieces, bounds = split(ranges, database.clip_starts, database.clip_stops)
        mask = ranges_to_mask(ranges, database.frame_count)
        low, middle, high = (
            (round(float(value), 3) for value in np.percentile(speed[mask], (10, 50, 90))) if mask.any() else (0.0,) * 3
        )
        seconds = float(mask.sum()) / database.rate
        found.append(
            TagCoverage(tag, round(seconds, 3), len(pieces), len(np.unique(bounds[:, 0])), (low, middle, high))
        )
    return sorted(found, key=lambda entry: (-entry.seconds, entry.tag))


def memory_parts(database: Database, index: SearchIndex) -> list[MemoryPart]:
    """Frames by channel, features by group, and the search structure; the last entry is the sum."""
    hours = database.duration / 3600.0
    features = index.feature_set
    parts = [
        (f"frames: {name}", int(getattr(database, name).nbytes))
        for name in ("positions", "rotations", "velocities", "angular_velocities", "contacts", "valid")
    ]
    row = features.raw.itemsize * features.frame_count
    parts += [(f"features: {group.name}", group.size * row) for group in features.schema.groups]
    parts.append(("search index", sum(int(array.nbytes) for array in index.to_arrays().values())))
    parts.append(("all", sum(size for _, size in parts)))
    return [MemoryPart(name, round(size / 1e6, 4), round(size / 1e6 / hours, 3)) for name, size in parts]

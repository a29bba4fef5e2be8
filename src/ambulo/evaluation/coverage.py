"""What a database covers, in numbers: speeds and turns, tags, transitions, duplicates, what is never shown, memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.database.annotation_settings import RESERVED_TAGS
from ambulo.database.range_algebra import mask_to_ranges, split
from ambulo.errors import QueryError
from ambulo.evaluation.coverage_motion import (
    MemoryPart,
    MotionTable,
    TagCoverage,
    memory_parts,
    motion_table,
    tag_coverage,
    usable_frames,
)
from ambulo.evaluation.duplicates import Duplicate, duplicates
from ambulo.evaluation.transitions import Transitions, transitions

if TYPE_CHECKING:
    from ambulo.database.database import Database
    from ambulo.matching.index import SearchIndex

_PAIRED_TAGS = 10


class UnusedRange(msgspec.Struct, frozen=True):
    """A stretch that was never shown: clip, seconds of its take, and how long."""

    clip: str
    start: float
    stop: float
    seconds: float


class Usage(msgspec.Struct, frozen=True):
    """What of a database was shown.

    Attributes:
        shown_seconds: of distinct frames.
        share: of the usable frames.
        unused: the longest stretches that were never shown, longest first.
    """

    shown_seconds: float
    share: float
    unused: tuple[UnusedRange, ...]


class Coverage(msgspec.Struct, frozen=True):
    """What a database covers.

    Attributes:
        name: of the database.
        digest: of what it was made from.
        clips: how many.
        seconds: of motion, all clips together.
        usable_seconds: without glitches and junk.
        rate: frames a second.
        motion: by speed and turn rate.
        tags: that with most motion first.
        transitions: how well it hangs together.
        duplicates: what it holds twice, longest first.
        duplicate_seconds: seconds that lie in the earlier half of a duplicate.
        usage: what was shown; None where nobody said.
        memory: by part; the last is the sum.
    """

    name: str
    digest: str
    clips: int
    seconds: float
    usable_seconds: float
    rate: float
    motion: MotionTable
    tags: tuple[TagCoverage, ...]
    transitions: Transitions
    duplicates: tuple[Duplicate, ...]
    duplicate_seconds: float
    usage: Usage | None
    memory: tuple[MemoryPart, ...]


def coverage(database: Database, index: SearchIndex, shown: ArrayLike | None = None) -> Coverage:
    """Look over a database. Takes seconds; its sampling is fixed, so that the same database gives the same numbers.

    Args:
        database: opened.
        index: its search index.
        shown: frames that were shown, of any shape, such as :attr:`Recording.frames`; None leaves usage out.

    Raises:
        QueryError: a shown frame is outside of the database.
    """
    usable = usable_frames(database)
    tags = tag_coverage(database)
    general = [entry.tag for entry in tags if entry.tag not in RESERVED_TAGS][:_PAIRED_TAGS]
    found = duplicates(database, index, usable)
    return Coverage(
        database.name,
        database.digest,
        len(database.clips),
        round(database.duration, 3),
        round(float(usable.sum()) / database.rate, 3),
        database.rate,
        motion_table(database, usable),
        tuple(tags),
        transitions(database, index, usable, general),
        found,
        round(_covered(database, found), 3),
        None if shown is None else usage(database, usable, shown),
        tuple(memory_parts(database, index)),
    )


def _covered(database: Database, found: tuple[Duplicate, ...]) -> float:
    mask = np.zeros(database.frame_count, bool)
    for entry in found:
        clip = database.clips_by_name[entry.clip]
        start = clip.start + round((entry.start - clip.start_time) * database.rate)
        mask[start : start + round(entry.seconds * database.rate)] = True
    return float(mask.sum()) / database.rate


def usage(database: Database, usable: NDArray[np.bool_], shown: ArrayLike, *, most: int = 50) -> Usage:
    """What of the usable frames was shown."""
    frames = np.unique(np.asarray(shown, np.int64))
    if len(frames) and not (frames[0] >= 0 and frames[-1] < database.frame_count):
        raise QueryError(f"frame {frames[-1]} is outside the database's {database.frame_count} frames", key="shown")
    seen = np.zeros(database.frame_count, bool)
    seen[frames] = True
    pieces, _ = split(mask_to_ranges(usable & ~seen), database.clip_starts, database.clip_stops)
    order = np.argsort(pieces[:, 0] - pieces[:, 1], kind="stable")[:most]
    unused = []
    for start, stop in pieces[order].tolist():
        clip, begin = database.locate(start)
        seconds = (stop - start) / database.rate
        unused.append(UnusedRange(clip.name, round(begin, 3), round(begin + seconds, 3), round(seconds, 3)))
    share = float((seen & usable).sum()) / max(int(usable.sum()), 1)
    return Usage(round(len(frames) / database.rate, 3), round(share, 5), tuple(unused))

"""Events: a tagged range that begins at a given time, entered where it fits the pose best (S0.58).

A *marker* is the first frame of a range with the event's tag. For every marker and every moment at which the character
could jump, there is exactly one frame from which the marker is met on time: the one as many frames before it. All of
these pairs are compared, and the one whose pose differs least from the pose at the jump wins. So the time needs no
warp: it is wrong by at most half a frame of the database, which is the rounding of the entry.

While a character waits for that moment it plays on without searching, and once in, it plays the tagged range to its
end. What it is asked meanwhile is done afterwards.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.database.tags import unknown_tag
from ambulo.errors import QueryError

if TYPE_CHECKING:
    from ambulo.database.database import Database


class Markers(NamedTuple):
    """Where the ranges of a tag begin, M of them.

    Attributes:
        frames: int64 ``[M]``, first frames.
        stops: int64 ``[M]``, frames after the last ones.
        leads: int64 ``[M]``, usable frames of the clip just before each.
    """

    frames: NDArray[np.int64]
    stops: NDArray[np.int64]
    leads: NDArray[np.int64]


class Entry(NamedTuple):
    """How a marker is met: in ``delay`` frames jump so that ``marker`` is shown on time, and play on to ``stop``."""

    delay: int
    marker: int
    stop: int
    cost: float


def event_key(tag: str) -> int:
    """A stable number of a tag, kept in states."""
    return zlib.crc32(tag.encode())


def find_markers(database: Database, tag: str, longest_lead: int) -> Markers:
    """The markers of a tag that can be shown.

    Args:
        database: what is played.
        tag: whose ranges.
        longest_lead: frames before a marker that count at most.

    Raises:
        QueryError: nothing carries the tag, or all that does is junk or a glitch.
    """
    if tag not in database.tags:
        raise unknown_tag(tag, database.tags, key="event")
    usable = (np.asarray(database.valid) != 0) & database.mask((), junk=False)
    starts = database.clip_starts
    frames, stops, leads = [], [], []
    for start, stop in database.tags[tag].tolist():
        inside = starts[(starts > start) & (starts < stop)].tolist()
        for first, last in zip([start, *inside], [*inside, stop], strict=True):
            if not usable[first:last].all():
                continue
            clip_start = int(starts[np.searchsorted(starts, first, side="right") - 1])
            before = usable[max(clip_start, first - longest_lead) : first][::-1]
            frames.append(first)
            stops.append(last)
            leads.append(len(before) if before.all() else int(np.argmin(before)))
    if not frames:
        raise QueryError(
            f"every range with the tag {tag!r} is junk or has a glitch in it",
            key="event",
            remedy="see what `ambulo build` says of the takes",
        )
    return Markers(np.array(frames, np.int64), np.array(stops, np.int64), np.array(leads, np.int64))


def best_entry(
    features: NDArray[np.float32],
    coefficients: NDArray[np.float64],
    markers: Markers,
    playhead: float,
    run_stop: int,
    remaining: float,
    longest_wait: int,
) -> Entry | None:
    """The best of all ways to meet a marker on time, by comparing them all.

    Args:
        features: float32 ``[F, D]``, raw.
        coefficients: float64 ``[D]``, weight over scale; 0 for dimensions that do not count.
        markers: of the tag.
        playhead: frames.
        run_stop: the frame before which the character can play on.
        remaining: frames from now until the marker.
        longest_wait: frames that may be waited at most.

    Returns:
        None where none can be met yet: it is too early.
    """
    now = int(playhead + 0.5)
    longest = max(min(longest_wait, int(remaining), run_stop - 1 - now), 0)
    delays = np.arange(longest + 1)
    entries = markers.frames[None] - np.rint(remaining - delays).astype(np.int64)[:, None]
    possible = entries >= (markers.frames - markers.leads)[None]
    if not possible.any():
        return None
    counted = np.flatnonzero(coefficients)
    place, which = np.nonzero(possible)
    here = features[np.minimum(now + delays[place], len(features) - 1)][:, counted].astype(np.float64)
    there = features[entries[place, which]][:, counted].astype(np.float64)
    costs = (((there - here) * coefficients[counted]) ** 2).sum(axis=1)
    # Equal costs go to the earlier jump and the lower frame.
    best = int(np.argmin(costs))
    marker = int(which[best])
    return Entry(int(place[best]), int(markers.frames[marker]), int(markers.stops[marker]), float(costs[best]))

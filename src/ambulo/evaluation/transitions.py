"""How well a database hangs together: what the best jump from a frame to somewhere else costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from ambulo.database.tags import ranges_to_mask

if TYPE_CHECKING:
    from ambulo.database.database import Database
    from ambulo.matching.index import SearchIndex

PERCENTILES = (10, 50, 90, 99)
NEARBY = 1.0
"""Seconds of the same clip around a frame that are no place to jump to: they are the frame's own motion."""

_SAMPLES, _TAG_SAMPLES = 2048, 96


class HardClip(msgspec.Struct, frozen=True):
    """A clip and the median cost of the best jumps away from it."""

    clip: str
    cost: float


class TagStep(msgspec.Struct, frozen=True):
    """The median cost of the best jump from frames of one tag to frames of another; None where there is no frame."""

    source: str
    target: str
    cost: float | None


class Transitions(msgspec.Struct, frozen=True):
    """Costs of the best jump from sampled frames to anywhere but their own surroundings.

    Costs are squared distances of features, each in its standard deviations times its weight.

    Attributes:
        sampled: how many frames were asked.
        percentiles: percentile -> cost.
        isolated: share of the frames whose best jump costs more than four times the median.
        hardest: the clips that are hardest to leave, hardest first.
        between_tags: of every pair of the tags with most motion.
    """

    sampled: int
    percentiles: dict[str, float]
    isolated: float
    hardest: tuple[HardClip, ...]
    between_tags: tuple[TagStep, ...]


def transitions(
    database: Database, index: SearchIndex, usable: NDArray[np.bool_], tags: Sequence[str], *, samples: int = _SAMPLES
) -> Transitions:
    """Ask for the best jump from frames spread evenly over the database.

    Args:
        database: searched.
        index: over it.
        usable: bool ``[F]``: frames that may be shown.
        tags: whose pairs are compared.
        samples: how many frames at most.
    """
    frames = spread(np.flatnonzero(usable & index.whole.allowed.astype(bool)), samples)
    if not len(frames):
        return Transitions(0, {}, 0.0, (), ())
    _, costs = best_elsewhere(database, index, frames, usable)
    finite = costs[np.isfinite(costs)]
    if not len(finite):
        return Transitions(len(frames), {}, 1.0, (), ())
    clips = database.clip_of_frame(frames)
    hard = [
        HardClip(database.clips[clip].name, round(float(np.median(costs[clips == clip])), 4))
        for clip in np.unique(clips)
    ]
    hard = [entry for entry in hard if np.isfinite(entry.cost)]
    isolated = float((costs > 4.0 * np.median(finite)).mean())
    masks = {tag: ranges_to_mask(database.tags[tag], database.frame_count) & usable for tag in tags}
    steps = []
    for source in tags:
        asked = spread(np.flatnonzero(masks[source] & index.whole.allowed.astype(bool)), _TAG_SAMPLES)
        for target in tags:
            cost = None
            if len(asked) and masks[target].any():
                found = best_elsewhere(database, index, asked, masks[target])[1]
                cost = round(float(np.median(found)), 4) if np.isfinite(found).mean() > 0.5 else None
            steps.append(TagStep(source, target, cost))
    return Transitions(
        len(frames),
        {str(p): round(float(np.percentile(finite, p)), 4) for p in PERCENTILES},
        round(isolated, 4),
        tuple(sorted(hard, key=lambda entry: (-entry.cost, entry.clip))[:10]),
        tuple(steps),
    )


def spread(frames: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """At most so many of some frames, spread evenly."""
    if len(frames) <= count:
        return frames
    return frames[np.linspace(0, len(frames) - 1, count).round().astype(np.int64)]


def best_elsewhere(
    database: Database, index: SearchIndex, frames: NDArray[np.int64], allowed: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The best frame to jump to from each frame, and what it costs; -1 and infinity where there is none.

    Args:
        database: searched.
        index: over it.
        frames: ``[n]``.
        allowed: bool ``[F]``: where to.
    """
    clips = database.clip_of_frame(frames)
    near = round(NEARBY * database.rate)
    start = np.maximum(frames - near, database.clip_starts[clips])
    stop = np.minimum(frames + near + 1, database.clip_stops[clips])
    skips = np.stack([start, stop], axis=1)[:, None].astype(np.int64)
    mask = None if allowed.all() else index.mask(allowed)
    queries = np.ascontiguousarray(index.feature_set.raw[frames])
    found = index.search(queries, current=np.full(len(frames), -1), mask=mask, skips=skips)
    return found.frames, found.costs

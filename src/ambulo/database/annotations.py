"""Annotations as arrays over frames: bonus, priority, where no jump may be, numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.database.annotation_settings import NO_TRANSITION
from ambulo.database.tags import ranges_to_mask


class WeightedRange(NamedTuple):
    """Frames ``[start, stop)`` with a priority and a bonus."""

    start: int
    stop: int
    priority: int
    bonus: float


class NumberSpan(NamedTuple):
    """Frames ``[start, stop)`` on which a channel goes in a straight line from ``first`` to ``last`` (at ``stop``)."""

    channel: str
    start: int
    stop: int
    first: float
    last: float


class Annotations(NamedTuple):
    """What is said about frames beyond tags.

    Attributes:
        weighted: ranges whose priority or bonus is not zero.
        numbers: in order; the later ones hold.
        units: numeric channel -> unit, of every channel that is declared.
    """

    weighted: tuple[WeightedRange, ...] = ()
    numbers: tuple[NumberSpan, ...] = ()
    units: Mapping[str, str] = {}


def frame_bonus(weighted: Iterable[WeightedRange], frame_count: int) -> NDArray[np.float32]:
    """float32 ``[F]``: what each frame costs less; bonuses of ranges that overlap add up."""
    bonus = np.zeros(frame_count, np.float32)
    for entry in weighted:
        bonus[entry.start : entry.stop] += np.float32(entry.bonus)
    return bonus


def frame_priority(weighted: Iterable[WeightedRange], frame_count: int) -> NDArray[np.int16]:
    """int16 ``[F]``: the highest priority that a range gives to each frame; 0 where none gives one."""
    priority = np.zeros(frame_count, np.int16)
    for entry in sorted(weighted, key=lambda entry: entry.priority):
        if entry.priority:
            priority[entry.start : entry.stop] = entry.priority
    return priority


def frame_numbers(annotations: Annotations, frame_count: int) -> dict[str, NDArray[np.float32]]:
    """Numeric channel -> float32 ``[F]``, NaN where nobody says anything."""
    numbers = {name: np.full(frame_count, np.nan, np.float32) for name in annotations.units}
    for channel, start, stop, first, last in annotations.numbers:
        numbers[channel][start:stop] = np.linspace(first, last, stop - start, endpoint=False)
    return numbers


def transition_mask(tags: Mapping[str, NDArray[np.int64]], frame_count: int) -> NDArray[np.bool_]:
    """bool ``[F]``: false where a jump may neither start nor land (``no_transition``)."""
    zones = tags.get(NO_TRANSITION)
    return np.ones(frame_count, np.bool_) if zones is None else ~ranges_to_mask(zones, frame_count)

"""The frame rate behind the key times of a glTF, which has no field for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.formats.frame_times import NOMINAL_RATES

Double = NDArray[np.float64]

USUAL_RATE = 60.0
"""Frames a second where the keys do not tell."""

_BROADCAST = tuple(rate * 1000.0 / 1001.0 for rate in (24.0, 30.0, 60.0, 120.0))
_CANDIDATES = (*sorted(rate for rate in NOMINAL_RATES if 24.0 <= rate <= 240.0), *_BROADCAST)
_SLOWEST, _FASTEST = 10.0, 1000.0


class RateGuess(NamedTuple):
    """A rate, and why.

    Attributes:
        rate: frames a second.
        reason: one phrase for a person.
        exact: whether every key falls on a frame.
        even: whether a track of keys at even steps tells so.
    """

    rate: float
    reason: str
    exact: bool
    even: bool = False


def guess_rate(tracks: Sequence[Double]) -> RateGuess:
    """Guess a rate at which every key is a frame.

    Where a track has keys at even steps, it was sampled at that rate. Otherwise the keys were set by hand: the usual
    rate is taken if all of them fall on its frames, else the slowest common rate of which that is true.

    Args:
        tracks: key times in seconds, each increasing, from the first key of the animation.
    """
    steps = [_step(track) for track in tracks if len(track) >= 3]
    known = [step for step in steps if step is not None]
    if known:
        rate = snap_rate(1.0 / min(known))
        if _SLOWEST <= rate <= _FASTEST and _on_frames(tracks, rate):
            return RateGuess(rate, "its keys lie at even steps", True, True)
    if _on_frames(tracks, USUAL_RATE):
        least = min((float(np.diff(track).min()) for track in tracks if len(track) > 1), default=1.0)
        sampled = next((r for r in _CANDIDATES if r < USUAL_RATE and least * r < 1.5 and _on_frames(tracks, r)), None)
        if sampled is not None:
            return RateGuess(sampled, "its keys lie on its frames", True)
        return RateGuess(USUAL_RATE, "its keys are far apart and lie on its frames", True)
    for rate in _CANDIDATES:
        if _on_frames(tracks, rate):
            return RateGuess(rate, "its keys lie on its frames", True)
    return RateGuess(USUAL_RATE, "its keys lie at uneven steps, so between frames", False)


def snap_rate(rate: float) -> float:
    """The nominal or whole rate that a rate from rounded times stands for, if one is near enough."""
    for candidate in (*NOMINAL_RATES, *_BROADCAST, float(round(rate))):
        if candidate > 0.0 and abs(rate / candidate - 1.0) < 2e-4:
            return candidate
    return rate


def _step(track: Double) -> float | None:
    """The step of a track whose keys are even."""
    step = float(track[-1] - track[0]) / (len(track) - 1)
    even = track[0] + step * np.arange(len(track))
    return step if np.abs(track - even).max() < _tolerance(track, 1.0 / step) else None


def _on_frames(tracks: Sequence[Double], rate: float) -> bool:
    for track in tracks:
        frames = track * rate
        if np.abs(frames - np.round(frames)).max() > _tolerance(track, rate) * rate:
            return False
    return True


def _tolerance(track: Double, rate: float) -> float:
    """How far from its frame a key may lie: times are float32, and some writers round to four digits."""
    return min(1e-4 + 2e-7 * float(np.abs(track).max()), 0.05 / rate)

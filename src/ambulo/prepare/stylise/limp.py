"""Limp: a leg that is spared."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import msgspec
import numpy as np

from ambulo.prepare.stylise.draft import Double, Draft, moving_average, smoothstep
from ambulo.prepare.stylise.lean import lean
from ambulo.prepare.stylise.stride import between_contacts

# At an amount of 1. The signs of a painful leg: it is stood on briefly, the body dips and tips over it, it is dragged.
HURRY = 0.6
"""Logarithm of how much quicker time passes on the spared leg, and slower on the other."""
DIP = 0.055
"""Leg lengths that the hips sink on the spared leg."""
TIP = 0.24
"""Radians that the trunk tips to the side of the spared leg while it carries."""
STOOP = 0.14
"""Radians that the trunk leans forward throughout, and once more half of it on the spared leg."""
DRAG = 0.65
"""Share of its height over the ground that the spared foot loses in its swing."""
WALKING = (0.2, 0.5)
"""m/s between which standing becomes walking."""


class Limp(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limp on a leg.

    Attributes:
        side: of the leg that hurts.
        amount: 0 to 1.
    """

    side: Literal["left", "right"]
    amount: float

    def fault(self) -> str | None:
        """What is wrong with the numbers."""
        return None if 0.0 <= self.amount <= 1.0 else "the amount goes from 0 to 1"

    def apply(self, draft: Draft) -> Draft:
        """Limp.

        Raises:
            SkeletonError: no joint of the spine is among the roles.
        """
        if not self.amount:
            return draft
        hurt = 0 if self.side == "left" else 1
        spared, other = _loads(draft, hurt)
        times = _hurried(self.amount * HURRY * (other - spared), draft.motion.rate)
        draft = draft.at(times)
        load = np.interp(times, np.arange(len(spared)), spared)
        draft = replace(draft, feet=_dragged(draft, hurt, self.amount * DRAG))
        sign = 1.0 if hurt == 0 else -1.0
        stoop = self.amount * STOOP * (0.5 + 0.5 * load)
        draft = lean(draft, stoop, sign * self.amount * TIP * load)
        dip = np.zeros_like(draft.path)
        dip[:, 1] = -self.amount * DIP * draft.leg * load
        return draft.shifted(dip)


def _loads(draft: Draft, hurt: int) -> tuple[Double, Double]:
    """How much the leg that hurts carries alone, and the other, ``[T]``, smooth, 0 to 1; 0 for who stands."""
    rate = draft.motion.rate
    speed = np.linalg.norm(np.gradient(draft.path, axis=0), axis=-1) * rate
    walking = smoothstep((speed - WALKING[0]) / (WALKING[1] - WALKING[0]))
    down = draft.down
    alone = np.stack([down[:, hurt] & ~down[:, 1 - hurt], down[:, 1 - hurt] & ~down[:, hurt]], axis=1) * 1.0
    smooth = moving_average(moving_average(alone * walking[:, None], 0.14 * rate), 0.14 * rate)
    return smooth[:, 0], smooth[:, 1]


def _hurried(log_lengths: Double, rate: float) -> Double:
    """At which frame of the take each new frame is, ``[T]``: as many frames, stretched by ``exp(log_lengths)``.

    Within about two steps as much time is won as is lost, so that what happens in the take stays where it is.
    """
    count = len(log_lengths)
    if count < 3:
        return np.arange(count, dtype=np.float64)
    lengths = np.exp(log_lengths)
    lengths /= moving_average(lengths, 1.1 * rate)
    new_times = np.concatenate([[0.0], np.cumsum(0.5 * (lengths[1:] + lengths[:-1]))])
    new_times *= (count - 1) / new_times[-1]
    return np.interp(np.arange(count), new_times, np.arange(count))


def _dragged(draft: Draft, hurt: int, share: float) -> Double:
    """Where the feet should be when one keeps close to the ground in its swing."""
    feet = draft.feet.copy()
    down = draft.down[:, hurt]
    if not down.any():
        return feet
    heights = np.zeros_like(draft.path)
    heights[:, 1] = feet[:, hurt, 1]
    ground = between_contacts(heights, down, heights, draft.motion.rate)[:, 1]
    feet[:, hurt, 1] -= share * np.maximum(feet[:, hurt, 1] - ground, 0.0) * ~down
    return feet

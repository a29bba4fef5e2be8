"""Longer or shorter strides: the way is scaled, and the places of the feet with it."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np

from ambulo.prepare.quality.examination import runs
from ambulo.prepare.stylise.draft import Bool, Double, Draft, smoothstep

LONGEST_SWING = 1.2
"""Seconds: a foot that is off the ground for longer goes with the body, not from one place to the next."""
FADE = 0.2
"""Seconds in which a foot leaves for the body's way and comes back."""


class Stride(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Lengthen or shorten strides; the pace of the steps stays, so that the speed changes. Steps stay as wide.

    Attributes:
        amount: 0.2 for a fifth longer, -0.5 for half as long.
    """

    amount: float

    def fault(self) -> str | None:
        """What is wrong with the numbers."""
        return None if -0.9 <= self.amount <= 0.6 else "the amount goes from -0.9 to 0.6: legs are as long as they are"

    def apply(self, draft: Draft) -> Draft:
        """Stride."""
        if not self.amount:
            return draft
        away = self.amount * (draft.path - draft.path[0])
        feet = draft.feet.copy()
        for side in (0, 1):
            feet[:, side] += _offsets(draft, side, self.amount, away)
        moved = replace(draft, feet=feet, path=draft.path + away)
        return moved.shifted(away)


def _offsets(draft: Draft, side: int, amount: float, away: Double) -> Double:
    """What each place of a foot is moved by, ``[T, 3]``: constant while it stands."""
    down = draft.down[:, side]
    spans = list(runs(down))
    wishes = np.zeros_like(draft.path)
    for start, stop in spans:
        middle = (start + stop) // 2
        place = draft.feet[start:stop, side].mean(axis=0) - draft.path[middle]
        place -= draft.left[middle] * (place @ draft.left[middle])  # a step is as wide as it was
        wish = away[middle] + amount * place
        wish[1] = 0.0
        wishes[start:stop] = wish
    return between_contacts(wishes, down, away, draft.motion.rate)


def between_contacts(wishes: Double, down: Bool, body: Double, rate: float) -> Double:
    """Offsets that are the wishes where a foot stands, lead from one to the next in a swing, and else are the body's.

    Args:
        wishes: ``[T, 3]`` metres, valid where ``down``.
        down: ``[T]``.
        body: ``[T, 3]``, offsets of the body.
        rate: frames a second.
    """
    count = len(down)
    offsets = np.where(down[:, None], wishes, body)
    last = -1
    for start, stop in [*runs(down), (count, count)]:
        frames = np.arange(last + 1, start)
        if frames.size and last >= 0 and start < count and frames.size <= LONGEST_SWING * rate:
            s = smoothstep((frames - last) / (start - last))[:, None]
            offsets[frames] = (1.0 - s) * wishes[last] + s * wishes[start]
        elif frames.size:
            for at, distance in ((last, frames - last), (start, start - frames)):
                if 0 <= at < count:
                    s = smoothstep(distance / max(FADE * rate, 1.0))[:, None]
                    offsets[frames] += (1.0 - s) * (wishes[at] - body[at])
        last = stop - 1
    return offsets

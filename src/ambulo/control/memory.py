"""What a character has lately left: moments that a search does not go back to for a while.

A search looks at the present pose and at the wish, not at what it chose before. Where no clip does what is asked, it
then goes round between the few moments that begin to do so, and the body stays on one foot. A player who must show
something else soon comes to a clip that goes on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SLOTS = 8
"""Ranges that are remembered at most; the oldest goes first."""

_AGAIN = 0.5  # seconds


@dataclass(frozen=True)
class Memory:
    """The memory of N characters.

    Attributes:
        landed: int64 ``[N]``, the frame at which what is played began.
        ranges: int64 ``[N, SLOTS, 2]``, frames ``[start, stop)`` that were left; the newest first.
        ages: float64 ``[N, SLOTS]``, seconds since; infinite for none.
    """

    landed: NDArray[np.int64]
    ranges: NDArray[np.int64]
    ages: NDArray[np.float64]

    def skips(self, who: NDArray[np.int64], seconds: float) -> NDArray[np.int64] | None:
        """Ranges that some characters left less than so long ago, int64 ``[n, K, 2]``; None where there are none."""
        recent = self.ages[who] < seconds
        slots = int(recent.sum(axis=1).max(initial=0))
        if slots == 0:
            return None
        return np.ascontiguousarray(np.where(recent[:, :slots, None], self.ranges[who][:, :slots], 0))

    def is_brief(self, who: NDArray[np.int64], left: NDArray[np.int64], briefest: int) -> NDArray[np.bool_]:
        """bool ``[n]``: whether what some characters leave at frames ``left`` was played for less than so many."""
        played = left - self.landed[who]
        brief: NDArray[np.bool_] = (played >= 0) & (played < briefest)
        return brief

    def is_hasty(self, who: NDArray[np.int64], left: NDArray[np.int64], briefest: int) -> NDArray[np.bool_]:
        """bool ``[n]``: the same, of those who left something else so soon less than half a second ago."""
        hasty: NDArray[np.bool_] = self.is_brief(who, left, briefest) & (self.ages[who, 0] < _AGAIN)
        return hasty

    def older(self, dt: float) -> Memory:
        """The memory a step later, of characters of whom none jumped."""
        return Memory(self.landed, self.ranges, self.ages + dt)

    def later(
        self,
        dt: float,
        who: NDArray[np.int64],
        left: NDArray[np.int64],
        to: NDArray[np.int64],
        margin: int,
        briefest: int,
    ) -> Memory:
        """The memory a step later.

        Args:
            dt: seconds.
            who: int64 ``[n]``, characters that jumped.
            left: int64 ``[n]``, frames that they jumped from.
            to: int64 ``[n]``, frames that they jumped to.
            margin: frames on either side of what was played that count as the same moment.
            briefest: what was played for so many frames or more led somewhere, and may be gone back to.
        """
        ages = self.ages + dt
        landed, ranges = self.landed.copy(), self.ranges.copy()
        brief = self.is_brief(who, left, briefest)
        forget, start, stop = who[brief], landed[who][brief] - margin, left[brief] + margin + 1
        ranges[forget, 1:], ages[forget, 1:] = ranges[forget, :-1], ages[forget, :-1]
        ranges[forget, 0, 0], ranges[forget, 0, 1] = start, stop
        ages[forget, 0] = 0.0
        landed[who] = to
        return Memory(landed, ranges, ages)


def blank_memory(frames: NDArray[np.int64]) -> Memory:
    """Of characters that begin at these frames."""
    count = len(frames)
    return Memory(frames.copy(), np.zeros((count, SLOTS, 2), np.int64), np.full((count, SLOTS), np.inf))

"""What a character is committed to: a moment of the database that it must be at in a given time, and play through.

Events ("a kick whose blow lands in two seconds") and authored clips are such commitments. While one is waited for or
played, nothing is searched for; the jump into it and out of it is a transition like any other, so it is inertialized.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NOBODY = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Commitments:
    """What N characters are committed to.

    Attributes:
        event: int64 ``[N]``, which question it answers, -1 for none; see :func:`ambulo.control.events.event_key`.
        seconds: float64 ``[N]``, from now until the marker; below zero after it.
        marker: int64 ``[N]``, the frame to be shown then, -1 while it is not chosen.
        delay: float64 ``[N]``, seconds until the jump into the commitment; infinite where none is ahead.
        stop: int64 ``[N]``, the frame after the last one that is to be played; 0 while nothing is being played.
        reach: int64 ``[N]``, what ``stop`` will be after the jump.
    """

    event: NDArray[np.int64]
    seconds: NDArray[np.float64]
    marker: NDArray[np.int64]
    delay: NDArray[np.float64]
    stop: NDArray[np.int64]
    reach: NDArray[np.int64]

    @property
    def any(self) -> bool:
        """Whether anybody is committed to anything."""
        return bool((self.event >= 0).any())

    def copy(self) -> Commitments:
        """The same in arrays of its own."""
        return Commitments(*(array.copy() for array in self.__dict__.values()))

    def clear(self, who: NDArray[np.int64]) -> None:
        """Forget what some characters are committed to, in place."""
        self.event[who], self.marker[who], self.stop[who], self.reach[who] = -1, -1, 0, 0
        self.seconds[who], self.delay[who] = np.inf, np.inf


def no_commitments(count: int) -> Commitments:
    """Of characters that are free."""
    return Commitments(
        event=np.full(count, -1, np.int64),
        seconds=np.full(count, np.inf),
        marker=np.full(count, -1, np.int64),
        delay=np.full(count, np.inf),
        stop=np.zeros(count, np.int64),
        reach=np.zeros(count, np.int64),
    )

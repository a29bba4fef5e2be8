"""The frames that a search is held to, and by how much some of them are preferred."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ambulo.matching.binding import NO_PENALTY
from ambulo.matching.method import Method


@dataclass(frozen=True, eq=False)
class FrameMask:
    """Frames that a search is held to, with a search structure of their own. Made by :meth:`SearchIndex.mask`.

    Attributes:
        allowed: uint8 ``[F]``, frames that may go on being played.
        frames: int32 ``[n]``, frames that may be jumped to, ascending.
        method: searches ``frames``.
        penalty: float32 ``[F]``, by how much less than the best one a frame's bonus is; ``[0]`` where there are none.
        best_bonus: what all costs inside the search are raised by, so that no penalty is negative.
    """

    allowed: NDArray[np.uint8]
    frames: NDArray[np.int32]
    method: Method
    penalty: NDArray[np.float32] = field(default_factory=lambda: NO_PENALTY)
    best_bonus: float = 0.0

    def bonus(self, frame: int) -> float:
        """What a frame costs less than its distance."""
        return self.best_bonus - float(self.penalty[frame]) if len(self.penalty) else 0.0

    @property
    def candidate_count(self) -> int:
        """How many frames may be jumped to."""
        return int(self.frames.shape[0])

    @property
    def byte_count(self) -> int:
        """Bytes that it takes, about: 240 a frame for a structure of its own, or 4 of all where that is a view."""
        own = min(240 * self.frames.shape[0], 240 * (1 << 20)) + 4 * self.frames.shape[0]
        return int(own + self.allowed.nbytes + self.penalty.nbytes)

"""The frames that a search is held to, and by how much some of them are preferred."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ambulo.matching.binding import NO_PENALTY
from ambulo.matching.method import Method


def penalties(bonus: NDArray[np.float32], shown: NDArray[np.bool_]) -> tuple[NDArray[np.float32], float]:
    """What each frame's bonus lacks to the best one, float32 ``[F]``, and the best one, of the frames that are shown.

    ``[0]`` where all of them have the same bonus, or ``bonus`` is ``[0]`` itself.
    """
    if not len(bonus) or not shown.any():
        return NO_PENALTY, 0.0
    own = bonus[shown]
    if np.ptp(own) > 0.0:
        best = float(own.max())
        return np.maximum(np.float32(best) - bonus, np.float32(0.0)), best
    return NO_PENALTY, float(own[0])


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

    @property
    def searched_penalty(self) -> NDArray[np.float32]:
        """The penalties as :class:`~ambulo.matching.binding.Shared` has them."""
        return np.append(self.penalty, np.float32(self.best_bonus)) if len(self.penalty) else self.penalty

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

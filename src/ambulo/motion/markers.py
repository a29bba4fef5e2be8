"""Markers: points on a body as an optical system sees them, before anybody solved a skeleton out of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import MotionError
from ambulo.motion.motion import Motion

SOLVE_FIRST = "solve a skeleton from them first, in the software that captured them, and export it as BVH or FBX"
"""The remedy wherever a body is needed and markers were given."""


@dataclass(frozen=True)
class Markers(Motion):
    """Marker positions over time, as a motion whose joints are the markers: no parents, no rotations.

    Attributes:
        positions: float32 ``[T, M, 3]``, metres, in the world; NaN where the marker was not seen.
        valid: bool ``[T, M]``, whether the marker was seen.

    A skeleton is not solved out of them here, so they enter no database.
    """

    valid: NDArray[np.bool_] = field(default_factory=lambda: np.zeros((0, 0), np.bool_))

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "valid", np.ascontiguousarray(self.valid, np.bool_))
        if self.valid.shape != self.positions.shape[:2]:
            raise MotionError(
                f"markers of {self.positions.shape[:2]} need as many flags, got {self.valid.shape}",
                path=self.source.path,
            )
        if (self.skeleton.parents >= 0).any():
            raise MotionError("markers have no parents", path=self.source.path)

    def slice(self, start: int, stop: int) -> Markers:
        """The frames ``[start, stop)``, as views."""
        return replace(
            self,
            positions=self.positions[start:stop],
            rotations=self.rotations[start:stop],
            valid=self.valid[start:stop],
        )

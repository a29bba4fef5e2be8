"""Ground heights: flat, slopes and steps along a straight line of travel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Terrain:
    """Heights that change along the world's +Z only.

    Attributes:
        knots: places along z ``[K]``, metres, rising. Two knots at one place are a step.
        heights: ``[K]``, metres.
        treads: centres along z of places where a foot fits ``[N]``; empty where it may stand anywhere.
    """

    knots: tuple[float, ...] = (0.0,)
    heights: tuple[float, ...] = (0.0,)
    treads: tuple[float, ...] = ()

    @property
    def flat(self) -> bool:
        """Whether the ground is level at height zero."""
        return not any(self.heights)

    def height(self, z: ArrayLike) -> Array:
        """Height at places along z."""
        return np.interp(np.asarray(z, np.float64), self.knots, self.heights)


FLAT = Terrain()


def hill(start: float, run: float, rise: float, top: float) -> Terrain:
    """Up a slope of ``run`` metres, along a level top, and down again."""
    knots = (start, start + run, start + run + top, start + 2.0 * run + top)
    return Terrain(knots, (0.0, rise, rise, 0.0))


def stairs(start: float, count: int, depth: float, rise: float, top: float) -> Terrain:
    """``count`` steps up, a level top, and as many down."""
    knots: list[float] = []
    heights: list[float] = []
    treads: list[float] = []
    for i in range(count):
        edge = start + i * depth
        knots += [edge - 1e-6, edge]
        heights += [i * rise, (i + 1) * rise]
        treads.append(edge + 0.5 * depth)
    down = start + count * depth + top
    for i in range(count):
        edge = down + i * depth
        knots += [edge, edge + 1e-6]
        heights += [(count - i) * rise, (count - i - 1) * rise]
        treads.append(edge + 0.5 * depth)
    return Terrain(tuple(knots), tuple(heights), tuple(treads))

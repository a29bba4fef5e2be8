"""Paths on the ground: polylines with their arc length, closed or open."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import ControlError

Float = NDArray[np.float32]


@dataclass(frozen=True)
class Path:
    """A polyline that starts at its first point.

    Attributes:
        points: float64 ``[P, 2]``, x and z in metres; consecutive points differ.
        closed: whether the last point is joined to the first.
    """

    points: NDArray[np.float64]
    closed: bool = True

    def __post_init__(self) -> None:
        points = np.ascontiguousarray(self.points, np.float64)
        if points.ndim != 2 or points.shape[1] != 2 or len(points) < 2 or not np.isfinite(points).all():
            raise ControlError(f"a path needs at least two finite points [P, 2], got {points.shape}", key="points")
        object.__setattr__(self, "points", points)
        if (np.hypot(*(self._ends - self._starts).T) < 1e-9).any():
            raise ControlError("a path has the same point twice in a row", key="points")

    @cached_property
    def _starts(self) -> NDArray[np.float64]:
        return self.points if self.closed else self.points[:-1]

    @cached_property
    def _ends(self) -> NDArray[np.float64]:
        return np.roll(self.points, -1, axis=0) if self.closed else self.points[1:]

    @cached_property
    def _edges(self) -> NDArray[np.float64]:
        """Arc length at the start of every segment and at the end."""
        return np.concatenate([[0.0], np.cumsum(np.hypot(*(self._ends - self._starts).T))])

    @property
    def length(self) -> float:
        """Metres."""
        return float(self._edges[-1])

    def at(self, arc: ArrayLike) -> NDArray[np.float64]:
        """Points ``[..., 2]`` at arc lengths; a closed path goes round, an open one is extended straight at its end."""
        s = np.asarray(arc, np.float64)
        if self.closed:
            s = np.mod(s, self.length)
        segment = np.clip(np.searchsorted(self._edges, s, side="right") - 1, 0, len(self._starts) - 1)
        way = self._ends[segment] - self._starts[segment]
        length = self._edges[segment + 1] - self._edges[segment]
        return self._starts[segment] + way * ((s - self._edges[segment]) / length)[..., None]

    def nearest(self, positions: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Arc length of and distance to the nearest point of the path, ``[N]`` each, for positions ``[N, 3]``."""
        p = np.asarray(positions, np.float64)[:, None, [0, 2]]
        way = self._ends - self._starts
        square = (way * way).sum(axis=1)
        part = np.clip(((p - self._starts) * way).sum(axis=2) / square, 0.0, 1.0)
        gap = p - (self._starts + part[..., None] * way)
        distance = np.hypot(gap[..., 0], gap[..., 1])
        best = distance.argmin(axis=1)
        rows = np.arange(len(best))
        return self._edges[best] + part[rows, best] * np.sqrt(square[best]), distance[rows, best]

    def ahead(self, positions: Float, way: float) -> Float:
        """Points ``[N, 3]`` that lie ``way`` metres along the path after the ones nearest to the positions."""
        arc, _ = self.nearest(positions)
        target = self.at(arc + way)
        result = np.array(positions, np.float32)
        result[:, 0], result[:, 2] = target[:, 0], target[:, 1]
        return result

    def sample(self, count: int) -> Float:
        """``count`` points, even in arc length, float32 ``[count, 3]``."""
        points = self.at(np.linspace(0.0, self.length, count, endpoint=not self.closed))
        result = np.zeros((count, 3), np.float32)
        result[:, 0], result[:, 2] = points[:, 0], points[:, 1]
        return result


def circle(radius: float) -> Path:
    """A circle to the left (+X) that starts at the origin along +Z."""
    angle = np.linspace(0.0, 2.0 * np.pi, 256, endpoint=False)
    return Path(np.stack([radius - radius * np.cos(angle), radius * np.sin(angle)], axis=1))


def square(side: float) -> Path:
    """A square to the left that starts at the origin along +Z, in the middle of a side."""
    half = 0.5 * side
    return Path(np.array([(0.0, 0.0), (0.0, half), (side, half), (side, -half), (0.0, -half)]))


def star(radius: float) -> Path:
    """The outline of a five-pointed star with its centre to the left; starts at the origin, an inner corner."""
    angle = np.linspace(0.0, 2.0 * np.pi, 10, endpoint=False)
    distance = np.where(np.arange(10) % 2 == 0, 0.5 * radius, radius)
    points = np.stack([-distance * np.cos(angle), distance * np.sin(angle)], axis=1)
    return Path(points - points[0])


def wave(amplitude: float, length: float, waves: int = 40) -> Path:
    """``waves`` periods of a sine along +Z, open."""
    z = np.linspace(0.0, waves * length, 64 * waves)
    x = amplitude * np.sin(2.0 * np.pi * z / length)
    return Path(np.stack([x, z], axis=1), closed=False)

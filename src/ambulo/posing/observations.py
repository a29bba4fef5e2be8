"""What is asked of a pose: points, orientations, directions to look in, a pose to stay near; all as linear rows.

Every wish is a weighted sum of points at a position, up to a tolerance: one point, or the difference of two. So one
closed form (:mod:`ambulo.posing.gaussian`) serves any mixture of wishes, and a turned body is asked the turned wish.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import PosingError, nearest_names
from ambulo.maths import quaternions
from ambulo.posing.points import POINT_COUNT, POINTS, SITES, point_indices

Double = NDArray[np.float64]

RIGID: dict[str, tuple[int, ...]] = {
    role: indices
    for role in dict.fromkeys(site.role for site in SITES)
    if len(indices := tuple(i for i, site in enumerate(SITES) if site.role == role)) > 1
}
"""Role -> the points that are fixed to its joint, where there are several: their differences tell its orientation."""

_NONE = np.zeros(0, np.int64)


def turn_vectors(vectors: ArrayLike, yaws: ArrayLike) -> Double:
    """Vectors ``[N, K, 3]`` turned about +Y by ``yaws`` ``[N]``, radians; +Z turns to +X."""
    v, angle = np.asarray(vectors, np.float64), np.asarray(yaws, np.float64)[:, None]
    cos, sin = np.cos(angle), np.sin(angle)
    out = np.empty(np.broadcast_shapes(v.shape, (len(angle), 1, 1)))
    out[..., 0] = cos * v[..., 0] + sin * v[..., 2]
    out[..., 1] = v[..., 1]
    out[..., 2] = cos * v[..., 2] - sin * v[..., 0]
    return out


@dataclass(frozen=True)
class Observations:
    """Linear wishes of N poses: ``rows @ points = values``, the same rows for all.

    Attributes:
        rows: float64 ``[R, 43]``, weights of the points.
        values: float64 ``[N, R, 3]``, metres.
        variances: float64 ``[R]``, square metres, of each coordinate; 0 is exact.
        exact_points: int64, the points that are set with no tolerance.
    """

    rows: Double
    values: Double
    variances: Double
    exact_points: NDArray[np.int64]

    @property
    def count(self) -> int:
        """Number of poses N."""
        return len(self.values)

    def seen_from(self, yaws: Double, places: Double) -> Observations:
        """The same wishes in the axes of bodies that stand at ``places`` ``[N, 3]`` and face ``yaws`` ``[N]``."""
        weights = self.rows.sum(axis=1)
        values = self.values - weights[:, None] * np.asarray(places)[:, None, :]
        return replace(self, values=turn_vectors(values, -np.asarray(yaws)))

    def scaled(self, factor: float) -> Observations:
        """The same wishes with all lengths times ``factor``."""
        return replace(self, values=self.values * factor, variances=self.variances * factor**2)


def observe_points(
    names: Sequence[str] | NDArray[np.integer], positions: ArrayLike, tolerances: ArrayLike = 0.0
) -> Observations:
    """Points at positions.

    Args:
        names: K points, by name or index.
        positions: ``[N, K, 3]`` or ``[K, 3]``, metres.
        tolerances: metres, standard deviation of each ``[K]`` or of all.

    Raises:
        PosingError: unknown or repeated names, no points, positions of the wrong shape or no finite numbers.
    """
    given = list(names)
    indices = np.array(given, np.int64) if given and not isinstance(given[0], str) else point_indices(given)
    where = np.asarray(positions, np.float64)
    where = where[None] if where.ndim == 2 else where
    if not len(indices):
        raise PosingError("no point is set", remedy=f"set at least one of: {', '.join(POINTS)}")
    if len(set(indices.tolist())) != len(indices):
        twice = next(POINTS[i] for k, i in enumerate(indices) if i in indices[:k])
        raise PosingError(f"the point {twice!r} is set twice", key=twice)
    if where.ndim != 3 or where.shape[1:] != (len(indices), 3):
        raise PosingError(f"{len(indices)} points need positions [N, {len(indices)}, 3], got {where.shape}")
    if not np.isfinite(where).all():
        frame, point = np.argwhere(~np.isfinite(where).all(axis=-1))[0]
        raise PosingError(
            f"the position of {POINTS[indices[point]]!r} is no finite number",
            key=POINTS[indices[point]],
            frame=int(frame),
        )
    spread = np.broadcast_to(np.asarray(tolerances, np.float64), (len(indices),))
    if not (np.isfinite(spread).all() and (spread >= 0.0).all()):
        raise PosingError("a tolerance is a length in metres, zero or more", key="tolerance")
    return Observations(np.eye(POINT_COUNT)[indices], where, spread**2, indices[spread == 0.0])


def observe_orientation(role: str, rotations: ArrayLike, tolerance: float = 0.0) -> Observations:
    """A joint turned away from the reference pose (facing +Z, arms out, palms down) by global rotations.

    Args:
        role: a joint that carries several points: one of :data:`RIGID`.
        rotations: ``[N, 4]`` or ``[4]``, unit.
        tolerance: radians, standard deviation.

    Raises:
        PosingError: the role carries no two points.
    """
    if role not in RIGID:
        raise PosingError(f"no orientation can be set for {role!r}; {nearest_names(role, RIGID)}", key=role)
    turn = np.atleast_2d(np.asarray(rotations, np.float64))
    first, *others = RIGID[role]
    rows = np.eye(POINT_COUNT)[others] - np.eye(POINT_COUNT)[first]
    offsets = np.array([np.subtract(SITES[other].offset, SITES[first].offset) for other in others])
    values = quaternions.rotate(turn[:, None], offsets[None])
    variances = (tolerance * np.linalg.norm(offsets, axis=1)) ** 2
    return Observations(rows, np.asarray(values, np.float64), variances, _NONE)


def observe_near(points: ArrayLike, spread: float) -> Observations:
    """Every point near where it was: a pose before, for smooth sequences.

    Args:
        points: ``[N, 43, 3]``, metres.
        spread: metres, standard deviation.
    """
    near = np.asarray(points, np.float64).reshape(-1, POINT_COUNT, 3)
    return Observations(np.eye(POINT_COUNT), near, np.full(POINT_COUNT, spread**2), _NONE)


def observe_look(target: ArrayLike, head: ArrayLike, tolerance: float = 0.0) -> Observations:
    """The face turned to a target.

    The nose sits ahead of the head's joint and a little above it, seen along the line to the target with no roll; exact
    where the head is at ``head``: ask again with the head that came out.

    Args:
        target: ``[3]``, metres.
        head: ``[3]``, metres, where the head is about.
        tolerance: radians, standard deviation.

    Raises:
        PosingError: the target is where the head is.
    """
    line = np.asarray(target, np.float64) - np.asarray(head, np.float64)
    length = float(np.linalg.norm(line))
    if not np.isfinite(length) or length < 0.05:
        raise PosingError("the target to look at is no point away from the head", key="look_at")
    line /= length
    front, joint = POINTS.index("head_front"), POINTS.index("head")
    nose = np.array(SITES[front].offset)
    reach, rise = float(nose[2]), float(nose[1])
    side = np.cross([0.0, 1.0, 0.0] if abs(line[1]) < 0.95 else [0.0, 0.0, 1.0], line)
    up = np.cross(line, side / np.linalg.norm(side))
    rows = (np.eye(POINT_COUNT)[front] - np.eye(POINT_COUNT)[joint])[None]
    value = reach * line + rise * up
    return Observations(rows, value[None, None], np.array([(tolerance * reach) ** 2]), _NONE)


def join_observations(parts: Sequence[Observations]) -> Observations:
    """Several wishes at once. A part with one pose serves all poses of the others.

    Raises:
        PosingError: no parts, or parts for different numbers of poses.
    """
    if not parts:
        raise PosingError("no wish is given", remedy="set at least one point")
    counts = {part.count for part in parts} - {1}
    if len(counts) > 1:
        raise PosingError(f"wishes are given for {sorted(counts)} poses at once")
    count = counts.pop() if counts else 1
    values = [np.broadcast_to(part.values, (count, *part.values.shape[1:])) for part in parts]
    return Observations(
        np.concatenate([part.rows for part in parts]),
        np.concatenate(values, axis=1),
        np.concatenate([part.variances for part in parts]),
        np.unique(np.concatenate([part.exact_points for part in parts])),
    )

"""What is asked of a pose: points, orientations, directions to look in, a pose to stay near; all as linear rows.

Every wish is ``rows @ points = values``, up to a tolerance, on the 129 coordinates of the 43 points. So one closed form
(:mod:`ambulo.posing.gaussian`) serves any mixture of wishes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import PosingError, nearest_names
from ambulo.maths import quaternions
from ambulo.posing.points import POINT_COUNT, POINTS, SITES, point_indices

Double = NDArray[np.float64]

_DIMENSIONS = 3 * POINT_COUNT

RIGID: dict[str, tuple[int, ...]] = {
    role: indices
    for role in dict.fromkeys(site.role for site in SITES)
    if len(indices := tuple(i for i, site in enumerate(SITES) if site.role == role)) > 1
}
"""Role -> the points that are fixed to its joint, where there are several: their differences tell its orientation."""


@dataclass(frozen=True)
class Observations:
    """Linear wishes of N poses, the same rows for all.

    Attributes:
        rows: float64 ``[R, 129]``.
        values: float64 ``[N, R]``, metres of the standard body.
        variances: float64 ``[R]``, square metres; 0 is exact.
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

    def moved(self, yaws: Double, places: Double) -> list[Observations]:
        """Each pose's wishes as seen from its own body, which turns them one by one.

        Args:
            yaws: ``[N]``, radians, where each body faces (0 is +Z).
            places: ``[N, 3]``, metres, where each body stands.

        Returns:
            One :class:`Observations` of a single pose for each.
        """
        turned = self.rows.reshape(-1, POINT_COUNT, 3)
        shift = np.einsum("rpk->rk", turned)
        out = []
        for index in range(self.count):
            turn = quaternions.to_matrix(quaternions.from_yaw(np.float64(yaws[index])))
            rows = (turned @ turn).reshape(-1, _DIMENSIONS)
            values = self.values[index] - shift @ places[index]
            out.append(Observations(rows, values[None], self.variances, self.exact_points))
        return out


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
    rows = np.zeros((3 * len(indices), _DIMENSIONS))
    rows[np.arange(3 * len(indices)), (3 * indices[:, None] + np.arange(3)).ravel()] = 1.0
    return Observations(rows, where.reshape(len(where), -1), np.repeat(spread**2, 3), indices[spread == 0.0])


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
    rows = np.zeros((3 * len(others), _DIMENSIONS))
    values, variances = [], []
    for number, other in enumerate(others):
        offset = np.subtract(SITES[other].offset, SITES[first].offset)
        for axis in range(3):
            rows[3 * number + axis, 3 * other + axis] = 1.0
            rows[3 * number + axis, 3 * first + axis] = -1.0
        values.append(quaternions.rotate(turn, offset))
        variances += 3 * [(tolerance * float(np.linalg.norm(offset))) ** 2]
    return Observations(rows, np.concatenate(values, axis=-1), np.array(variances), np.zeros(0, np.int64))


def observe_near(points: ArrayLike, spread: float) -> Observations:
    """Every point near where it was: a pose before, for smooth sequences.

    Args:
        points: ``[N, 43, 3]``, metres.
        spread: metres, standard deviation.
    """
    near = np.asarray(points, np.float64).reshape(-1, _DIMENSIONS)
    return Observations(np.eye(_DIMENSIONS), near, np.full(_DIMENSIONS, spread**2), np.zeros(0, np.int64))


def observe_look(target: ArrayLike, head: ArrayLike, tolerance: float = 0.0) -> Observations:
    """The face turned to a target.

    The nose lies on the line from the head's joint to the target: two rows square to that line, exact where the head is
    at ``head``; ask again with the head that came out.

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
    side /= np.linalg.norm(side)
    up = np.cross(line, side)
    rows = np.zeros((3, _DIMENSIONS))
    for row, axis in enumerate((side, up, line)):
        rows[row, 3 * front : 3 * front + 3] = axis
        rows[row, 3 * joint : 3 * joint + 3] = -axis
    values = np.array([[0.0, rise, reach]])  # the nose sits ahead of and a little above the joint
    variance = (tolerance * reach) ** 2
    return Observations(rows, values, np.full(3, variance), np.zeros(0, np.int64))


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
    values = [np.broadcast_to(part.values, (count, part.values.shape[1])) for part in parts]
    return Observations(
        np.concatenate([part.rows for part in parts]),
        np.concatenate(values, axis=1),
        np.concatenate([part.variances for part in parts]),
        np.unique(np.concatenate([part.exact_points for part in parts])),
    )

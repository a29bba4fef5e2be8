"""From 43 points to a pose of a skeleton, its bones as long as they are and its joints as far as joints turn (S1.17).

A network's points belong to no body: bones come out longer or shorter. Here each rigid body is first laid on its points
(shape matching), then all joint rotations and the place of the hips are solved together by damped Gauss-Newton
(:mod:`~ambulo.posing.projection_kernels`). Points that the user set weigh far more than predicted ones. Bone lengths
are exact, since only rotations are solved for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import PosingError
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.posing.body_points import BodyPoints
from ambulo.posing.canonical_body import CanonicalBody, canonical_body
from ambulo.posing.joint_limits import JointLimits, default_limits
from ambulo.posing.points import POINT_COUNT, POINTS

Double = NDArray[np.float64]

HELD = 0.001
"""Metres within which a pinned point counts as held."""
SPREAD = 0.03
"""Metres, how far a predicted point may be off where nothing better is known."""
_PINNED = 0.0004
_LEAST_SPREAD = 0.004
_FLOOR_SPREAD = 0.001


@dataclass(frozen=True)
class ProjectionSettings:
    """Constants of the projection.

    Attributes:
        steps: Gauss-Newton steps at most.
        prior: weight of the learned distribution of joint rotations; it settles what the points leave open.
        limit_strength: weight of what goes past the limits.
    """

    steps: int = 80
    prior: float = 0.1
    limit_strength: float = 3.0


class Unreached(NamedTuple):
    """A pinned point that the body does not reach.

    Attributes:
        frame: of the poses, from 0.
        point: name.
        metres: how far the pose is from the pin.
    """

    frame: int
    point: str
    metres: float


@dataclass(frozen=True)
class Projected:
    """Poses of a skeleton.

    Attributes:
        positions: float32 ``[N, J, 3]``, local, metres.
        rotations: float32 ``[N, J, 4]``, local.
        points: float64 ``[N, 43, 3]``, metres, where the points are on the poses.
        errors: float64 ``[N, 43]``, metres, from the points that were asked for.
        unreachable: pins that are off by more than a millimetre and their tolerance, farthest first.
        steps: int64 ``[N]``, of the solver.
    """

    body: CanonicalBody
    positions: NDArray[np.float32]
    rotations: NDArray[np.float32]
    points: Double
    errors: Double
    unreachable: tuple[Unreached, ...]
    steps: NDArray[np.int64]

    def motion(self, rate: float = 30.0, name: str = "pose") -> Motion:
        """The poses as a motion."""
        turns = quaternions.unroll(self.rotations)
        return Motion(self.body.body.reference.skeleton, self.positions, turns, rate, name)


class Projector:
    """Lays points on one skeleton.

    Args:
        body: the 43 points on it.
        limits: how far joints turn; the packaged ones by default.
        settings: constants.
    """

    def __init__(
        self, body: BodyPoints, limits: JointLimits | None = None, settings: ProjectionSettings | None = None
    ) -> None:
        self.body = canonical_body(body)
        self.settings = settings or ProjectionSettings()
        self.means, self.precisions, self.limits = (limits or default_limits()).on(self.body)
        self._head = self.body.index("head")
        self._elbows, self._elbow_bones, self._elbow_axes = self._hinges("upper_arm", "forearm")
        self._knees, self._knee_bones, _ = self._hinges("upper_leg", "lower_leg")

    def project(
        self,
        points: ArrayLike,
        *,
        pinned: ArrayLike = (),
        spreads: ArrayLike | None = None,
        tolerances: ArrayLike | None = None,
        turns: Mapping[str, ArrayLike] | None = None,
        look_at: ArrayLike | None = None,
        floor: float | None = None,
    ) -> Projected:
        """Poses whose points lie as near as can be to points.

        Args:
            points: ``[N, 43, 3]`` or ``[43, 3]``, metres, of a body of this size.
            pinned: bool ``[N, 43]`` or ``[43]``, or indices: points that the user set; held within a millimetre where
                the body reaches.
            spreads: metres, how far off predicted points may be, ``[N, 43]``, ``[43]``, or by axis with a last axis of
                3; infinite where a coordinate is not to count.
            tolerances: metres, of pinned points, ``[43]`` or ``[N, 43]``.
            turns: role -> global rotation away from the reference pose, ``[N, 4]`` or ``[4]``.
            look_at: metres, what the face looks at, ``[N, 3]`` or ``[3]``; NaN rows for none.
            floor: metres, the height that no point may go below.

        Raises:
            PosingError: points of the wrong shape or no finite numbers; a role that the skeleton lacks.
        """
        from ambulo.posing import projection_kernels as kernels

        goal = np.array(points, np.float64)
        goal = np.ascontiguousarray(goal[None] if goal.ndim == 2 else goal)
        if goal.ndim != 3 or goal.shape[1:] != (POINT_COUNT, 3):
            raise PosingError(f"a pose is {POINT_COUNT} points, [N, {POINT_COUNT}, 3], got {np.shape(points)}")
        if not np.isfinite(goal).all():
            frame, point = np.argwhere(~np.isfinite(goal).all(axis=-1))[0]
            raise PosingError(f"the point {POINTS[point]!r} is no finite number", key=POINTS[point], frame=int(frame))
        count = len(goal)
        pins = _mask(pinned, count)
        loose = np.broadcast_to(0.0 if tolerances is None else np.asarray(tolerances, np.float64), (count, POINT_COUNT))
        weights = self._weights(spreads, pins, loose, count)
        body = self.body
        turn_targets = np.tile(quaternions.IDENTITY, (count, len(body.joints), 1)).astype(np.float64)
        turn_weights = np.zeros((count, len(body.joints)))
        for role, wished in (turns or {}).items():
            joint = body.index(role)
            if joint < 0:
                raise PosingError(f"this skeleton has no {role!r} to turn", key=role)
            q = np.broadcast_to(np.asarray(wished, np.float64), (count, 4))
            turned = np.isfinite(q).all(axis=1)
            turn_targets[turned, joint] = quaternions.normalize(q[turned])
            turn_weights[turned, joint] = 1.0 / 0.002**2
        looks, look_weights = np.zeros((count, 3)), np.zeros(count)
        if look_at is not None and self._head >= 0:
            given = np.broadcast_to(np.asarray(look_at, np.float64), (count, 3))
            seen = np.isfinite(given).all(axis=1)
            looks[seen], look_weights[seen] = given[seen], 1.0 / 0.005**2
        ground = np.zeros(POINT_COUNT) if floor is None else floor + body.clearances
        rotations, hips = np.empty((count, len(body.joints), 4)), np.empty((count, 3))
        out, steps = np.empty_like(goal), np.empty(count, np.int64)
        kernels.project_poses(
            goal, weights, turn_targets, turn_weights, looks, self._head, look_weights, body.parents, body.offsets,
            body.owners, body.sites, body.firsts, body.members, body.member_offsets, self._elbows, self._elbow_bones,
            self._elbow_axes, self._knees, self._knee_bones, self.means, self.precisions, self.limits,
            self.settings.prior, self.settings.limit_strength, ground,
            0.0 if floor is None else 1.0 / _FLOOR_SPREAD**2, self.settings.steps, rotations, hips, out, steps,
        )  # fmt: skip
        positions, local = body.local_pose(rotations, hips)
        errors = np.linalg.norm(out - goal, axis=-1)
        off = np.argwhere(pins & (errors > HELD + 2.0 * loose))
        late = sorted((Unreached(int(t), POINTS[i], float(errors[t, i])) for t, i in off), key=lambda u: -u.metres)
        return Projected(body, positions, local, out, errors, tuple(late), steps)

    def _weights(self, spreads: ArrayLike | None, pins: NDArray[np.bool_], loose: Double, count: int) -> Double:
        scale = self.body.body.scale
        spread = np.asarray(SPREAD * scale if spreads is None else spreads, np.float64)
        if spread.ndim < 3:
            spread = spread[..., None] if spread.shape in ((POINT_COUNT,), (count, POINT_COUNT)) else spread
        wide = np.broadcast_to(spread, (count, POINT_COUNT, 3))
        weights = 1.0 / np.square(np.maximum(wide, _LEAST_SPREAD * scale))
        held = 1.0 / np.square(np.maximum(loose, _PINNED))
        out = np.where(pins[..., None] & np.isfinite(wide), held[..., None], weights)
        return np.ascontiguousarray(out, np.float64)

    def _hinges(self, upper: str, lower: str) -> tuple[NDArray[np.int64], Double, Double]:
        body = self.body
        pairs, bones, axes = [], [], []
        for side, sign in (("left", 1.0), ("right", -1.0)):
            a, b = body.index(f"{side}_{upper}"), body.index(f"{side}_{lower}")
            if a >= 0 and b >= 0 and body.parents[b] == a:
                pairs.append((a, b))
                bones.append(body.offsets[b] / max(float(np.linalg.norm(body.offsets[b])), 1e-9))
                axes.append((0.0, -sign, 0.0))
        shape = (len(pairs), 3)
        return np.array(pairs, np.int64).reshape(-1, 2), np.reshape(bones, shape), np.reshape(axes, shape)


def _mask(pinned: ArrayLike, count: int) -> NDArray[np.bool_]:
    """bool ``[N, 43]`` of a mask or of indices."""
    given = np.asarray(pinned)
    if given.dtype == np.bool_:
        return np.broadcast_to(given, (count, POINT_COUNT))
    mask = np.zeros((count, POINT_COUNT), bool)
    mask[:, given.astype(np.int64)] = True
    return mask

"""Foot lock: a foot that stands stays where it is, and lets go softly.

A toe that the animation puts on the ground is held at the point where it came to rest, by two-bone IK of the leg; when
the animation lifts it, or has gone too far from it, the difference becomes an offset that fades by a spring. What is
held is the toe's place on the ground; its height follows the animation and never goes below the lowest that toes in
contact have in the data. When the leg gets too short the heel lifts about the toe, then the pelvis is let down a
little, and the reach yields before the knee is straight, so that it never snaps. A lock that must break while the
animation still stands (the body was moved away) makes a step, with the toe lifted on its way. Where the other foot is
in the air the lock holds longer, and the step is a low, quick hop: for that moment nothing carries the body, which the
measure ``hover`` shows.

The lock's state machine, unlock distance and half-life follow D. Holden's public Motion-Matching code; heights and
lengths are taken from the skeleton and its data, not from constants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.control.controller import Controller
from ambulo.control.intent import Intent
from ambulo.control.kernel_arrays import PoseArrays
from ambulo.control.pose import Pose
from ambulo.control.settings import FootLockSettings
from ambulo.control.step_checks import check_state
from ambulo.errors import ControlError
from ambulo.maths import quaternions
from ambulo.motion import kinematics
from ambulo.motion.skeleton import Skeleton

if TYPE_CHECKING:
    from ambulo.database.database import Database

_SAMPLES = 20_000


@dataclass(frozen=True)
class FootLockState:
    """The state of N characters.

    Attributes:
        inner: of the wrapped controller.
        fresh: bool ``[N]``, nothing was shown yet.
        flags: uint8 ``[N, 2, 4]``, left and right: locked, touching the ground, stepping to where the animation is (1 a
            step, 2 a hop), in the time step after a transition.
        values: float64 ``[N, 2, 19]``, left and right, three numbers each: lock point or where a step began, offset and
            its velocity, toe shown and its velocity, toe of the animation (m, m/s, world); then the seconds of its
            usual duration that a step has done.
        drops: float64 ``[N, 2]``, how far the pelvis is let down (m) and how fast (m/s).
        leg_rotations: float32 ``[N, 2, 4, 4]``, local rotations shown of upper leg, lower leg, foot and toe.
    """

    inner: Any
    fresh: NDArray[np.bool_]
    flags: NDArray[np.uint8]
    values: NDArray[np.float64]
    drops: NDArray[np.float64]
    leg_rotations: NDArray[np.float32]

    @property
    def locked(self) -> NDArray[np.bool_]:
        """bool ``[N, 2]``, which toes are held."""
        locked: NDArray[np.bool_] = self.flags[:, :, 0] != 0
        return locked


@dataclass(frozen=True)
class FootGeometry:
    """What a foot lock must know of a body.

    Attributes:
        legs: int32 ``[2, 5]``, see :func:`leg_joints`.
        pelvis: the joint below the root that carries the legs.
        heights: float64 ``[2, 3]``, metres above the ground: lowest toe, lowest ankle, highest toe in contact.
        knees: float64 ``[2, 3]``, unit: the direction into which a knee bends, in the frame of its upper leg.
    """

    legs: NDArray[np.int32]
    pelvis: int
    heights: NDArray[np.float64]
    knees: NDArray[np.float64]


def foot_geometry(database: Database) -> FootGeometry:
    """The geometry of the feet in a database's own motion.

    Lowest and highest are the 1st and 95th percentile over (at most 20,000) frames in contact, so that noise decides
    nothing; the lowest is never under the ground. Knees count the more the more they bend.

    Raises:
        SkeletonError: the skeleton has no legs.
        ControlError: no foot is ever in contact.
    """
    legs = leg_joints(database.skeleton)
    contacts = np.asarray(database.contacts)
    if not np.any(database.valid):
        raise ControlError(
            "every frame of this database is a glitch", key="valid", remedy="see what `ambulo build` says of the takes"
        )
    frames = np.flatnonzero((np.asarray(database.valid) != 0) & contacts.any(axis=1))
    frames = frames[:: max(len(frames) // _SAMPLES, 1)]
    if not len(frames):
        raise ControlError(
            "no foot touches the ground in this database",
            key="contacts",
            remedy="check units and up axis of the sources, or drive it without a foot lock",
        )
    pose = kinematics.forward(database.positions[frames], database.rotations[frames], database.skeleton.parents)
    heights, knees = np.empty((2, 3)), np.empty((2, 3))
    above_ground = pose.positions[..., 1] - pose.positions[:, :1, 1]
    for side, (upper, lower, foot, toe, _) in enumerate(legs):
        touching = contacts[frames, side] != 0
        touching = touching if touching.any() else np.ones(len(frames), bool)
        low, high = np.percentile(above_ground[touching, toe], [1.0, 95.0])
        ankle = np.percentile(above_ground[touching, foot], 1.0)
        heights[side] = max(low, 0.0), max(ankle, 0.0), max(high, low, 0.0)
        hip, knee, end = (pose.positions[:, joint].astype(np.float64) for joint in (upper, lower, foot))
        line = end - hip
        line /= np.maximum(np.linalg.norm(line, axis=1, keepdims=True), 1e-9)
        bend = knee - hip
        bend -= line * (bend * line).sum(axis=1, keepdims=True)
        local = quaternions.inverse_rotate(pose.rotations[:, upper], bend).sum(axis=0)
        size = float(np.linalg.norm(local))
        forward = quaternions.inverse_rotate(pose.rotations[:, upper], [0.0, 0.0, 1.0])[0]
        knees[side] = local / size if size > 1e-6 else forward
    pelvis = int(legs[0, 4])
    while database.skeleton.parents[pelvis] > 0:
        pelvis = int(database.skeleton.parents[pelvis])
    return FootGeometry(legs, pelvis, heights, knees)


def leg_joints(skeleton: Skeleton) -> NDArray[np.int32]:
    """Upper leg, lower leg, foot, toe (the foot itself where there is none), parent of the upper leg; int32 ``[2, 5]``.

    Raises:
        SkeletonError: a role is missing.
    """
    rows = []
    for side in ("left", "right"):
        upper, lower = skeleton.role(f"{side}_upper_leg"), skeleton.role(f"{side}_lower_leg")
        foot = skeleton.role(f"{side}_foot")
        toe = skeleton.roles.get(f"{side}_toe", foot)
        rows.append((upper, lower, foot, toe, int(skeleton.parents[upper])))
    return np.array(rows, np.int32)


class FootLock:
    """A controller around a controller: holds the feet that stand.

    Args:
        inner: what is shown otherwise.
        geometry: from :func:`foot_geometry`.
        settings: half-lives and distances.
    """

    def __init__(self, inner: Controller, geometry: FootGeometry, settings: FootLockSettings | None = None) -> None:
        from ambulo.control import foot_lock_kernels

        self.inner = inner
        self.geometry = geometry
        self.settings = settings or FootLockSettings()
        self._kernels = foot_lock_kernels
        self._parents = np.ascontiguousarray(inner.skeleton.parents, np.int32)
        self._constants = self.settings.constants()

    @property
    def skeleton(self) -> Skeleton:
        """The wrapped controller's skeleton."""
        return self.inner.skeleton

    def start(
        self, count: int = 1, seed: int = 0, position: ArrayLike | None = None, facing: ArrayLike | None = None
    ) -> FootLockState:
        """See :meth:`Controller.start`."""
        return FootLockState(
            self.inner.start(count, seed, position, facing),
            np.ones(count, np.bool_),
            np.zeros((count, 2, 4), np.uint8),
            np.zeros((count, 2, 19)),
            np.zeros((count, 2)),
            np.zeros((count, 2, 4, 4), np.float32),
        )

    def step(self, state: FootLockState, intent: Intent, dt: float) -> tuple[FootLockState, Pose]:
        """See :meth:`Controller.step`."""
        check_state(state, FootLockState, 2, "flags")
        inner, pose = self.inner.step(state.inner, intent, dt)
        count, geometry = len(pose.positions), self.geometry
        flags, values, drops = np.empty_like(state.flags), np.empty_like(state.values), np.empty_like(state.drops)
        leg_rotations, contacts = np.empty_like(state.leg_rotations), np.empty((count, 2), np.uint8)
        # The wrapped controller may keep its arrays in its state: change copies.
        arrays = PoseArrays(
            pose.positions.copy(),
            pose.rotations.copy(),
            pose.velocities.copy(),
            pose.angular_velocities.copy(),
            pose.global_positions.copy(),
            pose.global_rotations.copy(),
        )
        self._kernels.foot_lock(
            geometry.legs, geometry.pelvis, geometry.heights, geometry.knees, self._parents, self._constants,
            state.flags, state.values, state.drops, state.leg_rotations, state.fresh, pose.contacts,
            pose.transitioned, pose.animated_positions, dt, *arrays, flags, values, drops, leg_rotations, contacts,
        )  # fmt: skip
        after = FootLockState(inner, np.zeros(count, np.bool_), flags, values, drops, leg_rotations)
        return after, pose.with_joints(arrays, contacts)

    def explain(self, state: FootLockState, character: int = 0) -> Any:
        """The wrapped controller's explanation."""
        check_state(state, FootLockState, 2, "flags")
        return self.inner.explain(state.inner, character)

    def with_weights(self, weights: Mapping[str, float]) -> FootLock:
        """The same wrapper around the controller with other weights."""
        return FootLock(self.inner.with_weights(weights), self.geometry, self.settings)

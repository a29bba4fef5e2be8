"""Where the 43 points sit on a given skeleton."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import PosingError
from ambulo.maths import quaternions
from ambulo.motion.reference_pose import ReferencePose
from ambulo.posing.points import LEG_LENGTH, SITES, STAND_INS

_NEEDED = tuple(
    f"{side}_{part}"
    for side in ("left", "right")
    for part in ("upper_arm", "forearm", "hand", "upper_leg", "lower_leg", "foot")
)


@dataclass(frozen=True)
class BodyPoints:
    """The 43 points on a skeleton.

    Attributes:
        reference: the skeleton in the reference pose.
        joints: int64 ``[43]``, the joint that carries each point.
        offsets: float64 ``[43, 3]``, metres, the point in that joint's frame.
        scale: how much larger the body is than one of :data:`~ambulo.posing.points.LEG_LENGTH`.
    """

    reference: ReferencePose
    joints: NDArray[np.int64]
    offsets: NDArray[np.float64]
    scale: float

    def of_pose(self, global_positions: ArrayLike, global_rotations: ArrayLike) -> NDArray[np.float32]:
        """The points of poses: from joints ``[..., J, 3]`` and ``[..., J, 4]`` to ``[..., 43, 3]``, metres."""
        p = np.asarray(global_positions, np.float32)[..., self.joints, :]
        q = np.asarray(global_rotations, np.float32)[..., self.joints, :]
        return np.asarray(p + quaternions.rotate(q, self.offsets.astype(np.float32)), np.float32)


def body_points(reference: ReferencePose) -> BodyPoints:
    """Place the 43 points on a skeleton. What it lacks (toes, clavicles, a neck) stands in for by what it has.

    Raises:
        PosingError: it has no hands, feet, knees, elbows, hips or shoulders to place points on.
    """
    skeleton = reference.skeleton
    lacking = [role for role in ("hips", *_NEEDED) if role not in skeleton.roles]
    if lacking:
        raise PosingError(
            f"this skeleton has no joint for {', '.join(lacking)}; points sit on all of these",
            key=lacking[0],
            remedy="name the joints in the [roles] table, or pose a skeleton that has them",
        )
    scale = reference.leg_length / LEG_LENGTH
    joints = np.empty(len(SITES), np.int64)
    offsets = np.empty((len(SITES), 3))
    for index, site in enumerate(SITES):
        role, offset = site.role, np.array(site.offset)
        while role not in skeleton.roles:
            role, more = STAND_INS[role]
            offset = offset + more
        joint = skeleton.role(role)
        joints[index] = joint
        # In the reference pose the canonical axes are the world's.
        offsets[index] = quaternions.inverse_rotate(reference.rotations[joint], scale * offset)
    return BodyPoints(reference, joints, offsets, scale)

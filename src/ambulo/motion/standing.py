"""The points by which feet are placed, and where and when they stand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.maths import quaternions
from ambulo.motion.kinematics import GlobalPose
from ambulo.motion.skeleton import Skeleton

Double = NDArray[np.float64]


def toe_points(skeleton: Skeleton) -> tuple[tuple[int, int], Double, bool]:
    """The joints and the points in their frames by which the feet are placed, and whether these are toe joints."""
    joints, points, has_toe = [], np.zeros((2, 3)), True
    for side, name in enumerate(("left", "right")):
        toe = skeleton.roles.get(f"{name}_toe")
        joint = skeleton.role(f"{name}_foot") if toe is None else toe
        if toe is None:
            has_toe = False
            tip = skeleton.end_offsets[joint]
            if np.isfinite(tip).all():
                points[side] = tip
        joints.append(joint)
    return (joints[0], joints[1]), points, has_toe


@dataclass(frozen=True)
class Standing:
    """Which toes stand when, and where.

    Attributes:
        points: float64 ``[T, 2, 3]``, the toe points, metres.
        down: bool ``[T, 2]``, slower than 0.15 m/s.
        level: metres, median height of standing toe points: the floor as far as toes tell it.
    """

    points: Double
    down: NDArray[np.bool_]
    level: float


def standing_toes(skeleton: Skeleton, rate: float, pose: GlobalPose, speed: float = 0.15) -> Standing:
    """Where the toes of a take stand (S4.11: slower than 0.15 m/s)."""
    joints, local, _ = toe_points(skeleton)
    index = list(joints)
    points = pose.positions[:, index].astype(np.float64)
    if local.any():
        points = points + quaternions.rotate(pose.rotations[:, index].astype(np.float64), local)
    down = toe_contacts(points, rate, speed)
    heights = points[..., 1]
    standing = heights[down]
    if standing.size < max(5, 0.01 * heights.size):
        lowest = np.sort(heights.min(axis=1))
        standing = lowest[: max(1, len(lowest) // 20)]
    return Standing(points, down, float(np.median(standing)))


def toe_contacts(points: Double, rate: float, speed: float) -> NDArray[np.bool_]:
    """Which points ``[T, 2, 3]`` are slower than ``speed`` m/s, by central differences. ``[T, 2]``."""
    if len(points) < 2:
        return np.ones(points.shape[:2], bool)
    velocity = np.gradient(points, axis=0) * rate
    return np.asarray(np.einsum("tfk,tfk->tf", velocity, velocity) < speed * speed)

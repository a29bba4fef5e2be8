"""Clips that walk in place, as game animation does: found, and given the way back that their feet walk.

While a foot stands, the ground does not move under it; so what the standing foot of an in-place clip moves backwards is
what the body should have moved forwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ambulo.motion.kinematics import GlobalPose, forward_motion
from ambulo.motion.motion import Motion
from ambulo.motion.quadruped import FRONT_FEET
from ambulo.prepare.contacts import contact_joints
from ambulo.prepare.smoothing import smooth

Double = NDArray[np.float64]

SLOWEST = 0.25
"""m/s of travel below which a clip stands rather than walks."""
_STEADY = 0.6
_BAND = 0.012
_WINDOW = 0.1
_LOOP = 0.15


@dataclass(frozen=True)
class FeetTravel:
    """What the standing feet of a take say about its way.

    Attributes:
        velocity: float64 ``[T, 2]``, m/s along x and z, that would keep standing feet in place; smoothed.
        speed: m/s, mean length of ``velocity``.
        in_place: the body walks by its feet but stays where it is.
    """

    velocity: Double
    speed: float
    in_place: bool


def feet_travel(motion: Motion, pose: GlobalPose | None = None) -> FeetTravel:
    """How a take should travel so that its standing feet stand.

    In each frame the feet within a centimetre or so of the lowest that this foot gets count, the lower the more. Where
    none is (both feet in the air, as in a run), the velocity is interpolated. Not judged as walking: takes whose
    standing feet move in no steady direction (less than 60 % of their way in one), or slower than 0.25 m/s, whose hips
    travel, or whose last pose is not near the first. (Lengths are those of a body whose hips are a metre above its
    feet.)

    Args:
        motion: with roles.
        pose: its global pose where the caller has it already.

    Raises:
        SkeletonError: no feet among the roles.
    """
    pose = pose or forward_motion(motion)
    roles = motion.skeleton.roles
    joints = [*contact_joints(motion.skeleton), *(roles[role] for role in FRONT_FEET if role in roles)]
    feet = pose.positions[:, joints].astype(np.float64)
    if motion.frame_count < 3:
        return FeetTravel(np.zeros((motion.frame_count, 2)), 0.0, False)
    moved = np.gradient(feet[..., [0, 2]], axis=0) * motion.rate
    # The rig's own size: a foot's band of heights is 1.2 cm on a body whose hips are a metre above its feet.
    size = max(float(np.median(pose.positions[:, motion.skeleton.role("hips"), 1]) - feet[..., 1].min()), 0.05)
    over = np.maximum(feet[..., 1] - feet[..., 1].min(axis=0), 0.0) / (_BAND * size)
    weights = np.exp(-(over**2))
    total = weights.sum(axis=1)
    sure = total > 0.3
    if not sure.any():
        return FeetTravel(np.zeros((motion.frame_count, 2)), 0.0, False)
    velocity = -(weights[..., None] * moved).sum(axis=1) / np.maximum(total, 1e-9)[:, None]
    frames, known = np.arange(len(total)), np.flatnonzero(sure)
    velocity = np.stack([np.interp(frames, known, velocity[known, k]) for k in range(2)], axis=-1)
    velocity = smooth(velocity, _WINDOW, motion.rate, 1).astype(np.float64)
    speed = float(np.linalg.norm(velocity, axis=-1).mean())
    steady = float(np.linalg.norm(velocity.mean(axis=0)))
    hips = pose.positions[:, motion.skeleton.role("hips")].astype(np.float64)[:, [0, 2]]
    travelled = float(np.linalg.norm(hips[-1] - hips[0])) / max(motion.duration, 1e-9)
    apart = float(np.linalg.norm(pose.positions[-1] - pose.positions[0], axis=-1).mean())
    step = float(np.linalg.norm(np.diff(pose.positions, axis=0), axis=-1).mean())
    looped = apart < max(_LOOP * size, 2.0 * step)  # loops often leave out the frame that would be the first again
    in_place = looped and steady > max(SLOWEST * size, _STEADY * speed) and travelled < 0.3 * steady
    return FeetTravel(velocity, speed, in_place)


def with_travel(motion: Motion, pose: GlobalPose | None = None) -> tuple[Motion, float]:
    """A clip that walks in place, walking on; other clips as they are.

    Args:
        motion: with roles.
        pose: its global pose where the caller has it already.

    Returns:
        the motion, and the metres it was moved by along its way; 0 where it does not walk in place.
    """
    travel = feet_travel(motion, pose)
    if not travel.in_place:
        return motion, 0.0
    steps = np.zeros((motion.frame_count, 3), np.float64)
    # The trapezoid rule: velocities are central differences.
    steps[1:, [0, 2]] = 0.5 * (travel.velocity[1:] + travel.velocity[:-1]) / motion.rate
    way = np.cumsum(steps, axis=0)
    positions = motion.positions.copy()
    for joint in np.flatnonzero(motion.skeleton.parents < 0):
        positions[:, joint] += way.astype(np.float32)
    return replace(motion, positions=positions), float(np.linalg.norm(steps, axis=-1).sum())

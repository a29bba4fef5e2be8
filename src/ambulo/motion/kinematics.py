"""Forward kinematics: from local to global, for positions, rotations and both kinds of velocity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import MotionError
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion

Float = NDArray[np.float32]


class GlobalPose(NamedTuple):
    """Joints in the world: positions ``[T, J, 3]`` in metres and rotations ``[T, J, 4]``."""

    positions: Float
    rotations: Float


class GlobalVelocity(NamedTuple):
    """Joints in the world: linear ``[T, J, 3]`` in m/s and angular ``[T, J, 3]`` in rad/s."""

    linear: Float
    angular: Float


def forward(positions: ArrayLike, rotations: ArrayLike, parents: ArrayLike) -> GlobalPose:
    """Global pose of every joint in every frame.

    Args:
        positions: local positions ``[T, J, 3]``, metres.
        rotations: local rotations ``[T, J, 4]``, unit.
        parents: ``[J]``, parents before children, -1 for a root.
    """
    from ambulo.motion import kinematics_kernels

    p = np.ascontiguousarray(positions, np.float32)
    q = np.ascontiguousarray(rotations, np.float32)
    parent = np.ascontiguousarray(parents, np.int32)
    if p.ndim != 3 or q.shape != (*p.shape[:2], 4) or p.shape[2] != 3 or parent.shape != p.shape[1:2]:
        raise MotionError(
            f"forward kinematics needs positions [T, J, 3], rotations [T, J, 4] and parents [J], "
            f"got {p.shape}, {q.shape} and {parent.shape}"
        )
    global_positions, global_rotations = np.empty_like(p), np.empty_like(q)
    kinematics_kernels.forward(p, q, parent, global_positions, global_rotations)
    return GlobalPose(global_positions, global_rotations)


def forward_motion(motion: Motion) -> GlobalPose:
    """Global pose of a whole motion."""
    return forward(motion.positions, motion.rotations, motion.skeleton.parents)


def forward_velocities(
    positions: ArrayLike,
    rotations: ArrayLike,
    velocities: ArrayLike,
    angular_velocities: ArrayLike,
    parents: ArrayLike,
) -> tuple[GlobalPose, GlobalVelocity]:
    """Global pose and velocities of every joint in every frame.

    Args:
        positions: local positions ``[T, J, 3]``, metres.
        rotations: local rotations ``[T, J, 4]``, unit.
        velocities: time derivative of the local positions ``[T, J, 3]``, m/s, in the parent's frame.
        angular_velocities: local angular velocities ``[T, J, 3]``, rad/s, in the parent's frame.
        parents: ``[J]``.
    """
    from ambulo.motion import kinematics_kernels

    pose = forward(positions, rotations, parents)
    v = np.ascontiguousarray(velocities, np.float32)
    w = np.ascontiguousarray(angular_velocities, np.float32)
    if v.shape != pose.positions.shape or w.shape != pose.positions.shape:
        raise MotionError(f"velocities must be {pose.positions.shape}, got {v.shape} and {w.shape}")
    linear, angular = np.empty_like(v), np.empty_like(w)
    kinematics_kernels.forward_velocities(
        np.ascontiguousarray(positions, np.float32),
        v,
        w,
        np.ascontiguousarray(parents, np.int32),
        *pose,
        linear,
        angular,
    )
    return pose, GlobalVelocity(linear, angular)


def to_local(global_positions: ArrayLike, global_rotations: ArrayLike, parents: ArrayLike) -> tuple[Float, Float]:
    """Inverse of :func:`forward`: local positions ``[T, J, 3]`` and rotations ``[T, J, 4]`` of global ones."""
    p = np.asarray(global_positions, np.float32)
    q = np.asarray(global_rotations, np.float32)
    parent = np.asarray(parents)
    above = np.maximum(parent, 0)
    local_p = quaternions.inverse_rotate(q[:, above], p - p[:, above])
    local_q = quaternions.inverse_multiply(q[:, above], q)
    root = parent < 0
    local_p[:, root], local_q[:, root] = p[:, root], q[:, root]
    return np.ascontiguousarray(local_p, np.float32), np.ascontiguousarray(quaternions.normalize(local_q), np.float32)

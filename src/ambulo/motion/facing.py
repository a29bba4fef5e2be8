"""Where a body faces, by geometry alone: across the hips and shoulders, square to up.

Rest frames differ from skeleton to skeleton (Bandai-Namco's hips have up along local X and left along -Y), so no local
axis is taken for granted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import SkeletonError
from ambulo.maths import quaternions
from ambulo.motion.quadruped import is_quadruped
from ambulo.motion.skeleton import Skeleton

Float = NDArray[np.float32]

_HIP_PAIR = ("upper_leg", "lower_leg", "foot")
_SHOULDER_PAIR = ("upper_arm", "shoulder", "forearm")


def _pair(skeleton: Skeleton, parts: tuple[str, ...]) -> tuple[int, int] | None:
    for part in parts:
        left, right = skeleton.roles.get(f"left_{part}"), skeleton.roles.get(f"right_{part}")
        if left is not None and right is not None:
            return left, right
    return None


def facing(global_positions: ArrayLike, skeleton: Skeleton) -> Float:
    """The horizontal direction into which hips and shoulders together face.

    ``(left hip - right hip) + (left shoulder - right shoulder)`` points to the body's left; left x up is forward. Unit
    vectors; +Z where the body is seen exactly along its lateral axis (lying on its side).

    Args:
        global_positions: ``[T, J, 3]``.
        skeleton: with roles.

    Returns:
        ``[T, 3]``.

    Raises:
        SkeletonError: neither hips nor shoulders have a left and a right.
    """
    p = np.asarray(global_positions, np.float32)
    pairs = [pair for parts in (_HIP_PAIR, _SHOULDER_PAIR) if (pair := _pair(skeleton, parts)) is not None]
    if not pairs:
        raise _no_sides()
    across = sum((p[:, left] - p[:, right] for left, right in pairs), np.zeros_like(p[:, 0]))
    # across x (0, 1, 0)
    forward = np.stack([-across[:, 2], np.zeros_like(across[:, 0]), across[:, 0]], axis=-1)
    length = np.linalg.norm(forward, axis=-1, keepdims=True)
    ahead = np.array([0.0, 0.0, 1.0], np.float32)
    return np.where(length < 1e-6, ahead, forward / np.maximum(length, 1e-6)).astype(np.float32)


def hips_forward_axis(global_positions: ArrayLike, global_rotations: ArrayLike, skeleton: Skeleton) -> Float:
    """The local axis of the hips joint that points forward (the "hip forward axis" of S4.6): a unit vector ``[3]``.

    It is the cross product of the line across the hip joints and the first bone of the spine, both as the hips joint
    sees them. Both are rigid with the pelvis, so the axis is the same in every take of a skeleton, whatever the chest
    does, and on average it is the direction of :func:`facing`. Where the spine gives no direction (no length, or along
    the line across), the world's up as the hips see it on average stands in. A quadruped's is the way from its hips to
    its chest.

    Args:
        global_positions: ``[T, J, 3]``.
        global_rotations: ``[T, J, 4]``.
        skeleton: with the roles hips and left and right upper_leg (else lower_leg, else foot).

    Raises:
        SkeletonError: these roles are missing.
    """
    p, q = np.asarray(global_positions, np.float64), np.asarray(global_rotations, np.float64)
    hips = skeleton.role("hips")
    pair = _pair(skeleton, _HIP_PAIR)
    if pair is None:
        raise _no_sides()
    if is_quadruped(skeleton):
        ahead = quaternions.inverse_rotate(q[:, hips], p[:, skeleton.role("chest")] - p[:, hips]).mean(axis=0)
        return np.asarray(ahead / max(float(np.linalg.norm(ahead)), 1e-9), np.float32)
    across = quaternions.inverse_rotate(q[:, hips], p[:, pair[0]] - p[:, pair[1]]).mean(axis=0)
    size = float(np.linalg.norm(across))
    ups = []
    for role in ("spine", "chest", "neck", "head"):
        joint = skeleton.roles.get(role)
        if joint is not None and joint != hips:
            ups.append(quaternions.inverse_rotate(q[:, hips], p[:, joint] - p[:, hips]).mean(axis=0))
    ups.append(quaternions.inverse_rotate(q[:, hips], np.array([0.0, 1.0, 0.0])).mean(axis=0))
    ups.append(np.array([0.0, 1.0, 0.0]))
    for up in ups:
        axis = np.cross(across, up)
        length = float(np.linalg.norm(axis))
        if length > 0.5 * size * float(np.linalg.norm(up)) and length > 1e-9:
            return (axis / length).astype(np.float32)
    return np.array([0.0, 0.0, 1.0], np.float32)


def _no_sides() -> SkeletonError:
    return SkeletonError(
        "no pair of left and right joints tells where this body faces",
        remedy="name left_upper_leg and right_upper_leg (and the other roles) in the [roles] table of ambulo.toml",
    )

"""The root bone: a smooth point on the ground under the body that faces where the body faces (S4.3 to S4.8)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import MotionError, SkeletonError
from ambulo.maths import quaternions
from ambulo.motion.facing import hips_forward_axis
from ambulo.motion.kinematics import GlobalPose, forward_motion
from ambulo.motion.motion import Motion
from ambulo.motion.quadruped import is_quadruped
from ambulo.motion.skeleton import Skeleton
from ambulo.prepare.smoothing import smooth

Float = NDArray[np.float32]

ROOT = "root"


def root_motion(
    motion: Motion,
    *,
    position_window: float = 0.5,
    direction_window: float = 1.0,
    order: int = 3,
    pose: GlobalPose | None = None,
) -> tuple[Float, Float]:
    """Position and heading of the root over time.

    Position (S4.4): the chest (of a quadruped, midway from hips to chest) projected on y = 0, smoothed by a
    Savitzky-Golay filter. Heading (S4.6): the hips' forward axis (:func:`ambulo.motion.facing.hips_forward_axis`)
    projected, normalised, smoothed, normalised, as the rotation about +Y that takes +Z there. Where the axis is nearly
    vertical (lying, a flip) its projection says nothing and is interpolated from the frames around.

    Markelov reports that the filter moves a calm walker by about 0.6 m (S4.5). On CMU, Bandai-Namco and PFNN takes it
    moves the chest's projection by 0.2 to 0.4 cm on average, 1.5 cm in one frame of a hundred and 3.5 cm at most.

    Args:
        motion: with roles; the floor of the take at y = 0.
        position_window: seconds; 31 frames at 60 frames a second.
        direction_window: seconds; 61 frames at 60.
        order: of the polynomial.
        pose: the motion's global pose where the caller has it already.

    Returns:
        positions float32 ``[T, 3]`` with y = 0, rotations float32 ``[T, 4]``, unrolled.

    Raises:
        SkeletonError: no chest (nor hips) or no hips and legs among the roles.
        MotionError: no frames.
    """
    if motion.frame_count == 0:
        raise MotionError("a motion without frames has no root", path=motion.source.path)
    skeleton = motion.skeleton
    try:
        hips = skeleton.role("hips")
        spine = skeleton.roles.get("chest", skeleton.roles.get("spine", hips))
        pose = pose or forward_motion(motion)
        axis = hips_forward_axis(pose.positions, pose.rotations, skeleton)
    except SkeletonError as error:
        raise SkeletonError(error.message, path=motion.source.path, key=error.key, remedy=error.remedy) from None
    above = pose.positions[:, spine]
    if is_quadruped(skeleton):
        above = 0.5 * (above + pose.positions[:, hips])
    positions = smooth(above, position_window, motion.rate, order)
    positions[:, 1] = 0.0

    ahead = quaternions.rotate(pose.rotations[:, hips], axis).astype(np.float64)[:, [0, 2]]
    flat = np.linalg.norm(ahead, axis=-1)
    clear = flat > 0.2
    directions = ahead / np.maximum(flat, 1e-9)[:, None]
    if not clear.all() and clear.any():
        frames, sure = np.arange(len(flat)), np.flatnonzero(clear)
        directions = np.stack([np.interp(frames, sure, directions[sure, k]) for k in range(2)], axis=-1)
    elif not clear.any():
        directions = np.tile([0.0, 1.0], (len(flat), 1))
    directions = smooth(_unit(directions), direction_window, motion.rate, order)
    yaw = np.arctan2(directions[:, 0], directions[:, 1])
    rotations = quaternions.unroll(quaternions.normalize(quaternions.from_yaw(yaw)))
    return positions.astype(np.float32), rotations.astype(np.float32)


def _unit(v: NDArray[np.float64]) -> NDArray[np.float64]:
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    return np.where(length < 1e-9, [[0.0, 1.0]], v / np.maximum(length, 1e-9))


def rooted_skeleton(skeleton: Skeleton) -> Skeleton:
    """The skeleton below a new joint 0 named ``root`` (S4.8); roles and indices move up by one.

    A joint of the file that is already called ``root`` is renamed ``root_of_file``.
    """
    names = list(skeleton.names)
    if ROOT in names:
        names[names.index(ROOT)] = next(
            name for n in range(len(names) + 1) if (name := "root_of_file" + "_" * n) not in names
        )
    parents = np.concatenate([[-1], skeleton.parents + 1])
    offsets = np.concatenate([np.zeros((1, 3), np.float32), skeleton.offsets])
    ends = np.concatenate([np.full((1, 3), np.nan, np.float32), skeleton.end_offsets])
    roles = {role: joint + 1 for role, joint in skeleton.roles.items()}
    turns = np.concatenate([quaternions.identity(1), skeleton.rest_rotations])
    return Skeleton((ROOT, *names), parents, offsets, ends, roles, turns)


def attach_root(motion: Motion, root_positions: Float, root_rotations: Float, pose: GlobalPose | None = None) -> Motion:
    """The motion below a given root: every joint that had no parent becomes local to it (S4.8).

    Joints above the hips (Bandai-Namco's ``joint_Root``, an armature) ride on the root: left where the take has them,
    often at the origin, the body would hang from them by a lever as long as the way walked so far, and every blend
    between two clips would swing it about. All other joints keep their global pose.
    """
    skeleton = motion.skeleton
    positions = np.concatenate([root_positions[:, None], motion.positions], axis=1)
    rotations = np.concatenate([root_rotations[:, None], motion.rotations], axis=1)
    carriers = _ancestors(skeleton, skeleton.roles.get("hips", 0))
    if carriers:
        pose = pose or forward_motion(motion)
    for joint, parent in enumerate(skeleton.parents):
        if joint in carriers:
            positions[:, joint + 1] = 0.0
            rotations[:, joint + 1] = quaternions.IDENTITY
        elif parent < 0 or parent in carriers:
            above = (motion.positions, motion.rotations) if pose is None else pose
            positions[:, joint + 1] = quaternions.inverse_rotate(root_rotations, above[0][:, joint] - root_positions)
            local = quaternions.normalize(quaternions.inverse_multiply(root_rotations, above[1][:, joint]))
            rotations[:, joint + 1] = quaternions.unroll(local)
    return replace(motion, skeleton=rooted_skeleton(skeleton), positions=positions, rotations=rotations)


def _ancestors(skeleton: Skeleton, joint: int) -> set[int]:
    above = set()
    while (joint := int(skeleton.parents[joint])) >= 0:
        above.add(joint)
    return above


def with_root(motion: Motion, *, position_window: float = 0.5, direction_window: float = 1.0, order: int = 3) -> Motion:
    """The motion with a root bone as joint 0, named ``"root"``; see :func:`root_motion` and :func:`attach_root`."""
    positions, rotations = root_motion(
        motion, position_window=position_window, direction_window=direction_window, order=order
    )
    return attach_root(motion, positions, rotations)

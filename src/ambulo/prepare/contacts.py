"""Which foot is on the ground: slow toes, cleaned by a median filter (S4.11)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import SkeletonError
from ambulo.motion.kinematics import GlobalPose, forward_motion
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton
from ambulo.prepare.velocities import linear

Bool = NDArray[np.bool_]


def contact_joints(skeleton: Skeleton) -> tuple[int, int]:
    """The left and right joint that is watched: the toe, or the foot where a skeleton has no toe joint.

    Raises:
        SkeletonError: a side has neither.
    """
    found = []
    for side in ("left", "right"):
        joint = skeleton.roles.get(f"{side}_toe", skeleton.roles.get(f"{side}_foot"))
        if joint is None:
            raise SkeletonError(
                f"no joint is known as {side}_toe or {side}_foot",
                key=f"{side}_toe",
                remedy="name the joint in the [roles] table of ambulo.toml",
            )
        found.append(joint)
    return found[0], found[1]


def contacts(
    motion: Motion,
    *,
    speed: float = 0.15,
    window: float = 0.1,
    height: float | None = None,
    pose: GlobalPose | None = None,
) -> Bool:
    """Contact of the left and the right foot with the ground.

    A foot is down where the speed of its toe joint (3D, central differences) is under ``speed``; a median filter
    removes what is too short. Speed alone also calls a foot that is held still in the air a contact; ``height`` rules
    that out where the ground is known to be flat.

    Args:
        motion: with roles.
        speed: m/s.
        window: seconds of the median filter; 6 frames at 60 frames a second.
        height: metres; a toe joint higher than this over y = 0 is no contact.
        pose: the motion's global pose where the caller has it already.

    Returns:
        bool ``[T, 2]``.

    Raises:
        SkeletonError: neither toe nor foot is known on a side.
    """
    try:
        joints = list(contact_joints(motion.skeleton))
    except SkeletonError as error:
        raise SkeletonError(error.message, path=motion.source.path, key=error.key, remedy=error.remedy) from None
    positions = (pose or forward_motion(motion)).positions[:, joints]
    slow = np.linalg.norm(linear(positions, 1.0 / motion.rate), axis=-1) < speed
    if height is not None:
        slow &= positions[..., 1] < height
    return median_filter(slow, max(1, round(window * motion.rate)))


def median_filter(flags: Bool, size: int) -> Bool:
    """Median over time of flags, as ``scipy.ndimage.median_filter(size=(size, 1), mode="nearest")``. ``[T, ...]``.

    The window of frame i is ``[i - size // 2, i - size // 2 + size)``: an even size reaches one frame further back than
    ahead, and half of it true is enough.
    """
    flags = np.asarray(flags, bool)
    if size <= 1 or flags.shape[0] == 0:
        return flags.copy()
    before, after = size // 2, size - size // 2 - 1
    padded = np.concatenate([np.repeat(flags[:1], before, axis=0), flags, np.repeat(flags[-1:], after, axis=0)])
    sums = np.concatenate([np.zeros((1, *flags.shape[1:]), np.int64), np.cumsum(padded, axis=0)])
    return np.asarray(sums[size:] - sums[:-size] >= size - size // 2)

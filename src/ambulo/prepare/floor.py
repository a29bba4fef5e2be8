"""The height of a take's floor, read from the feet that stand on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.maths import quaternions
from ambulo.motion.kinematics import GlobalPose, forward_motion
from ambulo.motion.motion import Motion
from ambulo.motion.reference_pose import rest_toe_height
from ambulo.prepare.contacts import contact_joints, contacts

TOE_HEIGHT = 0.035
"""Metres of a standing toe joint's centre over the floor: 4.2 cm in Bandai-Namco, 3.1 to 4.4 in PFNN, 2.2 in the
synthetic actor."""
TIP_HEIGHT = 0.015
"""The same of the tip of the foot bone (End Site), where there is no toe joint."""
TOLERANCE = 0.015
"""Within this of the expected height (metres) a take is taken to be right as it is."""
UNEVEN = 0.25
"""Standing feet whose heights spread over more than this (metres, 10th to 90th percentile) walk on steps or slopes."""

AIRBORNE = 0.25
"""Metres from y = 0 beyond which the lowest feet of a skinned character say nothing about its floor."""


@dataclass(frozen=True)
class FloorReport:
    """Where the feet stand in the file, and what that asks for.

    Attributes:
        offset: metres to add to all heights so that the floor is at y = 0; 0 where the take is right as it is.
        foot_height: metres, median height of the lowest known point of a standing foot, as in the file.
        expected: metres, what it would be over a floor at y = 0.
        penetration: metres by which standing feet are below y = 0 throughout, as in the file.
        uneven: the feet stand at different heights (steps, slopes); the level nearest y = 0 was taken as the floor.
        contact_frames: how many foot contacts the estimate rests on; 0 where the lowest frames had to do.
    """

    offset: float
    foot_height: float
    expected: float
    penetration: float
    uneven: bool
    contact_frames: int


def floor_height(
    motion: Motion, *, pose: GlobalPose | None = None, down: NDArray[np.bool_] | None = None
) -> FloorReport:
    """Estimate the floor of a take.

    Args:
        motion: with roles.
        pose: the motion's global pose where the caller has it already.
        down: its contacts ``[T, 2]`` where the caller has them already.

    Raises:
        SkeletonError: no feet among the roles.
    """
    pose = pose or forward_motion(motion)
    skeleton = motion.skeleton
    heights = np.empty((motion.frame_count, 2))
    expected = TOE_HEIGHT
    for side, joint in enumerate(contact_joints(skeleton)):
        heights[:, side] = pose.positions[:, joint, 1]
        tip = skeleton.end_offsets[joint]
        is_toe = joint in (skeleton.roles.get("left_toe"), skeleton.roles.get("right_toe"))
        if not is_toe and np.isfinite(tip).all() and np.linalg.norm(tip) > 1e-3:
            # No toe joint: the tip of the foot bone tells more about the floor than the ankle does.
            tips = pose.positions[:, joint] + quaternions.rotate(pose.rotations[:, joint], tip)
            heights[:, side] = np.minimum(heights[:, side], tips[:, 1])
            expected = TIP_HEIGHT
    known = rest_toe_height(skeleton)
    expected = expected if known is None else known
    down = contacts(motion, pose=pose) if down is None else down
    standing = heights[down]
    enough = standing.size >= max(5, 0.01 * motion.frame_count)
    if not enough:
        # Never still (a run): the lowest a foot gets.
        lowest = np.sort(heights.min(axis=1))
        standing = lowest[: max(1, len(lowest) // 20)]
    uneven = bool(np.ptp(np.percentile(standing, [10, 90])) > UNEVEN)
    level = _level(standing, expected) if uneven else float(np.median(standing))
    offset = 0.0 if abs(level - expected) <= TOLERANCE else expected - level
    if abs(offset) > AIRBORNE and not (skeleton.rest_rotations == (0.0, 0.0, 0.0, 1.0)).all():
        offset = 0.0  # an animated character's scene has its floor at y = 0: it sits, swims or falls
    return FloorReport(offset, level, expected, max(0.0, -level), uneven, int(down.sum()) if enough else 0)


def _level(standing: NDArray[np.float64], expected: float) -> float:
    near = standing[np.abs(standing - expected) < 0.12]
    if near.size >= 0.1 * standing.size:
        return float(np.median(near))
    return float(np.percentile(standing, 10))

"""Take the jitter out of a take, and leave its feet where they stand."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion
from ambulo.prepare.contacts import contact_joints, contacts
from ambulo.prepare.repair.feet import FADE, faded, held_speed, move_feet
from ambulo.prepare.smoothing import smooth

WINDOW = 0.12
"""Seconds of the sliding polynomial: what shakes faster than about 8 times a second is taken out."""


@dataclass(frozen=True)
class SmoothRepair:
    """The outcome: the smoothed take, jitter (mean size of the third derivative of joints, m/s³) before and after, and
    the speed of standing feet (m/s) before and after."""

    motion: Motion
    jitter_before: float
    jitter_after: float
    creep_before: float
    creep_after: float


def smooth_motion(
    motion: Motion, *, window: float = WINDOW, order: int = 3, keep_contacts: bool = True
) -> SmoothRepair:
    """Smooth all joints by a Savitzky-Golay filter, then put standing feet back where they stood.

    Rotations are smoothed as unrolled quaternions, which over so short a window is smoothing on the sphere.

    Args:
        motion: with roles where contacts are to be kept.
        window: seconds.
        order: of the polynomial.
        keep_contacts: move standing feet back, by :func:`ambulo.prepare.repair.feet.move_feet`.

    Raises:
        SkeletonError: contacts are to be kept and the legs are not known.
    """
    rotations = quaternions.normalize(smooth(quaternions.unroll(motion.rotations), window, motion.rate, order))
    positions = motion.positions.astype(np.float32).copy()
    moving = np.ptp(motion.positions, axis=0).max(axis=-1) > 0.0
    if moving.any():
        positions[:, moving] = smooth(motion.positions[:, moving], window, motion.rate, order)
    result = replace(motion, positions=positions, rotations=rotations.astype(np.float32))
    before = forward_motion(motion)
    creep_before = creep_after = 0.0
    if keep_contacts:
        joints = list(contact_joints(motion.skeleton))
        held = contacts(motion, pose=before)
        pose = forward_motion(result)
        wishes = before.positions[:, joints].astype(np.float64) - pose.positions[:, joints]
        wishes[~held] = 0.0
        offsets = np.stack([faded(wishes[:, s], held[:, s], FADE * motion.rate) for s in (0, 1)], axis=1)
        result = move_feet(result, offsets, pose)
        after = forward_motion(result).positions
        creep_before = held_speed(before.positions[:, joints].astype(np.float64), held, motion.rate)
        creep_after = held_speed(after[:, joints].astype(np.float64), held, motion.rate)
    else:
        after = forward_motion(result).positions
    return SmoothRepair(
        result, jitter(before.positions, motion.rate), jitter(after, motion.rate), creep_before, creep_after
    )


def jitter(positions: NDArray[np.floating], rate: float) -> float:
    """Mean size of the joints' third derivative ``[T, J, 3] -> m/s³``; 0 for fewer than four frames."""
    if len(positions) < 4:
        return 0.0
    third = np.diff(positions.astype(np.float64), n=3, axis=0) * rate**3
    return float(np.linalg.norm(third, axis=-1).mean())

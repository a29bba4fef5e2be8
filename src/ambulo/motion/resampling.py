"""Another frame rate: cubic positions, rotations along the great arc, never Euler angles."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from ambulo.errors import MotionError
from ambulo.motion.motion import Motion


def resample(motion: Motion, rate: float, *, rotation: Literal["cubic", "slerp"] = "cubic") -> Motion:
    """The same motion at another rate.

    N frames at a step h are at 0, h, ..., (N - 1) h. The result has every time ``i / rate`` in that span, so what is
    lost at the end is shorter than one new frame. Where a new time falls on an old frame the old pose is returned
    exactly; a whole-number ratio downwards therefore keeps every n-th frame, and no low-pass filter is applied.

    Args:
        motion: at least one frame.
        rate: wanted frames a second.
        rotation: ``"slerp"`` turns at constant speed between two frames; ``"cubic"`` adds to slerp what makes the
            angular velocity continuous at the frames (as Catmull-Rom does for the positions), except where a joint
            turns by more than one radian a frame.

    Raises:
        MotionError: no frames, or an impossible rate.
    """
    from ambulo.motion import resampling_kernels

    if not (np.isfinite(rate) and rate > 0):
        raise MotionError(f"cannot resample to {rate} frames a second", path=motion.source.path, key="rate")
    if motion.frame_count == 0:
        raise MotionError("a motion without frames cannot be resampled", path=motion.source.path)
    if rate == motion.rate:
        return motion
    frames = source_frames(motion.frame_count, motion.rate, rate)
    joints = motion.skeleton.joint_count
    positions = np.empty((len(frames), joints, 3), np.float32)
    rotations = np.empty((len(frames), joints, 4), np.float32)
    resampling_kernels.resample_positions(motion.positions, frames, positions)
    resampling_kernels.resample_rotations(motion.rotations, frames, rotation == "cubic", rotations)
    return replace(motion, positions=positions, rotations=rotations, rate=float(rate))


def source_frames(frame_count: int, source_rate: float, rate: float) -> np.ndarray:
    """Fractional source frames of the new frames. Returns float64 ``[N]`` in ``[0, frame_count - 1]``."""
    last = frame_count - 1
    count = int(np.floor(last * (rate / source_rate) + 1e-6)) + 1
    frames = np.arange(count) * (source_rate / rate)
    # Rounding must not turn a frame that both rates share into a blend of two.
    whole = np.round(frames)
    return np.minimum(np.where(np.abs(frames - whole) < 1e-6, whole, frames), float(last))

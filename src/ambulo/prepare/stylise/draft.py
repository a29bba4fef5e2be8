"""A take while operators work on it: the motion, where its feet should be, and who walks where."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ambulo.maths import quaternions
from ambulo.motion.facing import facing
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion
from ambulo.prepare.contacts import contact_joints, contacts

Bool = NDArray[np.bool_]
Double = NDArray[np.float64]

FACING_WINDOW = 0.4
"""Seconds over which the facing is averaged: the swing of hips and shoulders is no turn."""
PATH_WINDOW = 0.6
"""Seconds over which the way of the hips is averaged: about a step."""


@dataclass(frozen=True)
class Draft:
    """A take under work.

    Attributes:
        motion: with roles, as the operators so far have left it. Its feet may be off their places until the end.
        feet: ``[T, 2, 3]`` metres, where the left and the right contact joint should be.
        down: bool ``[T, 2]``, contacts of the take that was begun with.
        path: ``[T, 3]`` metres, smoothed way of the hips over the ground, y = 0.
        forward: ``[T, 3]`` unit, where the body faces.
        left: ``[T, 3]`` unit, horizontal.
    """

    motion: Motion
    feet: Double
    down: Bool
    path: Double
    forward: Double
    left: Double

    @classmethod
    def begin(cls, motion: Motion, *, speed: float = 0.3, window: float = 0.1) -> Draft:
        """A draft of a take.

        Args:
            motion: with roles, at its true rate.
            speed: m/s under which a toe stands.
            window: seconds of the contacts' median filter.

        Raises:
            SkeletonError: hips, legs or feet are not among the roles.
        """
        skeleton = motion.skeleton
        pose = forward_motion(motion)
        feet = pose.positions[:, list(contact_joints(skeleton))].astype(np.float64)
        forward = moving_average(facing(pose.positions, skeleton).astype(np.float64), FACING_WINDOW * motion.rate)
        forward /= np.maximum(np.linalg.norm(forward, axis=-1, keepdims=True), 1e-9)
        path = moving_average(pose.positions[:, skeleton.role("hips")].astype(np.float64), PATH_WINDOW * motion.rate)
        path[:, 1] = 0.0
        left = np.cross([0.0, 1.0, 0.0], forward)
        return cls(motion, feet, contacts(motion, speed=speed, window=window, pose=pose), path, forward, left)

    @property
    def leg(self) -> float:
        """Length of a leg from hip to ankle, metres: what lengths are in proportion to."""
        rest = self.motion.skeleton.offsets
        parts = [self.motion.skeleton.role(f"left_{part}") for part in ("lower_leg", "foot")]
        return float(np.linalg.norm(rest[parts], axis=-1).sum())

    def shifted(self, shift: Double) -> Draft:
        """The body, not the feet's places, moved by ``[T, 3]`` metres in the world."""
        positions = self.motion.positions.copy()
        positions[:, self.motion.skeleton.parents < 0] += shift[:, None].astype(np.float32)
        return replace(self, motion=replace(self.motion, positions=positions))

    def turned(self, turns: dict[int, Double]) -> Draft:
        """Joints turned in the world, with all that hangs on them but joints that have a turn of their own.

        Args:
            turns: joint -> rotations ``[T, 4]`` in the world, from how the joint is now.
        """
        skeleton = self.motion.skeleton
        pose = forward_motion(self.motion)
        rotations = self.motion.rotations.copy()
        above: dict[int, Double | None] = {}
        for joint in range(skeleton.joint_count):
            parent = int(skeleton.parents[joint])
            outer = above.get(parent)
            above[joint] = turns.get(joint, outer)
            if joint not in turns:
                continue
            wanted = quaternions.multiply(turns[joint], pose.rotations[:, joint])
            if parent >= 0:
                base = pose.rotations[:, parent]
                base = base if outer is None else quaternions.multiply(outer, base)
                wanted = quaternions.inverse_multiply(base, wanted)
            old = self.motion.rotations[:, joint]
            flip = np.sum(wanted * old, axis=-1, keepdims=True) < 0.0
            rotations[:, joint] = quaternions.normalize(np.where(flip, -wanted, wanted))
        return replace(self, motion=replace(self.motion, rotations=rotations))

    def at(self, frames: Double) -> Draft:
        """The draft at other times: row i of the result is what was at frame ``frames[i]``, between frames too."""
        last = self.motion.frame_count - 1
        lower = np.clip(np.floor(frames).astype(np.int64), 0, max(last - 1, 0))
        upper = np.minimum(lower + 1, last)
        share = np.clip(frames - lower, 0.0, 1.0)

        def mixed(rows: NDArray[np.floating]) -> Double:
            s = share.reshape(-1, *(1,) * (rows.ndim - 1))
            return (1.0 - s) * rows[lower] + s * rows[upper]

        positions = mixed(self.motion.positions).astype(np.float32)
        rotations = quaternions.normalize(mixed(self.motion.rotations)).astype(np.float32)
        forward = mixed(self.forward)
        forward /= np.maximum(np.linalg.norm(forward, axis=-1, keepdims=True), 1e-9)
        # Between a frame of contact and one of none there is none: a held foot must not begin to move.
        down = self.down[lower] & self.down[upper]
        motion = replace(self.motion, positions=positions, rotations=rotations)
        return Draft(motion, mixed(self.feet), down, mixed(self.path), forward, np.cross([0.0, 1.0, 0.0], forward))


def moving_average(rows: Double, window_frames: float) -> Double:
    """Mean over time of ``[T, ...]`` in a window around each frame; at the ends the outermost rows go on."""
    half = max(round(window_frames) // 2, 0)
    if half == 0 or len(rows) == 0:
        return np.asarray(rows, np.float64).copy()
    ends = ((half + 1, half), *((0, 0),) * (rows.ndim - 1))
    sums = np.cumsum(np.pad(np.asarray(rows, np.float64), ends, mode="edge"), axis=0)
    return np.asarray((sums[2 * half + 1 :] - sums[: -2 * half - 1]) / (2 * half + 1))


def smoothstep(values: Double) -> Double:
    """0 below 0, 1 above 1, smooth between."""
    s = np.clip(values, 0.0, 1.0)
    return np.asarray(s * s * (3.0 - 2.0 * s))


def about(axes: Double, angles: Double) -> Double:
    """Rotations ``[T, 4]`` about unit axes ``[T, 3]`` by angles ``[T]``, radians."""
    return np.asarray(quaternions.from_scaled_angle_axis(axes * np.asarray(angles)[:, None]), np.float64)

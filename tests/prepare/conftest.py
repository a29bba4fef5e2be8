"""Motions for the tests of preparation."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.synthesis.body import default_skeleton


@pytest.fixture
def walk():
    """A body that glides along a curve with swinging limbs; not a real walk, but smooth and with known path."""

    def make(
        seconds: float = 3.0, rate: float = 60.0, speed: float = 1.2, turn: float = 0.4, yaw: float = 0.0
    ) -> Motion:
        skeleton = default_skeleton()
        t = np.arange(round(seconds * rate) + 1) / rate
        heading = yaw + turn * t
        if turn:
            x = speed / turn * (np.cos(yaw) - np.cos(heading))
            z = speed / turn * (np.sin(heading) - np.sin(yaw))
        else:
            x, z = speed * t * np.sin(yaw), speed * t * np.cos(yaw)
        positions = np.tile(skeleton.offsets, (len(t), 1, 1))
        positions[:, 0] = np.stack([x, 0.95 + 0.02 * np.cos(4 * np.pi * t), z], axis=-1)
        rotations = quaternions.identity((len(t), skeleton.joint_count), float)
        rotations[:, 0] = quaternions.from_yaw(heading)
        swing = 0.5 * np.sin(2 * np.pi * t)
        for side, sign in (("left", 1.0), ("right", -1.0)):
            # Arms hang down; they and the legs swing forward and back.
            down = quaternions.from_angle_axis(np.array(-1.3 * sign), np.array([0.0, 0.0, 1.0]))
            for part, size, rest in (("upper_leg", 1.0, quaternions.identity()), ("upper_arm", -0.6, down)):
                forth = quaternions.from_angle_axis(sign * size * swing, np.tile([1.0, 0.0, 0.0], (len(t), 1)))
                rotations[:, skeleton.role(f"{side}_{part}")] = quaternions.multiply(forth, rest)
        return Motion(skeleton, positions, quaternions.unroll(rotations), rate, "walk")

    return make

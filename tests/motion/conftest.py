"""Skeletons and motions for the tests of the motion room."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton
from ambulo.synthesis.body import default_skeleton


@pytest.fixture
def body() -> Skeleton:
    """The synthetic actor's 24 joints in T-pose, without roles."""
    return default_skeleton().with_roles({})


@pytest.fixture
def make_tree():
    """A random tree of joints."""

    def make(seed: int, joints: int = 12) -> Skeleton:
        rng = np.random.default_rng(seed)
        parents = [-1] + [int(rng.integers(0, j)) for j in range(1, joints)]
        names = tuple(f"joint{j}" for j in range(joints))
        return Skeleton(names, np.array(parents), rng.normal(size=(joints, 3)) * 0.3)

    return make


@pytest.fixture
def make_motion():
    """Smooth random motion on any skeleton: sums of slow sines about rest."""

    def make(skeleton: Skeleton, seed: int = 0, frames: int = 90, rate: float = 60.0, swing: float = 0.4) -> Motion:
        rng = np.random.default_rng(seed)
        times = np.arange(frames) / rate
        joints = skeleton.joint_count
        turn = np.zeros((frames, joints, 3))
        for _ in range(3):
            speed, start = rng.uniform(1.0, 5.0, (joints, 3)), rng.uniform(0.0, 6.3, (joints, 3))
            turn += rng.normal(size=(joints, 3)) * swing / 2 * np.sin(times[:, None, None] * speed + start)
        positions = np.tile(skeleton.offsets, (frames, 1, 1)).astype(np.float64)
        path = np.stack([np.sin(times), 0.05 * np.sin(3 * times), 1.2 * times], axis=-1)
        for root in np.flatnonzero(skeleton.parents < 0):
            positions[:, root] += path
        rotations = quaternions.unroll(quaternions.from_scaled_angle_axis(turn))
        return Motion(skeleton, positions, rotations, rate, "random")

    return make

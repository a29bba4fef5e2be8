"""Random motions on random skeletons, for round trips."""

from __future__ import annotations

import numpy as np

from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton


def random_skeleton(seed: int, joints: int, *, rest: bool = True) -> Skeleton:
    """A tree in depth-first order; some leaves with ends, with rest rotations if asked for."""
    random = np.random.default_rng(seed)
    parents, path = [-1], [0]
    for joint in range(1, joints):
        keep = int(random.integers(1, len(path) + 1))
        path = path[:keep]
        parents.append(path[-1])
        path.append(joint)
    offsets = random.uniform(-0.5, 0.5, (joints, 3))
    offsets[0] = 0.0
    ends = np.full((joints, 3), np.nan)
    for joint in range(joints):
        if joint not in parents and random.random() < 0.5:
            ends[joint] = random.uniform(-0.2, 0.2, 3)
    turns = random_rotations(random, (joints,)) if rest else quaternions.identity(joints)
    names = tuple(f"Joint {joint}.{joint % 3}" for joint in range(joints))
    return Skeleton(names, np.array(parents), offsets, ends, rest_rotations=turns)


def random_rotations(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return quaternions.normalize(random.normal(size=(*shape, 4))).astype(np.float32)


def random_motion(
    seed: int, skeleton: Skeleton, frames: int, rate: float, *, translating: bool = False, name: str = "take"
) -> Motion:
    """Smooth turns of every joint, and a wandering root; every third joint changes its length if asked for."""
    random = np.random.default_rng(seed)
    joints = skeleton.joint_count
    time = np.arange(frames)[:, None] / rate
    spin = random.normal(size=(joints, 3)) * np.sin(time * random.uniform(1, 9, joints))[..., None]
    rotations = quaternions.multiply(skeleton.rest_rotations, quaternions.from_scaled_angle_axis(spin))
    positions = np.tile(skeleton.offsets, (frames, 1, 1))
    positions[:, 0] = random.normal(size=3) + time * random.normal(size=3)
    if translating:
        positions[:, 1::3] += 0.1 * np.sin(4 * time)[..., None]
    rotations = quaternions.unroll(quaternions.normalize(rotations))
    return Motion(skeleton, positions, rotations, rate, name)

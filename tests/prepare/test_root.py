"""The root bone: on the ground, facing ahead, turning with the world, and the body where it was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.signal import savgol_filter

from ambulo.errors import MotionError, SkeletonError
from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton
from ambulo.prepare.root import root_motion, rooted_skeleton, with_root

SLOW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def moved(motion: Motion, yaw: float, shift: np.ndarray) -> Motion:
    turn = quaternions.from_yaw(np.array(yaw))
    positions, rotations = motion.positions.copy(), motion.rotations.copy()
    positions[:, 0] = quaternions.rotate(turn, positions[:, 0]) + shift
    rotations[:, 0] = quaternions.unroll(quaternions.multiply(turn, rotations[:, 0]))
    return replace(motion, positions=positions, rotations=rotations)


def test_position_and_direction_are_the_seeds_formulas(walk):
    motion = walk()
    positions, rotations = root_motion(motion)
    pose = forward_motion(motion)
    spine = pose.positions[:, motion.skeleton.role("chest")] * [1.0, 0.0, 1.0]
    assert np.allclose(positions, savgol_filter(spine, 31, 3, axis=0, mode="interp"), atol=1e-5)
    ahead = quaternions.rotate(pose.rotations[:, 0], np.array([0.0, 0.0, 1.0]))
    ahead = savgol_filter(ahead, 61, 3, axis=0, mode="interp")
    ahead /= np.linalg.norm(ahead, axis=-1, keepdims=True)
    assert np.allclose(quaternions.rotate(rotations, [0.0, 0.0, 1.0]), ahead, atol=1e-4)


@given(st.floats(-3.1, 3.1), st.floats(-5.0, 5.0), st.floats(-5.0, 5.0))
@SLOW
def test_turning_the_world_turns_the_root(walk, yaw, x, z):
    motion = walk(seconds=1.5)
    shift = np.array([x, 0.0, z])
    positions, rotations = root_motion(motion)
    other_positions, other_rotations = root_motion(moved(motion, yaw, shift))
    turn = quaternions.from_yaw(np.array(yaw))
    assert np.allclose(other_positions, quaternions.rotate(turn, positions) + shift, atol=1e-4)
    assert quaternions.angle_between(other_rotations, quaternions.multiply(turn, rotations)).max() < 2e-3


@given(st.floats(-3.1, 3.1), st.sampled_from([30.0, 60.0, 120.0]))
@SLOW
def test_the_root_is_on_the_ground_upright_and_unrolled(walk, yaw, rate):
    positions, rotations = root_motion(walk(rate=rate, turn=2.5, yaw=yaw))
    assert np.all(positions[:, 1] == 0.0)
    assert np.allclose(rotations[:, [0, 2]], 0.0)
    assert np.allclose(np.linalg.norm(rotations, axis=-1), 1.0, atol=1e-6)
    assert np.all(np.sum(rotations[1:] * rotations[:-1], axis=-1) >= 0.0)


def test_the_root_follows_a_steady_curve(walk):
    motion = walk(speed=1.2, turn=0.4)
    positions, rotations = root_motion(motion)
    t = np.arange(motion.frame_count) / 60.0
    assert np.allclose(np.unwrap(quaternions.to_yaw(rotations)), 0.4 * t, atol=5e-3)
    assert np.abs(positions[:, [0, 2]] - motion.positions[:, 0, [0, 2]]).max() < 0.02


def test_the_body_stays_where_it_was(walk):
    motion = walk()
    rooted = with_root(motion)
    before, after = forward_motion(motion), forward_motion(rooted)
    assert np.allclose(after.positions[:, 1:], before.positions, atol=1e-5)
    assert quaternions.angle_between(after.rotations[:, 1:], before.rotations).max() < 2e-3
    assert np.all(np.sum(rooted.rotations[1:] * rooted.rotations[:-1], axis=-1) >= 0.0)


def test_the_rooted_skeleton_shifts_everything_by_one(walk):
    skeleton = walk().skeleton
    rooted = rooted_skeleton(skeleton)
    assert rooted.names == ("root", *skeleton.names)
    assert rooted.parents.tolist() == [-1, *(skeleton.parents + 1).tolist()]
    assert rooted.roles == {role: joint + 1 for role, joint in skeleton.roles.items()}
    assert np.array_equal(rooted.offsets[1:], skeleton.offsets)
    assert np.array_equal(rooted.end_offsets[1:], skeleton.end_offsets, equal_nan=True)


def test_a_file_s_own_root_keeps_its_place_under_another_name():
    skeleton = Skeleton(("root", "pelvis"), np.array([-1, 0]), np.zeros((2, 3)))
    assert rooted_skeleton(skeleton).names == ("root", "root_of_file", "pelvis")


def test_two_roots_of_a_file_both_hang_from_the_new_one(walk):
    motion = walk(seconds=1.0)
    skeleton = motion.skeleton
    two = Skeleton(
        (*skeleton.names, "prop"),
        np.concatenate([skeleton.parents, [-1]]),
        np.concatenate([skeleton.offsets, [[1.0, 1.0, 1.0]]]),
        roles=skeleton.roles,
    )
    count = motion.frame_count
    positions = np.concatenate([motion.positions, np.ones((count, 1, 3))], axis=1)
    rotations = np.concatenate([motion.rotations, quaternions.identity((count, 1))], axis=1)
    both = Motion(two, positions, rotations, 60.0)
    rooted = with_root(both)
    assert rooted.skeleton.parents[-1] == 0
    assert np.allclose(forward_motion(rooted).positions[:, -1], 1.0, atol=1e-5)


def test_a_body_that_falls_flat_keeps_its_heading(walk):
    motion = walk(seconds=2.0, turn=0.0, speed=0.5)
    tilt = np.clip(np.linspace(-0.5, 2.0, motion.frame_count), 0.0, 1.0) * np.pi / 2
    rotations = motion.rotations.copy()
    rotations[:, 0] = quaternions.from_angle_axis(-tilt, np.tile([1.0, 0.0, 0.0], (len(tilt), 1)))
    yaw = quaternions.to_yaw(root_motion(replace(motion, rotations=rotations))[1])
    assert np.abs(yaw).max() < 0.05


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 20])
def test_short_motions_have_a_root_too(walk, count):
    positions, rotations = root_motion(walk().slice(0, count))
    assert np.isfinite(positions).all()
    assert np.isfinite(rotations).all()


def test_missing_roles_name_the_file_and_the_remedy(walk, tmp_path):
    motion = walk()
    bare = replace(motion.with_roles({}), source=replace(motion.source, path=tmp_path / "take.bvh"))
    with pytest.raises(SkeletonError, match=r"take\.bvh.*hips.*\[roles\]"):
        root_motion(bare)
    with pytest.raises(MotionError, match="without frames"):
        root_motion(motion.slice(0, 0))

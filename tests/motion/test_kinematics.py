"""Forward kinematics and its velocities: exact on hand-made chains, equal to finite differences on any tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ambulo.errors import MotionError
from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward, forward_motion, forward_velocities, to_local

SLOW = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def test_a_bent_arm_reaches_where_it_should():
    quarter = quaternions.from_angle_axis(np.array(np.pi / 2), np.array([0.0, 0.0, 1.0]))
    positions = np.array([[[1.0, 2.0, 3.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]])
    rotations = np.array([[quarter, quarter, [0.0, 0.0, 0.0, 1.0]]])
    pose = forward(positions, rotations, np.array([-1, 0, 1]))
    assert np.allclose(pose.positions[0], [[1, 2, 3], [1, 3, 3], [0, 3, 3]], atol=1e-6)
    assert np.allclose(quaternions.rotate(pose.rotations[0, 2], [1.0, 0.0, 0.0]), [-1, 0, 0], atol=1e-6)


@given(st.integers(0, 10_000))
@SLOW
def test_rest_pose_is_the_sum_of_offsets(make_tree, seed):
    skeleton = make_tree(seed)
    pose = forward(skeleton.offsets[None], quaternions.identity((1, 12)), skeleton.parents)
    assert np.allclose(pose.positions[0], skeleton.rest_positions(), atol=1e-6)


@given(st.integers(0, 10_000))
@SLOW
def test_to_local_undoes_forward(make_tree, make_motion, seed):
    motion = make_motion(make_tree(seed), seed)
    positions, rotations = to_local(*forward_motion(motion), motion.skeleton.parents)
    assert np.allclose(positions, motion.positions, atol=3e-6)
    assert quaternions.angle_between(rotations, motion.rotations).max() < 2e-3


@given(st.integers(0, 10_000))
@SLOW
def test_bones_keep_their_lengths(make_tree, make_motion, seed):
    motion = make_motion(make_tree(seed), seed)
    positions = forward_motion(motion).positions
    below = np.flatnonzero(motion.skeleton.parents >= 0)
    lengths = np.linalg.norm(positions[:, below] - positions[:, motion.skeleton.parents[below]], axis=-1)
    assert np.allclose(lengths, np.linalg.norm(motion.skeleton.offsets[below], axis=-1), atol=1e-5)


@given(st.integers(0, 10_000))
@SLOW
def test_a_turned_and_moved_root_turns_and_moves_the_whole_body(make_tree, make_motion, seed):
    motion = make_motion(make_tree(seed), seed)
    before = forward_motion(motion).positions
    turn, shift = quaternions.from_yaw(np.array(1.1)), np.array([3.0, 0.2, -1.0])
    positions, rotations = motion.positions.copy(), motion.rotations.copy()
    positions[:, 0] = quaternions.rotate(turn, positions[:, 0]) + shift
    rotations[:, 0] = quaternions.multiply(turn, rotations[:, 0])
    after = forward(positions, rotations, motion.skeleton.parents).positions
    assert np.allclose(after, quaternions.rotate(turn, before) + shift, atol=1e-5)


@given(st.integers(0, 10_000))
@SLOW
def test_velocities_equal_finite_differences(make_tree, seed):
    skeleton = make_tree(seed)
    rng = np.random.default_rng(seed)
    joints, h = skeleton.joint_count, 1e-3
    p, v = rng.normal(size=(joints, 3)), rng.normal(size=(joints, 3))
    q, w = quaternions.normalize(rng.normal(size=(joints, 4))), rng.normal(size=(joints, 3))

    def at(t: float):
        # Constant velocities in the parent's frame.
        rotated = quaternions.multiply(quaternions.from_scaled_angle_axis(w * t), q)
        return reference(p + v * t, rotated, skeleton.parents)

    (before, before_q), (after, after_q) = at(-h), at(h)
    _, velocity = forward_velocities(p[None], q[None], v[None], w[None], skeleton.parents)
    scale = 1.0 + np.abs(velocity.linear).max()
    assert np.allclose(velocity.linear[0], (after - before) / (2 * h), atol=1e-3 * scale)
    spin = quaternions.angular_velocity(before_q, after_q, 2 * h)
    assert np.allclose(velocity.angular[0], spin, atol=1e-3 * scale)


def reference(positions, rotations, parents):
    """The textbook recursion in double precision."""
    p, q = positions.copy(), rotations.copy()
    for joint, parent in enumerate(parents):
        if parent >= 0:
            p[joint] = p[parent] + quaternions.rotate(q[parent], positions[joint])
            q[joint] = quaternions.multiply(q[parent], rotations[joint])
    return p, q


@given(st.integers(0, 10_000))
@SLOW
def test_the_kernel_equals_the_textbook_recursion(make_tree, make_motion, seed):
    motion = make_motion(make_tree(seed), seed, frames=5)
    pose = forward_motion(motion)
    for t in range(motion.frame_count):
        p, q = reference(motion.positions[t].astype(float), motion.rotations[t].astype(float), motion.skeleton.parents)
        assert np.allclose(pose.positions[t], p, atol=1e-5)
        assert np.allclose(pose.rotations[t], q, atol=1e-5)


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(MotionError, match=r"positions \[T, J, 3\]"):
        forward(np.zeros((2, 3, 3)), np.zeros((2, 4, 4)), np.array([-1, 0, 1]))
    with pytest.raises(MotionError, match="velocities must be"):
        forward_velocities(
            np.zeros((1, 1, 3)), quaternions.identity((1, 1)), np.zeros((1, 2, 3)), np.zeros((1, 1, 3)), np.array([-1])
        )

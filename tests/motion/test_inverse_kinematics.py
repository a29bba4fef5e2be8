"""Two-bone inverse kinematics: the end arrives, bones keep their lengths, knees bend forward and never snap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.errors import MotionError
from ambulo.maths import quaternions
from ambulo.motion.inverse_kinematics import solve_two_bone
from ambulo.motion.kinematics import forward

PARENTS = np.array([-1, 0, 1, 2])
THIGH, SHIN = 0.42, 0.40
FORWARD = np.array([0.0, 0.0, 1.0])
QUICK = settings(max_examples=60, deadline=None)


def leg(hip_bend: np.ndarray, knee: float, yaw: float = 0.0):
    """A leg below a pelvis joint: local positions and rotations of pelvis, hip, knee, ankle. One row each."""
    rows = np.atleast_1d(knee).shape[0]
    positions = np.tile([[0.3, 0.9, 0.1], [0.1, -0.05, 0.0], [0.0, -THIGH, 0.0], [0.0, -SHIN, 0.0]], (rows, 1, 1))
    rotations = quaternions.identity((rows, 4), float)
    rotations[:, 0] = quaternions.from_yaw(np.full(rows, yaw))
    rotations[:, 1] = quaternions.from_scaled_angle_axis(np.broadcast_to(hip_bend, (rows, 3)))
    rotations[:, 2] = quaternions.from_angle_axis(np.atleast_1d(knee), np.tile([1.0, 0.0, 0.0], (rows, 1)))
    return positions, rotations


def solve(positions, rotations, target, buffer=0.015, hint=None):
    p, q = forward(positions, rotations, PARENTS)
    hint = quaternions.rotate(q[:, 0], FORWARD) if hint is None else hint
    hip, knee = solve_two_bone(
        p[:, 1], p[:, 2], p[:, 3], target, hint, q[:, 1], q[:, 2], q[:, 0], max_length_buffer=buffer
    )
    solved = rotations.copy()
    solved[:, 1], solved[:, 2] = hip, knee
    return forward(positions, solved, PARENTS).positions, p


@given(st.integers(0, 100_000))
@QUICK
def test_a_reachable_target_is_reached_and_bones_keep_their_lengths(seed):
    rng = np.random.default_rng(seed)
    positions, rotations = leg(rng.normal(size=3) * 0.5, rng.uniform(0.02, 2.0, 40), rng.uniform(-3, 3))
    hip = forward(positions, rotations, PARENTS).positions[:, 1]
    away = rng.normal(size=(40, 3))
    away /= np.linalg.norm(away, axis=-1, keepdims=True)
    target = hip + away * rng.uniform(0.06, THIGH + SHIN - 0.016, (40, 1))
    after, _ = solve(positions, rotations, target)
    assert np.abs(after[:, 3] - target).max() < 1e-5
    assert np.allclose(np.linalg.norm(after[:, 2] - after[:, 1], axis=-1), THIGH, atol=1e-5)
    assert np.allclose(np.linalg.norm(after[:, 3] - after[:, 2], axis=-1), SHIN, atol=1e-5)
    assert np.allclose(after[:, 1], hip, atol=1e-6)


@given(st.floats(0.0, 2.2), st.floats(-0.8, 0.8), st.floats(-3.0, 3.0))
@QUICK
def test_a_target_already_reached_changes_nothing(knee, hip, yaw):
    positions, rotations = leg(np.array([hip - 0.5 * knee, 0.0, 0.1]), knee, yaw)
    p = forward(positions, rotations, PARENTS).positions
    after, before = solve(positions, rotations, p[:, 3])
    assert np.allclose(after[:, [0, 1, 3]], before[:, [0, 1, 3]], atol=2e-5)
    # Where the knee is nearly straight the hint has a say in where it points: less than its distance from the line.
    line = (before[:, 3] - before[:, 1]) / np.linalg.norm(before[:, 3] - before[:, 1])
    off = np.linalg.norm(np.cross(before[0, 2] - before[0, 1], line[0]))
    assert np.abs(after[:, 2] - before[:, 2]).max() < 2e-5 + (off if off < 0.04 * (THIGH + SHIN) else 0.0)


@given(st.floats(0.3, 0.805), st.floats(-1.0, 1.0), st.floats(-3.0, 3.0))
@QUICK
def test_a_straight_leg_bends_its_knee_forward(reach, lean, yaw):
    positions, rotations = leg(np.array([lean * 0.3, 0.0, 0.0]), 0.0, yaw)
    p = forward(positions, rotations, PARENTS).positions
    down = p[:, 3] - p[:, 1]
    target = p[:, 1] + reach * down / np.linalg.norm(down)
    after, _ = solve(positions, rotations, target)
    line = (target - after[:, 1]) / np.linalg.norm(target - after[:, 1], axis=-1, keepdims=True)
    knee = after[:, 2] - after[:, 1]
    bend = knee - np.sum(knee * line, axis=-1, keepdims=True) * line
    ahead = quaternions.rotate(quaternions.from_yaw(np.array(yaw)), FORWARD)
    assert np.linalg.norm(bend) > 0.01
    assert (bend @ ahead)[0] > 0.9 * np.linalg.norm(bend)


def test_a_knee_bent_backward_is_turned_forward():
    positions, rotations = leg(np.array([0.3, 0.0, 0.0]), -0.6)
    p = forward(positions, rotations, PARENTS).positions
    after, _ = solve(positions, rotations, p[:, 3] + [0.0, 0.05, 0.0])
    middle = 0.5 * (after[:, 1] + after[:, 3])
    assert (after[:, 2] - middle)[0, 2] > 0.0


def test_a_clearly_bent_leg_keeps_its_own_plane():
    # Knees out to the side, as in a wide crouch: the hint is forward, the plane stays.
    positions, rotations = leg(np.array([-0.6, 0.9, 0.0]), 1.2)
    p = forward(positions, rotations, PARENTS).positions
    target = p[:, 3] + 0.05 * (p[:, 1] - p[:, 3]) / np.linalg.norm(p[:, 1] - p[:, 3])
    after, before = solve(positions, rotations, target)
    normal_before = np.cross(before[0, 2] - before[0, 1], before[0, 3] - before[0, 1])
    normal_after = np.cross(after[0, 2] - after[0, 1], after[0, 3] - after[0, 1])
    cosine = normal_before @ normal_after / np.linalg.norm(normal_before) / np.linalg.norm(normal_after)
    assert cosine > 1 - 1e-6


def test_the_knee_never_snaps_as_the_target_leaves_reach():
    positions, rotations = leg(np.array([-0.25, 0.0, 0.0]), 0.5)
    hip = forward(positions, rotations, PARENTS).positions[:, 1]
    distances = np.arange(0.70, 1.00, 0.0005)
    p, q = np.repeat(positions, len(distances), axis=0), np.repeat(rotations, len(distances), axis=0)
    target = hip + distances[:, None] * np.array([[0.0, -1.0, 0.0]])
    after, _ = solve(p, q, target, buffer=0.02)
    reach = np.linalg.norm(after[:, 3] - after[:, 1], axis=-1)
    assert np.all(np.diff(reach) >= -1e-6)
    assert np.all(reach <= THIGH + SHIN + 1e-6)
    assert np.allclose(
        reach[distances < THIGH + SHIN - 0.0201], distances[distances < THIGH + SHIN - 0.0201], atol=1e-5
    )
    thigh = (after[:, 2] - after[:, 1]) / THIGH
    angles = np.degrees(np.arccos(np.clip(np.sum(thigh[1:] * thigh[:-1], axis=-1), -1, 1)))
    # A hard limit turns the thigh by over 2 degrees in the last half millimetre; the soft one spreads it out.
    assert angles.max() < 0.2


def test_a_limb_without_length_is_left_alone():
    positions, rotations = leg(np.zeros(3), 0.4)
    positions[:, 3] = 0.0
    p, q = forward(positions, rotations, PARENTS)
    hip, knee = solve_two_bone(p[:, 1], p[:, 2], p[:, 3], [[0, 0, 0]], [FORWARD], q[:, 1], q[:, 2], q[:, 0])
    assert quaternions.angle_between(hip, rotations[:, 1].astype(np.float32)).max() < 1e-3
    assert quaternions.angle_between(knee, rotations[:, 2].astype(np.float32)).max() < 1e-3
    assert np.isfinite(hip).all()


def test_rows_that_do_not_fit_are_refused():
    p, q = np.zeros((2, 3)), quaternions.identity(2)
    with pytest.raises(MotionError, match="rows of 4"):
        solve_two_bone(p, p, p, p, p, p, q, q)
    with pytest.raises(MotionError, match="3 rows"):
        solve_two_bone(p, p, p, np.zeros((3, 3)), p, q, q, q)

"""Velocities: the published rule to the letter, exact inside on parabolas, finite differences for rotations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.maths import quaternions
from ambulo.prepare.velocities import angular, linear


@given(st.integers(0, 10_000), st.integers(5, 40))
def test_the_rule_of_the_seed_to_the_letter(seed, count):
    pos = np.random.default_rng(seed).normal(size=(count, 2, 3)).astype(np.float32)
    fps = 60.0
    vel = np.empty_like(pos)
    vel[1:-1] = (pos[2:] - pos[1:-1] + pos[1:-1] - pos[:-2]) * 0.5 * fps
    vel[0] = vel[1] - (vel[3] - vel[2])
    vel[-1] = vel[-2] + (vel[-2] - vel[-3])
    assert np.allclose(linear(pos, 1 / fps), vel, rtol=1e-4, atol=1e-3)


def test_constant_acceleration_is_exact_everywhere():
    t = np.arange(30) / 60.0
    x = (1.0 + 2.0 * t - 4.0 * t**2)[:, None] * np.array([1.0, 0.5, -1.0])
    expected = (2.0 - 8.0 * t)[:, None] * np.array([1.0, 0.5, -1.0])
    assert np.allclose(linear(x, 1 / 60.0), expected, atol=1e-4)


def test_the_start_uses_the_next_but_one_step():
    # The quirk of S4.9: with a changing acceleration v[0] differs from the straight extrapolation by one step's change.
    x = (np.arange(8.0) ** 3)[:, None]
    v = linear(x, 1.0)
    assert v[0] == v[1] - (v[3] - v[2])
    assert v[0] != v[1] - (v[2] - v[1])
    assert v[-1] == v[-2] + (v[-2] - v[-3])


@pytest.mark.parametrize(("count", "expected"), [(1, [0.0]), (2, [3.0, 3.0]), (3, [3.0] * 3), (4, [3.0] * 4)])
def test_short_arrays_get_what_there_is(count, expected):
    x = 3.0 * np.arange(count)[:, None]
    assert linear(x, 1.0)[:, 0].tolist() == expected


def test_angular_velocity_of_constant_spin_is_that_spin():
    axis = np.array([0.6, -0.8, 0.0])
    t = np.arange(40) / 60.0
    q = quaternions.unroll(quaternions.from_scaled_angle_axis(t[:, None] * 5.0 * axis))
    start = quaternions.normalize(np.array([0.3, 0.1, -0.2, 0.9]))
    q = quaternions.multiply(q, start)[:, None]
    assert np.allclose(angular(q, 1 / 60.0), np.broadcast_to(5.0 * axis, (40, 1, 3)), atol=1e-3)


@given(st.integers(0, 10_000))
def test_angular_velocity_is_in_the_parents_frame(seed):
    rng = np.random.default_rng(seed)
    q = quaternions.unroll(quaternions.from_scaled_angle_axis(np.cumsum(rng.normal(size=(12, 3, 3)) * 0.1, axis=0)))
    frame = quaternions.normalize(rng.normal(size=4))
    turned = angular(quaternions.multiply(frame, q), 1 / 60.0)
    assert np.allclose(turned, quaternions.rotate(frame, angular(q, 1 / 60.0)), atol=2e-3)
    # A turn of the joint's own frame changes nothing.
    assert np.allclose(angular(quaternions.multiply(q, frame), 1 / 60.0), angular(q, 1 / 60.0), atol=2e-3)


def test_the_sign_of_quaternions_does_not_matter():
    q = quaternions.from_yaw(np.linspace(0.0, 1.0, 9))[:, None]
    flipped = q.copy()
    flipped[::2] *= -1
    assert np.allclose(angular(q, 0.1), angular(flipped, 0.1), atol=1e-5)


def test_shapes_without_a_joint_axis_work():
    q = quaternions.from_yaw(np.linspace(0.0, 1.0, 9))
    assert angular(q, 0.1).shape == (9, 3)
    assert angular(q[:1], 0.1).tolist() == [[0.0, 0.0, 0.0]]

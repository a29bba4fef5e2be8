"""The closed forms of the springs: equal to numerical integration, composable, and with the half-life they promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.maths import quaternions, springs

value = st.floats(-5.0, 5.0)
half_life = st.floats(0.05, 1.0)
step = st.floats(0.001, 0.5)


def integrate(acceleration, x, v, duration, count=4000):
    """Runge-Kutta of the fourth order on x'' = acceleration(x, x')."""
    h = duration / count
    for _ in range(count):
        k1x, k1v = v, acceleration(x, v)
        k2x, k2v = v + 0.5 * h * k1v, acceleration(x + 0.5 * h * k1x, v + 0.5 * h * k1v)
        k3x, k3v = v + 0.5 * h * k2v, acceleration(x + 0.5 * h * k2x, v + 0.5 * h * k2v)
        k4x, k4v = v + h * k3v, acceleration(x + h * k3x, v + h * k3v)
        x, v = x + h / 6 * (k1x + 2 * k2x + 2 * k3x + k4x), v + h / 6 * (k1v + 2 * k2v + 2 * k3v + k4v)
    return x, v


@pytest.mark.parametrize("seed", range(5))
def test_the_spring_equals_numerical_integration(seed):
    rng = np.random.default_rng(seed)
    x, v, goal = rng.normal(size=3)
    life, dt = rng.uniform(0.05, 0.6), rng.uniform(0.05, 0.5)
    c = springs.damping(life)
    expected = integrate(lambda p, w: 0.25 * c * c * (goal - p) - c * w, x, v, dt)
    assert np.allclose(springs.spring(x, v, goal, life, dt), expected, atol=1e-9)
    at_zero = integrate(lambda p, w: -0.25 * c * c * p - c * w, x, v, dt)
    assert np.allclose(springs.decay(x, v, life, dt), at_zero, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_velocity_spring_equals_numerical_integration(seed):
    rng = np.random.default_rng(seed)
    x, v, a, goal = rng.normal(size=4)
    life, dt = rng.uniform(0.05, 0.6), rng.uniform(0.05, 0.5)
    c = springs.damping(life)
    # The velocity is the spring's position; the position follows by integration of the velocity.
    count = 20000
    times = np.linspace(0.0, dt, count + 1)
    velocities, _ = springs.spring(v, a, goal, life, times)
    moved = np.sum(0.5 * (velocities[1:] + velocities[:-1])) * dt / count
    expected_v, expected_a = integrate(lambda p, w: 0.25 * c * c * (goal - p) - c * w, v, a, dt)
    position, velocity, acceleration = springs.spring_velocity(x, v, a, goal, life, dt)
    assert np.isclose(position, x + moved, atol=1e-7)
    assert np.allclose([velocity, acceleration], [expected_v, expected_a], atol=1e-9)


@given(value, value, half_life, step)
def test_a_damper_halves_its_distance_in_a_half_life(x, goal, life, dt):
    left = springs.damper(x, goal, life, life + 1e-5) - goal
    assert np.isclose(left, 0.5 * (x - goal), atol=1e-12)
    once = springs.damper(x, goal, life, dt)
    twice = springs.damper(springs.damper(x, goal, life, dt / 2), goal, life, dt / 2)
    assert np.isclose(once, twice, atol=1e-9)


@given(half_life)
def test_damping_is_four_log_two_over_the_half_life(life):
    assert np.isclose(springs.damping(life), 4.0 * np.log(2.0) / life, rtol=1e-3)


@given(value, value, value, half_life, step, st.floats(0.05, 0.95))
def test_two_short_steps_are_one_long_step(x, v, goal, life, dt, part):
    whole = springs.spring(x, v, goal, life, dt)
    first = springs.spring(x, v, goal, life, part * dt)
    assert np.allclose(springs.spring(*first, goal, life, (1 - part) * dt), whole, atol=1e-8)
    whole_v = springs.spring_velocity(x, v, 0.3, goal, life, dt)
    half = springs.spring_velocity(x, v, 0.3, goal, life, part * dt)
    assert np.allclose(springs.spring_velocity(*half, goal, life, (1 - part) * dt), whole_v, atol=1e-7)


@given(value, value, value, half_life)
def test_no_time_changes_nothing_and_long_time_arrives(x, v, goal, life):
    assert np.allclose(springs.spring(x, v, goal, life, 0.0), (x, v), atol=1e-12)
    assert np.allclose(springs.spring(x, v, goal, life, 60.0 * life), (goal, 0.0), atol=1e-6)
    assert np.allclose(springs.decay(x, v, life, 60.0 * life), (0.0, 0.0), atol=1e-6)


@given(value, value, half_life)
def test_a_spring_from_rest_never_passes_its_goal(x, goal, life):
    times = np.linspace(0.0, 5.0 * life, 200)
    path, _ = springs.spring(x, 0.0, goal, life, times)
    assert np.all(np.abs(path - goal) <= abs(x - goal) + 1e-12)
    assert np.all((path - goal) * np.sign(x - goal) >= -1e-12)


def test_springs_work_on_arrays():
    x, v = np.arange(6.0).reshape(2, 3), np.ones((2, 3))
    p, w = springs.spring(x, v, np.zeros((2, 3)), 0.2, 0.1)
    assert p.shape == w.shape == (2, 3)
    single = springs.spring(x[1, 2], v[1, 2], 0.0, 0.2, 0.1)
    assert np.allclose((p[1, 2], w[1, 2]), single)


@pytest.mark.parametrize("seed", range(5))
def test_a_rotation_spring_turns_along_the_arc_like_a_spring_of_the_angle(seed):
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    goal = quaternions.normalize(rng.normal(size=4))
    angle, speed, life, dt = rng.uniform(0.1, 2.0), rng.uniform(-3.0, 3.0), 0.3, 0.12
    start = quaternions.multiply(quaternions.from_scaled_angle_axis(angle * axis), goal)
    turned, spin = springs.spring_rotation(start, speed * axis, goal, life, dt)
    left, rate = springs.spring(angle, speed, 0.0, life, dt)
    expected = quaternions.multiply(quaternions.from_scaled_angle_axis(left * axis), goal)
    assert quaternions.angle_between(turned, expected) < 1e-7
    assert np.allclose(spin, rate * axis, atol=1e-7)
    offset, offset_spin = springs.decay_rotation(
        quaternions.from_scaled_angle_axis(angle * axis), speed * axis, life, dt
    )
    assert quaternions.angle_between(offset, quaternions.from_scaled_angle_axis(left * axis)) < 1e-7
    assert np.allclose(offset_spin, rate * axis, atol=1e-7)

"""Group axioms, exact values and round trips of the quaternion algebra."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from ambulo.maths import quaternions as q

component = st.floats(-1.0, 1.0, allow_nan=False, width=64)
angle = st.floats(-3.1, 3.1)
fraction = st.floats(0.0, 1.0)


@st.composite
def unit_quaternions(draw: st.DrawFn) -> np.ndarray:
    v = np.array([draw(component) for _ in range(4)])
    size = np.linalg.norm(v)
    return np.array([0.0, 0.0, 0.0, 1.0]) if size < 1e-3 else v / size


@st.composite
def vectors(draw: st.DrawFn) -> np.ndarray:
    return np.array([draw(st.floats(-10.0, 10.0)) for _ in range(3)])


@st.composite
def directions(draw: st.DrawFn) -> np.ndarray:
    v = draw(vectors())
    size = np.linalg.norm(v)
    return np.array([0.0, 1.0, 0.0]) if size < 1e-3 else v / size


def same_rotation(a: np.ndarray, b: np.ndarray, tolerance: float = 1e-9) -> bool:
    return bool(np.all(q.angle_between(a, b) < tolerance))


@given(unit_quaternions(), unit_quaternions(), unit_quaternions())
def test_the_group_axioms_hold(a, b, c):
    one = np.array([0.0, 0.0, 0.0, 1.0])
    assert np.isclose(np.linalg.norm(q.multiply(a, b)), 1.0)
    assert np.allclose(q.multiply(q.multiply(a, b), c), q.multiply(a, q.multiply(b, c)))
    assert np.allclose(q.multiply(a, one), a)
    assert np.allclose(q.multiply(one, a), a)
    assert np.allclose(q.multiply(a, q.inverse(a)), one)


@given(unit_quaternions(), unit_quaternions(), vectors())
def test_a_product_applies_its_right_factor_first(a, b, v):
    assert np.allclose(q.rotate(q.multiply(a, b), v), q.rotate(a, q.rotate(b, v)), atol=1e-9)


@given(unit_quaternions(), vectors(), vectors())
def test_rotation_keeps_lengths_and_angles_and_is_undone_by_the_inverse(a, v, w):
    assert np.isclose(q.rotate(a, v) @ q.rotate(a, w), v @ w, atol=1e-8)
    assert np.allclose(q.inverse_rotate(a, q.rotate(a, v)), v, atol=1e-9)
    assert np.allclose(q.rotate(-a, v), q.rotate(a, v), atol=1e-9)


@given(unit_quaternions(), unit_quaternions())
def test_divisions_are_products_with_the_inverse(a, b):
    assert np.allclose(q.inverse_multiply(a, q.multiply(a, b)), b)
    assert np.allclose(q.multiply_inverse(q.multiply(b, a), a), b)


@given(unit_quaternions(), vectors())
def test_scipy_agrees(a, v):
    rotation = Rotation.from_quat(a)
    assert np.allclose(q.rotate(a, v), rotation.apply(v), atol=1e-9)
    assert np.allclose(q.to_matrix(a), rotation.as_matrix(), atol=1e-12)


def test_a_quarter_turn_about_up_takes_forward_to_the_left():
    assert np.allclose(q.rotate(q.from_yaw(np.array(np.pi / 2)), [0.0, 0.0, 1.0]), [1.0, 0.0, 0.0], atol=1e-12)


@given(st.floats(-3.1, 3.1))
def test_yaw_comes_back(yaw):
    assert np.isclose(q.to_yaw(q.from_yaw(np.array(yaw))), yaw)


@given(st.integers(0, 2**32 - 1), st.integers(2, 40))
def test_unroll_keeps_rotations_and_leaves_no_neighbours_apart(seed, count):
    rng = np.random.default_rng(seed)
    given_q = q.normalize(rng.normal(size=(count, 3, 4)))
    unrolled = q.unroll(given_q)
    assert np.all(np.sum(unrolled[1:] * unrolled[:-1], axis=-1) >= 0.0)
    assert np.array_equal(unrolled[0], given_q[0])
    assert np.array_equal(np.abs(unrolled), np.abs(given_q))
    signs = unrolled[..., :1] / given_q[..., :1]
    assert np.allclose(signs * given_q, unrolled)


def test_unroll_works_along_any_axis_and_on_nothing():
    rng = np.random.default_rng(0)
    given_q = q.normalize(rng.normal(size=(5, 7, 4)))
    assert np.array_equal(q.unroll(given_q, axis=1), np.swapaxes(q.unroll(np.swapaxes(given_q, 0, 1)), 0, 1))
    assert q.unroll(np.zeros((0, 3, 4))).shape == (0, 3, 4)


@given(unit_quaternions())
def test_two_columns_are_the_formula_of_the_seed(a):
    x, y, z, w = a
    expected = [
        [1 - 2 * (y * y + z * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 1 - 2 * (x * x + y * y)],
    ]
    assert np.allclose(q.to_two_axis(a, "XZ"), expected, atol=1e-14)


@pytest.mark.parametrize("axes", ["XY", "XZ", "YZ", "ZX", "YX", "ZY"])
@given(unit_quaternions())
def test_two_columns_come_back(axes, a):
    assert same_rotation(q.from_two_axis(q.to_two_axis(a, axes), axes), a, 1e-6)


@given(unit_quaternions(), st.integers(0, 2**32 - 1))
def test_columns_that_are_not_orthonormal_still_give_a_rotation(a, seed):
    rough = q.to_two_axis(a) * 1.7 + 0.1 * np.random.default_rng(seed).normal(size=(3, 2))
    back = q.to_matrix(q.from_two_axis(rough))
    assert np.allclose(back @ back.T, np.eye(3), atol=1e-9)
    assert np.isclose(np.linalg.det(back), 1.0)
    assert np.allclose(back[:, 0], rough[:, 0] / np.linalg.norm(rough[:, 0]))


@given(unit_quaternions())
def test_matrices_come_back(a):
    assert same_rotation(q.from_matrix(q.to_matrix(a)), a, 1e-7)


@pytest.mark.parametrize("order", ["".join(p) for p in itertools.permutations("XYZ")])
@given(angle, angle, angle)
@settings(max_examples=40)
def test_euler_angles_are_intrinsic_and_come_back(order, a, b, c):
    angles = np.array([a, b, c])
    rotation = q.from_euler(angles, order)
    assert same_rotation(rotation, Rotation.from_euler(order, angles).as_quat(), 1e-7)
    assert same_rotation(q.from_euler(q.to_euler(rotation, order), order), rotation, 1e-6)


@pytest.mark.parametrize("order", ["".join(p) for p in itertools.permutations("XYZ")])
@pytest.mark.parametrize("middle", [np.pi / 2, -np.pi / 2])
def test_gimbal_lock_keeps_the_rotation(order, middle):
    rotation = q.from_euler(np.array([0.7, middle, -1.1]), order)
    angles = q.to_euler(rotation, order)
    assert same_rotation(q.from_euler(angles, order), rotation, 1e-6)


@given(unit_quaternions(), unit_quaternions(), fraction)
def test_slerp_divides_the_shorter_arc(a, b, t):
    whole = q.angle_between(a, b)
    between = q.slerp(a, b, t)
    assert np.isclose(q.angle_between(a, between), t * whole, atol=1e-6)
    assert np.isclose(q.angle_between(between, b), (1 - t) * whole, atol=1e-6)


@given(vectors())
def test_the_exponential_and_the_logarithm_are_inverse(v):
    size = np.linalg.norm(v)
    if size > np.pi - 1e-3:
        v = v * (3.0 / size)
    assert np.allclose(q.to_scaled_angle_axis(q.from_scaled_angle_axis(v)), v, atol=1e-7)


@given(directions(), st.floats(-3.0, 3.0))
def test_angle_and_axis_say_the_same_as_their_product(axis, turn):
    assert np.allclose(q.from_angle_axis(turn, axis), q.from_scaled_angle_axis(turn * axis), atol=1e-9)


@given(directions(), directions())
def test_between_takes_one_direction_to_the_other_by_the_shortest_turn(a, b):
    turn = q.between(a, b)
    assert np.allclose(q.rotate(turn, a), b, atol=2e-3 if a @ b < -0.9999 else 1e-7)
    expected = np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b)
    assert np.isclose(q.angle_between(turn, np.array([0.0, 0.0, 0.0, 1.0])), expected, atol=2e-3)


@given(directions())
def test_between_opposites_is_half_a_turn(a):
    assert np.allclose(q.rotate(q.between(a, -a), a), -a, atol=1e-9)


@given(directions(), st.floats(0.1, 5.0))
def test_angular_velocity_is_what_turned(axis, speed):
    dt = 0.05
    before = q.normalize(np.array([0.1, 0.2, 0.3, 0.9]))
    after = q.multiply(q.from_scaled_angle_axis(axis * speed * dt), before)
    assert np.allclose(q.angular_velocity(before, after, dt), axis * speed, atol=1e-7)


def test_a_zero_quaternion_normalizes_to_the_identity():
    assert np.array_equal(q.normalize(np.zeros((2, 4), np.float32)), q.identity(2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_floating_type_is_kept(dtype):
    a, v = q.identity((3,), dtype), np.ones((3, 3), dtype)
    results = [
        q.normalize(a), q.multiply(a, a), q.inverse(a), q.rotate(a, v), q.slerp(a, a, 0.5), q.unroll(a), q.to_matrix(a),
        q.from_matrix(q.to_matrix(a)), q.to_two_axis(a), q.between(v, v), q.to_scaled_angle_axis(a),
        q.to_euler(a, "ZYX"),
    ]  # fmt: skip
    assert [result.dtype for result in results] == [dtype] * len(results)

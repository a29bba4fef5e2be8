"""The compiled scalar building blocks equal the array functions."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.maths import kernels
from ambulo.maths import quaternions as q


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def pairs(rng, count=50):
    return [tuple(q.normalize(rng.normal(size=4))) for _ in range(count)]


def test_compiled_algebra_equals_the_array_algebra(rng):
    vectors = [tuple(v) for v in rng.normal(size=(50, 3))]
    for a, b, v in zip(pairs(rng), pairs(rng), vectors, strict=True):
        assert np.allclose(kernels.quat_multiply(a, b), q.multiply(a, b))
        assert np.allclose(kernels.quat_inverse(a), q.inverse(a))
        assert np.allclose(kernels.quat_rotate(a, v), q.rotate(a, v))
        assert np.allclose(kernels.quat_absolute(a), q.absolute(a))
        assert np.allclose(kernels.quat_normalize(tuple(3.0 * np.array(a))), a)
        assert np.allclose(kernels.quat_to_scaled_angle_axis(a), q.to_scaled_angle_axis(a))
        assert np.allclose(kernels.quat_from_scaled_angle_axis(v), q.from_scaled_angle_axis(v))
        assert np.allclose(kernels.quat_between(v, a[:3]), q.between(v, a[:3]), atol=1e-6)


def test_tiny_rotations_lose_nothing(rng):
    for size in (1e-3, 1e-5, 1e-6, 1e-8, 0.0):
        v = tuple(size * np.array([0.6, 0.0, -0.8]))
        assert np.allclose(kernels.quat_to_scaled_angle_axis(kernels.quat_from_scaled_angle_axis(v)), v, rtol=1e-6)


@pytest.mark.parametrize("a", [(0.0, 1.0, 0.0), (0.0, -2.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 3.0), (1.0, 1.0, 1.0)])
def test_opposite_directions_turn_by_half_a_turn(a):
    turn = kernels.quat_between(a, tuple(-np.array(a)))
    assert np.allclose(kernels.quat_rotate(turn, a), -np.array(a), atol=1e-6)

"""The body's path."""

import numpy as np

from ambulo.maths import springs
from ambulo.synthesis.path import Wish, follow


def _wish(frames, speed=1.5, half_life=0.2):
    velocity = np.zeros((frames, 2))
    velocity[10:, 1] = speed
    facing = np.where(np.arange(frames) < 10, 0.0, 1.0)
    return Wish(velocity, facing, np.full(frames, half_life), np.full(frames, half_life))


def test_velocity_and_facing_follow_the_same_spring_as_the_controllers():
    path = follow(_wish(120), 60.0)
    x, v = 0.0, 0.0
    for frame in range(10, 119):
        x, v = springs.spring(x, v, 1.5, 0.2, 1.0 / 60.0)
        assert np.isclose(path.velocity[frame + 1, 1], x, atol=1e-9)
        assert np.isclose(path.facing[frame + 1], x / 1.5, atol=1e-9)


def test_position_is_the_integral_of_velocity():
    path = follow(_wish(240), 60.0)
    measured = np.gradient(path.position[:, 1], 1.0 / 60.0)
    assert np.allclose(measured[2:-2], path.velocity[2:-2, 1], atol=0.02)


def test_facing_frame_has_left_first_and_forward_second():
    path = follow(_wish(240), 60.0)
    yaw = path.facing
    forward = np.stack([np.sin(yaw), np.cos(yaw)], axis=-1)
    left = np.stack([np.cos(yaw), -np.sin(yaw)], axis=-1)
    assert np.allclose(path.in_facing(forward), [0.0, 1.0], atol=1e-12)
    assert np.allclose(path.in_facing(left), [1.0, 0.0], atol=1e-12)

"""Smooth curves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ambulo.synthesis import curves


def test_soft_step_starts_and_stops_at_rest():
    x = np.array([0.0, 0.5, 1.0])
    assert np.allclose(curves.soft_step(x), [0.0, 0.5, 1.0])
    h = 1e-4
    for end in (h, 1.0 - h):
        speed = (curves.soft_step(end + h) - curves.soft_step(end - h)) / (2 * h)
        assert abs(float(speed)) < 1e-5


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=8))
def test_keyed_curve_meets_its_keys_and_never_leaves_their_range(values):
    times = np.arange(len(values), dtype=float)
    assert np.allclose(curves.keyed(times, values, times), values, atol=1e-9)
    inside = curves.keyed(times, values, np.linspace(-1.0, len(values), 301))
    assert inside.min() >= min(values) - 1e-6
    assert inside.max() <= max(values) + 1e-6


def test_keyed_curve_has_continuous_speed_and_acceleration():
    t = np.linspace(0.0, 4.0, 40001)
    y = curves.keyed([0.0, 1.0, 1.7, 3.0, 4.0], [0.0, 2.0, 2.5, 4.0, 0.0], t)
    h = t[1] - t[0]
    acceleration = np.diff(y, n=2) / h**2
    # A jump would show as one step of the size of the acceleration itself.
    assert np.abs(np.diff(acceleration)).max() < 0.01 * np.abs(acceleration).max()


def test_noise_is_unit_and_as_slow_as_asked():
    noise = curves.smooth_noise(np.random.default_rng(3), 60000, 60.0, 0.5, 2)
    assert np.allclose(noise.std(axis=0), 1.0, atol=0.1)
    steps = np.abs(np.diff(noise, axis=0)).max()
    assert steps < 0.15
    assert not np.allclose(noise[:, 0], noise[:, 1])

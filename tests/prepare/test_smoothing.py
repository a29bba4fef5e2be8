"""Windows in seconds, and smoothing of takes shorter than the window."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import savgol_filter

from ambulo.prepare.smoothing import odd_window, smooth


@pytest.mark.parametrize(
    ("seconds", "rate", "window"),
    [(0.5, 60, 31), (1.0, 60, 61), (0.5, 30, 17), (1.0, 30, 31), (0.5, 120, 61), (0.0, 60, 1)],
)
def test_windows_are_odd_and_the_seeds_at_sixty(seconds, rate, window):
    assert odd_window(seconds, rate) == window


def test_smoothing_is_the_seeds_filter():
    x = np.random.default_rng(0).normal(size=(200, 3))
    assert np.allclose(smooth(x, 0.5, 60.0), savgol_filter(x, 31, 3, axis=0, mode="interp"))


@pytest.mark.parametrize("count", range(1, 40))
def test_short_takes_shrink_the_window_and_cubics_survive_it(count):
    t = np.arange(count) / 60.0
    cubic = (1.0 + t - 2 * t**2 + 5 * t**3)[:, None]
    result = smooth(cubic, 0.5, 60.0)
    assert result.shape == cubic.shape
    assert np.isfinite(result).all()
    if count >= 5:
        assert np.allclose(result, cubic, atol=1e-6)


@pytest.mark.parametrize("count", [3, 4, 9, 30, 31, 61, 500])
def test_it_is_scipys_filter(count: int) -> None:
    rows = np.random.default_rng(count).normal(size=(count, 3)).cumsum(axis=0)
    for seconds in (0.1, 0.5, 1.0):
        window = min(odd_window(seconds, 60.0), count if count % 2 else count - 1)
        wanted = savgol_filter(rows, window, min(3, window - 1), axis=0, mode="interp")
        np.testing.assert_allclose(smooth(rows, seconds, 60.0), wanted, rtol=1e-11, atol=1e-11)

"""Smooth curves: keys joined without a jump in speed or acceleration, smooth noise, soft steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter1d

Array = NDArray[np.floating]


def soft_step(x: ArrayLike) -> Array:
    """From 0 to 1 over ``[0, 1]`` with zero speed and acceleration at both ends (the minimum-jerk profile)."""
    x = np.clip(np.asarray(x, np.float64), 0.0, 1.0)
    return np.asarray(x * x * x * (10.0 + x * (6.0 * x - 15.0)))


def ramp(x: ArrayLike, start: float, stop: float) -> Array:
    """:func:`soft_step` between two values of ``x``."""
    return soft_step((np.asarray(x, np.float64) - start) / (stop - start))


def monotone_slopes(times: Array, values: Array) -> Array:
    """Slopes at keys that never overshoot (F. N. Fritsch and J. Butland, SIAM J. Sci. Stat. Comput. 5, 1984)."""
    steps = np.maximum(np.diff(times), 1e-9)
    rises = np.diff(values) / steps
    slopes = np.zeros_like(values)
    left, right, a, b = rises[:-1], rises[1:], steps[:-1], steps[1:]
    same = left * right > 0.0
    weight = (a + 2.0 * b) / (3.0 * (a + b))
    safe = np.where(same, weight * right + (1.0 - weight) * left, 1.0)
    slopes[1:-1] = np.where(same, left * right / safe, 0.0)
    return slopes


def keyed(times: ArrayLike, values: ArrayLike, query: ArrayLike) -> Array:
    """Curve through keys with continuous speed and acceleration, flat where two keys are equal.

    Quintic Hermite pieces with monotone slopes and no acceleration at the keys; constant outside of them.

    Args:
        times: ``[K]``, rising.
        values: ``[K]``.
        query: ``[T]``.
    """
    t, v = np.asarray(times, np.float64), np.asarray(values, np.float64)
    q = np.asarray(query, np.float64)
    if len(t) == 1:
        return np.full(q.shape, v[0])
    slopes = monotone_slopes(t, v)
    i = np.clip(np.searchsorted(t, q, side="right") - 1, 0, len(t) - 2)
    h = np.maximum(t[i + 1] - t[i], 1e-9)
    x = np.clip((q - t[i]) / h, 0.0, 1.0)
    s = soft_step(x)
    x3 = x * x * x
    a = x - x3 * (6.0 + x * (3.0 * x - 8.0))
    b = -x3 * (4.0 + x * (3.0 * x - 7.0))
    return v[i] + (v[i + 1] - v[i]) * s + h * (a * slopes[i] + b * slopes[i + 1])


def smooth(values: ArrayLike, seconds: float, rate: float) -> Array:
    """Gaussian smoothing along time; ``seconds`` is the standard deviation. ``[T, ...]``."""
    smoothed: Array = gaussian_filter1d(np.asarray(values, np.float64), seconds * rate, axis=0, mode="nearest")
    return smoothed


def smooth_noise(rng: np.random.Generator, frames: int, rate: float, seconds: float, columns: int = 1) -> Array:
    """Noise of unit standard deviation that changes over about ``seconds``. Returns ``[T, columns]``."""
    width = seconds * rate
    pad = int(4 * width) + 1
    # Sparse samples keep long time scales cheap: white noise at a fifth of the width is as good as at every frame.
    stride = max(1, int(width / 5.0))
    count = (frames + 2 * pad) // stride + 2
    coarse = gaussian_filter1d(rng.standard_normal((count, columns)), width / stride, axis=0)
    gain = np.sqrt(2.0 * np.sqrt(np.pi) * width / stride)
    at = (np.arange(frames) + pad) / stride
    base = at.astype(np.int64)
    part = (at - base)[:, None]
    return np.asarray(gain * (coarse[base] * (1.0 - part) + coarse[base + 1] * part))


def wrap(angle: ArrayLike) -> Array:
    """The same angle in ``[-pi, pi)``."""
    return (np.asarray(angle, np.float64) + np.pi) % (2.0 * np.pi) - np.pi

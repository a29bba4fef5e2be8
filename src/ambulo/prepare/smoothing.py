"""Savitzky-Golay smoothing with its window in seconds, for takes of any length."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray


def odd_window(seconds: float, rate: float) -> int:
    """The odd number of frames nearest to a span: 0.5 s at 60 frames a second is 31, 1 s is 61 (S4.4, S4.6)."""
    return 2 * int(np.floor(0.5 * seconds * rate + 0.5)) + 1


def smooth(values: NDArray[np.floating], seconds: float, rate: float, order: int = 3) -> NDArray[np.float64]:
    """Fit a polynomial in a sliding window along axis 0: what SciPy's ``savgol_filter(..., mode="interp")`` gives.

    Not by SciPy, since ``scipy.signal`` takes half a second to import, of the few that one edited take may take.

    A take shorter than the window gets the longest odd window that fits; one shorter than the polynomial needs gets the
    highest order that fits; fewer than three frames come back as they are.
    """
    samples: NDArray[np.float64] = np.asarray(values, np.float64)
    count = samples.shape[0]
    window = min(odd_window(seconds, rate), count if count % 2 else count - 1)
    if window < 3:
        return samples.copy()
    half = window // 2
    fit = _fit(window, min(order, window - 1))
    rows = samples.reshape(count, -1)
    smoothed = np.zeros_like(rows)
    inside = smoothed[half : count - half]
    for place, weight in enumerate(fit[half]):
        inside += weight * rows[place : place + len(inside)]
    # At the ends the window does not slide: what its polynomial says there holds.
    for target, source, part in (
        (smoothed[:half], rows[:window], fit[:half]),
        (smoothed[count - half :], rows[count - window :], fit[half + 1 :]),
    ):
        for place in range(window):
            target += part[:, place, None] * source[place]
    return smoothed.reshape(samples.shape)


@cache
def _fit(window: int, order: int) -> NDArray[np.float64]:
    """``[window, window]``: what a polynomial fitted to the values of a window is at each of its places."""
    places = np.linspace(-1.0, 1.0, window)
    basis, _ = np.linalg.qr(np.polynomial.chebyshev.chebvander(places, order))
    # einsum adds in one order, whatever the threads.
    return np.asarray(np.einsum("ik,jk->ij", basis, basis, optimize=False), np.float64)

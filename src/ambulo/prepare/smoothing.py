"""Savitzky-Golay smoothing with its window in seconds, for takes of any length."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def odd_window(seconds: float, rate: float) -> int:
    """The odd number of frames nearest to a span: 0.5 s at 60 frames a second is 31, 1 s is 61 (S4.4, S4.6)."""
    return 2 * int(np.floor(0.5 * seconds * rate + 0.5)) + 1


def smooth(values: NDArray[np.floating], seconds: float, rate: float, order: int = 3) -> NDArray[np.float64]:
    """Fit a polynomial in a sliding window along axis 0, SciPy's ``savgol_filter(..., mode="interp")``.

    A take shorter than the window gets the longest odd window that fits; one shorter than the polynomial needs gets the
    highest order that fits; fewer than three frames come back as they are.
    """
    samples: NDArray[np.float64] = np.asarray(values, np.float64)
    count = samples.shape[0]
    window = min(odd_window(seconds, rate), count if count % 2 else count - 1)
    if window < 3:
        return samples.copy()
    from scipy.signal import savgol_filter

    return np.asarray(savgol_filter(samples, window, min(order, window - 1), axis=0, mode="interp"), np.float64)

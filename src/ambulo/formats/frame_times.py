"""From a rounded frame time to the rate that was meant."""

from __future__ import annotations

import math

NOMINAL_RATES = (
    *(24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 72.0, 75.0, 90.0, 100.0, 120.0, 144.0, 150.0, 180.0, 200.0, 240.0, 250.0),
    *(300.0, 360.0, 400.0, 480.0, 500.0, 600.0, 1000.0, 10.0, 12.0, 15.0, 20.0, 1.0, 2.0, 5.0),
)
_BROADCAST_RATES = tuple(rate * 1000.0 / 1001.0 for rate in (24.0, 30.0, 60.0, 120.0))


def nominal_rate(frame_time: float, written: str) -> float:
    """The rate that a frame time stands for.

    Files write 0.0333333, 0.033333 or 0.033 for 1/30 s, and some tools cut digits off where others round. The nominal
    rate nearest to what is written is taken where it lies within the last written digit (and within 2.5 %), then any
    whole rate that the digits single out, else ``1 / frame_time``.

    Args:
        frame_time: seconds.
        written: the frame time as the file writes it.

    Returns:
        Frames a second.
    """
    step = _last_digit(written)
    for reach in (0.5, 1.02):
        tolerance = max(reach * step, 1e-6 * frame_time)
        for rates in (NOMINAL_RATES, _BROADCAST_RATES):
            near = [r for r in rates if abs(1.0 / r - frame_time) <= tolerance and abs(r * frame_time - 1.0) < 0.025]
            if near:
                return min(near, key=lambda r: abs(1.0 / r - frame_time))
    rate = 1.0 / frame_time
    whole = float(round(rate))
    if whole >= 1.0 and abs(1.0 / whole - frame_time) <= max(step, 1e-6 * frame_time) and step * rate * rate < 0.5:
        return whole
    return rate


def _last_digit(written: str) -> float:
    """Value of one unit in the last written digit."""
    mantissa, _, exponent = written.lower().partition("e")
    places = len(mantissa.partition(".")[2])
    try:
        return math.pow(10.0, int(exponent or 0) - places)
    except (ValueError, OverflowError):
        return 0.0

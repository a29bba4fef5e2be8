"""How takes are prepared, in seconds and metres: the ``[prepare]`` table of ``ambulo.toml``."""

from __future__ import annotations

import math

import msgspec

LIMITS: dict[str, tuple[float, float]] = {
    "rate": (1.0, 1000.0),
    "position_window": (0.0, 60.0),
    "direction_window": (0.0, 60.0),
    "smoothing_order": (0, 9),
    "contact_speed": (0.0, 100.0),
    "contact_window": (0.0, 60.0),
    "contact_height": (0.0, 100.0),
    "glitch_speed": (0.0, 1e6),
    "glitch_margin": (0.0, 60.0),
}
"""Least and greatest of each constant: far beyond what is sensible, and near enough that arithmetic stays sound."""


class PrepareSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Constants of the preparation.

    Where an S4.x is cited, the default is G. Markelov's ("Pitfalls of Learned Motion Matching"; docs/prior-art.md).

    Attributes:
        rate: frames a second of the prepared clip (the project's ``rate``).
        position_window: seconds over which the root's position is smoothed (S4.4: 31 frames at 60).
        direction_window: seconds over which the root's direction is smoothed (S4.6: 61 frames at 60).
        smoothing_order: order of the Savitzky-Golay polynomial for both (S4.4, S4.6).
        contact_speed: m/s below which a toe counts as on the ground (S4.11).
        contact_window: seconds of the median filter over contacts (S4.11: 6 frames at 60).
        contact_height: metres above the floor beyond which a slow toe is no contact (a held kick); None for S4.11 as it
            is, which looks at speed alone and also holds on stairs and slopes.
        floor: shift each take up or down so that its feet stand on y = 0.
        trim: cut T-poses and calibration off the ends.
        glitch_speed: m/s above which a joint's motion is a capture fault.
        glitch_margin: seconds around a glitch that are marked unusable too.
    """

    rate: float = 60.0
    position_window: float = 0.5
    direction_window: float = 1.0
    smoothing_order: int = 3
    contact_speed: float = 0.15
    contact_window: float = 0.1
    contact_height: float | None = None
    floor: bool = True
    trim: bool = True
    glitch_speed: float = 20.0
    glitch_margin: float = 0.05

    def fault(self) -> tuple[str, str] | None:
        """The first constant that is not possible, as its key and what is wrong with it; None where all are."""
        for key, (least, greatest) in LIMITS.items():
            value = getattr(self, key)
            if value is not None and not (math.isfinite(value) and least <= value <= greatest):
                return key, f"{value:g} is not possible, it must lie between {least:g} and {greatest:g}"
        return None

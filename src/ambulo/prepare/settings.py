"""How takes are prepared, in seconds and metres: the ``[prepare]`` table of ``ambulo.toml``."""

from __future__ import annotations

import msgspec


class PrepareSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Constants of the preparation; the defaults are the seeds'.

    Attributes:
        rate: frames a second of the prepared clip (the project's ``rate``).
        position_window: seconds over which the root's position is smoothed (S4.4: 31 frames at 60).
        direction_window: seconds over which the root's direction is smoothed (S4.6: 61 frames at 60).
        contact_speed: m/s below which a toe counts as on the ground (S4.11).
        contact_window: seconds of the median filter over contacts (S4.11: 6 frames at 60).
        trim: cut T-poses and calibration off the ends.
    """

    rate: float = 60.0
    position_window: float = 0.5
    direction_window: float = 1.0
    contact_speed: float = 0.15
    contact_window: float = 0.1
    trim: bool = True

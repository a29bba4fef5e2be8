"""One ``[[takes]]`` entry of ``ambulo.toml``: what is known of a single take, or of one clip of it."""

from __future__ import annotations

import math

import msgspec

from ambulo.errors import FormatError
from ambulo.prepare.corrections import Corrections


class TakeSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Corrections of one take; ``ambulo check --fix`` proposes and writes them.

    Attributes:
        file: the take as reports name it: ``takes/walk_01.bvh``.
        clip: name of the one motion that the entry is about, of a file that holds several (the animations of a GLB);
            left out, the entry is about all that have no entry of their own. ``rate`` and ``unit`` are the file's.
        start_frame: first frame to use; left out, the preparation finds calibration at the start.
        stop_frame: one past the last frame to use.
        rate: true frames a second of this take; wins over its source's.
        unit: length unit of this take; wins over its source's.
        lift: metres to add to all heights; left out, the preparation finds the floor.
        skip_frames: ranges ``[first, one past the last]`` that are kept but never chosen.
    """

    file: str
    clip: str | None = None
    start_frame: int | None = None
    stop_frame: int | None = None
    rate: float | None = None
    unit: str | float | None = None
    lift: float | None = None
    skip_frames: tuple[tuple[int, int], ...] = ()

    @property
    def corrections(self) -> Corrections:
        """What the preparation must know."""
        return Corrections(
            start_frame=self.start_frame, stop_frame=self.stop_frame, lift=self.lift, skip_frames=self.skip_frames
        )

    def fault(self) -> tuple[str, str] | None:
        """The first value that is not possible, as its key and what is wrong with it; None where all are."""
        from ambulo.formats.units import parse_unit

        for key in ("rate", "unit"):
            if self.clip is not None and getattr(self, key) is not None:
                return key, f"the {key} of one clip is not possible: it is the whole file's, in an entry without clip"
        if self.rate is not None and not (math.isfinite(self.rate) and self.rate > 0):
            return "rate", f"a rate of {self.rate:g} frames a second is not possible"
        try:
            if self.unit is not None:
                parse_unit(self.unit)
        except FormatError as error:
            return "unit", error.message
        return self.corrections.fault()

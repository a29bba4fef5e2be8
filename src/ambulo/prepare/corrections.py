"""What is known of one take beside its file: which frames to use, and how high to lift it."""

from __future__ import annotations

import math

import msgspec


class Corrections(msgspec.Struct, frozen=True, kw_only=True):
    """Corrections of one take, in frames of the take as it is read.

    Attributes:
        start_frame: first frame to use; None leaves the start to the preparation.
        stop_frame: one past the last; None leaves the end to the preparation.
        lift: metres to add to all heights, in place of the floor that would be found; None to find it.
        skip_frames: ranges ``[start, stop)`` of frames that are kept but never chosen.
    """

    start_frame: int | None = None
    stop_frame: int | None = None
    lift: float | None = None
    skip_frames: tuple[tuple[int, int], ...] = ()

    def fault(self) -> tuple[str, str] | None:
        """The first value that is not possible, as its key and what is wrong with it; None where all are."""
        start, stop = self.start_frame or 0, self.stop_frame
        if start < 0:
            return "start_frame", f"{start} is not possible, frames are counted from 0"
        if stop is not None and stop <= start:
            return "stop_frame", f"{stop} is not possible, it must be greater than start_frame ({start})"
        if self.lift is not None and not (math.isfinite(self.lift) and abs(self.lift) <= 100.0):
            return "lift", f"{self.lift:g} metres are not possible"
        for first, last in self.skip_frames:
            if not 0 <= first < last:
                return "skip_frames", f"[{first}, {last}] is no range of frames, it must be [first, one past the last]"
        return None

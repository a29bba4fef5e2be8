"""The two lines that begin the MOTION part of a BVH file: how many frames, and how long one takes."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import NamedTuple

from ambulo.errors import FormatError
from ambulo.formats.bvh_hierarchy import NUMBER, Hierarchy
from ambulo.formats.format import ReadOptions
from ambulo.formats.frame_times import nominal_rate
from ambulo.motion.motion import Note

_FRAMES = re.compile(rb"\s*Frames[ \t]*:?\s*([^\s]*)", re.IGNORECASE)
_FRAME_TIME = re.compile(rb"\s*Frame[ \t]*Time[ \t]*:?\s*([^\s]*)", re.IGNORECASE)
_SLOWEST_RATE, _FASTEST_RATE = 1.0, 2000.0


class Header(NamedTuple):
    """The lines between MOTION and the rows.

    Attributes:
        declared: how many frames the file says it has.
        declared_line: where it says so.
        rate: frames a second, snapped to the nominal rate.
        frame_time: seconds a frame as written, where that is a number.
        notes: what was odd.
        rows_start: byte at which the number block starts.
        rows_line: line on which it starts.
    """

    declared: int | None
    declared_line: int
    rate: float
    frame_time: float | None
    notes: list[Note]
    rows_start: int
    rows_line: int


def read_header(data: bytes, at: int, hierarchy: Hierarchy, path: Path, options: ReadOptions) -> Header:
    """Read ``Frames:`` and ``Frame Time:``, in either order.

    Args:
        data: the file.
        at: where the word MOTION ends.
        hierarchy: what came before.
        path: for errors.
        options: a given rate replaces the file's.

    Raises:
        FormatError: a count or a time that is none.
    """
    notes: list[Note] = []
    line = hierarchy.line
    declared: int | None = None
    declared_line = line
    written: str | None = None
    time_line = line
    if data[at : at + 1] == b":":
        at += 1
    while True:
        match = None
        if declared is None and (match := _FRAMES.match(data, at)):
            word = match[1].decode("utf-8", "replace")
            declared_line = line + _count_lines(data[at : match.start(1)])
            if not word.isdecimal():
                raise FormatError(
                    f"Frames: {word[:40]!r} is no count",
                    path=path,
                    line=declared_line,
                    key="Frames",
                    remedy="write the number of rows",
                )
            declared = min(int(word[:18]), 2**62)
        elif written is None and (match := _FRAME_TIME.match(data, at)):
            written = match[1].decode("utf-8", "replace")
            time_line = line + _count_lines(data[at : match.start(1)])
        if not match:
            break
        line += _count_lines(data[at : match.end()])
        at = match.end()
    if declared is None:
        notes.append(Note("frame_count", "there is no Frames line; the rows are counted", warning=True, line=line))
    if written is None and options.rate is None:
        raise FormatError(
            "there is no Frame Time line", path=path, line=line, key="Frame Time", remedy="give the rate: rate=30"
        )
    frame_time, rate = _frame_time(written, time_line, path, options, notes)
    return Header(declared, declared_line, rate, frame_time, notes, at, line)


def _frame_time(
    written: str | None, line: int, path: Path, options: ReadOptions, notes: list[Note]
) -> tuple[float | None, float]:
    """The frame time as written, and the rate."""
    value = math.nan
    if written is not None and NUMBER.fullmatch(written):
        value = float(written)
    usable = math.isfinite(value) and value > 0.0 and math.isfinite(1.0 / value)
    if options.rate is not None:
        if not (math.isfinite(options.rate) and options.rate > 0.0):
            raise FormatError(
                f"a rate of {options.rate} is not possible",
                path=path,
                key="rate",
                remedy="give frames a second, above zero",
            )
        said = "nothing" if written is None else repr(written)
        notes.append(
            Note("rate_given", f"the rate {options.rate:g} was given; the file's Frame Time says {said}", line=line)
        )
        return (value if usable else None), float(options.rate)
    assert written is not None
    if not usable:
        hint = "; a decimal comma?" if "," in written else ""
        what = "is no number of seconds" if math.isnan(value) else "is not possible"
        raise FormatError(
            f"Frame Time {written[:40]!r} {what}{hint}",
            path=path,
            line=line,
            key="Frame Time",
            remedy="write the seconds a frame, e.g. 0.0333333, or give the rate: rate=30",
        )
    rate = nominal_rate(value, written)
    if not _SLOWEST_RATE <= rate <= _FASTEST_RATE:
        meant = f"; the rate {value:g} was probably meant: give rate={value:g}" if value >= 5.0 else "; give the rate"
        notes.append(
            Note(
                "frame_time",
                f"Frame Time {written} is implausible: {value:g} s a frame is {rate:g} frames a second{meant}",
                warning=True,
                line=line,
            )
        )
    elif abs(value * rate - 1.0) > 1e-9:
        notes.append(Note("frame_time", f"Frame Time {written} is read as {rate:g} frames a second", line=line))
    return value, rate


def _count_lines(data: bytes) -> int:
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")

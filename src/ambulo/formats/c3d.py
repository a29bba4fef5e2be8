"""Read C3D files, as every optical system writes them: markers over time. There is no skeleton in them.

What is decided here:

- A marker with a negative residual was not seen: NaN, ``valid`` False. Nor was one at exactly (0, 0, 0).
- Whole numbers and floats, of Intel, MIPS and DEC. Analog channels, events and cameras are passed over.
- The unit is ``POINT:UNITS``. The up axis is ``POINT:Y_SCREEN``; where that is missing it is guessed: head above feet,
  or a body's height above a floor; +Z otherwise, the custom of laboratories.
- Labels may go on in ``LABELS2``, ``LABELS3``, ...; a second marker of one name becomes ``name#2``.
- More than 65,535 frames: ``TRIAL:ACTUAL_START_FIELD`` and ``ACTUAL_END_FIELD``, or ``POINT:LONG_FRAMES``.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import FormatError
from ambulo.formats import axes, units
from ambulo.formats.c3d_parameters import BLOCK, MIPS, C3dHeader, Value, floats, read_header, read_parameters, sniff
from ambulo.formats.format import Format, ReadOptions, read_file
from ambulo.motion.markers import Markers
from ambulo.motion.motion import Motion, Note, Source
from ambulo.motion.skeleton import Skeleton

_HEAD = re.compile(r"hd$|head|^c7$|clav|shou|sho$|acr", re.IGNORECASE)
_FEET = re.compile(r"toe|hee|ank|foot|mt[p0-9]|mtp", re.IGNORECASE)
_LARGEST = 1e8
_COUNTABLE = 65535
_BODY = (0.8, 2.8)
"""Metres: how high the highest marker of a person stands above the floor."""


def read(path: Path, options: ReadOptions | None = None) -> list[Motion]:
    """Read one file.

    Args:
        path: the ``.c3d``.
        options: what the caller knows better.

    Returns:
        One :class:`~ambulo.motion.markers.Markers`, metres and +Y up.

    Raises:
        FormatError: the file is damaged, or says what cannot be.
    """
    options = options or ReadOptions()
    data = read_file(path)
    header, start = read_header(data, path)
    parameters = read_parameters(data, start, header.processor, path)
    notes: list[Note] = []
    header = _corrected(header, parameters, path)
    count = _frame_count(header, parameters, data, path, options, notes)
    points, valid = _points(data, header, count)
    names = _labels(parameters, header.point_count, notes)
    rate = _rate(header, options, path)
    unit, metres, unit_guessed = _unit(parameters, points, valid, options, notes)
    up, up_guessed = _up(parameters, names, points, valid, metres, options, notes)
    unseen = int((~valid).sum())
    if unseen:
        worst = int(np.argmin(valid.mean(axis=0)))
        notes.append(
            Note(
                "occluded",
                f"{100 * unseen / valid.size:.2g} % of the markers' positions were not seen, most of {names[worst]}",
                joint=names[worst],
            )
        )
    if count < 2:
        notes.append(Note("no_frames", f"there are {count} frames", warning=True))
    if options.strict and any(note.warning for note in notes):
        listed = "; ".join(note.message for note in notes if note.warning)
        raise FormatError(listed, path=path, remedy="refused because strict was asked for")
    positions = axes.convert_vectors(points * np.float32(metres), up)
    positions[~valid] = np.nan
    rotations = np.zeros((count, len(names), 4), np.float32)
    rotations[..., 3] = 1.0
    skeleton = Skeleton(names, np.full(len(names), -1), np.zeros((len(names), 3), np.float32))
    source = Source(
        path=path,
        format="c3d",
        unit=unit,
        metres_per_unit=metres,
        unit_guessed=unit_guessed,
        up=up,
        up_guessed=up_guessed,
        notes=tuple(notes),
    )
    return [Markers(skeleton, positions, rotations, rate, path.stem, source, valid)]


def _number(parameters: dict[str, Value], name: str) -> float | None:
    value = parameters.get(name)
    if value is None or isinstance(value, list) or not len(value) or not math.isfinite(value[0]):
        return None
    return float(value[0])


def _corrected(header: C3dHeader, parameters: dict[str, Value], path: Path) -> C3dHeader:
    """The header with what the parameters know better."""
    used, scale, rate = (_number(parameters, f"POINT:{name}") for name in ("USED", "SCALE", "RATE"))
    if used is not None:
        header = header._replace(point_count=int(used) & 0xFFFF)
    if scale is not None and scale != 0.0:
        header = header._replace(scale=scale)
    if rate is not None and rate > 0.0:
        header = header._replace(rate=rate)
    if header.point_count == 0:
        raise FormatError("there are no markers in this file", path=path, remedy="it may hold analog channels only")
    if not math.isfinite(header.scale) or header.scale == 0.0:
        raise FormatError(f"the markers' scale is {header.scale}", path=path, key="POINT:SCALE")
    return header


def _frame_count(
    header: C3dHeader,
    parameters: dict[str, Value],
    data: bytes,
    path: Path,
    options: ReadOptions,
    notes: list[Note],
) -> int:
    """How many frames there are: declared, and really there."""

    def long_field(name: str) -> int | None:
        value = parameters.get(f"TRIAL:{name}")
        if value is None or isinstance(value, list) or len(value) < 2 or not np.isfinite(value[:2]).all():
            return None
        return (int(value[0]) & 0xFFFF) + ((int(value[1]) & 0xFFFF) << 16)

    first, last = long_field("ACTUAL_START_FIELD"), long_field("ACTUAL_END_FIELD")
    long_frames = _number(parameters, "POINT:LONG_FRAMES")
    if first is not None and last is not None and last >= first:
        declared = last - first + 1
    elif long_frames is not None and long_frames >= 1:
        declared = int(min(long_frames, 2**32))
    else:
        declared = header.last_frame - header.first_frame + 1
        frames = _number(parameters, "POINT:FRAMES")
        if frames is not None and (frames > _COUNTABLE or declared < 1):
            declared = int(min(abs(frames), 2**32))
        elif header.last_frame == _COUNTABLE and frames in (None, -1.0, float(_COUNTABLE)):
            declared = max(declared, _there(data, header))
            if declared > _COUNTABLE:
                notes.append(Note("frame_count", f"the header counts to {_COUNTABLE}; {declared} frames are there"))
    if declared < 1:
        raise FormatError(
            f"the frames are numbered from {header.first_frame} to {header.last_frame}",
            path=path,
            remedy="export again",
        )
    if not 0 < header.data_start <= len(data):
        raise FormatError("the frames are said to lie outside of the file", path=path, remedy="export it again")
    room = (len(data) - header.data_start) // _frame_bytes(header)
    if room < declared:
        message = f"the file is cut short: {declared} frames are declared, {room} are there"
        if not options.lenient or room < 1:
            raise FormatError(
                message, path=path, remedy="copy or export it again, or read what is there with lenient=True"
            )
        notes.append(Note("frame_count", message, warning=True))
    return min(declared, room)


def _there(data: bytes, header: C3dHeader) -> int:
    """How many frames the bytes hold, without the zeros that fill the last block."""
    step = _frame_bytes(header)
    end = max(len(data) - max(header.data_start, 0), 0) // step
    while end and len(data) - header.data_start - end * step < BLOCK:
        begin = header.data_start + (end - 1) * step
        if any(data[begin : begin + step]):
            break
        end -= 1
    return end


def _frame_bytes(header: C3dHeader) -> int:
    return (4 * header.point_count + header.analog_count) * (4 if header.scale < 0 else 2)


def _points(data: bytes, header: C3dHeader, count: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Positions ``[T, M, 3]`` in file units and whether each marker was seen ``[T, M]``."""
    step, markers = _frame_bytes(header), header.point_count
    block = memoryview(data)[header.data_start : header.data_start + count * step]
    if header.scale < 0:
        table = floats(block, header.processor).reshape(count, step // 4)[:, : 4 * markers]
        table = table.reshape(count, markers, 4)
        points, residual = np.ascontiguousarray(table[..., :3]), table[..., 3]
    else:
        order = ">i2" if header.processor == MIPS else "<i2"
        whole = np.frombuffer(block, order).reshape(count, step // 2)[:, : 4 * markers].reshape(count, markers, 4)
        points, residual = whole[..., :3].astype(np.float32) * np.float32(header.scale), whole[..., 3]
    with np.errstate(invalid="ignore"):
        seen = (residual >= 0) & (np.abs(points) < _LARGEST).all(axis=2)
    valid = np.asarray(seen & (points != 0.0).any(axis=2), np.bool_)
    points[~valid] = 0.0
    return points, valid


def _labels(parameters: dict[str, Value], count: int, notes: list[Note]) -> tuple[str, ...]:
    labels: list[str] = []
    for number in range(1, 260):
        part = parameters.get("POINT:LABELS" if number == 1 else f"POINT:LABELS{number}")
        if not isinstance(part, list):
            break
        labels += part
    names: list[str] = []
    taken: set[str] = set()
    doubled = 0
    for index in range(count):
        name = labels[index] if index < len(labels) and labels[index] else f"marker_{index + 1}"
        unique, number = name, 1
        while unique in taken:
            number += 1
            unique = f"{name}#{number}"
        doubled += number > 1
        taken.add(unique)
        names.append(unique)
    if doubled:
        notes.append(Note("duplicate_name", f"{doubled} markers share a name with another", warning=True))
    if len(labels) < count:
        notes.append(Note("labels", f"{count} markers have {len(labels)} labels", warning=True))
    return tuple(names)


def _rate(header: C3dHeader, options: ReadOptions, path: Path) -> float:
    if options.rate is not None:
        return float(options.rate)
    if not (math.isfinite(header.rate) and 0.0 < header.rate <= 1e6):
        raise FormatError(
            f"the file says {header.rate:g} frames a second", path=path, key="POINT:RATE", remedy="give rate="
        )
    return header.rate


def _unit(
    parameters: dict[str, Value],
    points: NDArray[np.float32],
    valid: NDArray[np.bool_],
    options: ReadOptions,
    notes: list[Note],
) -> tuple[str, float, bool]:
    if options.unit is not None:
        return *units.parse_unit(options.unit), False
    named = parameters.get("POINT:UNITS")
    said = named[0] if isinstance(named, list) and named else ""
    if said:
        try:
            return *units.parse_unit(said), False
        except FormatError:
            notes.append(Note("unit", f"POINT:UNITS is {said[:20]!r}, which is no unit; it is guessed", warning=True))
    seen = points[valid]
    extent = float(np.abs(seen).max()) if len(seen) else 0.0
    unit = "millimetre" if extent > 300.0 else "centimetre" if extent > 30.0 else "metre"
    notes.append(
        Note("unit_guess", f"unit {unit} (a guess): coordinates reach {extent:.4g}; unit= settles it", warning=True)
    )
    return unit, units.METRES[unit], True


def _up(
    parameters: dict[str, Value],
    names: tuple[str, ...],
    points: NDArray[np.float32],
    valid: NDArray[np.bool_],
    metres: float,
    options: ReadOptions,
    notes: list[Note],
) -> tuple[str, bool]:
    if options.up is not None:
        return axes.parse_up(options.up), False
    screen = parameters.get("POINT:Y_SCREEN")
    if isinstance(screen, list) and screen and screen[0]:
        try:
            return axes.parse_up(screen[0]), False
        except FormatError:
            notes.append(Note("up", f"POINT:Y_SCREEN is {screen[0][:20]!r}, which is no axis", warning=True))
    up, reason = _guess_up(names, points, valid, metres)
    notes.append(Note("up_guess", f"up axis {up} (a guess): {reason}; up= settles it"))
    return up, True


def _guess_up(
    names: tuple[str, ...], points: NDArray[np.float32], valid: NDArray[np.bool_], metres: float
) -> tuple[str, str]:
    bare = [name.rsplit(":", 1)[-1] for name in names]
    head = [i for i, name in enumerate(bare) if _HEAD.search(name)]
    feet = [i for i, name in enumerate(bare) if _FEET.search(name) and i not in head]
    if head and feet and valid[:, head].any() and valid[:, feet].any():
        way = points[:, head][valid[:, head]].mean(axis=0) - points[:, feet][valid[:, feet]].mean(axis=0)
        axis = int(np.argmax(np.abs(way)))
        if axis > 0:
            return f"{'+' if way[axis] > 0 else '-'}{'XYZ'[axis]}", "markers of the head are above those of the feet"
    seen = points[valid] * np.float32(metres)
    fits = []
    for axis in (1, 2):
        if len(seen):
            low, high = np.percentile(seen[:, axis], [1, 99])
            if low > -0.2 and _BODY[0] < high < _BODY[1]:
                fits.append("XYZ"[axis])
    if fits == ["Y"]:
        return "+Y", "the markers stand as high as a person along it"
    return "+Z", "the markers stand as high as a person along it" if fits else "the custom of laboratories"


FORMAT = Format(name="c3d", extensions=(".c3d",), sniff=sniff, read=read)

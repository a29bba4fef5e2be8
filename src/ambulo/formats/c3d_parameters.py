"""The header and the parameters of a C3D file, read without trust: every offset is checked before it is followed.

A file is made of blocks of 512 bytes: a header, parameters in groups, then frames. Three processors wrote such files:
Intel (little-endian), MIPS (big-endian) and DEC (little-endian, with floats of its own).
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import FormatError

BLOCK = 512
KEY = 0x50
INTEL, DEC, MIPS = 84, 85, 86
_TYPES = {-1: "S1", 1: "i1", 2: "i2", 4: "f4"}
_DAMAGED = "the file is damaged or cut short; export it again"

Value = NDArray[np.float64] | list[str]


class C3dHeader(NamedTuple):
    """The first block, and how numbers are kept.

    Attributes:
        processor: :data:`INTEL`, :data:`DEC` or :data:`MIPS`.
        point_count: markers a frame.
        analog_count: analog values a frame.
        first_frame, last_frame: numbers of the frames, 65535 where that is too small.
        scale: of whole numbers; negative where frames hold floats.
        data_start: byte where the frames begin.
        rate: frames a second.
    """

    processor: int
    point_count: int
    analog_count: int
    first_frame: int
    last_frame: int
    scale: float
    data_start: int
    rate: float


def sniff(head: bytes) -> bool:
    """Whether a file's first bytes look like C3D."""
    return len(head) >= 2 and head[1] == KEY and 1 <= head[0] <= 127


def floats(data: bytes | memoryview, processor: int) -> NDArray[np.float32]:
    """Floats of any of the three processors."""
    if processor == MIPS:
        return np.frombuffer(data, ">f4").astype(np.float32)
    if processor == DEC:
        words = np.frombuffer(data, "<u2").reshape(-1, 2)[:, ::-1]
        with np.errstate(all="ignore"):
            return (np.ascontiguousarray(words).view("<f4").reshape(-1) / np.float32(4.0)).astype(np.float32)
    return np.frombuffer(data, "<f4").astype(np.float32)


def read_header(data: bytes, path: Path) -> tuple[C3dHeader, int]:
    """The header, and the byte where the parameters begin.

    Raises:
        FormatError: no C3D file, or one of a processor that nobody knows.
    """
    if not sniff(data[:2]) or len(data) < 2 * BLOCK:
        raise FormatError("this is no C3D file: its first block does not say so", path=path, remedy=_DAMAGED)
    start = (data[0] - 1) * BLOCK
    if start < BLOCK or start + 4 > len(data):
        raise FormatError("the parameters are said to lie outside of the file", path=path, remedy=_DAMAGED)
    processor = data[start + 3]
    if processor not in (INTEL, DEC, MIPS):
        raise FormatError(
            f"the file was written by an unknown processor ({processor})",
            path=path,
            remedy="known are Intel (84), DEC (85) and MIPS (86); export it again",
        )
    words = np.frombuffer(data, ">u2" if processor == MIPS else "<u2", BLOCK // 2)
    scale, rate = (float(floats(data[at : at + 4], processor)[0]) for at in (12, 20))
    header = C3dHeader(
        processor,
        int(words[1]),
        int(words[2]),
        int(words[3]),
        int(words[4]),
        scale,
        (int(words[8]) - 1) * BLOCK,
        rate,
    )
    return header, start


def read_parameters(data: bytes, start: int, processor: int, path: Path) -> dict[str, Value]:
    """All parameters by ``"GROUP:NAME"``: numbers as float64 in the file's shape, flattened; text as a list.

    Raises:
        FormatError: an entry that leads out of the file.
    """
    short = ">h" if processor == MIPS else "<h"
    at = start + 4
    groups: dict[int, str] = {}
    found: list[tuple[int, str, Value]] = []
    while at + 2 <= len(data):
        length, group = struct.unpack_from("<bb", data, at)
        if length == 0 or group == 0:
            break
        name_end = at + 2 + abs(length)
        if name_end + 2 > len(data):
            raise FormatError("a parameter leads out of the file", path=path, remedy=_DAMAGED)
        name = data[at + 2 : name_end].decode("latin-1").strip().upper()
        (step,) = struct.unpack_from(short, data, name_end)
        if group < 0:
            groups[-group] = name
        else:
            found.append((group, name, _value(data, name_end + 2, processor, f"parameter {name!r}", path)))
        if step <= 2:
            break
        at = name_end + step
    return {f"{groups.get(group, str(group))}:{name}": value for group, name, value in found}


def _value(data: bytes, at: int, processor: int, what: str, path: Path) -> Value:
    if at + 2 > len(data):
        raise FormatError(f"{what} leads out of the file", path=path, remedy=_DAMAGED)
    kind, dimensions = struct.unpack_from("<bB", data, at)
    shape = list(data[at + 2 : at + 2 + dimensions])
    if kind not in _TYPES or dimensions > 7 or len(shape) != dimensions:
        raise FormatError(f"{what} is of an unknown kind ({kind}, {dimensions} dimensions)", path=path, remedy=_DAMAGED)
    count = 1
    for size in shape:
        count *= size
    begin, width = at + 2 + dimensions, np.dtype(_TYPES[kind]).itemsize
    if begin + count * width > len(data):
        raise FormatError(f"{what} leads out of the file", path=path, remedy=_DAMAGED)
    raw = data[begin : begin + count * width]
    if kind == -1:
        length = shape[0] if shape else 1
        texts = [raw[i : i + length] for i in range(0, len(raw), length)] if length else []
        return [text.decode("utf-8", "replace").strip(" \0") for text in texts]
    if kind == 4:
        return floats(raw, processor).astype(np.float64)
    order = ">" if processor == MIPS else "<"
    return np.frombuffer(raw, order + _TYPES[kind]).astype(np.float64)

"""The frames of an Acclaim motion file (``.amc``): a number, then a line of values for each bone that moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import FormatError, nearest_names
from ambulo.formats.asf_skeleton import Bone
from ambulo.formats.format import ReadOptions, read_file
from ambulo.motion.motion import Note

Double = NDArray[np.float64]

_LARGEST = 1e8
_LONGEST_TOKEN = 40
_LISTED = 20
_SLICE = 256


class AmcRows(NamedTuple):
    """The frames of a motion file.

    Attributes:
        values: ``[T, C]``, the bones' channels end to end, in the skeleton's order; as the file has them.
        degrees: as ``:DEGREES`` or ``:RADIANS`` says, None where neither is there.
        notes: what was odd.
    """

    values: Double
    degrees: bool | None
    notes: list[Note]


def sniff_amc(head: bytes) -> bool:
    """Whether a file's first bytes look like an Acclaim motion."""
    lowered = head[:2000].lower()
    return any(word in lowered for word in (b":fully-specified", b":degrees", b":radians", b"#!oml:asf"))


def read_amc(path: Path, bones: Sequence[Bone], options: ReadOptions) -> AmcRows:
    """Read the frames of a motion file on a skeleton's bones.

    Bones that have channels and never occur stay at rest, with a warning.

    Raises:
        FormatError: with line, bone and frame.
    """
    data = read_file(path)
    if b"\0" in data[:4096]:
        raise FormatError("not an Acclaim motion: it holds binary data", path=path, line=1)
    lines = data.decode("utf-8", "replace").splitlines()
    notes: list[Note] = []
    first, degrees = _preamble(lines)
    columns: dict[str, tuple[int, int]] = {}
    width = 0
    for bone in bones:
        columns[bone.name] = (width, len(bone.channels))
        width += len(bone.channels)
    rows = _Rows(path, lines, first, columns, width, options, notes)
    values = rows.read_alike()
    if values is None:
        values = rows.read_each()
    missing = [bone.name for bone in bones if bone.channels and bone.name not in rows.seen]
    if missing and len(values):
        notes.append(
            Note(
                "missing_bones",
                f"{len(missing)} bones have degrees of freedom and no values; they stay at rest: "
                f"{', '.join(missing[:5])}",
                warning=True,
            )
        )
    return AmcRows(values, degrees, notes)


def _preamble(lines: list[str]) -> tuple[int, bool | None]:
    """Index of the first line of frames, and the unit of angles."""
    degrees: bool | None = None
    for index, raw in enumerate(lines):
        line = raw.strip().lower()
        if line.startswith(":degree"):
            degrees = True
        elif line.startswith(":radian"):
            degrees = False
        elif line and not line.startswith(("#", ":")):
            return index, degrees
    return len(lines), degrees


class _Rows:
    """The lines of one file."""

    def __init__(
        self,
        path: Path,
        lines: list[str],
        first: int,
        columns: dict[str, tuple[int, int]],
        width: int,
        options: ReadOptions,
        notes: list[Note],
    ) -> None:
        self.path, self.lines, self.first, self.columns, self.width = path, lines, first, columns, width
        self.options, self.notes = options, notes
        self.seen: set[str] = set()

    def refuse(
        self, message: str, line: int, joint: str | None = None, frame: int | None = None, remedy: str | None = None
    ) -> NoReturn:
        raise FormatError(message, path=self.path, line=line, joint=joint, frame=frame, remedy=remedy)

    def read_alike(self) -> Double | None:
        """All frames at once, where each has the same bones in the same order, one a line; else None."""
        block = self.lines[self.first :]
        stop = next((i for i in range(1, len(block)) if len(block[i].split(None, 1)) == 1), len(block))
        layout = [line.split() for line in block[:stop]]
        bones = [words[0] for words in layout[1:] if words]
        if not block or len(bones) != stop - 1 or len(set(bones)) != len(bones) or not layout[0]:
            return None
        if any(
            name not in self.columns or self.columns[name][1] != len(words) - 1
            for name, words in zip(bones, layout[1:], strict=True)
        ):
            return None
        while block and not block[-1].strip():
            block.pop()
        if len(block) % stop:
            return None
        count = len(block) // stop
        places, at = [], 1
        for name in bones:
            start, size = self.columns[name]
            places.append((name, at, start, size))
            at += 1 + size
        values = np.zeros((count, self.width))
        numbers = np.zeros(count)
        # In slices of frames: the words of a whole file weigh ten times the file.
        for begin in range(0, count, _SLICE):
            end = min(begin + _SLICE, count)
            words = " ".join(block[begin * stop : end * stop]).split()
            if len(words) != at * (end - begin) or max(map(len, words)) > _LONGEST_TOKEN:
                return None
            table = np.array(words).reshape(end - begin, at)
            if not all((table[:, where] == name).all() for name, where, _, _ in places):
                return None
            try:
                numbers[begin:end] = table[:, 0].astype(np.float64)
                for _, where, start, size in places:
                    values[begin:end, start : start + size] = table[:, where + 1 : where + 1 + size].astype(np.float64)
            except ValueError:
                return None
        if not np.less(np.abs(values), _LARGEST).all() or not np.array_equal(numbers, numbers[0] + np.arange(count)):
            return None
        self.seen = set(bones)
        return values

    def read_each(self) -> Double:
        """Line by line, to say what is wrong where, or to pass over it if that was asked for."""
        faults: list[tuple[int, str, str | None, int]] = []
        rows: list[Double] = []
        row: Double | None = None
        here: set[str] = set()
        expected: set[str] | None = None
        number, started, broken = 0, 0, False
        jumps: list[int] = []

        def close() -> None:
            nonlocal expected, broken
            if row is None:
                return
            if expected is None:
                expected = set(here)
            elif here != expected and not broken:
                lacking = sorted(expected - here) or sorted(here - expected)
                what = "has no values for" if expected - here else "has values that other frames lack, for"
                faults.append((started, f"frame {len(rows)} {what} {lacking[0]!r}", lacking[0], len(rows)))
                broken = True
            rows.append(rows[-1].copy() if broken and rows else row)
            broken = False

        for index in range(self.first, len(self.lines)):
            words = self.lines[index].split("#", 1)[0].split()
            if not words:
                continue
            line = index + 1
            if len(words) == 1 and words[0].lstrip("+-").isdecimal() and words[0] not in self.columns:
                close()
                now = int(words[0][:18])
                if row is not None and now != number + 1:
                    jumps.append(line)
                row, here, number, started = np.zeros(self.width), set(), now, line
                continue
            if row is None:
                self.refuse(
                    f"{words[0][:40]!r} stands before the first frame", line, remedy="a frame begins with its number"
                )
            fault = self._line(words, row, here)
            if fault is not None:
                faults.append((line, fault, words[0][:60] if words[0] in self.columns else None, len(rows)))
                broken = True
        close()
        if jumps:
            self.notes.append(
                Note(
                    "frame_numbers",
                    f"the frames' numbers jump {len(jumps)} times, first at line {jumps[0]}; the frames that are there "
                    "count",
                    warning=True,
                    line=jumps[0],
                )
            )
        if faults:
            self._faults(faults)
        return np.array(rows).reshape(len(rows), self.width)

    def _line(self, words: list[str], row: Double, here: set[str]) -> str | None:
        """Take over one bone's values; returns what is wrong with them."""
        name = words[0]
        if name not in self.columns:
            return f"{name[:60]!r} is no bone of the skeleton; {nearest_names(name[:60], self.columns)}"
        start, size = self.columns[name]
        if len(words) - 1 != size:
            return f"{name} has {len(words) - 1} of {size} values"
        if name in here:
            return f"{name} occurs twice in one frame"
        here.add(name)
        self.seen.add(name)
        for offset, word in enumerate(words[1:]):
            try:
                value = float(word)
            except ValueError:
                return f"{word[:40]!r} is no number"
            if not (math.isfinite(value) and abs(value) < _LARGEST):
                return f"{word[:40]!r} is no usable number"
            row[start + offset] = value
        return None

    def _faults(self, faults: list[tuple[int, str, str | None, int]]) -> None:
        line, message, joint, frame = faults[0]
        if not self.options.lenient:
            more = "".join(f"; line {other}: {text}" for other, text, _, _ in faults[1:_LISTED])
            rest = f"; and {len(faults) - _LISTED} more" if len(faults) > _LISTED else ""
            self.refuse(
                f"{message}{more}{rest}",
                line,
                joint,
                frame,
                "check that this .asf belongs to it, or read it with lenient=True, which repeats the frame before",
            )
        for other, text, bone, _ in faults[:_LISTED]:
            self.notes.append(
                Note("damaged_row", f"line {other}: {text}; the frame before is repeated", True, other, bone)
            )
        if len(faults) > _LISTED:
            self.notes.append(Note("damaged_row", f"{len(faults) - _LISTED} more damaged lines", warning=True))

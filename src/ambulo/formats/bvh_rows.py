"""The number block of a BVH file: which line holds which frame, and what is wrong with it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from ambulo.formats.bvh_header import Header
from ambulo.formats.bvh_hierarchy import FAULTS_LISTED, NUMBER, Hierarchy, refuse
from ambulo.formats.format import ReadOptions
from ambulo.motion.motion import Note

Double = NDArray[np.float64]

_FAULT_ROOM = 4096


def read_rows(
    data: bytes, header: Header, hierarchy: Hierarchy, path: Path, options: ReadOptions
) -> tuple[Double, list[Note]]:
    """Read the number block.

    Returns:
        Values float64 ``[T, C]`` in degrees and file units, and notes on what was odd.

    Raises:
        FormatError: rows of another length than the channels' number, or tokens that are no usable numbers.
    """
    from ambulo.formats import bvh_numbers_kernels as kernels

    start = header.rows_start
    if not data.endswith(b"\n"):
        data, start = data[start:] + b"\n", 0
    block = np.frombuffer(data, np.uint8)[start:]
    fault_tokens, fault_starts = np.empty(_FAULT_ROOM, np.int64), np.empty(_FAULT_ROOM, np.int64)
    # Room for what the header promises; if more is there, for as much as the bytes could hold.
    most = block.size // 2 + 2
    promised = min((header.declared or 0) + 8, most)
    for line_room, room in ((promised, min(promised * hierarchy.channel_count, most)), (most, most)):
        numbers, line_numbers, line_ends = np.empty(room), np.empty(line_room, np.int32), np.empty(line_room, np.int64)
        tokens, lines, faults = kernels.parse_numbers(
            block, header.rows_line, numbers, line_numbers, line_ends, fault_tokens, fault_starts
        )
        if tokens >= 0:
            break
    numbers, line_numbers, line_ends = numbers[:tokens], line_numbers[:lines], line_ends[:lines]
    layout = _Rows(hierarchy, header, path, options, line_numbers, line_ends)
    values = layout.rows(numbers)
    if faults:
        words = [
            bytes(block[start : start + 200]).split(None, 1)[0] for start in fault_starts[: min(faults, _FAULT_ROOM)]
        ]
        values = layout.check_tokens(values, [word.decode("utf-8", "replace") for word in words], fault_tokens, faults)
    layout.check_count(len(values))
    return values, layout.notes


class _Rows:
    """Which line holds which frame, and what is wrong with it."""

    def __init__(
        self,
        hierarchy: Hierarchy,
        header: Header,
        path: Path,
        options: ReadOptions,
        line_numbers: NDArray[np.int32],
        line_ends: NDArray[np.int64],
    ) -> None:
        self.hierarchy, self.header, self.path, self.options = hierarchy, header, path, options
        self.line_numbers, self.line_ends = line_numbers, line_ends
        self.counts = np.diff(line_ends, prepend=0)
        self.notes: list[Note] = []
        # Whether rows were dropped or filled in, so that a token's index no longer tells its column.
        self.repaired = False

    def line_of(self, token: int) -> int:
        return int(self.line_numbers[np.searchsorted(self.line_ends, token, side="right")])

    def rows(self, numbers: Double) -> Double:
        """The numbers as ``[T, C]``, if lines and frames agree."""
        width = self.hierarchy.channel_count
        if width == 0:
            if len(numbers):
                self.fail_rows(
                    [(int(self.line_numbers[0]), f"{self.counts[0]} values where the skeleton has no channel")]
                )
            return np.zeros((min(self.header.declared or 0, 1), 0))
        if (self.counts == width).all():
            return numbers.reshape(-1, width)
        # Wrapped rows: frames end where lines end. One long line: exactly the declared frames.
        total = int(self.line_ends[-1])
        boundaries = np.arange(1, total // width + 1) * width
        whole = total % width == 0
        if whole and np.isin(boundaries, self.line_ends).all():
            self.notes.append(
                Note("rows_wrapped", "frames are split over several lines", line=int(self.line_numbers[0]))
            )
            return numbers.reshape(-1, width)
        if whole and (self.counts % width == 0).all() and total // width == self.header.declared:
            self.notes.append(Note("rows_joined", "lines hold several frames", line=int(self.line_numbers[0])))
            return numbers.reshape(-1, width)
        return self.broken_rows(numbers, width)

    def broken_rows(self, numbers: Double, width: int) -> Double:
        """Refuse, naming each line that is no frame; or, if lenient, repair."""
        starts = self.line_ends - self.counts
        # Whole rows are those lines with the right count; a run of shorter lines that adds up is a wrapped row.
        rows: list[int] = []
        faults: list[tuple[int, str]] = []
        line = 0
        while line < len(self.counts):
            if self.counts[line] == width:
                rows.append(int(starts[line]))
                line += 1
                continue
            stop, filled = line, 0
            while stop < len(self.counts) and filled < width and self.counts[stop] < width:
                filled += int(self.counts[stop])
                stop += 1
            if filled == width:
                rows.append(int(starts[line]))
                line = stop
                continue
            faults.append((int(self.line_numbers[line]), f"{self.counts[line]} of {width} values"))
            rows.append(-1)
            line += 1
        if not self.options.lenient:
            self.fail_rows(faults)
        self.note_repairs([(number, f"{what}; the row is not used", None) for number, what in faults])
        self.repaired = True
        while rows and rows[-1] < 0:
            rows.pop()
        values = np.empty((len(rows), width))
        first = next((start for start in rows if start >= 0), None)
        before = numbers[first : first + width] if first is not None else np.zeros(width)
        for index, start in enumerate(rows):
            if start >= 0:
                before = numbers[start : start + width]
            values[index] = before
        return values

    def fail_rows(self, faults: list[tuple[int, str]]) -> NoReturn:
        refuse(
            self.path,
            [(line, what, None, None) for line, what in faults],
            "the file is damaged or cut short; export it again, or read it with lenient=True",
        )

    def note_repairs(self, faults: list[tuple[int, str, str | None]]) -> None:
        for line, what, joint in faults[:FAULTS_LISTED]:
            self.notes.append(Note("damaged_row", f"line {line}: {what}", warning=True, line=line, joint=joint))
        if len(faults) > FAULTS_LISTED:
            self.notes.append(Note("damaged_row", f"{len(faults) - FAULTS_LISTED} more damaged values", warning=True))

    def check_tokens(self, values: Double, words: list[str], tokens: NDArray[np.int64], count: int) -> Double:
        """Refuse tokens that are no usable numbers, naming each; or, if lenient, repeat the row before."""
        width = self.hierarchy.channel_count
        columns = self.hierarchy.channel_names()
        faults: list[tuple[int, str, str | None, str | None]] = []
        for word, token in zip(words, tokens, strict=False):
            joint, channel = columns[int(token) % width] if not self.repaired else (None, None)
            what = _describe(word)
            where = f"{channel} of {joint}: " if joint else ""
            faults.append((self.line_of(int(token)), f"{where}{what}", joint, channel))
        if not self.options.lenient:
            if count > len(faults):
                faults += [(faults[-1][0], "more of the same", None, None)] * (count - len(faults))
            remedy = "export the file again without them, or read it with lenient=True, which repeats the frame before"
            if any("," in word for word in words):
                remedy = "export the file with a decimal point in place of the comma"
            refuse(self.path, faults, remedy)
        self.note_repairs([(line, f"{what}; the frame before is repeated", joint) for line, what, joint, _ in faults])
        bad = ~np.isfinite(values).all(axis=1)
        good = np.nonzero(~bad)[0]
        if not len(good):
            refuse(self.path, faults, "no frame is whole; export the file again")
        last = int(good[-1]) + 1
        source = np.where(bad, 0, np.arange(len(values)))
        source = np.maximum.accumulate(source)[:last]
        source[: good[0]] = good[0]
        return values[source]

    def check_count(self, found: int) -> None:
        """Note another number of rows than declared, and takes too short to move."""
        declared, line = self.header.declared, self.header.declared_line
        if declared is not None and declared != found and self.hierarchy.channel_count:
            self.notes.append(
                Note(
                    "frame_count",
                    f"{declared} frames are declared at line {line}, {found} rows are found; the rows count",
                    warning=True,
                    line=line,
                )
            )
        if found == 0:
            self.notes.append(
                Note(
                    "no_frames",
                    "there are no frames, only a skeleton; it cannot enter a database",
                    warning=True,
                    line=line,
                )
            )
        elif found == 1:
            self.notes.append(
                Note(
                    "one_frame", "there is one frame only, a pose; it cannot enter a database", warning=True, line=line
                )
            )


def _describe(word: str) -> str:
    """What is wrong with a token of the number block."""
    shown = repr(word[:40])
    lower = word.lower().lstrip("+-")
    if lower.startswith(("nan", "inf", "1.#")):
        return f"{shown} is not finite"
    if re.fullmatch(r"[\d.eE+-]*,[\d.eE+,-]*", word):
        return f"{shown} has a decimal comma"
    if NUMBER.fullmatch(word):
        return f"{shown} is too large for an angle or a position"
    if re.fullmatch(r"[\d.eE+-]+", word):
        return f"{shown} looks like numbers run together"
    return f"{shown} is no number"

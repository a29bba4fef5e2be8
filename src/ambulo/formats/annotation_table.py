"""The small text tables that people keep beside a take: comma-separated, with comments, read with exact lines."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ambulo.errors import ProjectError, nearest_names

_CONFLICT = re.compile(r"(<{7}|\|{7}|>{7})( |$)|={7}$")


class TableRow(NamedTuple):
    """One row of a table: its line (from 1) and its cells by column; columns that the file lacks are empty text."""

    line: int
    cells: dict[str, str]


def decode_table(data: bytes, path: Path) -> str:
    """The text of a table.

    Raises:
        ProjectError: it is not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:64]
        what = "is UTF-16 text, not UTF-8" if wide else f"is not UTF-8 text (byte {error.start})"
        line = None if wide else data.count(b"\n", 0, error.start) + 1
        remedy = "save it as UTF-8; in Excel as 'CSV UTF-8 (comma delimited)'"
        raise ProjectError(what, path=path, line=line, remedy=remedy) from None


def read_table(path: Path) -> str:
    """The text of a table's file.

    Raises:
        ProjectError: it cannot be read, or is not UTF-8.
    """
    try:
        return decode_table(path.read_bytes(), path)
    except OSError as error:
        raise ProjectError(f"cannot be read: {error.strerror}", path=path) from None


def header_of(text: str, path: Path) -> tuple[int, list[str]] | None:
    """The line (from 1) and the column names of the header; None where the text has no rows."""
    for line, row in enumerate(text.splitlines(), start=1):
        content = row.split("#", 1)[0].strip()
        if content:
            return line, [cell.lower() for cell in _cells(content, path, line)]
    return None


def parse_table(text: str, path: Path, required: Sequence[str], optional: Sequence[str] = ()) -> list[TableRow]:
    """The rows below the header. ``#`` starts a comment; empty lines are skipped.

    Args:
        text: of the file.
        path: for messages.
        required: the first columns, in this order.
        optional: columns that may follow, in any order. A row may leave out the last of those.

    Raises:
        ProjectError: with the line: a header or a row that does not fit, or the mark of a merge conflict.
    """
    header: list[str] | None = None
    rows: list[TableRow] = []
    for line, row in enumerate(text.splitlines(), start=1):
        if _CONFLICT.match(row):
            raise ProjectError(
                f"has the mark of a merge conflict, {row.split(' ')[0]!r}: two people edited this file at once",
                path=path,
                line=line,
                remedy="keep the rows of both sides that are right, and delete the lines <<<<<<<, ======= and >>>>>>>",
            )
        content = row.split("#", 1)[0].strip()
        if not content:
            continue
        cells = _cells(content, path, line)
        if header is None:
            header = [cell.lower() for cell in cells]
            _check_header(header, content, path, line, required, optional)
            continue
        if not len(required) <= len(cells) <= len(header):
            raise ProjectError(
                f"{len(cells)} cells where {','.join(header)} are {len(header)}",
                path=path,
                line=line,
                remedy=f"write seconds with a point, one {required[-1]} a row",
            )
        rows.append(TableRow(line, dict.fromkeys(optional, "") | dict(zip(header, cells, strict=False))))
    return rows


def _cells(content: str, path: Path, line: int) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([content], strict=True))]
    except csv.Error as error:  # a quote that does not end, a cell without end
        raise ProjectError(
            f"is no row of a table: {error}",
            path=path,
            line=line,
            remedy="end every quote that begins, and part cells with commas",
        ) from None


def _check_header(
    header: list[str], content: str, path: Path, line: int, required: Sequence[str], optional: Sequence[str]
) -> None:
    lead = ",".join(required)
    if content.count(";") >= len(required) - 1:
        raise ProjectError(
            "its cells are parted by semicolons, not by commas",
            path=path,
            line=line,
            remedy="put commas in their place, and points into its numbers (spreadsheets set to a language that writes "
            "1,5 save semicolons: change the separator when saving, or the region)",
        )
    if header[: len(required)] != list(required):
        raise ProjectError(
            f"the first row is {content!r}, not {lead!r}",
            path=path,
            line=line,
            remedy=f"begin the file with the row {lead} (commas, seconds with a point)",
        )
    for place, name in enumerate(header[len(required) :], start=len(required)):
        if name not in optional:
            raise ProjectError(
                f"there is no column {name!r}; {nearest_names(name, optional)}",
                path=path,
                line=line,
                key=name,
                remedy="name the column so, or take it out",
            )
        if name in header[:place]:
            raise ProjectError(
                f"the column {name!r} stands twice",
                path=path,
                line=line,
                key=name,
                remedy="keep one of the two",
            )


def seconds_cell(cell: str, column: str, path: Path, line: int) -> float | None:
    """Seconds from 0 up; None for an empty cell."""
    if not cell:
        return None
    value = _float(cell)
    if not math.isfinite(value) or value < 0:
        raise ProjectError(
            f"{column} is {cell!r}, not a number of seconds from 0 up",
            path=path,
            line=line,
            key=column,
            remedy="write seconds of the take with a point, such as 1.5, or nothing for its beginning or end",
        )
    return value


def number_cell(cell: str, column: str, path: Path, line: int) -> float:
    """A finite number."""
    value = _float(cell)
    if not math.isfinite(value):
        raise ProjectError(
            f"{column} is {cell!r}, not a number",
            path=path,
            line=line,
            key=column,
            remedy="write a finite number with a point; where none is known, leave the row out",
        )
    return value


def span_cells(row: TableRow, path: Path) -> tuple[float | None, float | None]:
    """The ``start`` and ``stop`` of a row, seconds, half-open; None is open.

    Raises:
        ProjectError: it stops before it starts.
    """
    start, stop = (seconds_cell(row.cells[column], column, path, row.line) for column in ("start", "stop"))
    if start is not None and start == stop:
        raise ProjectError(
            f"the range is empty: it starts and stops at {start} s",
            path=path,
            line=row.line,
            remedy="let it stop later: the stop itself is not in the range any more",
        )
    if start is not None and stop is not None and stop < start:
        raise ProjectError(
            f"the range stops at {stop} s, before it starts at {start} s",
            path=path,
            line=row.line,
            remedy="exchange the two, or leave one out for the take's beginning or end",
        )
    return start, stop


def text_cell(text: str) -> str:
    """A cell that reads back as the same text.

    Raises:
        ProjectError: a row cannot hold it.
    """
    if "#" in text or "\n" in text or "\r" in text or text != text.strip():
        raise ProjectError(
            f"{text!r} cannot stand in a table",
            key="clip",
            remedy="leave the clip out, or give it another name: no '#', no line ends, no blanks around it",
        )
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"') else text


def seconds_text(seconds: float | None) -> str:
    """A cell that reads back as the same number of seconds."""
    return "" if seconds is None else repr(float(seconds))


def _float(cell: str) -> float:
    try:
        return math.nan if "_" in cell else float(cell)  # Python takes 1_000 for a thousand, nobody else does
    except ValueError:
        return math.nan

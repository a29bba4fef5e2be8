"""``NAME.channels.csv``: numbers on ranges of a take (S0.17, S0.18), as text beside it.

A small table, so that it merges in version control::

    # how the actor of walk_01.bvh fares
    start,stop,channel,value,end_value
    ,,age,35
    2.0,4.0,fatigue,0.2,0.8

Times are seconds from the take's first frame and half-open; an empty start or stop is open. Where ``end_value`` is
given, the number goes in a straight line from ``value`` at the start to it at the stop. What a channel is called and in
which unit stands in the project file, under ``[channels]``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ambulo.errors import ProjectError
from ambulo.formats.annotation_table import number_cell, parse_table, read_table, seconds_text, span_cells
from ambulo.formats.tag_file import is_tag, normalize_tag

CHANNEL_FILE_ENDING = ".channels.csv"
COLUMNS = ("start", "stop", "channel", "value")
MORE_COLUMNS = ("end_value",)


class NumberRange(NamedTuple):
    """A number on a stretch of a take.

    Attributes:
        start: seconds, included; None for the beginning.
        stop: seconds, excluded; None for the end.
        channel: which number.
        value: in the channel's unit, at the start.
        end_value: at the stop; None where the number does not change.
    """

    start: float | None
    stop: float | None
    channel: str
    value: float
    end_value: float | None = None


class NumberRow(NamedTuple):
    """A range, and the line (from 1) of the file on which it stands."""

    line: int
    range: NumberRange


def channel_file_of(take: Path) -> Path:
    """Where the numbers of a take are kept: ``walk_01.bvh`` -> ``walk_01.channels.csv``."""
    return take.with_name(take.stem + CHANNEL_FILE_ENDING)


def read_channel_rows(path: Path) -> list[NumberRow]:
    """The rows of a ``.channels.csv`` file, in the file's order.

    Raises:
        ProjectError: with the line: header, number, name or order of times are wrong; a changing number with an open
            end; two ranges of one channel that overlap and do not agree; the mark of a merge conflict.
    """
    rows: list[NumberRow] = []
    for row in parse_table(read_table(path), path, COLUMNS, MORE_COLUMNS):
        start, stop = span_cells(row, path)
        channel = normalize_tag(row.cells["channel"])
        if not is_tag(channel):
            raise ProjectError(
                f"{channel!r} cannot be the name of a channel",
                path=path,
                line=row.line,
                key="channel",
                remedy="use letters, digits, '_', '-' and '+', a letter or digit first",
            )
        value = number_cell(row.cells["value"], "value", path, row.line)
        end = row.cells["end_value"]
        end_value = number_cell(end, "end_value", path, row.line) if end else None
        if end_value is not None and (start is None or stop is None):
            raise ProjectError(
                "a number that changes needs a start and a stop",
                path=path,
                line=row.line,
                key="end_value",
                remedy="give both in seconds, or leave end_value empty",
            )
        rows.append(NumberRow(row.line, NumberRange(start, stop, channel, value, end_value)))
    _check_agreement(rows, path)
    return rows


def _check_agreement(rows: list[NumberRow], path: Path) -> None:
    last: dict[str, NumberRow] = {}
    for row in sorted(rows, key=lambda row: (row.range.start or 0.0, row.line)):
        entry, before = row.range, last.get(row.range.channel)
        if before is not None and (before.range.stop is None or (entry.start or 0.0) < before.range.stop):
            values = {entry.value, before.range.value}
            if len(values) > 1 or entry.end_value is not None or before.range.end_value is not None:
                first, second = sorted((row, before), key=lambda r: r.line)
                raise ProjectError(
                    f"{entry.channel!r} has two values from {entry.start or 0.0:g} s on: "
                    f"{first.range.value:g} (line {first.line}) and {second.range.value:g} (line {second.line})",
                    path=path,
                    line=second.line,
                    key=entry.channel,
                    remedy="let one range stop where the other starts",
                )
            if entry.stop is not None and (before.range.stop is None or before.range.stop > entry.stop):
                continue  # the earlier one reaches further
        last[entry.channel] = row


def channel_file_text(ranges: Iterable[NumberRange]) -> str:
    """The text of a ``.channels.csv`` file; reading it gives the same ranges."""
    ranges = list(ranges)
    changing = any(entry.end_value is not None for entry in ranges)
    rows = [",".join((*COLUMNS, *(MORE_COLUMNS if changing else ())))]
    for entry in ranges:
        cells = [seconds_text(entry.start), seconds_text(entry.stop), entry.channel, repr(float(entry.value))]
        if changing:
            cells.append("" if entry.end_value is None else repr(float(entry.end_value)))
        rows.append(",".join(cells))
    return "\n".join(rows) + "\n"

"""``NAME.tags.csv``: tags on ranges of a take (S0.9 to S0.11), as text beside it.

A small table, so that it merges in version control::

    # what happens in walk_01.bvh
    start,stop,tag
    0.0,4.5,walk
    4.0,5.2,turn
    ,,injured

Times are seconds from the take's first frame and half-open, ``start <= t < stop``. An empty start or stop is open.
Ranges may overlap, also those of one tag. More columns may follow: ``priority`` (a whole number, 0 if left out; the
highest that fits wins over any cost, S0.63) and ``bonus`` (what a frame of the range costs less, S0.64). Beside a take
of several motions, such as the animations of a GLB, ``clip`` names the one that a row is about; all if left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ambulo.errors import ProjectError
from ambulo.formats.annotation_table import (
    number_cell,
    parse_table,
    read_table,
    seconds_text,
    span_cells,
    text_cell,
)

TAG_FILE_ENDING = ".tags.csv"
COLUMNS = ("start", "stop", "tag")
MORE_COLUMNS = ("priority", "bonus", "clip")
COPIES = "mirrored"
PRIORITY_LIMIT = 1000
BONUS_LIMIT = 1e6
_TAG = re.compile(r"[^\W_][\w+-]*", re.UNICODE)


class TagRange(NamedTuple):
    """A tag on a stretch of a take, in seconds of the take.

    Attributes:
        start: seconds, included; None for the beginning.
        stop: seconds, excluded; None for the end.
        tag: the name.
        priority: ranges of a higher one win over any cost.
        bonus: what the frames cost less than others, in the units of a search's cost; negative makes them dearer.
        clip: name of the one motion of the file that it is about; empty for all.
    """

    start: float | None
    stop: float | None
    tag: str
    priority: int = 0
    bonus: float = 0.0
    clip: str = ""


class TagRow(NamedTuple):
    """A range, and the line (from 1) of the file on which it stands."""

    line: int
    range: TagRange


def tag_file_of(take: Path) -> Path:
    """Where the tags of a take are kept: ``walk_01.bvh`` -> ``walk_01.tags.csv``."""
    return take.with_name(take.stem + TAG_FILE_ENDING)


def normalize_tag(text: str) -> str:
    """Lower case, trimmed, inner blanks as ``_``, accents joined to their letters (macOS takes them apart)."""
    return re.sub(r"\s+", "_", unicodedata.normalize("NFC", text).strip().lower())


def is_tag(name: str) -> bool:
    """Whether a normalised name can be a tag."""
    return _TAG.fullmatch(name) is not None


def check_tag(tag: str, *, path: Path | None = None, line: int | None = None) -> str:
    """The normalised tag.

    Raises:
        ProjectError: it is empty, or has characters other than letters, digits, ``_``, ``-`` and ``+``.
    """
    name = normalize_tag(tag)
    if not is_tag(name):
        raise ProjectError(
            f"{tag!r} cannot be a tag" if name else "a tag is empty",
            path=path,
            line=line,
            remedy="use letters, digits, '_', '-' and '+', a letter or digit first",
        )
    return name


def read_tag_file(path: Path) -> list[TagRange]:
    """The ranges of a ``.tags.csv`` file, in the file's order.

    Raises:
        ProjectError: with the line, where the header, a number, an order of times or a tag is not as it should be, or
            where a merge left its marks.
    """
    return [row.range for row in read_tag_rows(path)]


def read_tag_rows(path: Path) -> list[TagRow]:
    """As :func:`read_tag_file`, with lines."""
    return parse_tags(read_table(path), path)


def parse_tags(text: str, path: Path) -> list[TagRow]:
    """The ranges in the text of a tag file; ``path`` is for messages."""
    rows = []
    for row in parse_table(text, path, COLUMNS, MORE_COLUMNS):
        start, stop = span_cells(row, path)
        tag = check_tag(row.cells["tag"], path=path, line=row.line)
        if tag == COPIES:
            raise ProjectError(
                f"{COPIES!r} is carried by mirrored copies, and by nothing else",
                path=path,
                line=row.line,
                key="tag",
                remedy="choose another tag",
            )
        priority = number_cell(row.cells["priority"] or "0", "priority", path, row.line)
        if not priority.is_integer() or abs(priority) > PRIORITY_LIMIT:
            raise ProjectError(
                f"priority is {row.cells['priority']!r}, not a whole number from -{PRIORITY_LIMIT} to {PRIORITY_LIMIT}",
                path=path,
                line=row.line,
                key="priority",
                remedy="write a whole number, or leave the cell empty for 0",
            )
        bonus = number_cell(row.cells["bonus"] or "0", "bonus", path, row.line)
        if abs(bonus) > BONUS_LIMIT:
            raise ProjectError(
                f"bonus is {row.cells['bonus']!r}, beyond any cost of a search",
                path=path,
                line=row.line,
                key="bonus",
                remedy="a priority wins over any cost",
            )
        rows.append(TagRow(row.line, TagRange(start, stop, tag, int(priority), bonus, row.cells["clip"])))
    return rows


def tag_file_text(ranges: Iterable[TagRange]) -> str:
    """The text of a ``.tags.csv`` file; reading it gives the same ranges."""
    ranges = list(ranges)
    columns = (*COLUMNS, *(name for name in MORE_COLUMNS if any(getattr(r, name) for r in ranges)))
    return "\n".join([",".join(columns), *(tag_row_text(entry, columns) for entry in ranges)]) + "\n"


def tag_row_text(entry: TagRange, columns: Iterable[str]) -> str:
    """One row of a tag file with these columns."""
    cells = {
        "start": seconds_text(entry.start),
        "stop": seconds_text(entry.stop),
        "tag": check_tag(entry.tag),
        "priority": str(entry.priority) if entry.priority else "",
        "bonus": f"{entry.bonus!r}" if entry.bonus else "",
        "clip": text_cell(entry.clip),
    }
    return ",".join(cells[column] for column in columns)


def write_tag_file(path: Path, ranges: Iterable[TagRange]) -> None:
    """Write ranges as a ``.tags.csv`` file, whole or not at all; reading it back gives the same ranges."""
    from ambulo.formats.paths import write_whole

    write_whole(path, tag_file_text(ranges).encode())

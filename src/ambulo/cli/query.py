"""``ambulo query``: which stretches of a database answer a question, or plain SQL on its catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import tyro

from ambulo.database.catalog_sql import SECONDS, SqlRows

READS = "database"


@dataclass(frozen=True)
class Arguments:
    """Find the stretches of a database that answer a question such as "walk and not turn", or ask its catalogue in SQL.

    A question joins tags by and, or, not and brackets; before("jump", 0.5), after and within speak
    of the seconds around the ranges of a tag; numbers are compared: speed > 1.2, turn_rate < 0, or channels of the
    project.
    """

    database: Path
    """Folder of the project or of the database."""
    question: Annotated[str, tyro.conf.Positional] = ""
    """Tags and numbers; all frames if left out."""
    where: str | None = None
    """One more condition, such as "speed > 1"; both must hold."""
    sql: str | None = None
    """One SELECT on catalog.sqlite instead; "select * from documentation" says what there is."""
    limit: int = 100
    """Ranges or rows to list at most."""
    seconds: float = SECONDS
    """How long SQL may take."""
    json: bool = False
    """Print one JSON object."""


class FoundRange(msgspec.Struct, frozen=True):
    """One stretch: clip, seconds of its take, frames of the database."""

    clip: str
    start: float
    stop: float
    seconds: float
    start_frame: int
    stop_frame: int
    mirrored: bool


class Found(msgspec.Struct, frozen=True):
    """What answers a question.

    Attributes:
        database: its folder or URL.
        question: as it was understood.
        ranges: the first ones, in the order of the database.
        range_count: of all.
        clip_count: clips that have one.
        seconds: of all.
        coverage: share of the database's frames.
    """

    database: str
    question: str
    ranges: tuple[FoundRange, ...]
    range_count: int
    clip_count: int
    seconds: float
    coverage: float


def run(arguments: Arguments) -> Found | SqlRows:
    """Ask."""
    from ambulo.database.catalog_sql import select
    from ambulo.database.database import Database
    from ambulo.database.range_algebra import split
    from ambulo.database.remote.addresses import as_url, shown
    from ambulo.database.tag_query import All, parse_query
    from ambulo.errors import QueryError

    if arguments.limit < 0:
        raise QueryError(f"a limit of {arguments.limit} is not possible", key="limit")
    database = Database.open(arguments.database)
    assert database.folder is not None
    if arguments.sql is not None:
        if arguments.question or arguments.where:
            raise QueryError("ask either a question or SQL", key="sql")
        return select(database.folder, arguments.sql, limit=arguments.limit, seconds=arguments.seconds)
    query = parse_query(arguments.question)
    if arguments.where is not None:
        condition = parse_query(arguments.where)
        query = All((query, condition)) if arguments.question else condition
    pieces, _ = split(query.ranges(database), database.clip_starts, database.clip_stops)
    found = []
    for start, stop in pieces[: arguments.limit].tolist():
        clip, begin = database.locate(start)
        seconds = (stop - start) / database.rate
        found.append(
            FoundRange(
                *(clip.name, round(begin, 4), round(begin + seconds, 4), round(seconds, 4), start, stop, clip.mirrored)
            )
        )
    frames = int((pieces[:, 1] - pieces[:, 0]).sum())
    url = as_url(arguments.database)
    return Found(
        str(database.folder) if url is None else shown(url),
        str(query),
        tuple(found),
        len(pieces),
        len(set(database.clip_of_frame(pieces[:, 0]).tolist())),
        round(frames / database.rate, 4),
        round(frames / database.frame_count, 6),
    )


def show(result: Found | SqlRows) -> None:
    """Print it."""
    if isinstance(result, SqlRows):
        cells = [result.columns, *(tuple("" if cell is None else str(cell) for cell in row) for row in result.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
        if result.more:
            print("... (see --limit)")
        return
    print(f"{result.question or 'all frames'}: {result.range_count} ranges in {result.clip_count} clips")
    print(f"  {result.seconds:.2f} s, {100 * result.coverage:.1f} % of {result.database}")
    for entry in result.ranges:
        print(f"  {entry.clip:<40} {entry.start:8.2f} to {entry.stop:8.2f} s  {entry.seconds:7.2f} s")
    if len(result.ranges) < result.range_count:
        print(f"  ... and {result.range_count - len(result.ranges)} more (see --limit)")

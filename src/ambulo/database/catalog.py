"""The catalogue of a database: sources, takes, clips, ranges, tags, channels, notes, in one SQLite file.

Any SQLite tool opens it, and DuckDB attaches it. It is written whole by a build, never edited in place, and its bytes
depend on its content only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.database.annotation_settings import NumericChannel
from ambulo.database.annotations import Annotations, NumberSpan, WeightedRange
from ambulo.database.catalog_schema import DOCUMENTATION, TABLES
from ambulo.database.channels import Channel
from ambulo.errors import DatabaseError

CATALOG = "catalog.sqlite"


class Clip(NamedTuple):
    """A stretch of frames that follow each other in time.

    Attributes:
        name: unique in the database.
        start: first frame.
        stop: frame after the last.
        source: the take's file, as the project names it.
        mirrored: the left and right of the take are swapped.
        licence: licence of the take.
        tags: every tag that a frame of the clip carries, sorted.
        start_time: seconds of the take at which the first frame lies.
        attribution: whom to credit.
    """

    name: str
    start: int
    stop: int
    source: str = ""
    mirrored: bool = False
    licence: str = ""
    tags: tuple[str, ...] = ()
    start_time: float = 0.0
    attribution: str = ""

    @property
    def frame_count(self) -> int:
        """Number of frames."""
        return self.stop - self.start


class FrameRange(NamedTuple):
    """A tag on frames ``[start, stop)`` of the database.

    Attributes:
        clip: number of the clip.
        tag: the name.
        start, stop: frames of the database.
        origin: ``name``, ``folder``, ``file`` (``.tags.csv``), ``project``, ``style`` or ``mirror``.
        priority, bonus: see :class:`~ambulo.formats.tag_file.TagRange`.
    """

    clip: int
    tag: str
    start: int
    stop: int
    origin: str
    priority: int = 0
    bonus: float = 0.0


class FrameNumber(NamedTuple):
    """A number on frames ``[start, stop)`` of the database, in a straight line from ``first`` to ``last`` (at stop)."""

    clip: int
    channel: str
    start: int
    stop: int
    first: float
    last: float
    origin: str


class CatalogRows(NamedTuple):
    """Rows of every table, ready to insert; ids are positions in these sequences."""

    sources: Sequence[tuple[Any, ...]]
    takes: Sequence[tuple[Any, ...]]
    clips: Sequence[tuple[int, Clip]]
    ranges: Sequence[FrameRange]
    notes: Sequence[tuple[Any, ...]]
    numeric_channels: Mapping[str, NumericChannel] = {}
    numbers: Sequence[FrameNumber] = ()
    facts: Mapping[str, str] = {}


class CatalogContent(NamedTuple):
    """What a database needs of its catalogue: the clips, the merged frame ranges ``[n, 2]`` of every tag, the rest."""

    clips: tuple[Clip, ...]
    tags: dict[str, NDArray[np.int64]]
    annotations: Annotations


def write_catalog(path: Path, rows: CatalogRows, channels: Iterable[Channel]) -> None:
    """Write ``catalog.sqlite``.

    Raises:
        DatabaseError: SQLite cannot, such as on a full disk.
    """
    try:
        _write_catalog(path, rows, channels)
    except sqlite3.Error as error:
        raise DatabaseError(f"cannot be written: {error}", path=path, remedy="make room on the disk") from None


def _write_catalog(path: Path, rows: CatalogRows, channels: Iterable[Channel]) -> None:
    tags = {name: number for number, name in enumerate(sorted({r.tag for r in rows.ranges}))}
    numeric = {name: number for number, name in enumerate(sorted(rows.numeric_channels))}
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=OFF")
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("BEGIN")
        for statement in TABLES.split(";"):
            connection.execute(statement)
        _insert(connection, "sources", [(i, *row) for i, row in enumerate(rows.sources)])
        _insert(connection, "takes", [(i, *row) for i, row in enumerate(rows.takes)])
        _insert(
            connection,
            "clips",
            [
                (i, take, c.name, c.start, c.stop, c.start_time, c.mirrored, c.source, c.licence, c.attribution)
                for i, (take, c) in enumerate(rows.clips)
            ],
        )
        _insert(connection, "tags", [(number, name) for name, number in tags.items()])
        _insert(
            connection,
            "ranges",
            [
                (i, r.clip, tags[r.tag], r.start, r.stop, r.origin, r.priority, r.bonus)
                for i, r in enumerate(rows.ranges)
            ],
        )
        _insert(
            connection,
            "numeric_channels",
            [
                (number, name, c.unit, c.description, c.minimum, c.maximum)
                for name, number in numeric.items()
                for c in (rows.numeric_channels[name],)
            ],
        )
        _insert(
            connection,
            "numbers",
            [
                (i, n.clip, numeric[n.channel], n.start, n.stop, n.first, n.last, n.origin)
                for i, n in enumerate(rows.numbers)
            ],
        )
        _insert(connection, "facts", sorted(rows.facts.items()))
        _insert(connection, "documentation", [(name, *entry) for name, entry in DOCUMENTATION.items()])
        _insert(
            connection,
            "channels",
            [(c.name, c.file, c.dtype, "x".join(map(str, c.shape)), c.unit, c.description) for c in channels],
        )
        _insert(connection, "notes", [(i, *row) for i, row in enumerate(rows.notes)])
        connection.execute("COMMIT")


def _insert(connection: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    if rows:
        places = ",".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES({places})", rows)


def read_catalog(path: Path) -> CatalogContent:
    """What a database needs of its catalogue.

    Raises:
        DatabaseError: the file is missing or damaged.
    """
    from ambulo.database.tags import merge_ranges

    if not path.is_file():
        raise DatabaseError("is missing", path=path, remedy="run `ambulo build` again")
    try:
        with closing(connect_catalog(path)) as connection:
            clip_rows = connection.execute(
                "SELECT name, start_frame, stop_frame, source, mirrored, licence, start_time, attribution "
                "FROM clips ORDER BY id"
            ).fetchall()
            range_rows = connection.execute(
                "SELECT tags.name, ranges.clip_id, ranges.start_frame, ranges.stop_frame, ranges.priority, "
                "ranges.bonus FROM ranges JOIN tags ON tags.id = ranges.tag_id ORDER BY ranges.id"
            ).fetchall()
            number_rows = connection.execute(
                "SELECT c.name, n.start_frame, n.stop_frame, n.start_value, n.stop_value "
                "FROM numbers AS n JOIN numeric_channels AS c ON c.id = n.channel_id ORDER BY n.id"
            ).fetchall()
            units = dict(connection.execute("SELECT name, unit FROM numeric_channels ORDER BY name").fetchall())
    except sqlite3.DatabaseError as error:
        raise DatabaseError(f"is damaged: {error}", path=path, remedy="run `ambulo build` again") from None
    by_tag: dict[str, list[tuple[int, int]]] = {}
    by_clip: dict[int, set[str]] = {}
    weighted = []
    for tag, clip, start, stop, priority, bonus in range_rows:
        by_tag.setdefault(tag, []).append((start, stop))
        by_clip.setdefault(clip, set()).add(tag)
        if priority or bonus:
            weighted.append(WeightedRange(start, stop, priority, bonus))
    clips = tuple(
        Clip(name, start, stop, source, bool(mirrored), licence, tuple(sorted(by_clip.get(i, ()))), time, attribution)
        for i, (name, start, stop, source, mirrored, licence, time, attribution) in enumerate(clip_rows)
    )
    tags = {tag: merge_ranges(ranges) for tag, ranges in sorted(by_tag.items())}
    return CatalogContent(
        clips, tags, Annotations(tuple(weighted), tuple(NumberSpan(*row) for row in number_rows), units)
    )


def connect_catalog(path: Path) -> sqlite3.Connection:
    """The catalogue, open for reading only: nothing said through this connection can change the file."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)

"""The catalogue of a database: sources, takes, clips, ranges, tags, channels, notes, in one SQLite file.

Any SQLite tool opens it, and DuckDB attaches it. It is written whole by a build, never edited in place, and its bytes
depend on its content only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.database.channels import Channel
from ambulo.errors import DatabaseError

CATALOG = "catalog.sqlite"

_SCHEMA = """
CREATE TABLE sources(
    id INTEGER PRIMARY KEY, path TEXT NOT NULL, glob TEXT NOT NULL, licence TEXT NOT NULL, attribution TEXT NOT NULL);
CREATE TABLE takes(
    id INTEGER PRIMARY KEY, source_id INTEGER NOT NULL REFERENCES sources(id), path TEXT NOT NULL,
    status TEXT NOT NULL CHECK(status IN ('used', 'excluded', 'failed')), reason TEXT NOT NULL,
    sha256 TEXT NOT NULL, bytes INTEGER NOT NULL, format TEXT NOT NULL,
    unit TEXT NOT NULL, metres_per_unit REAL, unit_guessed INTEGER, up TEXT NOT NULL, up_guessed INTEGER,
    frame_time REAL);
CREATE TABLE clips(
    id INTEGER PRIMARY KEY, take_id INTEGER REFERENCES takes(id), name TEXT NOT NULL UNIQUE,
    start_frame INTEGER NOT NULL, stop_frame INTEGER NOT NULL, start_time REAL NOT NULL, mirrored INTEGER NOT NULL,
    source TEXT NOT NULL, licence TEXT NOT NULL, attribution TEXT NOT NULL);
CREATE TABLE tags(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE ranges(
    id INTEGER PRIMARY KEY, clip_id INTEGER NOT NULL REFERENCES clips(id), tag_id INTEGER NOT NULL REFERENCES tags(id),
    start_frame INTEGER NOT NULL, stop_frame INTEGER NOT NULL, origin TEXT NOT NULL);
CREATE TABLE channels(
    name TEXT PRIMARY KEY, file TEXT NOT NULL, dtype TEXT NOT NULL, shape TEXT NOT NULL, unit TEXT NOT NULL,
    description TEXT NOT NULL);
CREATE TABLE notes(
    id INTEGER PRIMARY KEY, take_id INTEGER NOT NULL REFERENCES takes(id), code TEXT NOT NULL, message TEXT NOT NULL,
    warning INTEGER NOT NULL, line INTEGER, joint TEXT);
CREATE INDEX ranges_by_tag ON ranges(tag_id);
CREATE INDEX clips_by_take ON clips(take_id);
"""


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
    """A tag on frames ``[start, stop)`` of the database. ``origin``: name, folder, file (``.tags.csv``) or project."""

    clip: int
    tag: str
    start: int
    stop: int
    origin: str


class CatalogRows(NamedTuple):
    """Rows of every table, ready to insert; ids are positions in these sequences."""

    sources: Sequence[tuple[Any, ...]]
    takes: Sequence[tuple[Any, ...]]
    clips: Sequence[tuple[int, Clip]]
    ranges: Sequence[FrameRange]
    notes: Sequence[tuple[Any, ...]]


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
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=OFF")
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("BEGIN")
        for statement in _SCHEMA.split(";"):
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
            [(i, r.clip, tags[r.tag], r.start, r.stop, r.origin) for i, r in enumerate(rows.ranges)],
        )
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


def read_catalog(path: Path) -> tuple[tuple[Clip, ...], dict[str, NDArray[np.int64]]]:
    """The clips, and the frame ranges ``[n, 2]`` of every tag (merged, sorted).

    Raises:
        DatabaseError: the file is missing or damaged.
    """
    from ambulo.database.tags import merge_ranges

    if not path.is_file():
        raise DatabaseError("is missing", path=path, remedy="run `ambulo build` again")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            clip_rows = connection.execute(
                "SELECT name, start_frame, stop_frame, source, mirrored, licence, start_time, attribution "
                "FROM clips ORDER BY id"
            ).fetchall()
            range_rows = connection.execute(
                "SELECT tags.name, ranges.clip_id, ranges.start_frame, ranges.stop_frame "
                "FROM ranges JOIN tags ON tags.id = ranges.tag_id"
            ).fetchall()
    except sqlite3.DatabaseError as error:
        raise DatabaseError(f"is damaged: {error}", path=path, remedy="run `ambulo build` again") from None
    by_tag: dict[str, list[tuple[int, int]]] = {}
    by_clip: dict[int, set[str]] = {}
    for tag, clip, start, stop in range_rows:
        by_tag.setdefault(tag, []).append((start, stop))
        by_clip.setdefault(clip, set()).add(tag)
    clips = tuple(
        Clip(name, start, stop, source, bool(mirrored), licence, tuple(sorted(by_clip.get(i, ()))), time, attribution)
        for i, (name, start, stop, source, mirrored, licence, time, attribution) in enumerate(clip_rows)
    )
    return clips, {tag: merge_ranges(ranges) for tag, ranges in sorted(by_tag.items())}

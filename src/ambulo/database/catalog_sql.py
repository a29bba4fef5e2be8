"""Plain SQL on a database's catalogue, for reading only."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from ambulo.database.catalog import CATALOG, connect_catalog
from ambulo.errors import QueryError

_ALLOWED = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, getattr(sqlite3, "SQLITE_RECURSIVE", 33)}
)


class SqlRows(msgspec.Struct, frozen=True):
    """Rows of an answer, their columns, and whether more were cut off."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool


def select(folder: Path, sql: str, *, limit: int = 1000) -> SqlRows:
    """Run one SELECT on ``catalog.sqlite``. Nothing else is let through: no writing, no other files.

    Args:
        folder: the database's.
        sql: one statement; ``SELECT * FROM documentation`` says what there is.
        limit: rows at most.

    Raises:
        QueryError: it is no SQL, or wants more than to read.
    """

    def allow(action: int, *_: object) -> int:
        return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY

    try:
        with closing(connect_catalog(folder / CATALOG)) as connection:
            connection.set_authorizer(allow)
            cursor = connection.execute(sql)
            rows = cursor.fetchmany(limit + 1)
            columns = tuple(entry[0] for entry in cursor.description or ())
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        remedy = "only SELECT is possible" if "not authorized" in str(error) else "see `SELECT * FROM documentation`"
        raise QueryError(f"SQLite refuses: {error}", path=folder / CATALOG, key="sql", remedy=remedy) from None
    return SqlRows(columns, tuple(rows[:limit]), len(rows) > limit)

"""Plain SQL on a database's catalogue, for reading only."""

from __future__ import annotations

import math
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from ambulo.database.catalog import CATALOG, connect_catalog
from ambulo.errors import QueryError

_ALLOWED = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, getattr(sqlite3, "SQLITE_RECURSIVE", 33)}
)

SECONDS = 30.0
"""How long a question may take if nothing else is said."""

# Instructions of SQLite's machine between two looks at the clock: about a millisecond.
_STRIDE = 50_000


class SqlRows(msgspec.Struct, frozen=True):
    """Rows of an answer, their columns, and whether more were cut off."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool


def select(folder: Path, sql: str, *, limit: int = 1000, seconds: float = SECONDS) -> SqlRows:
    """Run one SELECT on ``catalog.sqlite``. Nothing else is let through: no writing, no other files.

    Args:
        folder: the database's.
        sql: one statement; ``SELECT * FROM documentation`` says what there is.
        limit: rows at most.
        seconds: that it may take.

    Raises:
        QueryError: it is no SQL, wants more than to read, or takes longer than it may.
    """
    if not 0.0 < seconds < math.inf:
        raise QueryError(f"a limit of {seconds:g} seconds is not possible", key="seconds", remedy="a number above 0")
    deadline = time.monotonic() + seconds
    late = False

    def allow(action: int, *_: object) -> int:
        return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY

    def is_late() -> int:
        nonlocal late
        late = time.monotonic() > deadline
        return late

    try:
        with closing(connect_catalog(folder / CATALOG)) as connection:
            connection.set_authorizer(allow)
            connection.set_progress_handler(is_late, _STRIDE)
            cursor = connection.execute(sql)
            rows = cursor.fetchmany(limit + 1)
            columns = tuple(entry[0] for entry in cursor.description or ())
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        if late:
            raise QueryError(
                f"the question was not answered within {seconds:g} seconds, and was stopped",
                path=folder / CATALOG,
                key="sql",
                remedy="ask for less (does a recursive SELECT end?), or give it more time: --seconds",
            ) from None
        remedy = "see `SELECT * FROM documentation`"
        if "one statement" in str(error):
            remedy = "write one statement, without a semicolon inside"
        elif "not authorized" in str(error):
            remedy = "only SELECT is possible"
        raise QueryError(f"SQLite refuses: {error}", path=folder / CATALOG, key="sql", remedy=remedy) from None
    return SqlRows(columns, tuple(rows[:limit]), len(rows) > limit)

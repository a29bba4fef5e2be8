"""A database's catalogue and frames in DuckDB, for questions over millions of rows and for Parquet (extra ``sql``)."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from ambulo.database.catalog import CATALOG, connect_catalog
from ambulo.database.catalog_schema import DOCUMENTATION
from ambulo.errors import DatabaseError, install_remedy

if TYPE_CHECKING:
    from ambulo.database.database import Database

_ROWS = 100_000


def connect_duckdb(database: Database) -> Any:
    """A DuckDB connection in memory with every table and view of the catalogue, and a table ``frames``.

    ``frames`` has a row a frame: ``frame``, ``clip_id``, ``seconds`` (of the clip), ``speed`` (m/s), ``turn_rate``
    (rad/s), ``left_contact``, ``right_contact``, ``valid``, ``priority``, ``bonus``, and every numeric channel by its
    name (NULL where nobody says anything). Nothing is fetched from anywhere: DuckDB's own SQLite extension, which it
    would download, is not needed.

    Raises:
        DatabaseError: DuckDB is not installed, or the database lies in memory only.
    """
    try:
        import duckdb
    except ImportError:
        raise DatabaseError("DuckDB is not installed", remedy=install_remedy("sql")) from None
    if database.folder is None:
        raise DatabaseError("a database in memory has no catalogue", remedy="build it")
    connection = duckdb.connect()
    with closing(connect_catalog(database.folder / CATALOG)) as catalog:
        for name in DOCUMENTATION:
            cursor = catalog.execute(f'SELECT * FROM "{name}"')
            columns = [entry[0] for entry in cursor.description]
            declared = {row[1]: row[2] for row in catalog.execute(f'PRAGMA table_info("{name}")')}
            kinds = {"INTEGER": "BIGINT", "REAL": "DOUBLE", "TEXT": "VARCHAR", "": "DOUBLE"}
            types = [kinds[declared.get(column) or ""] for column in columns]
            named = ", ".join(f'"{column}" {kind}' for column, kind in zip(columns, types, strict=True))
            connection.execute(f'CREATE TABLE "{name}" ({named})')
            # Column by column: row by row DuckDB takes a thousand times as long.
            lists = ", ".join(f"unnest(?::{kind}[])" for kind in types)
            while rows := cursor.fetchmany(_ROWS):
                connection.execute(
                    f'INSERT INTO "{name}" SELECT {lists}', [list(column) for column in zip(*rows, strict=True)]
                )
    frames = np.arange(database.frame_count)
    clip = database.clip_of_frame(frames)
    arrays = {
        "frame": frames,
        "clip_id": clip,
        "seconds": (frames - database.clip_starts[clip]) / database.rate,
        "speed": database.number("speed"),
        "turn_rate": database.number("turn_rate"),
        "left_contact": np.asarray(database.contacts[:, 0]).astype(bool),
        "right_contact": np.asarray(database.contacts[:, 1]).astype(bool),
        "valid": np.asarray(database.valid).astype(bool),
        "priority": database.priority,
        "bonus": database.bonus,
        **database.numbers,
    }
    connection.register("frame_arrays", arrays)
    chosen = ", ".join(
        f'nullif("{name}", \'NaN\'::FLOAT) AS "{name}"' if name in database.numbers else f'"{name}"' for name in arrays
    )
    connection.execute(f"CREATE TABLE frames AS SELECT {chosen} FROM frame_arrays")
    connection.unregister("frame_arrays")
    return connection

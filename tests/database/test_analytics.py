"""The catalogue and the frames in DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from ambulo.database import analytics
from ambulo.database.analytics import connect_duckdb
from ambulo.database.build import build_frames
from ambulo.database.catalog import CATALOG, connect_catalog
from ambulo.database.catalog_schema import DOCUMENTATION
from ambulo.database.database import Database
from ambulo.errors import DatabaseError

from .conftest import PROJECT
from .test_database import clip

duckdb = pytest.importorskip("duckdb")


@pytest.fixture
def database(make_project: Callable[..., Path]) -> Database:
    text = PROJECT + 'numbers = { age = 35.0 }\n[channels.age]\nunit = "years"\n[channels.fatigue]\n'
    project = make_project("walk_a.bvh", "run_b.bvh", text=text)
    (project / "takes" / "walk_a.channels.csv").write_text("start,stop,channel,value\n0,0.5,fatigue,0.25\n")
    build_frames(project)
    return Database.open(project)


def test_tables_views_and_frames_are_there(database: Database, tmp_path: Path) -> None:
    connection = connect_duckdb(database)
    seconds = dict(connection.execute("SELECT tag, sum(seconds) FROM range_list GROUP BY tag").fetchall())
    assert seconds["walk"] == pytest.approx(database.mask("walk").sum() / database.rate)
    rows = connection.execute(
        "SELECT clips.name, avg(speed), count(fatigue), min(age) FROM frames JOIN clips ON clips.id = clip_id "
        "GROUP BY clips.id, clips.name ORDER BY clips.id"
    ).fetchall()
    assert [row[0] for row in rows] == [c.name for c in database.clips]
    for row, c in zip(rows, database.clips, strict=True):
        part = slice(c.start, c.stop)
        assert row[1] == pytest.approx(float(database.number("speed")[part].mean()), rel=1e-5)
        assert row[2] == np.isfinite(database.numbers["fatigue"][part]).sum()
        assert row[3] == 35.0
    file = tmp_path / "frames.parquet"
    connection.execute(f"COPY frames TO '{file}' (FORMAT parquet)")
    assert connection.execute(f"SELECT count(*) FROM '{file}'").fetchone() == (database.frame_count,)


def test_every_row_of_the_catalogue_is_there_as_it_is(
    database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(analytics, "_ROWS", 3)
    monkeypatch.setenv("HOME", str(tmp_path))  # no extension that somebody installed before
    connection = connect_duckdb(database)
    assert database.folder is not None
    with closing(connect_catalog(database.folder / CATALOG)) as catalog:
        for name in DOCUMENTATION:
            wanted = catalog.execute(f'SELECT * FROM "{name}"').fetchall()
            found = connection.execute(f'SELECT * FROM "{name}"').fetchall()
            assert sorted(map(repr, found)) == sorted(map(repr, wanted)), name


def test_duckdb_attaches_the_catalogue_itself(database: Database) -> None:
    connection = duckdb.connect()
    try:
        connection.execute("INSTALL sqlite; LOAD sqlite")
    except duckdb.Error as error:
        pytest.skip(f"DuckDB's SQLite extension cannot be had here: {str(error)[:80]}")
    assert database.folder is not None
    connection.execute(f"ATTACH '{database.folder / CATALOG}' AS motion (TYPE sqlite, READ_ONLY)")
    found = connection.execute("SELECT DISTINCT tags.name FROM motion.ranges JOIN motion.tags ON tags.id = tag_id")
    assert {row[0] for row in found.fetchall()} == set(database.tags)


def test_a_database_in_memory_has_no_catalogue() -> None:
    with pytest.raises(DatabaseError, match="in memory"):
        connect_duckdb(Database.from_clips([clip("a", 10)]))

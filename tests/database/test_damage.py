"""Databases that are missing, damaged or of another version: refused with a remedy, and mended by a build."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ambulo.cli import main as cli
from ambulo.database.build import build_frames
from ambulo.database.database import Database
from ambulo.database.manifest import read_manifest, verify_files
from ambulo.errors import DatabaseError

from .conftest import write_take
from .test_build import content

Make = Callable[..., Path]
BESIDE = ["database", "database.lock"]


def edit_manifest(folder: Path, **changes: Any) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def truncate(folder: Path) -> None:
    path = folder / "frames" / "rotations.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def remove_catalog(folder: Path) -> None:
    (folder / "catalog.sqlite").unlink()


def ruin_catalog(folder: Path) -> None:
    path = folder / "catalog.sqlite"
    path.write_bytes(b"\0" * path.stat().st_size)


def ruin_shard(folder: Path) -> None:
    path = folder / "frames" / "rotations.safetensors"
    path.write_bytes(b"\xff" * path.stat().st_size)


def misplace_parent(folder: Path) -> None:
    skeleton = json.loads((folder / "manifest.json").read_text())["skeleton"]
    skeleton["parents"][3] = 99
    edit_manifest(folder, skeleton=skeleton)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "older version": (lambda folder: edit_manifest(folder, version=1), "layout version 1, this ambulo reads 2"),
    "no version": (lambda folder: edit_manifest(folder, version="one"), "layout version one"),
    "another format": (lambda folder: edit_manifest(folder, format="zip"), "not the manifest of an ambulo database"),
    "a field of another type": (lambda folder: edit_manifest(folder, rate="fast"), "damaged"),
    "no manifest": (lambda folder: (folder / "manifest.json").unlink(), "there is no database here"),
    "half a manifest": (lambda folder: (folder / "manifest.json").write_text('{"format": "amb'), "damaged"),
    "a truncated shard": (truncate, r"bytes where \d+ were written"),
    "no catalogue": (remove_catalog, "is missing from the database"),
    "a ruined catalogue": (ruin_catalog, "damaged"),
    "a ruined shard of the same size": (ruin_shard, "damaged"),
    "a manifest of brackets": (lambda folder: (folder / "manifest.json").write_text("[" * 100_000), "damaged"),
    "no rate": (lambda folder: edit_manifest(folder, rate=0), "damaged: a rate of 0"),
    "a rate beyond numbers": (lambda folder: edit_manifest(folder, rate=1e308), "damaged: a rate of 1e"),
    "a parent that is no joint": (misplace_parent, "the parent of joint 3 is 99"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_refused_with_a_remedy_and_mended_by_a_build(make_project: Make, damage: str) -> None:
    project = make_project("walk_a.bvh")
    build_frames(project)
    folder = project / "database"
    whole = content(folder)
    harm, words = DAMAGES[damage]
    harm(folder)
    with pytest.raises(DatabaseError, match=words) as caught:
        Database.open(project)
    assert caught.value.path is not None and caught.value.path.is_relative_to(folder)
    assert caught.value.remedy
    report = build_frames(project)
    assert not report.up_to_date
    assert content(folder) == whole


@pytest.mark.parametrize("newer", [{"version": 99}, {"ambulo": "99.0.0"}])
@pytest.mark.parametrize("force", [False, True])
def test_what_a_newer_version_built_is_not_replaced(
    make_project: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str], newer: dict[str, Any], force: bool
) -> None:
    project = make_project("walk_a.bvh")
    build_frames(project)
    folder = project / "database"
    edit_manifest(folder, **newer)
    before = content(folder)
    assert cli.run(["build", str(project), *(["--force"] if force else [])]) == 2
    said = capsys.readouterr().err
    assert "99" in said and "not replaced" in said
    assert all(way in said for way in ("update ambulo", "--folder", "remove the database's folder"))
    assert content(folder) == before
    assert sorted(path.name for path in project.iterdir() if path.name.startswith("database")) == BESIDE
    assert build_frames(project, folder=tmp_path / "elsewhere").prepared == 1
    shutil.rmtree(folder)
    assert build_frames(project).prepared == 1


def test_a_newer_version_is_refused_by_a_reader(make_project: Make) -> None:
    project = make_project("walk_a.bvh")
    build_frames(project)
    edit_manifest(project / "database", version=99)
    with pytest.raises(DatabaseError, match="layout version 99, this ambulo reads 2") as caught:
        Database.open(project)
    assert caught.value.remedy is not None and "update ambulo" in caught.value.remedy


def test_a_damaged_build_record_costs_a_full_build_only(make_project: Make) -> None:
    project = make_project("walk_a.bvh", "run_b.bvh")
    build_frames(project)
    whole = content(project / "database")
    record = project / "database" / "build.json"
    record.write_bytes(b"{" * record.stat().st_size)
    Database.open(project)
    assert build_frames(project).prepared == 2
    assert content(project / "database") == whole


def test_lost_stamps_cost_hashing_only(make_project: Make) -> None:
    project = make_project("walk_a.bvh")
    build_frames(project)
    (project / "database" / "stamps.json").write_text("no JSON")
    assert build_frames(project).up_to_date


def test_the_catalogue_is_open_to_any_sqlite_tool(make_project: Make) -> None:
    project = make_project("walk_a.bvh", "run_b.bvh")
    build_frames(project)
    connection = sqlite3.connect(project / "database" / "catalog.sqlite")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    assert connection.execute("SELECT path, licence FROM sources").fetchall() == [("takes", "CC0-1.0")]
    takes = connection.execute("SELECT path, status, unit, unit_guessed, up, frame_time FROM takes").fetchall()
    assert takes[0] == ("takes/run_b.bvh", "used", "centimetre", 1, "+Y", pytest.approx(1 / 30))
    channels = connection.execute("SELECT name, shape, unit FROM channels ORDER BY name").fetchall()
    assert ("velocities", "jointx3", "m/s") in channels
    connection.close()


def test_a_database_on_another_disk_is_built_there_again_and_again(make_project: Make, tmp_path: Path) -> None:
    project, disk = make_project("walk_a.bvh"), tmp_path / "disk"
    disk.mkdir()
    try:
        (project / "database").symlink_to(disk / "database", target_is_directory=True)
    except OSError:
        pytest.skip("this system lets no one make links")
    for _ in range(3):
        assert not build_frames(project, force=True).up_to_date
        assert (project / "database").is_symlink()
        assert Database.open(project).frame_count > 0
    assert sorted(path.name for path in disk.iterdir()) == ["database", "database.lock"]


@pytest.mark.parametrize("name", ["database", "database.previous"])
def test_a_file_in_the_place_of_a_database_is_replaced(make_project: Make, name: str) -> None:
    project = make_project("walk_a.bvh")
    (project / name).write_text("in the way")
    for _ in range(2):
        build_frames(project, force=True)
        assert Database.open(project).frame_count > 0
    assert not (project / "database.previous").exists()


def test_a_place_where_nothing_can_be_written_is_refused(make_project: Make) -> None:
    project = make_project("walk_a.bvh")
    (project / "database.lock").mkdir()
    with pytest.raises(DatabaseError, match="nothing can be built here"):
        build_frames(project)


def test_stamps_that_cannot_be_written_are_no_reason_to_fail(make_project: Make) -> None:
    project = make_project("walk_a.bvh")
    build_frames(project)
    (project / "database" / "stamps.json.new").mkdir()
    assert build_frames(project).up_to_date


def test_a_project_file_leads_to_its_database(make_project: Make) -> None:
    project = make_project("walk_a.bvh")
    build_frames(project)
    assert Database.open(project / "ambulo.toml").frame_count == Database.open(project).frame_count


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-10] ^= 4
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["frames/rotations.safetensors", "catalog.sqlite", "frames/pieces.safetensors"])
def test_a_flipped_bit_is_found_by_checksums_and_not_handed_on(make_project: Make, name: str) -> None:
    project = make_project("walk_a.bvh", "run_b.bvh")
    build_frames(project)
    folder = project / "database"
    whole = content(folder)
    verify_files(folder, read_manifest(folder))
    flip_a_bit(folder / name)
    with pytest.raises(DatabaseError, match="other bytes than were written") as caught:
        verify_files(folder, read_manifest(folder))
    assert caught.value.path == folder / name
    assert caught.value.remedy
    assert not build_frames(project).up_to_date  # what the remedy says mends it
    verify_files(folder, read_manifest(folder))
    assert content(folder) == whole
    assert build_frames(project).up_to_date
    flip_a_bit(folder / name)
    (project / "takes" / "walk_a.tags.csv").write_text("start,stop,tag\n0,0.5,injured\n")
    build_frames(project)
    verify_files(folder, read_manifest(folder))
    (project / "takes" / "walk_a.tags.csv").unlink()
    build_frames(project)
    assert content(folder) == whole


LIMITED = """
import resource, sys
from ambulo.database.build import build_frames
from ambulo.errors import AmbuloError
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    build_frames(sys.argv[1], jobs=1)
except AmbuloError as error:
    print(type(error).__name__, error.message, "|", error.remedy)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files as POSIX does")
@pytest.mark.parametrize("limit", [1_000, 60_000, 150_000])
def test_a_disk_that_takes_no_more_leaves_the_old_database(make_project: Make, limit: int) -> None:
    """The same error as on a full disk, at several stages: the first take, the catalogue or a shard."""
    project = make_project("walk_a.bvh", "run_b.bvh")
    build_frames(project)
    whole = content(project / "database")
    (project / "takes" / "walk_a.tags.csv").write_text("start,stop,tag\n0,0.5,injured\n")
    write_take(project / "takes" / "walk_c.bvh", 7)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(project), str(limit)], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.startswith("DatabaseError")
    assert "cannot be written" in done.stdout
    assert "make room" in done.stdout
    assert content(project / "database") == whole
    assert Database.open(project).frame_count > 0
    assert sorted(p.name for p in project.iterdir()) == ["ambulo.toml", "database", "database.lock", "takes"]
    assert build_frames(project).used == 3

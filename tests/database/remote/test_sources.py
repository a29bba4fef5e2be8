"""Takes in a bucket."""

from __future__ import annotations

from pathlib import Path

import pytest

from ambulo.cli.main import run
from ambulo.database.project import load_project
from ambulo.database.remote.sources import mirror_folder
from ambulo.errors import ProjectError
from ambulo.matching.build import build

from ..conftest import PROJECT, write_take

URL = "s3://moves/takes"


def project_of(folder: Path, path: str) -> Path:
    folder.mkdir()
    (folder / "ambulo.toml").write_text(PROJECT.replace('path = "takes"', f'path = "{path}"'))
    return folder


def test_a_bucket_is_built_as_a_folder_is_and_only_changes_are_fetched(bucket, tmp_path, monkeypatch):
    local = project_of(tmp_path / "local", "takes")
    for seed, name in enumerate(("walk_a.bvh", "styles/walk_b.bvh")):
        write_take(local / "takes" / name, seed)
    (local / "takes" / "walk_a.tags.csv").write_text("start,stop,tag\n0.2,0.6,turn\n")
    (local / "takes" / "notes.txt").write_text("not fetched")
    bucket.put(str(local / "takes"), "moves/", recursive=True)
    project = project_of(tmp_path / "remote", URL)
    report, expected = build(project), build(local)
    assert (report.used, report.frames, report.tags) == (2, expected.frames, expected.tags)
    frames = "database/frames/rotations.safetensors"
    assert (project / frames).read_bytes() == (local / frames).read_bytes()
    copies = mirror_folder(URL)
    assert sorted(p.relative_to(copies).as_posix() for p in copies.rglob("*.*")) == [
        "styles/walk_b.bvh", "walk_a.bvh", "walk_a.tags.csv",
    ]  # fmt: skip

    times = {path: path.stat().st_mtime_ns for path in copies.rglob("*.bvh")}
    assert build(project).up_to_date
    bucket.put(str(write_take(tmp_path / "new.bvh", 7)), "moves/takes/walk_a.bvh")
    bucket.put(str(write_take(tmp_path / "c.bvh", 8)), "moves/takes/walk_c.bvh")
    bucket.rm("moves/takes/styles/walk_b.bvh")
    report = build(project)
    assert (report.used, report.prepared) == (2, 2)
    assert not (copies / "styles" / "walk_b.bvh").exists()
    assert (copies / "walk_a.bvh").read_bytes() == (tmp_path / "new.bvh").read_bytes()
    assert times[copies / "walk_a.bvh"] != (copies / "walk_a.bvh").stat().st_mtime_ns


def test_a_project_is_made_of_takes_in_a_bucket(bucket, tmp_path, capsys):
    bucket.put(str(write_take(tmp_path / "walk_a.bvh")), "moves/takes/walk_a.bvh")
    assert run(["new", str(tmp_path / "p"), "--from", URL]) == 0
    assert URL in capsys.readouterr().out
    assert load_project(tmp_path / "p").sources[0].path == URL
    assert build(tmp_path / "p").used == 1
    assert run(["new", str(tmp_path / "q"), "--from", "s3://no-such-bucket/takes"]) == 2
    said = capsys.readouterr().err
    assert "s3://no-such-bucket/takes" in said and "check the address" in said
    assert not (tmp_path / "q" / "ambulo.toml").exists()


def test_one_file_may_be_a_source(bucket, tmp_path):
    bucket.put(str(write_take(tmp_path / "walk.bvh")), "moves/one/walk.bvh")
    report = build(project_of(tmp_path / "project", "s3://moves/one/walk.bvh"))
    assert report.used == 1 and report.takes == 1


@pytest.mark.parametrize("path", ["s3://no-such-bucket/takes", "s3://moves/nothing"])
def test_what_is_not_there_is_named(bucket, tmp_path, path):
    with pytest.raises(ProjectError, match="does not exist") as raised:
        build(project_of(tmp_path / "project", path))
    assert path in str(raised.value) and raised.value.key == "sources.path"
    assert not (tmp_path / "project" / "database").exists()

"""Databases in a bucket: written whole or not at all, opened from a copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from ambulo.cli.main import run
from ambulo.database.database import Database
from ambulo.database.remote import databases
from ambulo.errors import DatabaseError
from ambulo.matching.build import build, load_index

from ..conftest import write_take

URL = "s3://moves/database"


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "PART_BYTES", 20_000)


def parts(bucket: Any) -> set[str]:
    return {name.rpartition("/")[2] for name in bucket.find("moves/database/parts")}


def test_built_there_opened_here_and_only_changes_move(bucket, make_project, tmp_path, monkeypatch):
    project = make_project("walk_a.bvh", "walk_b.bvh")
    report = build(project, folder=URL)
    assert report.folder == URL and not (project / "database").exists()
    first = parts(bucket)
    build(project, folder=tmp_path / "local")
    monkeypatch.setenv("COPIES", str(tmp_path / "elsewhere"))  # another machine
    database, local = Database.open(Path(URL)), Database.open(tmp_path / "local")
    assert database.folder == databases.copy_folder(URL)
    assert np.array_equal(database.rotations, local.rotations) and database.digest == local.digest
    query = load_index(local)[0].raw[[17]]
    assert load_index(database)[1].search(query).frames.tolist() == [17]
    assert run(["info", str(project), "--json"]) == 2  # the project itself has none

    fetched: list[tuple[int, int]] = []
    databases.fetch_database(URL, lambda done, total: fetched.append((done, total)))
    assert fetched == []
    write_take(project / "takes" / "walk_c.bvh", 9)
    build(project, folder=Path(URL))
    second = parts(bucket)
    assert first < second and len(second - first) > 0
    asked: list[str] = []
    open_address = databases.open_address

    def counting(url: str, key: str) -> tuple[Any, str]:
        files, root = open_address(url, key)
        cat_file = files.cat_file
        monkeypatch.setattr(files, "cat_file", lambda path: asked.append(path.rpartition("/")[2]) or cat_file(path))
        return files, root

    monkeypatch.setenv("COPIES", str(tmp_path / "third"))
    monkeypatch.setattr(databases, "open_address", counting)
    assert len(Database.open(URL).clips) == 6
    monkeypatch.setenv("COPIES", str(tmp_path / "elsewhere"))
    asked.clear()
    assert len(Database.open(URL).clips) == 6
    assert set(asked) - {"published.json"} <= second - first
    assert len(database.clips) == 4 and float(np.abs(database.rotations[-1, 0]).sum()) > 0.5  # the old maps still serve


def test_a_connection_that_breaks_leaves_the_old_database(bucket, s3_server, make_project, tmp_path, monkeypatch):
    project = make_project("walk_a.bvh")
    build(project, folder=URL)
    before = bucket.cat_file("moves/database/published.json")
    write_take(project / "takes" / "walk_b.bvh", 5)
    sent: list[int] = []
    send = databases._send

    def unplug(files: Any, path: str, data: bytes) -> None:
        sent.append(1)
        if len(sent) == 4:
            s3_server.stop()
        send(files, path, data)

    monkeypatch.setattr(databases, "_send", unplug)
    host, port = s3_server.get_host_and_port()
    with pytest.raises(DatabaseError, match="cannot be reached, or the connection broke") as raised:
        build(project, folder=URL)
    assert "try again" in str(raised.value.remedy)
    monkeypatch.setattr(databases, "_send", send)
    s3_server._port = port
    s3_server._ip_address = host
    s3_server._server_ready_event.clear()
    s3_server.start()
    bucket.invalidate_cache()
    assert bucket.cat_file("moves/database/published.json") == before
    assert len(Database.open(URL).clips) == 2
    assert build(project, folder=URL).used == 2
    assert len(Database.open(URL).clips) == 4


def test_damage_and_absence_are_told(bucket, make_project, tmp_path, monkeypatch):
    with pytest.raises(DatabaseError, match="no database at s3://moves/database"):
        Database.open(URL)
    build(make_project("walk_a.bvh"), folder=URL)
    published = msgspec.json.decode(bucket.cat_file("moves/database/published.json"))
    name = published["files"]["frames/rotations.safetensors"][1][0]
    bucket.pipe_file(f"moves/database/parts/{name}", b"noise")
    monkeypatch.setenv("COPIES", str(tmp_path / "elsewhere"))
    with pytest.raises(DatabaseError, match="damaged"):
        Database.open(URL)
    assert not list((tmp_path / "elsewhere" / "databases").glob("*.building"))
    for change, text in (({"version": 99}, "version 99"), ({"files": {"../x": []}}, "outside")):
        bucket.pipe_file("moves/database/published.json", msgspec.json.encode({**published, **change}))
        with pytest.raises(DatabaseError, match=text):
            Database.open(URL)


def test_old_parts_go_but_those_of_the_version_before_stay(bucket, make_project):
    project = make_project("walk_a.bvh")
    versions = []
    for seed in (1, 2, 3):
        write_take(project / "takes" / "walk_a.bvh", seed)
        build(project, folder=URL)
        files = msgspec.json.decode(bucket.cat_file("moves/database/published.json"))["files"]
        versions.append({part[0] for parts in files.values() for part in parts})
        bucket.invalidate_cache()
    assert parts(bucket) == versions[1] | versions[2]


def test_verbs_take_a_url(bucket, make_project, capsys):
    project = make_project("walk_a.bvh")
    assert run(["build", str(project), "--folder", URL, "--json"]) == 0
    assert msgspec.json.decode(capsys.readouterr().out)["folder"] == URL
    assert run(["query", URL, "locomotion and not mirrored", "--json"]) == 0
    assert len(msgspec.json.decode(capsys.readouterr().out)["ranges"]) == 1


def test_a_mistyped_bucket_is_named_before_anything_is_built_and_never_made(bucket, make_project):
    project = make_project("walk_a.bvh")
    with pytest.raises(DatabaseError, match="there is no bucket 'typo-bucket'"):
        build(project, folder="s3://typo-bucket/database")
    with pytest.raises(DatabaseError, match="there is no bucket 'typo-bucket'"):
        databases.publish_database(Path(build(project).folder), "s3://typo-bucket/database")
    assert bucket.ls("") == ["moves"]


def test_the_database_at_a_url_is_described_compared_and_verified(bucket, make_project, capsys):
    project = make_project("walk_a.bvh", "walk_b.bvh")
    build(project, folder=URL)
    capsys.readouterr()

    def ask(*words: str) -> tuple[int, Any]:
        code = run([*words, "--json"])
        return code, msgspec.json.decode(capsys.readouterr().out)

    code, info = ask("info", URL, "--verify")
    assert code == 0 and info["folder"] == URL and info["staleness"] is None and info["verified"] > 5
    assert ask("info", str(project), "--folder", URL)[1]["features"] == info["features"] != []
    assert ask("status", str(project), "--folder", URL)[1]["stale"] is False
    write_take(project / "takes" / "walk_c.bvh", 9)
    code, status = ask("status", str(project), "--folder", URL)
    assert status["folder"] == URL and [entry["state"] for entry in status["files"]] == ["new"]
    assert ask("query", URL, "walk")[1]["database"] == URL
    code, refused = ask("status", URL)
    assert code == 2 and "--folder" in refused["error"]["remedy"]

    # A copy here that was damaged is mended, what is damaged there is named; a forced build sends it again.
    (project / "takes" / "walk_c.bvh").unlink()
    copy = databases.copy_folder(URL) / "frames" / "positions.safetensors"
    data = bytearray(copy.read_bytes())
    data[-9] ^= 1
    copy.write_bytes(data)
    assert ask("info", URL, "--verify")[0] == 0 and copy.read_bytes() != data
    name = sorted(parts(bucket))[0]
    whole = bucket.cat_file(f"moves/database/parts/{name}")
    bucket.pipe_file(f"moves/database/parts/{name}", b"\0" * len(whole))
    code, refused = ask("info", URL, "--verify")
    assert code == 2 and name in refused["error"]["message"] and "--force" in refused["error"]["remedy"]
    build(project, folder=URL, force=True)
    assert ask("info", URL, "--verify")[0] == 0
    # A part that is gone is sent by any build.
    bucket.rm_file(f"moves/database/parts/{name}")
    build(project, folder=URL)
    assert ask("info", URL, "--verify")[0] == 0

"""Fetching: a server on this machine stands in for the web; broken transfers, other files, hostile archives."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ambulo.cli import fetch as verb
from ambulo.database import archives
from ambulo.database import download as downloads
from ambulo.database.archives import extract
from ambulo.database.database import Database
from ambulo.database.download import download
from ambulo.database.fetch import LOCK_FILE, fetch, make_project
from ambulo.database.preset import PRESETS, Preset, load_preset, preset_names
from ambulo.database.project import load_project
from ambulo.database.takes import find_takes
from ambulo.errors import ProjectError
from ambulo.formats.registry import save

from .conftest import walker


@dataclass
class Site:
    """What the server does: files by path, and how it misbehaves."""

    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    tag: str = '"v1"'
    cut: list[int] = field(default_factory=list)
    """Bytes after which each of the next answers breaks off."""
    status: list[int] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    state = Site()
    monkeypatch.setattr(downloads, "_PAUSES", (0.0,) * 5)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            wanted = self.headers.get("Range", "")
            state.asked.append((self.path, wanted))
            if state.status:
                self.send_error(state.status.pop(0))
                return
            data = state.files.get(self.path)
            if data is None:
                self.send_error(404)
                return
            begin = 0
            if wanted and state.ranges and self.headers.get("If-Range", state.tag) == state.tag:
                begin = int(wanted.removeprefix("bytes=").rstrip("-"))
                if begin >= len(data):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(data)}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
            else:
                self.send_response(200)
            self.send_header("Content-Length", str(len(data) - begin))
            if state.tag:
                self.send_header("ETag", state.tag)
            self.end_headers()
            stop = begin + state.cut.pop(0) if state.cut else len(data)
            self.wfile.write(data[begin:stop])

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


DATA = bytes(range(256)) * 4000
SHA256 = hashlib.sha256(DATA).hexdigest()


def test_a_whole_transfer(site: Site, tmp_path: Path) -> None:
    site.files["/a.bin"] = DATA
    told: list[tuple[int, int]] = []
    path = tmp_path / "deep" / "a.bin"
    assert (
        download(f"{site.url}/a.bin", path, sha256=SHA256, size=len(DATA), progress=lambda *x: told.append(x)) == SHA256
    )
    assert path.read_bytes() == DATA
    assert told[-1] == (len(DATA), len(DATA))
    assert sorted(file.name for file in path.parent.iterdir()) == ["a.bin"]


def test_broken_transfers_go_on_where_they_ended(site: Site, tmp_path: Path) -> None:
    site.files["/a.bin"], site.cut = DATA, [300_000, 200_000]
    download(f"{site.url}/a.bin", tmp_path / "a.bin", sha256=SHA256)
    assert (tmp_path / "a.bin").read_bytes() == DATA
    assert [wanted for _, wanted in site.asked] == ["", "bytes=300000-", "bytes=500000-"]


def test_a_broken_run_goes_on_in_the_next(site: Site, tmp_path: Path) -> None:
    site.files["/a.bin"], site.cut = DATA, [100_000] * 5
    with pytest.raises(ProjectError, match="500000 bytes are kept") as caught:
        download(f"{site.url}/a.bin", tmp_path / "a.bin")
    assert "run the same command again" in (caught.value.remedy or "")
    assert not (tmp_path / "a.bin").exists()
    assert download(f"{site.url}/a.bin", tmp_path / "a.bin") == SHA256
    assert site.asked[-1] == ("/a.bin", "bytes=500000-")


def test_a_server_without_ranges_sends_it_all_again(site: Site, tmp_path: Path) -> None:
    site.files["/a.bin"], site.cut, site.ranges = DATA, [300_000], False
    assert download(f"{site.url}/a.bin", tmp_path / "a.bin") == SHA256
    assert (tmp_path / "a.bin").read_bytes() == DATA


def test_parts_of_two_versions_are_never_put_together(site: Site, tmp_path: Path) -> None:
    site.files["/a.bin"], site.cut = DATA, [300_000] + [0] * 4
    with pytest.raises(ProjectError):
        download(f"{site.url}/a.bin", tmp_path / "a.bin")
    other = DATA[::-1]
    site.files["/a.bin"], site.tag = other, '"v2"'
    assert download(f"{site.url}/a.bin", tmp_path / "a.bin") == hashlib.sha256(other).hexdigest()


def test_a_part_that_is_whole_already_needs_nothing_more(site: Site, tmp_path: Path) -> None:
    site.files["/a.bin"] = DATA
    (tmp_path / "a.bin.part").write_bytes(DATA)
    (tmp_path / "a.bin.part.json").write_text(json.dumps({"url": f"{site.url}/a.bin", "tag": '"v1"'}))
    assert download(f"{site.url}/a.bin", tmp_path / "a.bin") == SHA256
    assert site.asked == [("/a.bin", f"bytes={len(DATA)}-")]


def test_servers_that_are_busy_are_asked_again(site: Site, tmp_path: Path) -> None:
    site.files["/a.bin"], site.status = DATA, [503, 429]
    assert download(f"{site.url}/a.bin", tmp_path / "a.bin") == SHA256
    site.status = [500] * 9
    with pytest.raises(ProjectError, match="answers 500"):
        download(f"{site.url}/a.bin", tmp_path / "b.bin")


def test_a_wrong_checksum_keeps_nothing(site: Site, tmp_path: Path) -> None:
    site.files["/a.bin"] = DATA
    with pytest.raises(ProjectError, match=f"has the checksum {SHA256}") as caught:
        download(f"{site.url}/a.bin", tmp_path / "a.bin", sha256="0" * 64)
    assert caught.value.key == "sha256"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [len(DATA) - 1, len(DATA) + 1])
def test_a_wrong_size_is_refused(site: Site, tmp_path: Path, size: int) -> None:
    site.files["/a.bin"] = DATA
    with pytest.raises(ProjectError, match=f"it should have {size}"):
        download(f"{site.url}/a.bin", tmp_path / "a.bin", size=size)
    assert not (tmp_path / "a.bin").exists()


def test_missing_files_and_other_schemes_are_refused_at_once(site: Site, tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="there is no such file"):
        download(f"{site.url}/nothing.zip", tmp_path / "a.bin")
    assert len(site.asked) == 1
    with pytest.raises(ProjectError, match="no address of the web"):
        download((tmp_path / "secret").as_uri(), tmp_path / "a.bin")
    with pytest.raises(ProjectError, match="cannot be reached"):
        download("http://127.0.0.1:1/a.bin", tmp_path / "a.bin")


def test_a_git_lfs_pointer_is_not_the_file(site: Site, tmp_path: Path) -> None:
    site.files["/a.zip"] = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"
    with pytest.raises(ProjectError, match="Git LFS pointer"):
        download(f"{site.url}/a.zip", tmp_path / "a.zip")


def zipped(files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def tarred(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("top/link.bvh")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return buffer.getvalue()


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_archives_give_what_is_wanted_without_their_folders(tmp_path: Path, pack: object) -> None:
    data = pack({"top/a/walk.bvh": b"1", "top/a/notes.txt": b"2", "top/Run.BVH": b"3", "loose.bvh": b"4"})  # type: ignore[operator]
    (tmp_path / "x").write_bytes(data)
    found = extract(tmp_path / "x", tmp_path / "out", ["**/*.bvh"], strip=1)
    assert sorted(path.relative_to(tmp_path / "out").as_posix() for path in found) == [
        "Run.BVH",
        "a/walk.bvh",
        "loose.bvh",
    ]
    assert not (tmp_path / "out" / "link.bvh").exists()


@pytest.mark.parametrize("name", ["../evil.bvh", "/evil.bvh", "a/../../evil.bvh", "..\\evil.bvh", "C:\\evil.bvh"])
@pytest.mark.parametrize("pack", [zipped, tarred])
def test_members_that_lead_out_are_refused(tmp_path: Path, pack: object, name: str) -> None:
    (tmp_path / "x").write_bytes(pack({name: b"1"}))  # type: ignore[operator]
    with pytest.raises(ProjectError, match="leads out of the folder"):
        extract(tmp_path / "x", tmp_path / "in" / "out")
    assert not list(tmp_path.rglob("evil*"))


def test_archives_without_end_or_damaged_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "BYTES_FREE", 1 << 16)
    bomb = tmp_path / "bomb.zip"
    bomb.write_bytes(zipped({"a.bvh": bytes(1 << 22)}))
    with pytest.raises(ProjectError, match="unpacks to more than"):
        extract(bomb, tmp_path / "out")
    whole = zipped({"a.bvh": bytes(range(256)) * 100})
    at = whole.index(b"a.bvh") + 40
    bomb.write_bytes(whole[:at] + b"\xff\xff\xff" + whole[at + 3 :])
    with pytest.raises(ProjectError, match="damaged"):
        extract(bomb, tmp_path / "out2")
    bomb.write_bytes(zipped({"A/x.bvh": b"1", "B/X.bvh": b"2"}))
    with pytest.raises(ProjectError, match="two files"):
        extract(bomb, tmp_path / "out3", strip=1)
    with pytest.raises(ProjectError, match="no file of it matches"):
        extract(bomb, tmp_path / "out4", ["*.fbx"])


def test_every_preset_that_comes_with_ambulo_is_sound() -> None:
    names = preset_names()
    assert {"lafan1", "100style", "bandai", "cmu"} <= set(names)
    for name in names:
        preset = load_preset(name)
        assert preset.licence and preset.attribution and preset.licence_url.startswith("http"), name
        assert preset.licence_summary and preset.notes, name
        assert all(file.url.startswith("http") for file in preset.files), name
    assert {name for name in names if load_preset(name).non_commercial} == {"lafan1", "bandai"}
    assert len(list(PRESETS.glob("*.toml"))) == len(names)


def test_names_and_keys_that_are_not_known_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="did you mean 'lafan1'"):
        load_preset("lafan")
    own = tmp_path / "mine.toml"
    own.write_text('title = "T"\nlicence = "MIT"\n[[files]]\nurl = "https://x/y.zip"\nsha = "00"\n')
    with pytest.raises(ProjectError, match="unknown key 'sha'") as caught:
        load_preset(own)
    assert caught.value.line == 5
    for text, message in (
        ('title = "T"', "licence"),
        ('title = "T"\nlicence = "MIT"\n[[files]]\nurl = "file:///etc/passwd"', "no address of the web"),
        ('title = "T"\nlicence = "MIT"\n[[files]]\nurl = "https://x/y"\nname = "../y"', "no name of a file"),
        ('title = "T"\nlicence = "MIT"\n[[files]]\nurl = "https://x/y"\nsha256 = "12"', "64 hexadecimal"),
    ):
        own.write_text(text)
        with pytest.raises(ProjectError, match=message):
            load_preset(own)


@pytest.fixture(scope="module")
def takes_zip(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An archive as data sets ship: a folder, takes at two rates, a licence, a table."""
    folder = tmp_path_factory.mktemp("takes")
    files: dict[str, bytes] = {"set-1/LICENSE": b"CC BY-NC 4.0", "set-1/table.csv": b"a,b"}
    for seed, name in enumerate(("60_01", "01_01", "02_01")):
        save(walker(seed, seconds=2.0), folder / f"{name}.bvh")
        files[f"set-1/data/{name}.bvh"] = (folder / f"{name}.bvh").read_bytes()
    return zipped(files)


PRESET = """\
title = "A set of three takes"
licence = "CC BY-NC 4.0"
attribution = "Three Takes Ltd."
[[files]]
url = "{url}/set.zip"
members = ["**/*.bvh", "**/LICENSE"]
strip = 1
[project]
rate = 30.0
mirror = false
sources = [
  {{ glob = "**/60_*.bvh", rate = 15.0, tags = ["slow"] }},
  {{ glob = "**/*.bvh", exclude = ["**/60_*.bvh"], unit = "metre", skip_first = 3 }},
  {{ glob = "**/*.amc", unit = "cmu" }},
]
"""


def own_preset(site: Site, folder: Path) -> Preset:
    path = folder / "mine.toml"
    path.write_text(PRESET.format(url=site.url), encoding="utf-8")
    return load_preset(path)


def test_from_address_to_database(site: Site, tmp_path: Path, takes_zip: bytes) -> None:
    from ambulo.matching.build import build

    site.files["/set.zip"] = takes_zip
    preset = own_preset(site, tmp_path)
    folder = tmp_path / "project"
    fetched = fetch(preset, folder)
    assert (fetched.extracted, fetched.unmatched, fetched.non_commercial) == (4, ("**/*.amc",), True)
    assert sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()) == [
        *(".gitignore", "ambulo.toml", "fetch.lock.json", "takes/LICENSE"),
        *(f"takes/data/{name}.bvh" for name in ("01_01", "02_01", "60_01")),
    ]
    (locked,) = fetched.files.values()
    assert locked.sha256 == hashlib.sha256(takes_zip).hexdigest() and locked.trust == "first_use"

    project = load_project(folder)
    assert [(s.glob, s.rate, s.skip_first, s.licence) for s in project.sources] == [
        ("**/60_*.bvh", 15.0, 0, "CC BY-NC 4.0"),
        ("**/*.bvh", None, 3, "CC BY-NC 4.0"),
    ]
    assert (project.rate, project.mirror, project.name) == (30.0, False, "mine")
    report = build(folder, jobs=1)
    assert report.problems == ()
    assert [use.text.split(" (")[0] for use in report.licences] == ["CC BY-NC 4.0 [NON-COMMERCIAL], Three Takes Ltd."]
    clips = {clip.name.split("/")[-1]: clip for clip in Database.open(folder).clips}
    # At half the rate the take lasts twice as long; three frames at 30 a second are skipped elsewhere.
    assert clips["60_01"].frame_count == 121
    assert clips["01_01"].start_time == pytest.approx(0.1) and clips["60_01"].start_time == 0.0
    assert clips["60_01"].tags == ("slow",)


def test_a_table_of_cuts_is_written_as_corrections(tmp_path: Path) -> None:
    takes = tmp_path / "100STYLE"
    for name in ("Angry/Angry_FW", "Angry/Angry_TR1", "Neutral/Neutral_ID"):
        path = takes / f"{name}.bvh"
        path.parent.mkdir(parents=True, exist_ok=True)
        save(walker(1, seconds=2.0), path)
    table = "STYLE_NAME,FW_START,FW_STOP,TR1_START,TR1_STOP,ID_START,ID_STOP\n"
    (takes / "Frame_Cuts.csv").write_text(table + "Angry,10,50,N/A,N/A,1,2\nNeutral,1,2,3,4,5,55\n", encoding="utf-8")
    make_project(load_preset("100style"), takes, tmp_path / "p", "styles")
    project = load_project(tmp_path / "p")
    assert {spec.file for spec in project.takes} < {take.label for take in find_takes(project)}
    found = {spec.file.split("/")[-1]: (spec.start_frame, spec.stop_frame) for spec in project.takes}
    assert found == {"Angry_FW.bvh": (10, 50), "Neutral_ID.bvh": (5, 55)}
    by_glob = {source.glob: source.tags for source in project.sources}
    assert by_glob == {"**/*_FW.bvh": ("walk", "forward"), "**/*_ID.bvh": ("idle",), "**/*_TR?.bvh": ("transition",)}
    (takes / "Frame_Cuts.csv").write_text("NAME,FW_START\nAngry,1\n", encoding="utf-8")
    with pytest.raises(ProjectError, match="no column 'STYLE_NAME'"):
        make_project(load_preset("100style"), takes, tmp_path / "q", "styles")
    assert not (tmp_path / "q").exists()


def test_what_was_fetched_once_must_stay_the_same(site: Site, tmp_path: Path, takes_zip: bytes) -> None:
    site.files["/set.zip"] = takes_zip
    preset = own_preset(site, tmp_path)
    fetch(preset, tmp_path / "project")
    lock = (tmp_path / "project" / LOCK_FILE).read_bytes()
    again = tmp_path / "again"
    again.mkdir()
    (again / LOCK_FILE).write_bytes(lock)
    site.files["/set.zip"] = zipped({"set-1/other.bvh": b"HIERARCHY"})
    with pytest.raises(ProjectError, match="has the checksum") as caught:
        fetch(preset, again)
    assert LOCK_FILE in (caught.value.remedy or "")
    assert [path.name for path in again.iterdir()] == [LOCK_FILE]


def test_a_broken_fetch_leaves_no_half_project(site: Site, tmp_path: Path, takes_zip: bytes) -> None:
    preset, folder = own_preset(site, tmp_path), tmp_path / "project"
    site.files["/set.zip"], site.cut = takes_zip, [len(takes_zip) // 10] * 5
    with pytest.raises(ProjectError, match="are kept"):
        fetch(preset, folder)
    assert not (folder / "takes").exists() and not (folder / "ambulo.toml").exists()
    fetch(preset, folder)
    assert site.asked[-1][1].startswith("bytes=")
    with pytest.raises(ProjectError, match="a project already"):
        fetch(preset, folder)
    (folder / "ambulo.toml").unlink()
    with pytest.raises(ProjectError, match="takes already"):
        fetch(preset, folder)


def test_a_fetch_that_got_nothing_leaves_nothing(site: Site, tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="there is no such file"):
        fetch(own_preset(site, tmp_path), tmp_path / "project")
    assert not (tmp_path / "project").exists()
    (tmp_path / "mine").mkdir()
    with pytest.raises(ProjectError, match="there is no such file"):
        fetch(own_preset(site, tmp_path), tmp_path / "mine")
    assert not list((tmp_path / "mine").iterdir())


def test_an_archive_without_takes_leaves_nothing_but_the_download(site: Site, tmp_path: Path) -> None:
    site.files["/set.zip"] = zipped({"set-1/LICENSE": b"MIT"})
    with pytest.raises(ProjectError, match="none of its 1 files"):
        fetch(own_preset(site, tmp_path), tmp_path / "project")
    assert not (tmp_path / "project" / "takes").exists()
    assert not list((tmp_path / "project").glob(".takes*"))


def test_nothing_is_fetched_before_the_licence_is_accepted(
    site: Site, tmp_path: Path, takes_zip: bytes, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site.files["/set.zip"] = takes_zip
    own_preset(site, tmp_path)
    arguments = {"dataset": str(tmp_path / "mine.toml"), "to": tmp_path / "project"}
    with pytest.raises(ProjectError, match="nobody is here") as caught:
        verb.run(verb.Arguments(**arguments))
    assert "--yes" in (caught.value.remedy or "")
    shown = capsys.readouterr().err
    assert "CC BY-NC 4.0 [NON-COMMERCIAL]" in shown and "Three Takes Ltd." in shown and "/set.zip" in shown
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda prompt: "n")
    with pytest.raises(ProjectError, match="not accepted"):
        verb.run(verb.Arguments(**arguments))
    assert site.asked == [] and not (tmp_path / "project").exists()
    monkeypatch.setattr("builtins.input", lambda prompt: "y")
    verb.show(verb.run(verb.Arguments(**arguments, keep=True)))
    assert "believed at first sight" in capsys.readouterr().out
    assert (tmp_path / "project" / "downloads" / "set.zip").read_bytes() == takes_zip


def test_a_preset_without_files_says_how_to_use_it(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="nothing to fetch") as caught:
        verb.run(verb.Arguments("cmu_daz", to=tmp_path / "x"))
    assert "--preset cmu_daz" in (caught.value.remedy or "")

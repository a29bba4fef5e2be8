"""Fetching: from an address to a project, with a server on this machine in the place of the web."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from ambulo.cli import fetch as verb
from ambulo.database.database import Database
from ambulo.database.fetch import LOCK_FILE, fetch, make_project
from ambulo.database.preset import Preset, load_preset
from ambulo.database.project import load_project
from ambulo.database.takes import find_takes
from ambulo.errors import ProjectError
from ambulo.formats.registry import save

from .conftest import walker
from .web_site import Site, zipped


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

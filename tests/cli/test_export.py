"""``ambulo export``: what is written, what is said, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ambulo.cli.main import run


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "walker"
    assert run(["new", str(folder), "--minutes", "1", "--json"]) == 0
    assert run(["build", str(folder), "--jobs", "1", "--json"]) == 0
    return folder


def test_an_export_says_what_it_wrote(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    capsys.readouterr()
    assert run(["export", str(project), "--controller", "mm", "--target", "godot", "--tags", "walk", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    folder = project / "export" / "godot-mm"
    assert told["folder"] == str(folder) and told["licences"][0]["licence"] == "Apache-2.0" and told["notes"] == []
    assert {path.name for path in folder.iterdir()} == set(told["files"])
    assert max(told["differences"].values()) < 1e-4
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["tag_sets"] == [["walk"]] and manifest["non_commercial"] is False


def test_other_layouts_need_no_onnx(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", str(project), "--target", "holden", "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "database.bin" in shown and "note: 25 bones" in shown and "licence: Apache-2.0" in shown


def test_nothing_of_yours_is_overwritten_without_force(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["export", str(project), "--target", "holden", "--out", str(tmp_path)]
    (tmp_path / "features.bin").write_text("mine")
    assert run(words) == 2
    assert "--force" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["features.bin"]
    assert (tmp_path / "features.bin").read_text() == "mine"
    assert run([*words, "--force"]) == 0 and (tmp_path / "features.bin").stat().st_size > 1000
    assert run(words) == 0  # an export of ours, untouched since, gives way to the next


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--target", "unreel"], "no target 'unreel'"),
        (["--controller", "mm", "--tags", "flying"], "flying"),
        (["--controller", "lmm"], "no model 'lmm' was trained yet"),
        (["--controller", "mm", "--characters", "-1"], "characters"),
        (["--controller", "mm", "--characters", "0"], "characters"),
        (["--controller", "mm", "--characters", "1025"], "1 to 1024"),
    ],
)
def test_what_cannot_be_exported_is_refused(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], reason: str
) -> None:
    capsys.readouterr()
    assert run(["export", str(project), *words, "--out", str(tmp_path / "out")]) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("place", ["", " ", ".", "database", "models", "takes/below"])
def test_places_that_are_no_folder_for_an_export_are_refused(
    project: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    out = str(project / place) if place.strip() else place
    before = sorted(project.rglob("*"))
    capsys.readouterr()
    for words in (["--target", "holden"], ["--controller", "mm", "--target", "unity"], ["--target", "jlpm", "--force"]):
        assert run(["export", str(project), *words, "--out", out]) == 2
        told = capsys.readouterr().err
        assert ("the name of a folder is empty" if not place.strip() else "the folder is") in told
    assert sorted(project.rglob("*")) == before


def test_an_export_of_another_kind_takes_the_place_of_an_earlier_one(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    out = tmp_path / "out"
    words = ["export", str(project), "--controller", "mm", "--out", str(out), "--json"]
    assert run([*words, "--target", "unity"]) == 0
    (out / "mine.txt").write_text("mine")
    for target in ("holden", "jlpm", "onnx"):
        capsys.readouterr()
        assert run([*words, "--target", target]) == 0
        told = json.loads(capsys.readouterr().out)
        assert {path.name for path in out.iterdir()} == {*told["files"], "mine.txt"}


def test_a_page_without_its_script_is_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is opened: here the project is not even built."""
    from ambulo.export.engine import web_page

    monkeypatch.setattr(web_page, "LIVE", tmp_path / "live.js")
    folder = tmp_path / "walker"
    folder.mkdir()
    (folder / "ambulo.toml").write_text('name = "walker"\n\n[[sources]]\npath = "takes"\n')
    assert run(["export", str(folder), "--controller", "mm", "--target", "web"]) == 2
    assert "web/build.py" in capsys.readouterr().err

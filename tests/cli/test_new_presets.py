"""`ambulo new` with presets, with takes of several formats, and with licences beside the takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ambulo
from ambulo.cli import main as cli
from ambulo.database.project import load_project
from ambulo.database.takes import find_takes
from ambulo.synthesis.takes import write_takes


@pytest.fixture(scope="module")
def takes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new") / "takes"
    folder.mkdir()
    write_takes(folder, seed=1, minutes=0.2)
    return folder


def new(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, object]]:
    code = cli.run(["new", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_preset_of_ones_own_is_applied(takes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "ours.toml"
    own.write_text(
        'title = "Ours"\nlicence = "CC-BY-NC-4.0"\nattribution = "Us"\n[project]\nrate = 30.0\nmirror = false\n'
        'sources = [{ glob = "**/*.bvh", unit = "metre", tags = ["ours"] }, { glob = "*.fbx" }]\n'
        "[project.prepare]\nglitch_speed = 15.0\n",
        encoding="utf-8",
    )
    code, made = new(capsys, str(tmp_path / "p"), "--from", str(takes), "--preset", str(own))
    assert code == 0
    assert (made["preset"], made["unmatched"], made["embedded"]) == ("ours", ["*.fbx"], False)
    project = load_project(tmp_path / "p")
    (source,) = project.sources
    assert (source.unit, source.tags, source.licence, source.attribution) == ("metre", ("ours",), "CC-BY-NC-4.0", "Us")
    assert (project.rate, project.prepare.rate, project.mirror, project.prepare.glitch_speed) == (
        30.0,
        30.0,
        False,
        15.0,
    )
    assert "read by the preset 'ours'" in (tmp_path / "p" / "ambulo.toml").read_text(encoding="utf-8")


def test_presets_need_takes_and_takes_that_they_know(
    takes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, answer = new(capsys, str(tmp_path / "p"), "--preset", "bandai")
    assert code == 2 and "ambulo fetch bandai" in str(answer)
    code, answer = new(capsys, str(tmp_path / "p"), "--from", str(takes), "--preset", "bandai")
    assert code == 2 and "none of its" in str(answer)
    code, answer = new(capsys, str(tmp_path / "p"), "--from", str(takes), "--preset", "bandia")
    assert code == 2 and "did you mean 'bandai'" in str(answer)
    assert not (tmp_path / "p").exists()


def test_a_licence_beside_the_takes_is_shown_and_written_as_a_comment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    takes = tmp_path / "takes"
    takes.mkdir()
    write_takes(takes, seed=1, minutes=0.1)
    (takes / "LICENSE").write_text("Attribution-NonCommercial 4.0 International", encoding="utf-8")
    assert cli.run(["new", str(tmp_path / "p"), "--from", str(takes)]) == 0
    says = "LICENSE beside the takes says CC-BY-NC-4.0 [NON-COMMERCIAL]"
    assert says in capsys.readouterr().out
    assert f"# licence? {says}" in (tmp_path / "p" / "ambulo.toml").read_text(encoding="utf-8")
    assert load_project(tmp_path / "p").sources[0].licence == ""  # a hint only: a person decides


def test_takes_of_several_formats_are_all_in_the_project(
    takes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    motion = ambulo.load(next(takes.rglob("*.bvh")))
    for name in ("one.bvh", "two.bvh", "three.glb"):
        ambulo.save(motion, mixed / name)
    code, made = new(capsys, str(tmp_path / "p"), "--from", str(mixed))
    assert code == 0 and made["found"]["extensions"] == {".bvh": 2, ".glb": 1}  # type: ignore[index]
    project = load_project(tmp_path / "p")
    assert [take.relative for take in find_takes(project)] == ["one.bvh", "three.glb", "two.bvh"]

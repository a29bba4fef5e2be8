"""What is stale and why, file by file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ambulo.cli import main as cli
from ambulo.database.build import build_frames
from ambulo.database.project import load_project
from ambulo.database.status import ProjectStatus, project_status

from .conftest import PROJECT, write_take

Make = Callable[..., Path]


def status(project: Path) -> ProjectStatus:
    return project_status(load_project(project))


def states(found: ProjectStatus) -> dict[str, str]:
    return {entry.file: entry.state for entry in found.files}


def test_a_project_that_was_never_built_says_so(make_project: Make) -> None:
    found = status(make_project("walk_a.bvh"))
    assert (found.built, found.stale, found.built_by) == (False, True, "")
    assert "no database here" in found.reasons[0] and "ambulo build" in found.remedy
    assert states(found) == {"takes/walk_a.bvh": "new"}


def test_a_built_project_is_up_to_date(make_project: Make) -> None:
    project = make_project("walk_a.bvh", "run_b.bvh")
    build_frames(project)
    found = status(project)
    assert (found.built, found.stale, found.reasons, found.files, found.settings) == (True, False, (), (), ())
    assert found.built_by == found.version


def test_every_kind_of_change_is_named(make_project: Make) -> None:
    names = ("changed", "tagged", "numbered", "gone", "hidden", "same")
    text = PROJECT + "[channels.age]\n"
    project = make_project(*(f"{name}.bvh" for name in names), "broken.bvh", text=text)
    takes = project / "takes"
    (takes / "broken.bvh").write_text("no BVH")
    (takes / "numbered.channels.csv").write_text("start,stop,channel,value\n0,1,age,3\n")
    build_frames(project)
    write_take(takes / "changed.bvh", 99)
    (takes / "tagged.tags.csv").write_text("start,stop,tag\n0,1,injured\n")
    (takes / "numbered.channels.csv").unlink()
    (takes / "gone.bvh").unlink()
    (takes / "lost.tags.csv").write_text("start,stop,tag\n")
    write_take(takes / "new.bvh", 50)
    changed = (
        text.replace('path = "takes"', 'path = "takes"\nexclude = ["hidden.bvh"]') + "[prepare]\ncontact_speed = 0.25\n"
    )
    (project / "ambulo.toml").write_text(changed)
    found = status(project)
    assert states(found) == {
        "takes/changed.bvh": "changed",
        "takes/tagged.bvh": "annotated",
        "takes/numbered.bvh": "annotated",
        "takes/gone.bvh": "missing",
        "takes/hidden.bvh": "left_out",
        "takes/lost.tags.csv": "no_take",
        "takes/new.bvh": "new",
        "takes/broken.bvh": "failed",
    }
    why = {entry.file: entry.why for entry in found.files}
    assert why["takes/tagged.bvh"] == "its tags were added since the build"
    assert why["takes/numbered.bvh"] == "its numbers were removed since the build"
    settings = {entry.key: (entry.before, entry.now) for entry in found.settings}
    assert settings["prepare.contact_speed"] == ("0.15", "0.25")
    assert settings["sources[0].exclude"] == ("[]", '["hidden.bvh"]')
    assert found.stale and not found.code
    build_frames(project)
    after = status(project)
    assert not after.stale
    assert states(after) == {"takes/lost.tags.csv": "no_take", "takes/broken.bvh": "failed"}


def test_annotations_that_a_build_would_refuse_are_named_with_their_line(make_project: Make) -> None:
    project = make_project("walk_a.bvh", "walk_b.bvh")
    build_frames(project)
    (project / "takes" / "walk_b.tags.csv").write_text("start,stop,tag\n0,1,x\n<<<<<<< HEAD\n")
    found = status(project)
    wrong = {entry.file: entry for entry in found.files}["takes/walk_b.tags.csv"]
    assert (wrong.state, wrong.line) == ("wrong", 3)
    assert "merge conflict" in wrong.why and wrong.remedy
    assert found.stale


@pytest.mark.parametrize("change", [{"version": 99}, {"ambulo": "99.0.0"}])
def test_a_database_built_by_a_newer_version_is_named(make_project: Make, change: dict) -> None:
    project = make_project("walk_a.bvh")
    build_frames(project)
    manifest = project / "database" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | change))
    found = status(project)
    assert found.stale
    assert "99" in found.reasons[0]
    assert "update ambulo" in found.remedy and "ambulo build" in found.remedy


def test_a_damaged_file_of_the_database_is_named(make_project: Make) -> None:
    project = make_project("walk_a.bvh")
    build_frames(project)
    shard = project / "database" / "frames" / "rotations.safetensors"
    shard.write_bytes(shard.read_bytes()[:100])
    found = status(project)
    assert found.stale and not found.built
    assert found.reasons[0].startswith("rotations.safetensors: has 100 bytes")
    assert "ambulo build" in found.remedy


def test_other_code_is_named(make_project: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from ambulo.database import staleness

    project = make_project("walk_a.bvh")
    build_frames(project)
    monkeypatch.setattr(staleness, "database_code", lambda project: "other")
    found = status(project)
    assert found.code and found.stale
    assert any("another version" in reason for reason in found.reasons)


def test_the_verb_prints_it(make_project: Make, capsys: pytest.CaptureFixture[str]) -> None:
    project = make_project("walk_a.bvh")
    assert cli.run(["status", str(project)]) == 0
    assert "is not built" in capsys.readouterr().out
    build_frames(project)
    assert cli.run(["status", str(project), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stale"] is False
    (project / "takes" / "walk_a.tags.csv").write_text("start,stop,tag\n0,1,x\n")
    assert cli.run(["status", str(project)]) == 0
    out = capsys.readouterr().out
    assert "annotated  takes/walk_a.bvh" in out and "-> run `ambulo build`" in out

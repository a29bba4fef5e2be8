"""new, build and info, one after the other, as a user types them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ambulo
from ambulo.cli import main as cli
from ambulo.database.database import Database
from ambulo.database.project import load_project
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.synthesis.body import default_skeleton


def write_walk(path: Path, seconds: float = 3.0, rate: float = 30.0) -> None:
    """A figure with its arms down that walks along +Z."""
    skeleton = default_skeleton()
    t = np.arange(round(seconds * rate) + 1) / rate
    angles = np.zeros((len(t), skeleton.joint_count, 3), np.float32)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        angles[:, skeleton.role(f"{side}_upper_leg"), 0] = 0.4 * sign * np.sin(6 * t)
        angles[:, skeleton.role(f"{side}_lower_leg"), 0] = 0.3
        angles[:, skeleton.role(f"{side}_upper_arm"), 2] = -sign * 1.3
    positions = np.tile(skeleton.offsets, (len(t), 1, 1))
    positions[:, 0, 2] += 1.2 * t
    path.parent.mkdir(parents=True, exist_ok=True)
    ambulo.save(Motion(skeleton, positions, quaternions.from_scaled_angle_axis(angles), rate), path)


def run_json(capsys: pytest.CaptureFixture[str], *argv: str | Path, code: int = 0) -> Any:
    assert cli.run([*map(str, argv), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_from_a_folder_to_a_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_walk(tmp_path / "capture" / "walk_01.bvh")
    write_walk(tmp_path / "capture" / "tired" / "walk_02.bvh")
    project = tmp_path / "hero"
    made = run_json(capsys, "new", project, "--from", tmp_path / "capture")
    assert made["name"] == "hero" and made["embedded"] is False
    assert made["found"]["files"] == 2
    assert made["found"]["units"] == {"centimetre (0.01 m), guessed": 2}
    assert made["found"]["guesses"] == {"unit": "centimetre", "up": "+Y", "rate": 30.0}
    assert made["found"]["roles"]["left_foot"] == "LeftFoot"
    loaded = load_project(project)
    assert loaded.sources[0].path == "../capture" and loaded.sources[0].unit is None

    assert "no database here" in run_json(capsys, "info", project, code=2)["error"]["message"]
    built = run_json(capsys, "build", project, "--jobs", 1)
    assert (built["clips"], built["mirrored"], built["problems"]) == (4, 2, [])
    assert {"walk", "tired", "mirrored"} <= set(built["tags"])
    assert Database.open(project).frame_count == built["frames"]
    assert (project / "database" / "index.safetensors").is_file()

    info = run_json(capsys, "info", project)
    assert info["stale"] is False and len(info["clips"]) == 4
    write_walk(tmp_path / "capture" / "walk_03.bvh", seconds=2.0)
    info = run_json(capsys, "info", project)
    assert info["stale"] is True
    assert info["staleness"]["added"] == ["../capture/walk_03.bvh"]
    assert "1 take was added" in info["staleness"]["reasons"][0]

    assert cli.run(["build", str(project)]) == 0
    text = capsys.readouterr().out
    assert "3 of 3 takes (1 prepared, 2 unchanged) -> 6 clips (3 mirrored)" in text
    assert cli.run(["build", str(project)]) == 0
    assert "is up to date" in capsys.readouterr().out
    assert cli.run(["info", str(project)]) == 0
    assert "up to date" in capsys.readouterr().out


def test_without_takes_the_embedded_ones_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "demo"
    made = run_json(capsys, "new", project, "--minutes", 1, "--seed", 3)
    assert made["embedded"] is True
    source = load_project(project).sources[0]
    assert (source.path, source.licence, source.tags_from) == ("takes", "Apache-2.0", ())
    takes = list((project / "takes").rglob("*.bvh"))
    assert len(takes) == made["found"]["files"] > 0
    assert all(take.with_name(take.stem + ".tags.csv").is_file() for take in takes)


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_walk(tmp_path / "capture" / "walk_01.bvh")
    project = tmp_path / "hero"
    run_json(capsys, "new", project, "--from", tmp_path / "capture", "--name", "Held")
    before = (project / "ambulo.toml").read_bytes()
    for argv in (["new", project], ["new", project, "--from", tmp_path / "capture"]):
        error = run_json(capsys, *argv, code=2)["error"]
        assert "already" in error["message"] and error["path"] == str(project / "ambulo.toml")
    assert (project / "ambulo.toml").read_bytes() == before
    assert load_project(project).name == "Held"
    assert not (project / "takes").exists()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: None, "there is no such folder"),
        (lambda folder: folder.mkdir(), "no motion file"),
        (lambda folder: folder.write_text("text"), "a file, not a folder"),
        (lambda folder: (folder.mkdir(), (folder / "a.bvh").write_text("nothing")), "none of the 1 files"),
    ],
)
def test_a_folder_without_takes_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], make: Any, words: str
) -> None:
    make(tmp_path / "capture")
    error = run_json(capsys, "new", tmp_path / "hero", "--from", tmp_path / "capture", code=2)["error"]
    assert words in error["message"]
    assert not (tmp_path / "hero").exists()


def test_strict_builds_refuse_a_broken_take(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_walk(tmp_path / "capture" / "walk_01.bvh")
    (tmp_path / "capture" / "broken.bvh").write_text("HIERARCHY\n")
    project = tmp_path / "hero"
    made = run_json(capsys, "new", project, "--from", tmp_path / "capture")
    assert list(made["found"]["errors"]) == ["broken.bvh"]
    error = run_json(capsys, "build", project, "--strict", code=2)["error"]
    assert "broken.bvh" in error["message"]
    assert not (project / "database").exists()
    built = run_json(capsys, "build", project)
    assert [problem["take"] for problem in built["problems"]] == ["../capture/broken.bvh"]


def test_features_that_the_skeleton_cannot_give_leave_the_old_database(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_walk(tmp_path / "capture" / "walk_01.bvh")
    project = tmp_path / "hero"
    run_json(capsys, "new", project, "--from", tmp_path / "capture")
    digest = run_json(capsys, "build", project)["frames"]
    file = project / "ambulo.toml"
    file.write_text(file.read_text().replace('joint = "hips"', 'joint = "tail"'))
    assert "tail" in json.dumps(run_json(capsys, "build", project, code=2)["error"])
    assert Database.open(project).frame_count == digest


def test_a_wrong_joint_of_a_role_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        write_walk(tmp_path / "capture" / f"walk_{number}.bvh")
    project = tmp_path / "hero"
    run_json(capsys, "new", project, "--from", tmp_path / "capture")
    file = project / "ambulo.toml"
    file.write_text(file.read_text().replace("[roles]", '[roles]\nhead = "Haed"', 1))
    error = run_json(capsys, "build", project, code=2)["error"]
    assert error["message"].count("Haed") == 1 and "role 'head'" in error["message"]
    assert error["remedy"] == "edit [roles] in ambulo.toml"


def test_the_roles_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_walk(tmp_path / "capture" / "walk.bvh")
    project = tmp_path / "hero"
    assert cli.run(["new", str(project), "--from", str(tmp_path / "capture")]) == 0
    out = capsys.readouterr().out
    assert re.search(r"hips=\w+, .*left_foot=\w+, .*right_foot=\w+", out)
    assert f"[roles] in {project / 'ambulo.toml'}" in out

"""``ambulo convert`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.cli import main as cli
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One take and one broken file."""
    skeleton = Skeleton(("Hips", "Spine"), np.array([-1, 0]), np.array([[0, 0, 0], [0, 0.5, 0]]))
    positions = np.tile(skeleton.offsets, (5, 1, 1))
    motion = Motion(skeleton, positions, np.tile(quaternions.IDENTITY, (5, 2, 1)), 30.0)
    (tmp_path / "in").mkdir()
    ambulo.save(motion, tmp_path / "in" / "walk.bvh", unit="metre")
    (tmp_path / "in" / "broken.bvh").write_text("HIERARCHY\n")
    return tmp_path


def test_a_folder_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["convert", str(folder / "in"), str(folder / "out"), "--to", "glb", "--unit", "1.0", "--json"]
    assert cli.run(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(row["target"], row["frames"]) for row in told["written"]] == [(str(folder / "out" / "walk.glb"), 5)]
    assert [row["source"] for row in told["failed"]] == [str(folder / "in" / "broken.bvh")]
    assert ambulo.load(folder / "out" / "walk.glb").skeleton.offsets[1, 1] == 0.5


def test_a_folder_for_a_person(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["convert", str(folder / "in"), str(folder / "out"), "--to", "glb"]) == 0
    out = capsys.readouterr().out
    assert "1 files, 1 motions" in out
    assert "1 files were not converted" in out
    assert "broken.bvh" in out


def test_options_of_the_new_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    take, new = str(folder / "in" / "walk.bvh"), str(folder / "new.bvh")
    assert cli.run(["convert", take, new, "--unit", "m", "--option", "unit=metre", "--option", "order=XYZ"]) == 0
    text = (folder / "new.bvh").read_text()
    assert "OFFSET 0.00000000 0.50000000" in text
    assert "Xrotation Yrotation Zrotation" in text
    capsys.readouterr()
    assert cli.run(["convert", take, new, "--force", "--option", "ordr=XYZ"]) == 2
    assert "did you mean 'order'" in capsys.readouterr().err
    assert cli.run(["convert", take, new, "--force", "--option", "order"]) == 2
    assert (folder / "new.bvh").read_text() == text


def test_refusals_have_exit_code_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["convert", str(folder / "in"), str(folder / "out"), "--to", "glb", "--strict"]) == 2
    assert "nothing is written" in capsys.readouterr().err
    assert not (folder / "out").exists()
    assert cli.run(["convert", str(folder / "in" / "broken.bvh"), str(folder / "x.glb")]) == 2
    assert not (folder / "x.glb").exists()

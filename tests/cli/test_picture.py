"""``ambulo picture`` draws takes and clips of databases, and refuses what it cannot find."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.cli import main as command
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton
from ambulo.synthesis.takes import write_takes


@pytest.fixture(scope="module")
def take(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short embedded take."""
    return write_takes(tmp_path_factory.mktemp("takes"), minutes=0.2)[0]


def size(path: Path) -> tuple[int, int]:
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    return width, height


def test_a_take_becomes_a_sheet(take: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "deep" / "walk.png"
    arguments = ["picture", str(take), "--out", str(out), "--columns", "4", "--rows", "2", "--size", "90", "--json"]
    assert command.run(arguments) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["file"] == str(out) and len(result["frames"]) == 8 and result["frames"][0] == 0
    assert size(out) == (4 * 62 - 2, 2 * 92 - 2)


def test_a_stretch_of_it(take: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "walk.png"
    stretch = ["--start", "1", "--stop", "2", "--rows", "1", "--json"]
    assert command.run(["picture", str(take), "--out", str(out), *stretch]) == 0
    frames = json.loads(capsys.readouterr().out)["frames"]
    assert (frames[0], frames[-1]) == (60, 120)


def test_a_skeleton_without_a_body_is_drawn_as_bones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chain = Skeleton(("a", "b", "c"), np.array([-1, 0, 1]), np.array([[0, 1, 0], [0.5, 0, 0], [0, 0.5, 0]]))
    rotations = np.zeros((10, 3, 4))
    rotations[..., 3] = 1.0
    source = tmp_path / "chain.bvh"
    ambulo.save(Motion(chain, np.tile(chain.offsets, (10, 1, 1)), rotations, 30.0), source)
    assert command.run(["picture", str(source), "--out", str(tmp_path / "x.png")]) == 0
    assert (tmp_path / "x.png").is_file()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--start", "900"], "nothing from"),
        (["--columns", "0"], "columns"),
        (["--size", "-3"], "size"),
        (["--size", "1000000"], "too many"),
        (["--start", "nan"], "start"),
        (["--stop", "inf"], "stop"),
        (["--out", "."], "folder"),
    ],
)
def test_refusals(
    take: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str
) -> None:
    assert command.run(["picture", str(take), "--out", str(tmp_path / "x.png"), *arguments]) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "x.png").exists()


def test_a_folder_without_a_database_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(["picture", str(tmp_path)]) == 2
    assert "ambulo build" in capsys.readouterr().err

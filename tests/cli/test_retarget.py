"""The verb `ambulo retarget`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ambulo
from ambulo.cli.main import run
from ambulo.motion.skeleton import Skeleton
from ambulo.synthesis.body import default_skeleton
from ambulo.synthesis.performance import synthesize


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A take, and a character of other names and longer bones."""
    walk = synthesize(minutes=0.2)[0].motion
    walk = walk.slice(0, min(walk.frame_count, 120))
    body = default_skeleton()
    names = tuple(f"rig_{name}" for name in body.names)
    other = Skeleton(names, body.parents, 1.2 * body.offsets, 1.2 * body.end_offsets, body.roles)
    rest = ambulo.Motion(other, other.offsets[None].repeat(5, 0), other.rest_rotations[None].repeat(5, 0), 30.0, "rest")
    ambulo.save(walk, tmp_path / "walk.bvh")
    ambulo.save(rest, tmp_path / "body.bvh")
    return tmp_path / "walk.bvh", tmp_path / "body.bvh"


def test_a_take_goes_on_another_body(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    take, body = files
    folder = take.parent
    options = ["--write-mapping", str(folder / "map.toml"), "--picture", str(folder / "check.png"), "--json"]
    assert run(["retarget", str(take), str(folder / "out.bvh"), "--target", str(body), *options]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["scale"] == pytest.approx(1.2, abs=0.01)
    assert shown["contact_f1"] > 0.98
    assert ambulo.load(folder / "out.bvh").skeleton.names[0] == "rig_Hips"
    assert (folder / "check.png").read_bytes()[:4] == b"\x89PNG"
    assert '"rig_LeftFoot" = "LeftFoot"' in (folder / "map.toml").read_text()
    assert run(["retarget", str(take), str(folder / "again.bvh"), "--target", str(body),
                "--mapping", str(folder / "map.toml")]) == 0  # fmt: skip
    assert (folder / "again.bvh").read_bytes() == (folder / "out.bvh").read_bytes()
    assert "contacts kept" in capsys.readouterr().out


def test_what_is_missing_is_asked_for(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    take, body = files
    out = take.parent / "out.bvh"
    assert run(["retarget", str(take), str(out)]) == 2
    assert "--target" in capsys.readouterr().err
    assert run(["retarget", str(take), str(out), "--target", str(body), "--skip", "100000"]) == 2
    (take.parent / "map.toml").write_text("[joints]\nnobody = 1\n")
    assert (
        run(["retarget", str(take), str(out), "--target", str(body), "--mapping", str(take.parent / "map.toml")]) == 2
    )
    assert not out.exists()

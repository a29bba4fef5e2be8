"""The verb `ambulo pose`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.cli.main import run
from ambulo.motion.skeleton import Skeleton
from ambulo.synthesis.body import default_skeleton
from ambulo.synthesis.performance import synthesize


@pytest.fixture
def points(tmp_path: Path) -> Path:
    path = tmp_path / "points.json"
    path.write_text(
        json.dumps({"left_wrist": [0.4, 1.3, 0.3], "hips": [0.0, 0.9, 0.0], "right_ankle": [-0.1, 0.1, 0.1]})
    )
    return path


def test_a_pose_is_written_in_any_format(points: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("pose.bvh", "pose.glb"):
        out = points.parent / name
        assert run(["pose", "--points", str(points), "-o", str(out), "--floor", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["unreachable"] == []
        assert set(told["errors"]) == {"left_wrist", "hips", "right_ankle"}
        assert max(told["errors"].values()) < 0.001
        assert len(told["points"][0]) == 43
        assert min(at[1] for at in told["points"][0].values()) > -0.003
        motion = ambulo.load(out)
        wrist = motion.skeleton.index("LeftHand")
        from ambulo.motion.kinematics import forward_motion

        assert np.abs(forward_motion(motion).positions[0, wrist] - [0.4, 1.3, 0.3]).max() < 0.002


def test_a_take_of_trackers_on_another_skeleton(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    walk = synthesize(minutes=0.2)[0].motion.slice(0, 60)
    body = default_skeleton()
    other = Skeleton(
        tuple(f"rig_{name}" for name in body.names),
        body.parents,
        0.8 * body.offsets,
        0.8 * body.end_offsets,
        body.roles,
    )
    ambulo.save(
        ambulo.Motion(other, other.offsets[None].repeat(2, 0), other.rest_rotations[None].repeat(2, 0), 30.0, "rest"),
        tmp_path / "rig.bvh",
    )
    from ambulo.motion.kinematics import forward_motion

    p = 0.8 * forward_motion(walk).positions
    frames = [
        {name: p[t, walk.skeleton.index(joint)].tolist() for name, joint in
         (("head", "Head"), ("left_wrist", "LeftHand"), ("right_wrist", "RightHand"))}
        for t in range(0, 60, 2)
    ]  # fmt: skip
    frames[10]["head"] = None  # type: ignore[assignment]
    (tmp_path / "trackers.json").write_text(json.dumps({"rate": 30, "frames": frames}))
    options = ["--skeleton", str(tmp_path / "rig.bvh"), "-o", str(tmp_path / "full.bvh")]
    assert run(["pose", "--points", str(tmp_path / "trackers.json"), *options]) == 0
    assert "30 poses at 30 a second" in capsys.readouterr().out
    made = ambulo.load(tmp_path / "full.bvh")
    assert made.frame_count == 30
    assert made.skeleton.names[0] == "rig_Hips"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"left_wrst": [0, 1, 0]}', "did you mean 'left_wrist'"),
        ('{"left_wrist": [0, 1, 0],\n "hips": oops}', "points.json:2"),
        ('{"left_wrist": [0, 1, 0], "right_wrist": [5, 1, 0]}', "never more than"),
        ("{}", "no point is set"),
    ],
)
def test_bad_points_write_nothing(points: Path, content: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    points.write_text(content)
    out = points.parent / "pose.bvh"
    assert run(["pose", "--points", str(points), "-o", str(out)]) == 2
    assert says in capsys.readouterr().err
    assert not out.exists()


def test_other_refusals(points: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(points.parent / "pose.bvh")
    assert run(["pose", "-o", out]) == 2
    assert "--points" in capsys.readouterr().err
    assert run(["pose", "--points", str(points), "-o", out, "--tolerance", "-1"]) == 2
    assert run(["pose", "--points", str(points), "-o", out, "--height", "175"]) == 2
    assert "metres" in capsys.readouterr().err
    assert run(["pose", "--points", str(points), "-o", out, "--from", "coco17"]) == 2
    assert "17 key points" in capsys.readouterr().err
    assert run(["pose", "--points", str(points), "-o", str(points.parent / "pose.xyz")]) == 2
    assert not (points.parent / "pose.bvh").exists()

"""Real characters: every one loads, and its joints are where three.js puts them."""

from __future__ import annotations

import json
import shutil
import subprocess
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.formats.format import ReadOptions
from ambulo.formats.gltf_container import Document
from ambulo.motion.humanoid import detect_roles
from ambulo.motion.kinematics import forward_motion

WEB = Path(__file__).resolve().parents[2] / "web"

# File: animations, joints, rate. A rest pose alone counts as one.
CHARACTERS = {
    "fox_14clips": (14, 49, 30.0),
    "greenman_4clips": (4, 13, 24.0),
    "horse_14clips": (14, 56, 30.0),
    "human_lowpoly_42": (1, 42, 60.0),
    "human_male_66": (1, 66, 60.0),
    "humanoid_50clips": (50, 53, 24.0),
    "khronos_fox_3clips": (3, 24, 24.0),
    "robot_14clips": (14, 43, 24.0),
}


@pytest.fixture(scope="module")
def characters(real_data: Path) -> Path:
    return real_data / "free" / "characters"


def test_every_character_loads(characters: Path) -> None:
    assert {path.stem for path in characters.glob("*.glb")} == set(CHARACTERS)
    for name, (animations, joints, rate) in CHARACTERS.items():
        motions = ambulo.load_all(characters / f"{name}.glb")
        assert len(motions) == animations, name
        assert {motion.skeleton.joint_count for motion in motions} == {joints}, name
        assert motions[0].rate == rate, name
        for motion in motions:
            assert np.isfinite(motion.positions).all()
            np.testing.assert_allclose(np.linalg.norm(motion.rotations, axis=-1), 1.0, atol=1e-5)
            assert (np.sum(motion.rotations[1:] * motion.rotations[:-1], axis=-1) >= 0.0).all()
            assert motion.source.unit == "metre"
            assert len({other.name for other in motions}) == animations
        if animations == 1:
            assert [note.code for note in motions[0].source.warnings] == ["rest_pose"]
            assert motions[0].frame_count == 1


def test_the_humanoids_have_their_roles(characters: Path) -> None:
    for name in ("humanoid_50clips", "human_male_66", "human_lowpoly_42"):
        motion = ambulo.load_all(characters / f"{name}.glb")[-1]
        report = detect_roles(motion.skeleton, motion)
        for role in ("hips", "head", "left_foot", "right_foot", "left_hand", "right_hand"):
            assert role in report.roles, (name, role, report.evidence)
        feet = forward_motion(motion).positions[0, [report.roles["left_foot"], report.roles["right_foot"]]]
        assert feet[0, 0] > feet[1, 0]  # the left is at +x of one who faces +z
        assert (np.abs(feet[:, 1]) < 0.2).all()


@pytest.mark.parametrize("name", CHARACTERS)
def test_three_js_puts_the_joints_where_we_do(characters: Path, name: str) -> None:
    if shutil.which("node") is None or not (WEB / "node_modules" / "three").is_dir():
        pytest.skip("Node and three.js are not installed: run `npm ci` in web/")
    path = characters / f"{name}.glb"
    motions = ambulo.load_all(path)
    root = Document(path, ReadOptions()).root
    node_of = {node.name: str(index) for index, node in enumerate(root.nodes)}
    node_of |= {root.nodes[index].name: str(index) for index in root.skins[0].joints}  # a mesh may have a joint's name
    times = [0.0, 0.25, 0.5]
    words = ["node", str(WEB / "engines" / "positions.mjs"), str(path), "PLACEHOLDER"]
    starts = {}
    for motion in motions:
        late = next((note.message for note in motion.source.notes if note.code == "late_start"), "")
        starts[motion.name] = float(late.split(" is at ")[1].split(" s;")[0]) if late else 0.0
    start = max(starts.values())
    assert set(starts.values()) <= {0.0, start}
    words[-1] = json.dumps([*times, *(time + start for time in times)])
    seen = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    size = float(np.ptp(motions[0].skeleton.rest_positions(), axis=0).max())
    rest = np.array([seen["rest"][node_of[joint]] for joint in motions[0].skeleton.names])
    np.testing.assert_allclose(rest, motions[0].skeleton.rest_positions(), atol=1e-4 * max(size, 1.0))
    by_name = {animation["name"]: animation for animation in seen["animations"]}
    compared = 0
    for motion in motions if by_name else []:
        pose = forward_motion(motion).positions
        later = len(times) if starts[motion.name] else 0
        for place, seconds in enumerate(times):
            frame = seconds * motion.rate
            if abs(frame - round(frame)) > 1e-6 or round(frame) >= motion.frame_count:
                continue
            theirs = by_name[motion.name]["positions"][place + later]
            theirs = np.array([theirs[node_of[joint]] for joint in motion.skeleton.names])
            np.testing.assert_allclose(theirs, pose[round(frame)], atol=1e-4 * max(size, 1.0), err_msg=motion.name)
            compared += 1
    assert compared >= 1.5 * len(by_name)


def test_a_character_written_and_read_again_is_the_same(characters: Path, tmp_path: Path) -> None:
    motions = ambulo.load_all(characters / "humanoid_50clips.glb")
    ambulo.save(motions, tmp_path / "a.glb")
    again = ambulo.load_all(tmp_path / "a.glb")
    assert [motion.name for motion in again] == [motion.name for motion in motions]
    for a, b in zip(again, motions, strict=True):
        assert a.rate == b.rate
        np.testing.assert_allclose(a.positions, b.positions, atol=1e-6)
        np.testing.assert_allclose(a.rotations, b.rotations, atol=1e-6)


def test_reading_takes_little_memory(characters: Path) -> None:
    for name in ("humanoid_50clips", "horse_14clips"):
        path = characters / f"{name}.glb"
        ambulo.load_all(path)
        tracemalloc.start()
        ambulo.load_all(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 10 * path.stat().st_size


@pytest.mark.parametrize("name", ["fox_14clips", "horse_14clips", "humanoid_50clips", "robot_14clips"])
def test_a_character_written_as_bvh_still_stands(characters: Path, tmp_path: Path, name: str) -> None:
    """The zero pose of these rigs lies along a trunk or stands on its head; BVH says nothing of the up axis."""
    for clip in ambulo.load_all(characters / f"{name}.glb"):
        ambulo.save(clip, tmp_path / "clip.bvh")
        assert ambulo.load(tmp_path / "clip.bvh").source.up == "+Y", clip.name

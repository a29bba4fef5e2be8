"""What ambulo writes, as readers see it that others wrote: three.js, the Khronos validator, and Blender's rules."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ambulo
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion
from ambulo.synthesis.performance import synthesize

WEB = Path(__file__).resolve().parents[2] / "web"
TIMES = [0.0, 0.1, 0.2, 0.5, 1.0]
TOLERANCE = 1e-4


def _beside(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"ambulo_test_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


random_motions = _beside("random_motions")
read_blender = _beside("blender_bvh").read_blender


@pytest.fixture(scope="module")
def node() -> Path:
    """The folder of Node scripts, where Node and their packages are there."""
    if shutil.which("node") is None:
        pytest.skip("Node is not installed")
    for package in ("three", "gltf-validator"):
        if not (WEB / "node_modules" / package).is_dir():
            pytest.skip(f"the package {package} is not installed: run `npm ci` in web/")
    return WEB / "engines"


def run_node(*words: object) -> Any:
    done = subprocess.run(["node", *map(str, words)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ours(motion: Motion, seconds: float) -> np.ndarray:
    """World positions at a time, which must be that of a frame."""
    frame = seconds * motion.rate
    assert abs(frame - round(frame)) < 1e-6
    return forward_motion(motion).positions[min(round(frame), motion.frame_count - 1)]


@pytest.fixture(scope="module")
def walk() -> Motion:
    """Five seconds of one of the embedded takes."""
    motion = synthesize(minutes=0.2)[0].motion
    return motion.slice(0, round(5 * motion.rate) + 1)


def samples(walk: Motion) -> dict[str, list[Motion]]:
    """Motions of every kind that the writer knows."""
    make, skeleton_of = random_motions.random_motion, random_motions.random_skeleton
    one = skeleton_of(2, 9)
    return {
        "walk": [walk],
        "several": [make(seed, one, 40, 30.0, name=f"clip {seed}") for seed in range(3)],
        "translating": [make(4, skeleton_of(4, 14), 40, 30.0, translating=True)],
        "one_joint": [make(5, skeleton_of(5, 1), 12, 10.0)],
        "many_joints": [make(6, skeleton_of(6, 300), 12, 10.0)],
    }


def test_the_khronos_validator_finds_nothing(node: Path, walk: Motion, tmp_path: Path) -> None:
    files = []
    for name, motions in samples(walk).items():
        for file in (tmp_path / f"{name}.glb", tmp_path / f"{name}.gltf"):
            ambulo.save(motions, file)
            files.append(file)
    ambulo.save(walk, tmp_path / "bare.glb", body=False)
    reports = run_node(node / "validate.mjs", *files, tmp_path / "bare.glb")
    assert len(reports) == len(files) + 1
    for file, report in reports.items():
        issues = report["issues"]
        assert (issues["numErrors"], issues["numWarnings"]) == (0, 0), (file, issues["messages"][:5])
        assert report["info"]["animationCount"] >= 1


def test_the_validator_would_find_something(node: Path, walk: Motion, tmp_path: Path) -> None:
    ambulo.save(walk, tmp_path / "a.gltf")
    root = json.loads((tmp_path / "a.gltf").read_text())
    root["accessors"][-1]["count"] += 1
    (tmp_path / "a.gltf").write_text(json.dumps(root))
    (report,) = run_node(node / "validate.mjs", tmp_path / "a.gltf").values()
    assert report["issues"]["numErrors"] > 0


@pytest.mark.parametrize("extension", [".glb", ".gltf"])
def test_three_js_puts_the_joints_of_a_gltf_where_we_do(
    node: Path, walk: Motion, tmp_path: Path, extension: str
) -> None:
    for name, motions in samples(walk).items():
        path = tmp_path / f"{name}{extension}"
        ambulo.save(motions, path)
        seen = run_node(node / "positions.mjs", path, json.dumps(TIMES))
        assert len(seen["animations"]) == len(motions)
        skeleton = motions[0].skeleton
        rest = np.array([seen["rest"][str(joint)] for joint in range(skeleton.joint_count)])
        np.testing.assert_allclose(rest, skeleton.rest_positions(), atol=TOLERANCE)
        for motion, animation in zip(motions, seen["animations"], strict=True):
            assert animation["name"] == motion.name
            assert animation["duration"] == pytest.approx(motion.duration, abs=1e-5)
            for seconds, positions in zip(TIMES, animation["positions"], strict=True):
                theirs = np.array([positions[str(joint)] for joint in range(skeleton.joint_count)])
                np.testing.assert_allclose(theirs, ours(motion, seconds), atol=TOLERANCE, err_msg=name)


def test_three_js_shows_a_body_around_the_joints(node: Path, walk: Motion, tmp_path: Path) -> None:
    ambulo.save(walk, tmp_path / "a.glb")
    (mesh,) = run_node(node / "positions.mjs", tmp_path / "a.glb", "[0]")["meshes"]
    rest = walk.skeleton.rest_positions()
    assert mesh["vertices"] >= 24 * (walk.skeleton.joint_count - 1)
    low, high = np.array(mesh["low"]), np.array(mesh["high"])
    assert (low <= rest.min(axis=0) + 1e-3).all()
    assert (high >= rest.max(axis=0) - 1e-3).all()
    assert (high - low < np.ptp(rest, axis=0) + 0.5).all()


def plain_names(motion: Motion) -> Motion:
    """The same motion with joint names that three.js can read from a BVH: no blanks, no dots."""
    names = tuple(name.replace(" ", "_").replace(".", "_") for name in motion.skeleton.names)
    return replace(motion, skeleton=replace(motion.skeleton, names=names))


def zero_root(motion: Motion) -> Motion:
    """The same motion with its root's offset at zero, as most BVH files have it."""
    offsets = motion.skeleton.offsets.copy()
    offsets[0] = 0.0
    return replace(motion, skeleton=replace(motion.skeleton, offsets=offsets))


def bvh_samples(walk: Motion) -> list[Motion]:
    skeleton = random_motions.random_skeleton(8, 9, rest=False)
    return [zero_root(walk), plain_names(random_motions.random_motion(8, skeleton, 40, 30.0))]


def test_three_js_puts_the_joints_of_a_bvh_where_we_do(node: Path, walk: Motion, tmp_path: Path) -> None:
    """Where the root's OFFSET is zero and no other joint translates: three.js adds position channels to the OFFSET."""
    for motion in bvh_samples(walk):
        ambulo.save(motion, tmp_path / "a.bvh", unit="metre")
        (animation,) = run_node(node / "positions.mjs", tmp_path / "a.bvh", json.dumps(TIMES))["animations"]
        for seconds, positions in zip(TIMES, animation["positions"], strict=True):
            theirs = np.array([positions[str(joint)] for joint in range(motion.skeleton.joint_count)])
            np.testing.assert_allclose(theirs, ours(motion, seconds), atol=TOLERANCE)


def test_where_three_js_and_blender_differ(node: Path, tmp_path: Path) -> None:
    """A root with an OFFSET: three.js counts it twice, Blender and ambulo do not."""
    skeleton = random_motions.random_skeleton(9, 5, rest=False)
    offsets = skeleton.offsets.copy()
    offsets[0] = [0.0, 1.0, 0.0]
    motion = plain_names(random_motions.random_motion(9, replace(skeleton, offsets=offsets), 31, 30.0))
    ambulo.save(motion, tmp_path / "a.bvh", unit="metre")
    (animation,) = run_node(node / "positions.mjs", tmp_path / "a.bvh", "[1.0]")["animations"]
    theirs = np.array([animation["positions"][0][str(joint)] for joint in range(5)])
    np.testing.assert_allclose(theirs - ours(motion, 1.0), np.tile([0, 1, 0], (5, 1)), atol=TOLERANCE)
    _, blender = read_blender(tmp_path / "a.bvh")
    np.testing.assert_allclose(blender[30], ours(motion, 1.0), atol=TOLERANCE)


@pytest.mark.parametrize("order", ["ZXY", "XYZ", "YZX"])
def test_blenders_rules_put_the_joints_of_a_bvh_where_we_do(walk: Motion, tmp_path: Path, order: str) -> None:
    skeleton = random_motions.random_skeleton(10, 12, rest=False)
    translating = random_motions.random_motion(10, skeleton, 30, 30.0, translating=True)
    for motion in (*bvh_samples(walk), walk, translating):
        ambulo.save(motion, tmp_path / "a.bvh", unit="metre", order=order)
        names, positions = read_blender(tmp_path / "a.bvh")
        assert names == list(motion.skeleton.names)
        np.testing.assert_allclose(positions, forward_motion(motion).positions, atol=TOLERANCE)

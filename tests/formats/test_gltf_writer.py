"""What is written as glTF comes back as the same motion."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ambulo
from ambulo.errors import FormatError
from ambulo.formats.gltf_body import bone_surface
from ambulo.motion.motion import Motion, Source
from ambulo.motion.skeleton import Skeleton

_spec = importlib.util.spec_from_file_location("ambulo_test_motions", Path(__file__).with_name("random_motions.py"))
assert _spec is not None and _spec.loader is not None
motions_of = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(motions_of)
random_motion, random_skeleton = motions_of.random_motion, motions_of.random_skeleton


def same(a: Motion, b: Motion) -> None:
    assert a.skeleton.names == b.skeleton.names
    np.testing.assert_array_equal(a.skeleton.parents, b.skeleton.parents)
    np.testing.assert_allclose(a.skeleton.offsets, b.skeleton.offsets, atol=1e-7)
    np.testing.assert_allclose(a.skeleton.end_offsets, b.skeleton.end_offsets, atol=1e-7)
    np.testing.assert_allclose(a.skeleton.rest_rotations, b.skeleton.rest_rotations, atol=1e-6)
    assert a.rate == b.rate
    assert a.positions.shape == b.positions.shape
    np.testing.assert_allclose(a.positions, b.positions, atol=2e-7, rtol=1e-6)
    np.testing.assert_allclose(np.abs(np.sum(a.rotations * b.rotations, axis=-1)), 1.0, atol=1e-6)


@settings(max_examples=25)
@given(
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.integers(4, 40),
    st.sampled_from([24.0, 25.0, 30.0, 60.0, 120.0, 240.0, 30000 / 1001]),
    st.booleans(),
    st.sampled_from(["a.glb", "a.gltf"]),
)
def test_write_then_read_is_the_identity(
    tmp_path_factory: Any, seed: int, joints: int, frames: int, rate: float, translating: bool, name: str
) -> None:
    motion = random_motion(seed, random_skeleton(seed, joints), frames, rate, translating=translating)
    path = tmp_path_factory.mktemp("round") / name
    ambulo.save(motion, path)
    same(ambulo.load(path), motion)


def test_several_motions_are_several_animations(tmp_path: Path) -> None:
    skeleton = random_skeleton(1, 6)
    motions = [
        random_motion(seed, skeleton, 20 + seed, rate, name=name)
        for seed, (rate, name) in enumerate([(30.0, "walk"), (60.0, "run"), (24.0, "Kauern 腰")])
    ]
    ambulo.save(motions, tmp_path / "a.glb")
    again = ambulo.load_all(tmp_path / "a.glb")
    assert [motion.name for motion in again] == ["walk", "run", "Kauern 腰"]
    for a, b in zip(again, motions, strict=True):
        same(a, b)


def test_another_body_length_on_the_same_joints_keeps_its_positions(tmp_path: Path) -> None:
    first = random_motion(0, random_skeleton(3, 5, rest=False), 10, 30.0, name="a")
    longer = replace(first.skeleton, offsets=first.skeleton.offsets * 1.3)
    second = random_motion(1, longer, 10, 30.0, name="b")
    ambulo.save([first, second], tmp_path / "a.glb")
    again = ambulo.load_all(tmp_path / "a.glb")
    np.testing.assert_allclose(again[1].positions, second.positions, atol=1e-6)


def test_licence_and_attribution_stay_with_the_file(tmp_path: Path) -> None:
    source = Source(licence="CC BY 4.0", attribution="A. Dancer")
    motion = replace(random_motion(0, random_skeleton(0, 3), 5, 30.0), source=source)
    ambulo.save(motion, tmp_path / "a.glb")
    again = ambulo.load(tmp_path / "a.glb").source
    assert (again.licence, again.attribution) == ("CC BY 4.0", "A. Dancer")


def test_joints_at_rest_get_no_channels(tmp_path: Path) -> None:
    skeleton = random_skeleton(5, 6)
    motion = random_motion(5, skeleton, 8, 30.0)
    rotations = motion.rotations.copy()
    rotations[:, 3] = skeleton.rest_rotations[3]
    motion = replace(motion, rotations=rotations)
    ambulo.save(motion, tmp_path / "a.gltf")
    channels = json.loads((tmp_path / "a.gltf").read_text())["animations"][0]["channels"]
    moved = {(channel["target"]["node"], channel["target"]["path"]) for channel in channels}
    assert moved == {(0, "translation"), *((joint, "rotation") for joint in (0, 1, 2, 4, 5))}
    same(ambulo.load(tmp_path / "a.gltf"), motion)


def test_a_body_can_be_left_out(tmp_path: Path) -> None:
    motion = random_motion(0, random_skeleton(0, 4), 5, 30.0)
    ambulo.save(motion, tmp_path / "a.gltf", body=False)
    root = json.loads((tmp_path / "a.gltf").read_text())
    assert "meshes" not in root
    same(ambulo.load(tmp_path / "a.gltf"), motion)


def test_the_body_is_closed_points_outwards_and_follows_its_joint() -> None:
    skeleton = random_skeleton(7, 8)
    surface = bone_surface(skeleton)
    corners = surface.positions.reshape(-1, 8, 3, 3).astype(float)
    volume = np.einsum("bti,bti->b", corners[:, :, 0], np.cross(corners[:, :, 1], corners[:, :, 2])) / 6
    assert (volume > 0).all()
    areas = np.cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
    np.testing.assert_allclose(areas.sum(axis=1), 0, atol=1e-6)
    tips = surface.positions.reshape(-1, 24, 3)[:, 0]
    owners = surface.joints.reshape(-1, 24)
    assert (owners == owners[:, :1]).all()
    np.testing.assert_allclose(tips, skeleton.rest_positions()[owners[:, 0]], atol=1e-6)


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    motion = random_motion(0, random_skeleton(0, 3), 5, 30.0)
    path = tmp_path / "a.glb"

    def refused(what: Any, **options: Any) -> str:
        with pytest.raises(FormatError) as caught:
            ambulo.save(what, path, **options)
        assert not path.exists()
        return str(caught.value)

    positions = motion.positions.copy()
    positions[2, 1] = np.nan
    error = refused(replace(motion, positions=positions))
    assert "frame 2" in error
    assert "Joint 1.1" in error
    assert "no frames" in refused(motion.slice(0, 0))
    assert "no motion" in refused([])
    assert "did you mean 'body'" in refused(motion, bodi=True)
    other = random_motion(0, random_skeleton(0, 4), 5, 30.0, name="other")
    assert "'other' has other joints" in refused([motion, other])


def test_several_roots_get_one_node_above_them(tmp_path: Path) -> None:
    skeleton = Skeleton(("a", "b"), np.array([-1, -1]), np.array([[0, 0, 0], [1, 0, 0]]))
    rotations = np.tile([0, 0, 0, 1], (3, 2, 1))
    motion = Motion(skeleton, np.tile(skeleton.offsets, (3, 1, 1)), rotations, 30.0)
    ambulo.save(motion, tmp_path / "a.glb")
    again = ambulo.load(tmp_path / "a.glb")
    assert again.skeleton.names == ("root", "a", "b")
    np.testing.assert_allclose(again.positions[:, 1:], motion.positions, atol=1e-7)

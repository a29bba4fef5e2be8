"""What the glTF reader makes of files that were written number by number."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

import ambulo
from ambulo.errors import FormatError
from ambulo.formats.gltf_rates import guess_rate
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion

_spec = importlib.util.spec_from_file_location("ambulo_test_gltf_files", Path(__file__).with_name("gltf_files.py"))
assert _spec is not None and _spec.loader is not None
files = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = files
_spec.loader.exec_module(files)
Gltf, chain = files.Gltf, files.chain

QUARTER_Z = [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]
QUARTER_X = [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]


def world(motion: Motion, frame: int = 0) -> np.ndarray:
    return forward_motion(motion).positions[frame]


def refused(path: Path, **options: Any) -> str:
    with pytest.raises(FormatError) as caught:
        ambulo.load_all(path, **options)
    assert caught.value.path == path
    return str(caught.value)


def moving(count: int = 2, frames: int = 5) -> Any:
    """A chain whose first joint moves along x, a metre a second, at 30 frames a second."""
    gltf = Gltf(chain(count), list(range(count)))
    times = np.arange(frames) / 30.0
    gltf.channel(0, "translation", times, [[t, 1, 0] for t in times])
    return gltf


def test_glb_inline_and_external_buffers_give_the_same(tmp_path: Path) -> None:
    gltf = moving()
    first = ambulo.load(gltf.save(tmp_path / "a.glb"))
    second = ambulo.load(gltf.save(tmp_path / "a.gltf"))
    root = json.loads(gltf.json(uri=False))
    root["buffers"][0]["uri"] = "the%20buffer.bin"
    (tmp_path / "b.gltf").write_text(json.dumps(root), encoding="utf-8-sig")
    (tmp_path / "the buffer.bin").write_bytes(gltf.data)
    third = ambulo.load(tmp_path / "b.gltf")
    for other in (second, third):
        np.testing.assert_array_equal(other.positions, first.positions)
    assert [m.source.format for m in (first, second, third)] == ["glb", "gltf", "gltf"]
    assert first.rate == 30.0
    assert first.duration == pytest.approx(4 / 30)
    assert [m.name for m in (first, second, third)] == ["a", "a", "b"]


@given(
    st.lists(st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1), min_size=2, max_size=5),
    st.integers(1, 6),
)
def test_linear_rotations_are_slerps_along_the_shorter_way(tmp_path_factory: Any, keys: list[Any], step: int) -> None:
    q = np.array(keys, np.float32)
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    gltf = Gltf(chain(1), [0])
    gltf.channel(0, "rotation", np.arange(len(q)) * step / 30.0, q)
    motion = ambulo.load(gltf.save(tmp_path_factory.mktemp("slerp") / "a.glb"), rate=30)
    frames = np.arange(motion.frame_count)
    want = Slerp(np.arange(len(q)) * step, Rotation.from_quat(q))(np.minimum(frames, (len(q) - 1) * step))
    angle = (want.inv() * Rotation.from_quat(motion.rotations[:, 0])).magnitude()
    # Two keys half a turn apart have no shorter way.
    turns = (Rotation.from_quat(q[:-1]).inv() * Rotation.from_quat(q[1:])).magnitude()
    if (turns < np.pi - 1e-2).all():
        assert angle.max() < 2e-3
    assert (np.sum(motion.rotations[1:] * motion.rotations[:-1], axis=-1) >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(motion.rotations, axis=-1), 1.0, atol=1e-6)


def test_a_key_and_its_negative_are_one_rotation(tmp_path: Path) -> None:
    gltf = Gltf(chain(2), [0, 1])
    keys = [[0, 0, 0, 1], [0, 0, 0, -1], QUARTER_Z, [-x for x in QUARTER_Z]]
    gltf.channel(0, "rotation", [0, 0.5, 1, 1.5], keys)
    motion = ambulo.load(gltf.save(tmp_path / "a.glb"))
    tip = forward_motion(motion).positions[:, 1]
    half = round(motion.rate / 2)
    np.testing.assert_allclose(tip[: half + 1] - [0, 2, 0], 0, atol=1e-6)
    np.testing.assert_allclose(tip[2 * half :] - [-1, 1, 0], 0, atol=1e-6)
    steps = np.linalg.norm(np.diff(tip, axis=0), axis=1)
    assert steps.max() < 1.1 * np.pi / 2 / half


def test_a_cubic_rotation_is_normalized(tmp_path: Path) -> None:
    gltf = Gltf(chain(1), [0])
    zero = [0, 0, 0, 0]
    gltf.channel(0, "rotation", [0, 1], [zero, [0, 0, 0, 1], zero, zero, QUARTER_Z, zero], "CUBICSPLINE")
    motion = ambulo.load(gltf.save(tmp_path / "a.glb"))
    np.testing.assert_allclose(np.linalg.norm(motion.rotations, axis=-1), 1.0, atol=1e-6)
    middle = Rotation.from_quat(motion.rotations[motion.frame_count // 2, 0]).magnitude()
    assert middle == pytest.approx(np.pi / 4, abs=1e-5)


@pytest.mark.parametrize(("kind", "largest"), [("b", 127), ("B", 255), ("h", 32767), ("H", 65535)])
def test_normalized_integers(tmp_path: Path, kind: str, largest: int) -> None:
    gltf = Gltf(chain(2), [0, 1])
    values = np.zeros((2, 4), kind)
    values[:, 3] = largest
    values[1, 0] = largest
    gltf.channel(0, "rotation", [0, 1], gltf.accessor(values, kind, normalized=True))
    motion = ambulo.load(gltf.save(tmp_path / "a.glb"))
    np.testing.assert_allclose(motion.rotations[-1, 0], QUARTER_X, atol=1e-6)
    np.testing.assert_allclose(world(motion, -1)[1], [0, 1, 1], atol=1e-5)


def test_interleaved_misaligned_and_sparse_values(tmp_path: Path) -> None:
    gltf = Gltf(chain(1), [0])
    rows = np.zeros((3, 5), np.float32)
    rows[:, 0], rows[:, 1:4] = [0, 0.5, 1], [[0, 1, 0], [1, 1, 0], [2, 1, 0]]
    view = gltf.view(rows.tobytes(), byteStride=20)
    odd = gltf.view(b"\0" + rows[:, 1:4].tobytes())
    gltf.root["accessors"] += [
        {"bufferView": view, "componentType": 5126, "count": 3, "type": "SCALAR"},
        {"bufferView": view, "byteOffset": 4, "componentType": 5126, "count": 3, "type": "VEC3"},
        {"bufferView": odd, "byteOffset": 1, "componentType": 5126, "count": 3, "type": "VEC3"},
    ]
    gltf.channel(0, "translation", 0, 1, animation="interleaved")
    gltf.channel(0, "translation", 0, 2, animation="misaligned")
    sparse = {
        "count": 2,
        "indices": {"bufferView": gltf.view(np.array([1, 2], np.uint16).tobytes()), "componentType": 5123},
        "values": {"bufferView": gltf.view(np.array([[1, 1, 0], [2, 1, 0]], np.float32).tobytes())},
    }
    gltf.root["accessors"].append({"componentType": 5126, "count": 3, "type": "VEC3", "sparse": sparse})
    gltf.channel(0, "translation", 0, 3, animation="sparse")
    motions = ambulo.load_all(gltf.save(tmp_path / "a.glb"))
    assert [motion.name for motion in motions] == ["interleaved", "misaligned", "sparse"]
    np.testing.assert_array_equal(motions[0].positions, motions[1].positions)
    half = motions[0].frame_count // 2
    np.testing.assert_allclose(motions[0].positions[[0, half, -1], 0], [[0, 1, 0], [1, 1, 0], [2, 1, 0]])
    np.testing.assert_allclose(motions[2].positions[[0, half, -1], 0], [[0, 0, 0], [1, 1, 0], [2, 1, 0]])


def test_nodes_between_and_above_joints_are_folded_in(tmp_path: Path) -> None:
    nodes = [
        {"name": "scene", "rotation": QUARTER_Z, "scale": [2, 2, 2], "children": [1]},
        {"name": "Hips", "translation": [1, 0, 0], "children": [2]},
        {"name": "helper", "translation": [0, 1, 0], "rotation": QUARTER_X, "scale": [0.5, 0.5, 0.5], "children": [3]},
        {"name": "Spine", "translation": [0, 2, 0], "children": [4]},
        {"name": "Head", "translation": [0, 1, 0]},
    ]
    gltf = Gltf(nodes, [1, 3, 4])
    gltf.channel(2, "translation", [0, 1], [[0, 1, 0], [0, 3, 0]])
    motion = ambulo.load(gltf.save(tmp_path / "a.gltf"))
    assert motion.skeleton.names == ("Hips", "Spine", "Head")
    # World: about z by 90 degrees and twice as large; below the helper about x by 90 degrees and half as large.
    np.testing.assert_allclose(world(motion, 0), [[0, 2, 0], [-2, 2, 2], [-2, 2, 3]], atol=1e-5)
    np.testing.assert_allclose(world(motion, -1), [[0, 2, 0], [-6, 2, 2], [-6, 2, 3]], atol=1e-5)
    np.testing.assert_allclose(motion.skeleton.rest_positions(), world(motion, 0), atol=1e-5)


def test_a_matrix_is_its_translation_rotation_and_scale(tmp_path: Path) -> None:
    turn = Rotation.from_quat([0.1, -0.4, 0.3, 0.8])
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = turn.as_matrix() * 2.0, [1, 2, 3]
    plain = chain(3)
    plain[0] |= {"translation": [1, 2, 3], "rotation": turn.as_quat().tolist(), "scale": [2, 2, 2]}
    other = chain(3)
    del other[0]["translation"]
    other[0]["matrix"] = matrix.T.reshape(-1).tolist()
    poses = []
    for name, nodes in (("a", plain), ("b", other)):
        gltf = Gltf(nodes, [0, 1, 2])
        gltf.channel(1, "rotation", [0, 1], [[0, 0, 0, 1], QUARTER_Z])
        poses.append(ambulo.load(gltf.save(tmp_path / f"{name}.gltf")))
    np.testing.assert_allclose(poses[0].positions, poses[1].positions, atol=1e-6)
    np.testing.assert_allclose(poses[0].rotations, poses[1].rotations, atol=1e-6)
    np.testing.assert_allclose(world(poses[0], 0)[1], turn.apply([0, 2, 0]) + np.array([1, 2, 3]), atol=1e-5)


@pytest.mark.parametrize("scale", [[1, 2, 3], [-1, 1, 1], [-1, -1, -1], [1.5, 1.5, -0.5]])
def test_uneven_and_mirroring_scales_keep_positions(tmp_path: Path, scale: list[float]) -> None:
    nodes = chain(4)
    turn = Rotation.from_quat([0.1, -0.4, 0.3, 0.8])
    nodes[0]["scale"] = scale
    nodes[1]["rotation"] = turn.as_quat().tolist()
    nodes[2]["translation"] = [0.3, 0.4, 0.5]
    gltf = Gltf(nodes, [0, 1, 2, 3])
    gltf.channel(2, "rotation", [0, 1], [[0, 0, 0, 1], QUARTER_Z])
    motion = ambulo.load(gltf.save(tmp_path / "a.gltf"))
    assert [note.code for note in motion.source.warnings] == ["uneven_scale"]
    first = np.array([0, 1, 0])
    second = first + np.diag(scale) @ [0, 1, 0]
    third = second + np.diag(scale) @ turn.apply([0.3, 0.4, 0.5])
    fourth = third + np.diag(scale) @ turn.apply([0, 1, 0])
    np.testing.assert_allclose(world(motion, 0), [first, second, third, fourth], atol=1e-5)
    fourth = third + np.diag(scale) @ turn.apply([-1, 0, 0])
    np.testing.assert_allclose(world(motion, -1), [first, second, third, fourth], atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(motion.rotations, axis=-1), 1.0, atol=1e-5)


def test_scale_over_time_moves_what_is_below(tmp_path: Path) -> None:
    gltf = Gltf(chain(3), [0, 1, 2])
    gltf.channel(1, "scale", [0, 1], [[1, 1, 1], [2, 2, 2]])
    motion = ambulo.load(gltf.save(tmp_path / "a.glb"))
    tip = forward_motion(motion).positions[:, 2, 1]
    np.testing.assert_allclose(tip, 3 + np.linspace(0, 1, motion.frame_count), atol=1e-6)
    assert "scale" in [note.code for note in motion.source.notes]


def test_a_scale_that_only_the_clip_has_holds_at_rest_too(tmp_path: Path) -> None:
    nodes = [{"name": "Armature", "children": [1]}, *chain(2)]
    nodes[1]["children"] = [2]
    gltf = Gltf(nodes, [1, 2])
    gltf.channel(0, "scale", [0, 1], [[0.01] * 3, [0.01] * 3])
    gltf.channel(1, "translation", [0, 1], [[0, 1, 0], [5, 1, 0]])
    motion = ambulo.load(gltf.save(tmp_path / "a.glb"))
    np.testing.assert_allclose(motion.skeleton.rest_positions(), [[0, 0.01, 0], [0, 0.02, 0]], atol=1e-7)
    np.testing.assert_allclose(world(motion, -1), [[0.05, 0.01, 0], [0.05, 0.02, 0]], atol=1e-7)


def test_without_a_skin_the_moved_nodes_are_the_joints(tmp_path: Path) -> None:
    nodes = [{"name": "scene", "children": [1, 4]}, *chain(3), {"name": "lamp"}]
    for node in nodes[1:3]:
        node["children"] = [child + 1 for child in node["children"]]
    gltf = Gltf(nodes)
    gltf.channel(1, "rotation", [0, 1], [[0, 0, 0, 1], QUARTER_Z])
    motion = ambulo.load(gltf.save(tmp_path / "a.glb"))
    assert motion.skeleton.names == ("joint_0", "joint_1", "joint_2")
    np.testing.assert_allclose(world(motion, -1)[2], [-2, 1, 0], atol=1e-5)


def test_several_topmost_joints_get_the_node_above_them(tmp_path: Path) -> None:
    nodes = [{"name": "Armature", "children": [1, 2]}, {"name": "left"}, {"name": "right"}]
    gltf = Gltf(nodes, [1, 2])
    gltf.channel(1, "translation", [0, 1], [[0, 0, 0], [1, 0, 0]])
    motion = ambulo.load(gltf.save(tmp_path / "a.glb"))
    assert motion.skeleton.names == ("Armature", "left", "right")
    assert motion.skeleton.parents.tolist() == [-1, 0, 0]
    gltf = Gltf(nodes[1:], [0, 1])
    gltf.channel(0, "translation", [0, 1], [[0, 0, 0], [1, 0, 0]])
    motion = ambulo.load(gltf.save(tmp_path / "b.glb"))
    assert motion.skeleton.names == ("root", "left", "right")
    np.testing.assert_allclose(world(motion, -1), [[0, 0, 0], [1, 0, 0], [0, 0, 0]])


def test_skins_of_one_body_are_joined_and_two_bodies_are_two_motions(tmp_path: Path) -> None:
    nodes = chain(3)
    for index, node in enumerate(chain(2)):
        node["children"] = [4] if index == 0 else []
        node["name"] = f"other_{index}"
        nodes.append(node)
    gltf = Gltf(nodes)
    gltf.root["skins"] = [{"joints": [0, 1]}, {"joints": [2]}, {"joints": [3, 4]}]
    gltf.channel(0, "translation", [0, 1], [[0, 0, 0], [1, 0, 0]], animation="both")
    gltf.channel(3, "translation", [0, 1], [[0, 0, 0], [2, 0, 0]], animation="both")
    gltf.channel(4, "rotation", [0, 1], [[0, 0, 0, 1], QUARTER_Z], animation="one")
    path = gltf.save(tmp_path / "a.glb")
    motions = ambulo.load_all(path)
    assert [motion.name for motion in motions] == ["both_joint_0", "both_other_0", "one_other_0"]
    assert [motion.skeleton.joint_count for motion in motions] == [3, 2, 2]
    assert motions[1].positions[-1, 0, 0] == 2.0
    with pytest.raises(FormatError, match="3 animations"):
        ambulo.load(path)


def test_names_that_are_missing_or_double(tmp_path: Path) -> None:
    nodes = chain(4)
    nodes[1]["name"] = nodes[2]["name"] = "Bone"
    del nodes[3]["name"]
    motion = ambulo.load(Gltf(nodes, [0, 1, 2, 3]).save(tmp_path / "a.gltf"))
    assert motion.skeleton.names == ("joint_0", "Bone", "Bone#2", "node_3")
    assert "duplicate_name" in [note.code for note in motion.source.warnings]


def test_no_animation_is_the_rest_pose(tmp_path: Path) -> None:
    motion = ambulo.load(Gltf(chain(3), [0, 1, 2]).save(tmp_path / "a.gltf"))
    assert motion.frame_count == 1
    assert [note.code for note in motion.source.warnings] == ["rest_pose"]
    np.testing.assert_allclose(world(motion)[:, 1], [1, 2, 3])
    assert "neither" not in refused(Gltf(chain(2)).save(tmp_path / "b.gltf"))
    assert "no skin and no animation" in refused(tmp_path / "b.gltf")


def test_time_begins_at_the_first_key_of_all_channels(tmp_path: Path) -> None:
    gltf = Gltf(chain(2), [0, 1])
    gltf.channel(0, "translation", [1.25, 2.25], [[0, 0, 0], [1, 0, 0]])
    gltf.channel(1, "rotation", [1.75, 2.25], [[0, 0, 0, 1], QUARTER_Z])
    motion = ambulo.load(gltf.save(tmp_path / "a.glb"))
    assert motion.duration == 1.0
    half = motion.frame_count // 2
    np.testing.assert_allclose(motion.rotations[: half + 1, 1] - [0, 0, 0, 1], 0, atol=1e-6)
    assert motion.positions[half, 0, 0] == pytest.approx(0.5, abs=1e-6)
    assert "late_start" in [note.code for note in motion.source.notes]


@given(
    st.sampled_from([10.0, 12.0, 24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 90.0, 100.0, 120.0, 240.0, 30000 / 1001]),
    st.integers(4, 400),
    st.integers(0, 200),
)
def test_the_rate_of_sampled_keys_is_found(rate: float, count: int, first: int) -> None:
    times = (np.arange(first, first + count) / rate).astype(np.float32).astype(np.float64)
    assert guess_rate([times - times[0], np.array([0.0, times[-1] - times[0]])]).rate == rate


def test_rates_of_keys_set_by_hand() -> None:
    assert guess_rate([np.array([0.0, 1.0])]).rate == 60.0
    assert guess_rate([np.array([0.0, 1 / 24, 5 / 24])]).rate == 24.0
    assert guess_rate([np.array([0.0, 7 / 25, 1.0])]).rate == 25.0
    uneven = guess_rate([np.array([0.0, 0.1234, 0.3333, 0.7777])])
    assert (uneven.rate, uneven.exact) == (60.0, False)
    even = guess_rate([np.arange(20) * 0.0487])
    assert even.rate == pytest.approx(1 / 0.0487)


def test_a_given_rate_unit_and_axis_win(tmp_path: Path) -> None:
    path = moving(3, 31).save(tmp_path / "a.glb")
    motion = ambulo.load(path, rate=10, unit="centimetre", up="z")
    assert (motion.rate, motion.frame_count) == (10.0, 11)
    np.testing.assert_allclose(world(motion, 10), [[0.01, 0, -0.01], [0.01, 0, -0.02], [0.01, 0, -0.03]], atol=1e-7)
    np.testing.assert_allclose(motion.skeleton.rest_positions()[2], [0, 0, -0.03], atol=1e-7)
    assert (motion.source.unit, motion.source.up) == ("centimetre", "+Z")
    assert "not possible" in refused(path, rate=0)


def test_a_giant_is_doubted_and_strict_refuses_it(tmp_path: Path) -> None:
    nodes = chain(4)
    for node in nodes:
        node["translation"] = [0, 100, 0]
    gltf = Gltf(nodes, [0, 1, 2, 3])
    gltf.channel(0, "rotation", np.arange(10) / 30, np.tile([0, 0, 0, 1], (10, 1)))
    path = gltf.save(tmp_path / "a.glb")
    assert [note.code for note in ambulo.load(path).source.warnings] == ["unit_doubt"]
    assert not ambulo.load(path, unit="cm").source.warnings
    assert "metres" in refused(path, strict=True)


def test_morph_targets_are_passed_over(tmp_path: Path) -> None:
    gltf = moving()
    gltf.channel(1, "weights", [0, 1], [0.0, 1.0])
    motion = ambulo.load(gltf.save(tmp_path / "a.glb"))
    assert any("morph targets" in note.message for note in motion.source.notes)

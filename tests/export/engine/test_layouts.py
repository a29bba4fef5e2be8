"""Other runtimes' files: what is written is read again bit for bit, has the layout's size, and means the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ambulo.database.database import Database
from ambulo.errors import ControlError, FormatError
from ambulo.export.engine import holden, jlpm
from ambulo.export.engine.targets import export
from ambulo.matching.build import load_index


def same(a: Any, b: Any) -> None:
    """Equal in every field, to the bit."""
    for name in a.__dataclass_fields__:
        x, y = getattr(a, name), getattr(b, name)
        if isinstance(x, np.ndarray):
            assert x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes(), name
        elif name in ("weights", "biases", "tags"):
            assert len(x) == len(y)
            for one, other in zip(x, y, strict=True):
                assert str(one) == str(other), name
        else:
            assert x == y, name


@pytest.fixture(scope="module")
def database(project: Path) -> Database:
    return Database.open(project)


def test_holdens_files(project: Path, database: Database, tmp_path: Path) -> None:
    exported = export(project, tmp_path / "out", target="holden")
    out = Path(exported.folder)
    frames, bones, clips = database.frame_count, database.skeleton.joint_count, len(database.clips)
    size = 32 + frames * bones * 52 + 4 + 4 * bones + 2 * (4 + 4 * clips) + 8 + 2 * frames
    assert (out / "database.bin").stat().st_size == size
    read = holden.read_database(out / "database.bin")
    np.testing.assert_array_equal(read.positions, database.positions)
    np.testing.assert_array_equal(read.rotations[..., 0], np.asarray(database.rotations)[..., 3])
    assert read.stops.tolist() == database.clip_stops.tolist() and read.parents[0] == -1
    features = holden.read_features(out / "features.bin")
    feature_set = load_index(database)[1].feature_set
    np.testing.assert_allclose(features.features * features.scale + features.offset, feature_set.raw, atol=1e-4)
    np.testing.assert_allclose(features.features, feature_set.normalized(), atol=1e-4)
    holden.write_database(tmp_path / "again.bin", read)
    assert (tmp_path / "again.bin").read_bytes() == (out / "database.bin").read_bytes()
    holden.write_features(tmp_path / "again.bin", features)
    assert (tmp_path / "again.bin").read_bytes() == (out / "features.bin").read_bytes()
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["non_commercial"] and any("NON-COMMERCIAL" in note for note in exported.notes)


def test_holdens_body_moves_with_its_bones(project: Path, database: Database, tmp_path: Path) -> None:
    """Skinned as his code does, in another frame: every vertex stays where it is seen from its bone."""
    from ambulo.export.engine.holden_body import read_character, write_character
    from ambulo.maths import quaternions
    from ambulo.motion import kinematics

    out = Path(export(project, tmp_path / "out", target="holden").folder)
    body = read_character(out / "character.bin")
    assert len(body.positions) > 200 and len(body.rest_positions) == database.skeleton.joint_count
    write_character(tmp_path / "again.bin", body)
    assert (tmp_path / "again.bin").read_bytes() == (out / "character.bin").read_bytes()
    faces = body.triangles.reshape(-1, 3)
    a, b, c = (body.positions[faces[:, k]] for k in range(3))
    square = np.cross(b - a, c - a)
    wide = np.linalg.norm(square, axis=1) > 1e-7  # where a ring is a point, half of the triangles are nothing
    assert ((square * body.normals[faces].sum(axis=1)).sum(axis=1)[wide] > 0).all() and wide.mean() > 0.8
    np.testing.assert_allclose(np.linalg.norm(body.normals, axis=1), 1.0, atol=1e-5)
    # A person's size, and around the bones: most flesh is within 30 cm of its bone.
    height = np.ptp(body.positions[:, 1])
    assert 1.4 < height < 2.1
    bones = body.indices[:, 0]
    assert np.median(np.linalg.norm(body.positions - body.rest_positions[bones], axis=1)) < 0.3
    rest = body.rest_rotations[:, [1, 2, 3, 0]]
    frame = slice(700, 701)
    pose = kinematics.forward(database.positions[frame], database.rotations[frame], database.skeleton.parents)
    local = quaternions.inverse_rotate(rest[bones], body.positions - body.rest_positions[bones])
    skinned = quaternions.rotate(pose.rotations[0, bones], local) + pose.positions[0, bones]
    assert 1.3 < np.ptp(skinned[:, 1]) < 2.1 and skinned[:, 1].min() > -0.06  # it stands, on the ground
    assert np.isfinite(skinned).all()


@pytest.mark.parametrize("target", ["holden", "jlpm"])
def test_layouts_take_no_models(target: str, project: Path, tmp_path: Path) -> None:
    with pytest.raises(ControlError, match=f"cannot be written for {target}"):
        export(project, tmp_path / "out", target=target, controller="lmm")
    with pytest.raises(ControlError, match="file layout"):
        export(project, tmp_path / "out", target=target, characters=2)
    assert not (tmp_path / "out").exists()


def test_holdens_networks_and_latents(tmp_path: Path) -> None:
    random = np.random.default_rng(0)

    def numbers(*shape: int) -> np.ndarray:
        return random.standard_normal(shape).astype(np.float32)

    network = holden.HoldenNetwork(
        numbers(59), numbers(59), numbers(12), numbers(12), (numbers(59, 16), numbers(16, 12)),
        (numbers(16), numbers(12)),
    )  # fmt: skip
    holden.write_network(tmp_path / "net.bin", network)
    assert (tmp_path / "net.bin").stat().st_size == 4 * (2 * 60 + 2 * 13 + 1 + 2 + 59 * 16 + 17 + 2 + 16 * 12 + 13)
    same(holden.read_network(tmp_path / "net.bin"), network)
    latents = numbers(100, 32)
    holden.write_latents(tmp_path / "latent.bin", latents)
    assert holden.read_latents(tmp_path / "latent.bin").tobytes() == latents.tobytes()
    data = (tmp_path / "net.bin").read_bytes()
    (tmp_path / "short.bin").write_bytes(data[:-3])
    with pytest.raises(FormatError, match="ends within bias 1"):
        holden.read_network(tmp_path / "short.bin")
    (tmp_path / "long.bin").write_bytes(data + b"\0")
    with pytest.raises(FormatError, match="1 bytes after its end"):
        holden.read_network(tmp_path / "long.bin")
    (tmp_path / "huge.bin").write_bytes(b"\xff\xff\xff\x7f" + data[4:])
    with pytest.raises(FormatError, match="input_mean"):
        holden.read_network(tmp_path / "huge.bin")


def test_jlpms_files(project: Path, database: Database, tmp_path: Path) -> None:
    from ambulo.maths import quaternions

    out = Path(export(project, tmp_path / "out", target="jlpm").folder)
    name = database.name
    joints = jlpm.read_skeleton(out / f"{name}.mmskeleton")
    assert [joint.name for joint in joints] == list(database.skeleton.names)
    assert joints[0].parent == 0 and joints[database.skeleton.role("hips")].human_bone == 0
    poses = jlpm.read_poses(out / f"{name}.mmpose")
    jlpm.write_poses(tmp_path / "again", poses)
    assert (tmp_path / "again").read_bytes() == (out / f"{name}.mmpose").read_bytes()
    same(jlpm.read_poses(tmp_path / "again"), poses)
    # Left-handed: a mirror image in x, and turning it back is turning the mirror image.
    flip = np.float32([-1, 1, 1])
    np.testing.assert_array_equal(poses.positions, np.asarray(database.positions) * flip)
    vector = np.float32([0.3, -0.2, 0.9])
    ours = quaternions.rotate(np.asarray(database.rotations)[::500], vector)
    np.testing.assert_allclose(quaternions.rotate(poses.rotations[::500], vector * flip), ours * flip, atol=1e-5)
    turning = np.asarray(database.angular_velocities)[::500]
    ours = np.cross(turning, vector)
    np.testing.assert_allclose(np.cross(poses.angular_velocities[::500], vector * flip), ours * flip, atol=1e-4)
    assert {tag for tag, _ in poses.tags} == set(database.tags)
    features = jlpm.read_features(out / f"{name}.mmfeatures")
    jlpm.write_features(tmp_path / "again", features)
    assert (tmp_path / "again").read_bytes() == (out / f"{name}.mmfeatures").read_bytes()
    assert features.features[0].name.startswith("trajectory") and features.features[-1].name == "hips velocity"
    raw = features.vectors * features.deviation + features.mean
    feature_set = load_index(database)[1].feature_set
    last = feature_set.schema.group("hips velocity")
    np.testing.assert_allclose(raw[:, -3:], feature_set.raw[:, last.start : last.stop] * flip, atol=1e-4)
    jlpm.write_skeleton(tmp_path / "again", joints)
    assert (tmp_path / "again").read_bytes() == (out / f"{name}.mmskeleton").read_bytes()


def test_long_names_and_cut_files_of_jlpm(tmp_path: Path) -> None:
    joint = jlpm.JlpmJoint("ü" * 200, 0, 0, (0.0, 1.0, 2.0), 55)
    jlpm.write_skeleton(tmp_path / "long", (joint,))
    assert jlpm.read_skeleton(tmp_path / "long") == (joint,)
    data = (tmp_path / "long").read_bytes()
    for cut in (2, 5, 100, len(data) - 1):
        (tmp_path / "cut").write_bytes(data[:cut])
        with pytest.raises(FormatError, match="ends within"):
            jlpm.read_skeleton(tmp_path / "cut")

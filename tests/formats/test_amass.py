"""The probe files of the SMPL family, and the laws that its reader and writer obey."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ambulo
from ambulo.errors import AmbuloError, FormatError, NoMotionError
from ambulo.formats.registry import motion_files
from ambulo.formats.smpl_skeleton import default_joints, family_skeleton, joint_names
from ambulo.maths import quaternions
from ambulo.motion.humanoid import detect_roles
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion


def arrays(count: int = 52, frames: int = 5, seed: int = 0, **changes: Any) -> dict[str, Any]:
    """A take of random poses, upright in a +Z up world."""
    random = np.random.default_rng(seed)
    width = {22: 66, 24: 72, 52: 156, 55: 165}[count]
    poses = random.normal(scale=0.2, size=(frames, width))
    poses[:, :3] = [np.pi / 2, 0.0, 0.0]
    made = {"poses": poses, "trans": random.normal(size=(frames, 3)), "betas": np.zeros(16), "mocap_framerate": 60.0}
    return {key: value for key, value in (made | changes).items() if value is not None}


def saved(folder: Path, name: str = "take.npz", **content: Any) -> Path:
    path = folder / name
    np.savez(path, **content)
    return path


def refusal(path: Path, **options: Any) -> FormatError:
    with pytest.raises(FormatError) as caught:
        ambulo.load(path, **options)
    return caught.value


def test_smplh_probe(cases: Path) -> None:
    motion = ambulo.load(cases / "amass_smplh_156.npz")
    assert (motion.frame_count, motion.rate) == (4, 120.0)
    assert motion.skeleton.joint_count == 52
    assert motion.skeleton.names[:4] == ("pelvis", "left_hip", "right_hip", "spine1")
    assert motion.skeleton.names[22] == "left_index1"
    np.testing.assert_allclose(motion.positions[:2, 0], [[0, 0.9, 0], [0, 0.9, 0.1]], atol=1e-6)
    np.testing.assert_allclose(motion.rotations[:, 0], np.tile([0, 0, 0, 1], (4, 1)), atol=1e-6)
    assert motion.source.up == "+Z"
    assert motion.source.up_guessed
    assert not motion.source.warnings
    assert any(note.code == "default_body" for note in motion.source.notes)
    assert any("female" in note.message for note in motion.source.notes)


def test_smplx_probe_has_the_same_body(cases: Path) -> None:
    x, h = ambulo.load(cases / "amass_smplx_165.npz"), ambulo.load(cases / "amass_smplh_156.npz")
    assert (x.frame_count, x.rate, x.skeleton.names) == (4, 120.0, h.skeleton.names)
    np.testing.assert_array_equal(x.positions, h.positions)
    np.testing.assert_array_equal(x.rotations[:, :22], h.rotations[:, :22])
    assert any("neutral" in note.message for note in x.source.notes)


def test_jaw_and_eyes_are_passed_over(tmp_path: Path) -> None:
    full = arrays(55)
    left, right = saved(tmp_path, "x.npz", **full), arrays(52)
    right["poses"] = np.concatenate([full["poses"][:, :66], full["poses"][:, 75:]], axis=1)
    right["trans"] = full["trans"]
    other = saved(tmp_path, "h.npz", **right)
    np.testing.assert_array_equal(ambulo.load(left).rotations, ambulo.load(other).rotations)


def test_shape_file_is_refused_alone_and_left_out_of_a_folder(cases: Path, tmp_path: Path) -> None:
    path = cases / "amass_shape_only.npz"
    with pytest.raises(NoMotionError, match="no poses"):
        ambulo.load(path)
    for name in ("amass_shape_only.npz", "amass_smplh_156.npz"):
        (tmp_path / name).write_bytes((cases / name).read_bytes())
    with pytest.warns(UserWarning, match=r"left out: .*amass_shape_only\.npz: no poses") as caught:
        (only,) = ambulo.load_all(tmp_path)
    assert len(caught) == 1
    assert only.name == "amass_smplh_156"
    errors: list[AmbuloError] = []
    assert len(ambulo.load_all(tmp_path, on_error=errors.append)) == 1
    assert [error.path for error in errors] == [tmp_path / "amass_shape_only.npz"]


@pytest.mark.parametrize("shape", [(0, 156), (0, 24, 3), (0,), (4, 0)])
def test_poses_without_frames_are_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    rate = np.array(60.0)
    for content in (
        {"poses": np.zeros(shape)},
        {"root_orient": np.zeros((shape[0], 3)) if shape[0] == 0 else np.zeros(shape), "pose_body": np.zeros(shape)},
    ):
        path = saved(tmp_path, trans=np.zeros((shape[0], 3)), mocap_framerate=rate, **content)
        with pytest.raises(FormatError, match="holds no frame"):
            ambulo.load(path)


def test_all_zero_poses_load(cases: Path) -> None:
    motion = ambulo.load(cases / "amass_all_zero_pose.npz")
    assert (motion.frame_count, motion.rate) == (4, 60.0)
    np.testing.assert_array_equal(motion.rotations, np.tile([0, 0, 0, 1], (4, 52, 1)))
    np.testing.assert_array_equal(motion.positions[:, 0], np.zeros((4, 3)))


@pytest.mark.parametrize("count", [22, 24, 52])
def test_the_default_body_is_a_person_that_stands(tmp_path: Path, count: int) -> None:
    motion = ambulo.load(saved(tmp_path, **arrays(count, poses=np.zeros((2, 3 * count)), trans=np.zeros((2, 3)))))
    skeleton = motion.skeleton
    assert skeleton.joint_count == count
    rest = skeleton.rest_positions()
    height = rest[skeleton.index("head"), 1] - rest[skeleton.index("left_ankle"), 1]
    assert 1.3 < height < 1.6
    assert rest[skeleton.index("left_wrist"), 0] > 0.5
    assert rest[skeleton.index("left_foot"), 2] > 0.05
    left, right = (
        [j for j, name in enumerate(skeleton.names) if name.startswith(side)] for side in ("left_", "right_")
    )
    np.testing.assert_allclose(rest[left] * [-1, 1, 1], rest[right], atol=1e-6)
    report = detect_roles(skeleton, motion)
    assert not report.missing
    assert skeleton.names[report.roles["left_foot"]] == "left_ankle"


def test_the_same_pose_under_every_layout(tmp_path: Path) -> None:
    body = arrays(22)
    parts = {
        "root_orient": body["poses"][:, :3],
        "pose_body": body["poses"][:, 3:],
        "trans": body["trans"],
        "fps": np.array([60]),
        "gender": np.array(b"male"),
    }
    joints = {**body, "poses": body["poses"].reshape(5, 22, 3).astype(np.float32)}
    plain = ambulo.load(saved(tmp_path, "plain.npz", **body))
    for name, content in (("parts", parts), ("joints", joints)):
        other = ambulo.load(saved(tmp_path, f"{name}.npz", **content))
        assert other.skeleton.names == joint_names(22)
        assert other.rate == 60.0
        np.testing.assert_allclose(other.rotations, plain.rotations, atol=1e-6)
        np.testing.assert_allclose(other.positions, plain.positions, atol=1e-6)
    hands = ambulo.load(saved(tmp_path, "hands.npz", **parts, pose_hand=np.full((5, 90), 0.1)))
    assert hands.skeleton.names == joint_names(52)
    np.testing.assert_allclose(hands.rotations[:, :22], plain.rotations, atol=1e-6)


def test_only_the_root_is_turned_and_lefts_stay_left(tmp_path: Path) -> None:
    content = arrays(22, poses=np.zeros((1, 66)), trans=np.array([[1.0, 2.0, 3.0]]))
    content["poses"][0, :3] = [np.pi / 2, 0, 0]
    motion = ambulo.load(saved(tmp_path, **content))
    world = forward_motion(motion).positions[0]
    np.testing.assert_allclose(world[0], [1, 3, -2], atol=1e-6)
    assert world[motion.skeleton.index("left_wrist"), 0] > 1.5
    assert world[motion.skeleton.index("head"), 1] > 3.4
    y_up = ambulo.load(saved(tmp_path, **content), up="+Y")
    np.testing.assert_allclose(y_up.positions[0, 0], [1, 2, 3], atol=1e-6)
    assert not y_up.source.up_guessed


def test_a_y_up_world_is_told_from_the_body(tmp_path: Path) -> None:
    content = arrays(22)
    content["poses"][:, :3] = [0.0, 0.7, 0.0]
    motion = ambulo.load(saved(tmp_path, **content))
    assert motion.source.up == "+Y"
    np.testing.assert_allclose(motion.positions[:, 0], content["trans"], atol=1e-6)
    assert any("a guess" in note.message for note in motion.source.notes)


def test_a_model_of_the_user_shapes_the_body_and_places_the_root(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    vertices, directions = random.normal(size=(40, 3)), random.normal(size=(40, 3, 10))
    regressor = random.dirichlet(np.ones(40), size=55)
    model = saved(tmp_path, "model.npz", J_regressor=regressor, v_template=vertices, shapedirs=directions)
    betas = random.normal(size=10)
    take = saved(tmp_path, **arrays(52, betas=betas))
    motion = ambulo.load(take, skeleton=model)
    expected = np.delete(regressor @ (vertices + directions @ betas), [22, 23, 24], axis=0)
    np.testing.assert_allclose(motion.skeleton.rest_positions(), expected, atol=1e-5)
    trans = np.load(take)["trans"]
    root = (trans + expected[0])[:, [0, 2, 1]] * [1, 1, -1]
    np.testing.assert_allclose(motion.positions[:, 0], root, atol=1e-5)
    joints = saved(tmp_path, "joints.npz", J=expected)
    np.testing.assert_allclose(ambulo.load(take, skeleton=joints).positions, motion.positions, atol=1e-5)
    few = saved(tmp_path, "few.npz", J=expected[:22])
    assert "22 joints" in str(refusal(take, skeleton=few))
    assert "no body model" in str(refusal(take, skeleton=take))
    wild = saved(tmp_path, "wild.npz", J=expected * 1e300)
    assert "no possible places" in str(refusal(take, skeleton=wild))


@pytest.mark.parametrize("model", ["smplh", "smplx"])
@pytest.mark.parametrize("up", ["+Z", "+Y"])
@pytest.mark.parametrize("count", [22, 52])
def test_what_is_written_comes_back(tmp_path: Path, model: str, up: str, count: int) -> None:
    motion = ambulo.load(saved(tmp_path, **arrays(count)))
    ambulo.save(motion, tmp_path / "again.npz", model=model, up=up)
    again = ambulo.load(tmp_path / "again.npz", up=up)
    assert again.rate == motion.rate
    assert again.skeleton.names == motion.skeleton.names
    ours, theirs = forward_motion(motion), forward_motion(again)
    np.testing.assert_allclose(ours.positions, theirs.positions, atol=2e-6)
    assert quaternions.angle_between(ours.rotations, theirs.rotations).max() < 2e-6
    assert np.load(tmp_path / "again.npz")["poses"].shape[1] == (156 if model == "smplh" else 165)


def test_hand_joints_that_do_not_turn_are_dropped(tmp_path: Path) -> None:
    content = arrays(24)
    content["poses"][:, 66:] = 0.0
    motion = ambulo.load(saved(tmp_path, **content))
    ambulo.save(motion, tmp_path / "again.npz")
    again = ambulo.load(tmp_path / "again.npz")
    assert again.skeleton.names == motion.skeleton.names[:22]
    np.testing.assert_allclose(forward_motion(again).positions, forward_motion(motion).positions[:, :22], atol=2e-6)


def test_bodies_that_the_layout_cannot_hold_are_not_written(tmp_path: Path) -> None:
    motion = ambulo.load(saved(tmp_path, **arrays(22)))
    stretched = motion.positions.copy()
    stretched[2, 5] *= 1.5
    other = family_skeleton(default_joints(22))
    renamed = Motion(
        type(other)(("Hips", *other.names[1:]), other.parents, other.offsets), motion.positions, motion.rotations, 60.0
    )
    hands = ambulo.load(saved(tmp_path, **arrays(24)))
    for wrong, message in (
        (Motion(motion.skeleton, stretched, motion.rotations, 60.0), "changes by"),
        (renamed, "no joint 'pelvis'"),
        (hands, "hands turn"),
    ):
        with pytest.raises(FormatError, match=message):
            ambulo.save(wrong, tmp_path / "wrong.npz")
    with pytest.raises(FormatError, match="no option 'unit'"):
        ambulo.save(motion, tmp_path / "wrong.npz", unit="cm")
    assert not (tmp_path / "wrong.npz").exists()


def test_refusals_say_what_is_wrong(tmp_path: Path) -> None:
    assert "known widths" in str(refusal(saved(tmp_path, **arrays(poses=np.zeros((5, 64))))))
    assert "5 frames" in str(refusal(saved(tmp_path, **arrays(trans=np.zeros((4, 3))))))
    missing = refusal(saved(tmp_path, **arrays(mocap_framerate=None)))
    assert "rate=" in str(missing)
    assert ambulo.load(tmp_path / "take.npz", rate=100).rate == 100.0
    assert "no rate" in str(refusal(saved(tmp_path, **arrays(mocap_framerate=0.0))))
    assert "no rate" in str(refusal(saved(tmp_path, **arrays(mocap_framerate="fast"))))
    damaged = arrays()
    damaged["poses"][3, 7] = np.nan
    error = refusal(saved(tmp_path, **damaged))
    assert (error.frame, error.joint, error.key) == (3, "right_hip", "poses")
    lenient = ambulo.load(tmp_path / "take.npz", lenient=True)
    np.testing.assert_array_equal(lenient.rotations[3], lenient.rotations[2])
    assert lenient.source.warnings
    assert "pose_body" in str(refusal(saved(tmp_path, root_orient=np.zeros((5, 3)), fps=30)))


def test_no_code_is_run_and_no_bomb_goes_off(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "ran",))

    content = arrays()
    content["gender"] = np.array([Trap()], dtype=object)
    path = saved(tmp_path, **content)
    assert pickle.dumps(Trap())  # the trap is set
    assert any("not said" in note.message for note in ambulo.load(path).source.notes)
    content["trans"] = np.array([[Trap()] * 3] * 5, dtype=object)
    assert "could run code" in str(refusal(saved(tmp_path, **content)))
    assert not (tmp_path / "ran").exists()
    np.savez_compressed(tmp_path / "bomb.npz", **arrays(poses=np.zeros((50_000, 156))))
    assert "unpacks to" in str(refusal(tmp_path / "bomb.npz"))
    (tmp_path / "text.npz").write_text("no archive")
    assert "no .npz archive" in str(refusal(tmp_path / "text.npz"))


def test_other_archives_in_a_folder_are_not_meant(tmp_path: Path) -> None:
    saved(tmp_path, "truth.npz", contacts=np.zeros(3))
    take = saved(tmp_path, "take.npz", **arrays())
    assert motion_files(tmp_path) == [take]


def test_keys_of_aist_are_read_with_their_scale(tmp_path: Path) -> None:
    plain = arrays(24)
    scaled = {"smpl_poses": plain["poses"], "smpl_trans": 92.5 * plain["trans"], "smpl_scaling": np.array([92.5])}
    one = ambulo.load(saved(tmp_path, "plain.npz", **plain))
    other = ambulo.load(saved(tmp_path, "aist.npz", **scaled), rate=60.0)
    assert one.skeleton.names == other.skeleton.names
    np.testing.assert_allclose(other.positions, one.positions, atol=1e-6)
    np.testing.assert_array_equal(other.rotations, one.rotations)
    unscaled = {key: value for key, value in scaled.items() if key != "smpl_scaling"} | {"smpl_trans": plain["trans"]}
    same = ambulo.load(saved(tmp_path, "metres.npz", **unscaled), rate=60.0)
    np.testing.assert_array_equal(same.positions, one.positions)
    assert (tmp_path / "aist.npz") in motion_files(tmp_path)


@pytest.mark.parametrize("scaling", [[0.0], [np.nan], [1.0, 2.0], [-3.0]])
def test_a_scale_that_is_none_is_refused(tmp_path: Path, scaling: list[float]) -> None:
    content = arrays(24) | {"smpl_scaling": np.array(scaling)}
    assert refusal(saved(tmp_path, **content)).key == "smpl_scaling"

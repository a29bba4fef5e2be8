"""Every BVH probe file does exactly what its expectation says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ambulo
from ambulo.errors import FormatError
from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion

# The largest number in the probe files is a few hundred units; float32 keeps seven digits of it.
TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def expected(cases: Path) -> dict[str, dict[str, Any]]:
    return json.loads((cases / "expected.json").read_text(encoding="utf-8"))


def load(path: Path, **options: Any) -> Motion:
    """A probe file in its own units and axes."""
    return ambulo.load(path, unit="metre", up="y", **options)


def world(motion: Motion, frame: int, key: str) -> np.ndarray:
    """World position of a joint, or of its end site for ``end:NAME``."""
    pose = forward_motion(motion)
    joint = motion.skeleton.index(key.removeprefix("end:"))
    position = pose.positions[frame, joint]
    if key.startswith("end:"):
        position = position + quaternions.rotate(pose.rotations[frame, joint], motion.skeleton.end_offsets[joint])
    return position


def is_case(name: str, case: dict[str, Any], verdicts: tuple[str, ...]) -> bool:
    return name.endswith(".bvh") and case["verdict"] in verdicts


def test_every_readable_probe_gives_the_expected_numbers(cases: Path, expected: dict[str, dict[str, Any]]) -> None:
    checked = 0
    for name, case in expected.items():
        if not is_case(name, case, ("load", "load+warn", "load+qa")) or name == "bvh_two_roots.bvh":
            continue
        motion = load(cases / name)
        assert motion.frame_count == case["frames"], name
        if "fps" in case:
            assert motion.rate == case["fps"], name
        if "joints" in case:
            assert list(motion.skeleton.names) == case["joints"], name
        for frame, joints in case.get("world", {}).items():
            for key, position in joints.items():
                np.testing.assert_allclose(world(motion, int(frame), key), position, atol=TOLERANCE, err_msg=name)
        if case["verdict"] == "load+warn":
            assert motion.source.warnings, name
        checked += 1
    assert checked >= 29


def test_every_refused_probe_names_its_line(cases: Path, expected: dict[str, dict[str, Any]]) -> None:
    checked = 0
    for name, case in expected.items():
        if not is_case(name, case, ("refuse",)):
            continue
        error = refusal(cases / name)
        assert error.path == cases / name, name
        assert error.line == case["line"], name
        assert error.remedy, name
        checked += 1
    assert checked == 9


def refusal(path: Path, **options: Any) -> FormatError:
    with pytest.raises(FormatError) as caught:
        load(path, **options)
    return caught.value


def test_refusals_say_what_is_wrong(cases: Path) -> None:
    assert "5 of 9 values" in str(refusal(cases / "bvh_last_row_cut_short.bvh"))
    assert "'30fps'" in str(refusal(cases / "bvh_frame_time_text.bvh"))
    assert "'Wrotation'" in str(refusal(cases / "bvh_unknown_channel.bvh"))
    assert "3 declared, 2 named" in str(refusal(cases / "bvh_channel_count_lies.bvh"))
    assert "opened at line 3" in str(refusal(cases / "bvh_unclosed_brace.bvh"))
    assert "empty" in str(refusal(cases / "empty.bvh"))
    pointer = str(refusal(cases / "lfs_pointer.bvh"))
    assert "Git LFS pointer" in pointer
    assert "4213377" in pointer


def test_every_value_that_is_not_finite_is_listed(cases: Path) -> None:
    error = refusal(cases / "bvh_nan_and_inf.bvh")
    assert (error.line, error.joint, error.key) == (20, "Hips", "Zrotation")
    assert "line 21: Zrotation of Spine" in str(error)


def test_wrapped_rows_read_as_the_plain_file(cases: Path) -> None:
    plain, wrapped = load(cases / "bvh_ok_minimal.bvh"), load(cases / "bvh_rows_wrapped.bvh")
    np.testing.assert_array_equal(wrapped.positions, plain.positions)
    np.testing.assert_array_equal(wrapped.rotations, plain.rotations)
    assert [note.code for note in wrapped.source.notes].count("rows_wrapped") == 1


def test_strict_refuses_another_frame_count_at_its_line(cases: Path) -> None:
    for name, declared in (("bvh_declares_more_frames_than_rows", 5), ("bvh_declares_fewer_frames_than_rows", 2)):
        motion = load(cases / f"{name}.bvh")
        (warning,) = motion.source.warnings
        assert warning.line == 17
        assert f"{declared} frames" in warning.message
        assert "3 rows" in warning.message
        assert refusal(cases / f"{name}.bvh", strict=True).line == 17


def test_lenient_drops_a_partial_last_row(cases: Path) -> None:
    motion = load(cases / "bvh_last_row_cut_short.bvh", lenient=True)
    assert motion.frame_count == 2
    assert any(note.line == 21 and "5 of 9" in note.message for note in motion.source.warnings)


def test_lenient_holds_the_frame_before_a_value_that_is_not_finite(cases: Path) -> None:
    motion = load(cases / "bvh_nan_and_inf.bvh", lenient=True)
    # Rows 1 and 2 are damaged and end the file: one frame is left.
    assert motion.frame_count == 1
    assert {note.line for note in motion.source.warnings} >= {20, 21}


def test_frame_time_that_is_a_rate_is_said_aloud_and_can_be_overridden(cases: Path) -> None:
    path = cases / "bvh_frame_time_is_fps.bvh"
    (warning,) = load(path).source.warnings
    assert warning.line == 18
    assert "rate=30" in warning.message
    assert load(path, rate=30).rate == 30.0
    assert load(path, rate=30).source.frame_time == 30.0


def test_a_rounded_frame_time_keeps_its_raw_value(cases: Path) -> None:
    motion = load(cases / "bvh_frame_time_rounded.bvh")
    assert motion.source.frame_time == 0.008333
    assert motion.duration == 2 / 120


def test_a_moving_bone_is_reported(cases: Path) -> None:
    (note,) = (
        n for n in load(cases / "bvh_position_channels_on_all_joints.bvh").source.notes if n.code == "translates"
    )
    assert note.joint == "Spine"
    assert "Spine translates" in note.message
    assert "10 to 12.0416" in note.message
    assert not note.warning


def test_duplicate_names_stay_apart(cases: Path) -> None:
    motion = load(cases / "bvh_duplicate_joint_names.bvh")
    assert motion.skeleton.names == ("Hips", "Hand", "Hand#2")
    np.testing.assert_allclose(forward_motion(motion).positions[0, 1:], [[10, 0, 0], [-10, 0, 0]])
    assert next(note for note in motion.source.warnings if note.code == "duplicate_name").line == 11


def test_two_actors(cases: Path) -> None:
    path = cases / "bvh_two_roots.bvh"
    error = refusal(path)
    assert error.line == 11
    assert "load_all" in str(error)
    alice, bob = ambulo.load_all(path, unit="metre", up="y")
    assert alice.skeleton.names == ("Alice",)
    assert bob.skeleton.names == ("Bob",)
    assert alice.frame_count == bob.frame_count == 2
    assert alice.rate == bob.rate == 20.0
    np.testing.assert_allclose(alice.positions[:, 0], [[1, 0, 0], [2, 0, 0]])
    np.testing.assert_allclose(bob.positions[:, 0], [[-1, 0, 0], [-2, 0, 0]])
    assert alice.name != bob.name


def test_gimbal_lock_and_wrap_are_no_motion(cases: Path, tmp_path: Path) -> None:
    motion = load(cases / "bvh_gimbal_and_wrap.bvh")
    arm = motion.rotations[:, motion.skeleton.index("Arm")]
    assert np.degrees(quaternions.angle_between(arm[0], arm[1:])).max() < 1e-3
    step = np.degrees(quaternions.angle_between(motion.rotations[:-1, 0], motion.rotations[1:, 0]))
    np.testing.assert_allclose(step, 2.0, atol=1e-3)
    ambulo.save(motion, tmp_path / "again.bvh")
    again = ambulo.load(tmp_path / "again.bvh", unit="centimetre", up="y")
    assert np.degrees(quaternions.angle_between(motion.rotations, again.rotations)).max() < 1e-3


def test_no_end_site_stays_a_joint(cases: Path, tmp_path: Path) -> None:
    motion = load(cases / "bvh_no_end_site.bvh")
    assert np.isnan(motion.skeleton.end_offsets).all()
    ambulo.save(motion, tmp_path / "again.bvh")
    text = (tmp_path / "again.bvh").read_text()
    assert "JOINT Hand" in text
    assert "End Site" not in text
    again = ambulo.load(tmp_path / "again.bvh", unit="cm", up="y")
    assert again.skeleton.names == ("Hips", "Hand")
    assert np.degrees(quaternions.angle_between(motion.rotations, again.rotations)).max() < 1e-3


def test_names_come_back_as_they_were(cases: Path, tmp_path: Path) -> None:
    for name in ("bvh_utf8_bom_unicode_names.bvh", "bvh_joint_names_with_spaces.bvh"):
        motion = load(cases / name)
        ambulo.save(motion, tmp_path / name)
        assert ambulo.load(tmp_path / name).skeleton.names == motion.skeleton.names


def test_units_are_guessed_reported_and_agree(cases: Path, expected: dict[str, dict[str, Any]]) -> None:
    reference = ambulo.load(cases / "bvh_units_metre.bvh")
    for unit in ("metre", "centimetre", "inch"):
        name = f"bvh_units_{unit}.bvh"
        motion = ambulo.load(cases / name)
        assert motion.source.unit == unit
        assert motion.source.unit_guessed
        assert any(note.code == "unit_guess" for note in motion.source.notes)
        assert not motion.source.warnings
        for frame, joints in expected[name]["world_m"].items():
            for key, position in joints.items():
                np.testing.assert_allclose(world(motion, int(frame), key), position, atol=1e-5)
        np.testing.assert_allclose(motion.positions, reference.positions, atol=1e-5)
        np.testing.assert_array_equal(motion.rotations, reference.rotations)
        given = ambulo.load(cases / name, unit=unit)
        assert not given.source.unit_guessed
        np.testing.assert_array_equal(given.positions, motion.positions)


def test_z_up_is_turned_not_mirrored(cases: Path, expected: dict[str, dict[str, Any]]) -> None:
    motion, reference = ambulo.load(cases / "bvh_z_up.bvh"), ambulo.load(cases / "bvh_units_metre.bvh")
    assert motion.source.up == "+Z"
    assert motion.source.up_guessed
    assert not motion.source.warnings
    for frame, joints in expected["bvh_z_up.bvh"]["world_m"].items():
        for key, position in joints.items():
            np.testing.assert_allclose(world(motion, int(frame), key), position, atol=1e-5)
    np.testing.assert_allclose(motion.positions, reference.positions, atol=1e-6)
    np.testing.assert_allclose(motion.rotations, reference.rotations, atol=1e-6)
    np.testing.assert_allclose(motion.skeleton.offsets, reference.skeleton.offsets, atol=1e-6)
    np.testing.assert_allclose(motion.skeleton.end_offsets, reference.skeleton.end_offsets, atol=1e-6)


def test_a_pair_of_takes(cases: Path) -> None:
    a, b = ambulo.load(cases / "pair_a_30fps.bvh"), ambulo.load(cases / "pair_b_60fps.bvh")
    assert (a.frame_count, a.rate, b.frame_count, b.rate) == (4, 30.0, 9, 60.0)
    np.testing.assert_allclose(a.positions[[0, 3], 0], [[0, 0.9, 0], [0, 0.9, 0.03]], atol=1e-6)
    hips = b.positions[[0, 6], 0] - a.positions[[0, 3], 0]
    np.testing.assert_allclose(np.linalg.norm(hips, axis=1), [1.0, 0.94], atol=1e-5)

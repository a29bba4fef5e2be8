"""Acclaim skeletons and motions, on a small body whose poses can be told by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.errors import FormatError
from ambulo.formats.registry import motion_files
from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward_motion

ASF = """# a small body
:version 1.10
:name test
:units
  mass 1.0
  length {length}
  angle {angle}
:documentation
   nothing
:root
   order TX TY TZ RX RY RZ
   axis XYZ
   position 0 0 0
   orientation 0 0 0
:bonedata
  begin
     id 1
     name thigh
     direction 0 -2 0
     length 10
     axis {axis}
    dof {dof}
    limits (-160.0 20.0)
           (-70.0 70.0)
  end
  begin
     id 2
     name shin
     direction 0 -1 0
     length 8
     axis 0 0 0 XYZ
  end
:hierarchy
  begin
    root thigh
    thigh shin
  end
"""
AMC = """#!OML:ASF
:FULLY-SPECIFIED
:DEGREES
1
root 1 20 3 0 0 0
thigh 0 0
2
root 1 20 4 0 90 0
thigh {angles}
"""


def pair(
    folder: Path,
    *,
    name: str = "01_01",
    asf: str = "01",
    amc: str = AMC,
    axis: str = "0 0 0 XYZ",
    dof: str = "rx rz",
    angles: str = "90 0",
    length: str = "0.45",
    angle: str = "deg",
) -> Path:
    (folder / f"{asf}.asf").write_text(ASF.format(axis=axis, dof=dof, length=length, angle=angle))
    path = folder / f"{name}.amc"
    path.write_text(amc.replace("{angles}", angles))
    return path


def load(path: Path, **options: object) -> ambulo.Motion:
    """In the file's own units and axes."""
    return ambulo.load(path, unit="metre", up="y", **options)


def refusal(path: Path, **options: object) -> FormatError:
    with pytest.raises(FormatError) as caught:
        load(path, **options)
    return caught.value


def test_a_bone_turns_about_its_start(tmp_path: Path) -> None:
    motion = load(pair(tmp_path))
    assert motion.skeleton.names == ("root", "thigh", "shin")
    assert (motion.frame_count, motion.rate) == (2, 120.0)
    world = forward_motion(motion)
    np.testing.assert_allclose(world.positions[0], [[1, 20, 3], [1, 20, 3], [1, 10, 3]], atol=1e-5)
    # 90 degrees about x turn the thigh from -Y to -Z; then the root turns that to -X.
    np.testing.assert_allclose(world.positions[1], [[1, 20, 4], [1, 20, 4], [-9, 20, 4]], atol=1e-5)
    tip = world.positions[1, 2] + quaternions.rotate(world.rotations[1, 2], motion.skeleton.end_offsets[2])
    np.testing.assert_allclose(tip, [-17, 20, 4], atol=1e-5)
    assert np.isnan(motion.skeleton.end_offsets[:2]).all()
    assert any(note.code == "rate_guess" for note in motion.source.notes)
    assert not motion.source.warnings


def test_the_axis_frame_turns_the_degrees_of_freedom(tmp_path: Path) -> None:
    # The bone's own x axis lies along -Z of the root, by 90 degrees about Y: turning about it swings the bone sideways.
    motion = load(pair(tmp_path, axis="0 90 0 XYZ"))
    turned = quaternions.rotate(motion.rotations[1, 1], motion.skeleton.offsets[2])
    np.testing.assert_allclose(turned, [-10, 0, 0], atol=1e-5)
    np.testing.assert_allclose(motion.rotations[0, 1], [0, 0, 0, 1], atol=1e-7)


def test_angles_are_applied_in_the_order_of_the_file(tmp_path: Path) -> None:
    about_x, about_z = (quaternions.from_angle_axis(np.radians(30.0), np.eye(3)[i]) for i in (0, 2))
    for dof, expected in (
        ("rx rz", quaternions.multiply(about_z, about_x)),
        ("rz rx", quaternions.multiply(about_x, about_z)),
    ):
        motion = load(pair(tmp_path, dof=dof, angles="30 30"))
        np.testing.assert_allclose(motion.rotations[1, 1], expected, atol=1e-6)


def test_radians_of_either_file(tmp_path: Path) -> None:
    degrees = load(pair(tmp_path, axis="10 20 30 XYZ", angles="40 50"))
    axis = " ".join(str(np.radians(value)) for value in (10, 20, 30))
    turned = " ".join(str(np.radians(value)) for value in (40, 50))
    amc = AMC.replace(":DEGREES", ":RADIANS").replace("0 90 0", f"0 {np.pi / 2} 0")
    radians = load(pair(tmp_path, axis=f"{axis} XYZ", angle="rad", amc=amc, angles=turned))
    np.testing.assert_allclose(radians.rotations, degrees.rotations, atol=1e-6)


def test_cmu_length_unit(tmp_path: Path) -> None:
    motion = ambulo.load(pair(tmp_path), up="y")
    assert motion.source.unit == "cmu"
    np.testing.assert_allclose(motion.positions[0, 0], np.array([1, 20, 3]) * 0.056444, rtol=1e-5)
    inches = ambulo.load(pair(tmp_path, length="1.0"), up="y")
    np.testing.assert_allclose(inches.positions[0, 0], np.array([1, 20, 3]) * 0.0254, rtol=1e-5)


def test_a_skeleton_alone_is_its_rest_pose(tmp_path: Path) -> None:
    pair(tmp_path)
    motion = load(tmp_path / "01.asf")
    assert motion.frame_count == 1
    np.testing.assert_allclose(forward_motion(motion).positions[0], motion.skeleton.rest_positions(), atol=1e-6)
    assert motion.source.warnings
    assert "rest pose" in str(refusal(tmp_path / "01.asf", strict=True))


def test_the_skeleton_is_found_by_name_or_because_it_is_the_only_one(tmp_path: Path) -> None:
    path = pair(tmp_path, name="35_01_b", asf="35")
    assert any(note.message.endswith("35.asf") for note in load(path).source.notes)
    pair(tmp_path, name="other", asf="35_01_b")
    assert any(note.message.endswith("35_01_b.asf") for note in load(path).source.notes)
    error = str(refusal(tmp_path / "other.amc"))
    assert "35.asf, 35_01_b.asf" in error
    assert "skeleton=" in error
    assert load(tmp_path / "other.amc", skeleton=tmp_path / "35.asf").frame_count == 2
    for file in tmp_path.glob("35*.asf"):
        file.unlink()
    assert "none beside it" in str(refusal(path))
    (tmp_path / "any.asf").write_text(ASF.format(axis="0 0 0 XYZ", dof="rx rz", length="0.45", angle="deg"))
    assert load(path).frame_count == 2


def test_a_folder_of_takes_leaves_its_skeletons_out(tmp_path: Path) -> None:
    path = pair(tmp_path)
    assert motion_files(tmp_path) == [path]
    path.unlink()
    assert motion_files(tmp_path) == [tmp_path / "01.asf"]


def test_oddly_written_files_read_the_same(tmp_path: Path) -> None:
    plain = load(pair(tmp_path))
    odd = AMC.replace("\n", "\r\n").replace("thigh 0 0", "thigh   0\t0  # at rest") + "\r\n\r\n"
    swapped = load(pair(tmp_path, amc=odd))
    np.testing.assert_array_equal(swapped.rotations, plain.rotations)
    np.testing.assert_array_equal(swapped.positions, plain.positions)
    gap = load(pair(tmp_path, amc=AMC.replace("\n2\n", "\n5\n")))
    assert [note.line for note in gap.source.warnings] == [7]
    np.testing.assert_array_equal(gap.rotations, plain.rotations)


def test_many_frames_are_read_alike_by_both_ways(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    frames = random.normal(scale=20.0, size=(700, 8)).round(4)
    lines = [":DEGREES"]
    for number, row in enumerate(frames, 1):
        words = [f"{value:.4f}" for value in row]
        lines += [str(number), f"root {' '.join(words[:6])}", f"thigh {' '.join(words[6:])}"]
    fast = load(pair(tmp_path, amc="\n".join(lines)))
    slow = load(pair(tmp_path, amc="\n".join(lines) + " # a remark ends the quick way"))
    assert fast.frame_count == 700
    np.testing.assert_array_equal(fast.positions, slow.positions)
    np.testing.assert_array_equal(fast.rotations, slow.rotations)
    np.testing.assert_allclose(fast.positions[:, 0], frames[:, :3], atol=1e-4)


def test_a_bone_without_values_stays_at_rest(tmp_path: Path) -> None:
    motion = load(pair(tmp_path, amc=AMC.replace("thigh 0 0\n", "").replace("thigh {angles}\n", "")))
    np.testing.assert_array_equal(motion.rotations[:, 1], np.tile([0, 0, 0, 1], (2, 1)))
    assert any("thigh" in note.message for note in motion.source.warnings)


def test_faults_of_the_motion_name_line_bone_and_frame(tmp_path: Path) -> None:
    for wrong, line, joint, words in (
        (AMC.replace("{angles}", "5"), 9, "thigh", "1 of 2 values"),
        (AMC.replace("{angles}", "5 nan"), 9, "thigh", "no usable number"),
        (AMC.replace("{angles}", "5 x"), 9, "thigh", "no number"),
        (AMC.replace("thigh {angles}", "calf 1 2"), 9, None, "did you mean"),
        (AMC.replace("thigh {angles}", ""), 7, "thigh", "no values for 'thigh'"),
        (AMC.replace("thigh {angles}", "thigh 1 2\nthigh 1 2"), 10, "thigh", "twice"),
    ):
        error = refusal(pair(tmp_path, amc=wrong))
        assert (error.line, error.joint) == (line, joint), wrong
        if joint:
            assert error.frame == 1
        assert words in str(error) or words == "did you mean"
    lenient = load(pair(tmp_path, amc=AMC.replace("{angles}", "5")), lenient=True)
    assert lenient.frame_count == 2
    np.testing.assert_array_equal(lenient.rotations[1], lenient.rotations[0])
    assert lenient.source.warnings[0].line == 9
    assert "before the first frame" in str(refusal(pair(tmp_path, amc="thigh 1 2\n")))


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("    dof rx rz", "    dof rx rq", 22, "'rq'"),
        ("     length 10", "     length ten", 20, "'ten'"),
        ("axis 0 0 0 XYZ\n    dof", "axis 0 0 0 XYY\n    dof", 21, "'XYY'"),
        ("    thigh shin\n", "", 26, "hang on nothing"),
        ("    thigh shin\n", "    shin shin\n", 26, "in a ring"),
        ("    thigh shin\n", "    thigh calf\n", 36, "no bone"),
        ("     name shin\n", "     name thigh\n", 26, "two bones"),
        ("     direction 0 -2 0", "     direction 0 -2", 19, "2 of 3"),
    ],
)
def test_faults_of_the_skeleton_name_their_line(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    path = pair(tmp_path)
    text = (tmp_path / "01.asf").read_text()
    assert old in text
    (tmp_path / "01.asf").write_text(text.replace(old, new))
    error = refusal(path)
    assert error.path == tmp_path / "01.asf"
    assert error.line == line
    assert words in str(error)


def test_a_missing_or_empty_skeleton_is_an_error_of_ours(tmp_path: Path) -> None:
    path = pair(tmp_path)
    assert "no such file" in str(refusal(path, skeleton=tmp_path / "absent.asf"))
    (tmp_path / "01.asf").write_text(":version 1.10\n")
    assert "no bone" in str(refusal(path))
    with pytest.raises(FormatError, match="cannot be written"):
        ambulo.save(load(pair(tmp_path)), tmp_path / "x.amc")

"""FBX files that are damaged, hostile or odd: refused with a reason and a place, or read as documented."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from fbx_files import Bone, Key, Record, Scene, Stack, records, to_bytes, write_ascii, write_binary

import ambulo
from ambulo.errors import AmbuloError, FormatError
from ambulo.formats.fbx_node import DECODED_BYTES_FREE
from ambulo.motion.kinematics import forward_motion


def small(kind: str = "7400") -> bytes:
    bones = [
        Bone("Hips", None, {"PreRotation": (10.0, 20.0, 30.0)}),
        Bone("Spine", "Hips", {"Lcl Translation": (0.0, 10.0, 0.0)}),
    ]
    layer = {("Hips", "Lcl Rotation", axis): [Key(t / 30, float(t)) for t in range(16)] for axis in "XYZ"}
    return to_bytes(Scene(bones, [Stack("Take 001", [layer], (0.0, 0.5))]), kind)


def refusal(folder: Path, data: bytes) -> FormatError:
    path = folder / "bad.fbx"
    path.write_bytes(data)
    with pytest.raises(FormatError) as caught:
        ambulo.load_all(path)
    assert caught.value.path == path
    assert caught.value.remedy
    return caught.value


@pytest.mark.parametrize("kind", ["7400", "7700", "ascii"])
def test_files_cut_short_anywhere_are_refused_or_still_whole(tmp_path: Path, kind: str) -> None:
    data = small(kind)
    whole = ambulo.load(_write(tmp_path, data))
    end = data.index(b"\xfa\xbc\xab\x09") - 25 if kind != "ascii" else len(data) - 2
    for length in range(30, end, 37):
        refusal(tmp_path, data[:length])
    # What comes after the last record is no content.
    if kind != "ascii":
        np.testing.assert_array_equal(ambulo.load(_write(tmp_path, data[:-100])).positions, whole.positions)


@pytest.mark.parametrize("kind", ["7400", "7500", "plain", "ascii"])
def test_changed_bytes_never_crash(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(11)
    data = small(kind)
    read = 0
    for _ in range(250):
        mutant = bytearray(data)
        for _ in range(int(rng.integers(1, 6))):
            at = int(rng.integers(len(mutant)))
            how = rng.integers(4)
            if how == 0:
                mutant[at] = int(rng.integers(256))
            elif how == 1:
                del mutant[at : at + int(rng.integers(1, 20))]
            elif how == 2:
                mutant[at:at] = bytes(rng.integers(0, 256, int(rng.integers(1, 20)), np.uint8))
            else:
                mutant[at : at + 4] = struct.pack("<I", int(rng.choice([0, 1, 0x7FFFFFFF, 0xFFFFFFFF])))
        path = _write(tmp_path, bytes(mutant))
        try:
            for motion in ambulo.load_all(path):
                assert np.isfinite(motion.positions).all() and np.isfinite(motion.rotations).all()
            read += 1
        except AmbuloError as error:
            assert error.path == path
    assert 0 < read < 250


def _write(folder: Path, data: bytes) -> Path:
    path = folder / "take.fbx"
    path.write_bytes(data)
    return path


def test_an_array_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    huge = np.zeros(DECODED_BYTES_FREE // 4, np.float32)
    data = _with_array("KeyValueFloat", huge)
    assert len(data) < 100_000
    tracemalloc.start()
    error = refusal(tmp_path, data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "beyond 16 MiB" in error.message
    assert error.key == "Objects/AnimationCurve/KeyValueFloat"
    assert peak < 4 * DECODED_BYTES_FREE


def test_an_array_that_unpacks_to_more_than_it_says_is_refused(tmp_path: Path) -> None:
    data = bytearray(small())
    at = data.index(b"KeyTime") + len(b"KeyTimel")
    data[at : at + 4] = struct.pack("<I", 3)
    assert "takes 24 bytes, 25 are there" in refusal(tmp_path, bytes(data)).message


def _with_array(name: str, array: np.ndarray) -> bytes:
    top = records(
        Scene([Bone("Hips"), Bone("Spine", "Hips")], [Stack("T", [{("Hips", "Lcl Rotation", "X"): [Key(0, 0)]}])]), True
    )

    def replace(record: Record) -> Record:
        label, values, inner = record
        return (label, [array] if label == name else values, [replace(child) for child in inner])

    return write_binary([replace(record) for record in top])


def test_a_take_of_years_is_refused(tmp_path: Path) -> None:
    bones = [Bone("Hips"), Bone("Spine", "Hips")]
    keys = [Key(0.0, 0.0), Key(1.0, 1.0)]
    scene = Scene(bones, [Stack("Take 001", [{("Hips", "Lcl Rotation", "X"): keys}], (0.0, 90_000.0))])
    error = refusal(tmp_path, to_bytes(scene))
    assert "2700001 frames" in error.message and error.key == "LocalStop"


def test_text_nested_without_end_is_refused(tmp_path: Path) -> None:
    deep = b"; FBX 7.4.0 project file\nFBXHeaderExtension: {\n FBXVersion: 7400\n}\n" + b"a: {\n" * 100_000
    error = refusal(tmp_path, deep + b"}\n" * 100_000)
    assert "64 deep" in error.message and error.line == 69


def test_records_nested_without_end_cost_nothing(tmp_path: Path) -> None:
    """Binary records are entered only where they matter."""
    record: Record = ("a", [], [])
    for _ in range(300):
        record = ("a", [], [record])
    top = records(Scene([Bone("Hips"), Bone("Spine", "Hips")]), True)
    assert len(ambulo.load(_write(tmp_path, write_binary([record, *top]))).skeleton.names) == 2


def test_a_chain_of_thousands_of_joints_is_read_in_time(tmp_path: Path) -> None:
    bones = [Bone(f"b{i}", f"b{i - 1}" if i else None, {"Lcl Translation": (0.0, 1.0, 0.0)}) for i in range(3000)]
    motion = ambulo.load(_write(tmp_path, to_bytes(Scene(bones))))
    assert motion.skeleton.joint_count == 3000
    assert forward_motion(motion).positions[0, -1, 1] == pytest.approx(30.0, abs=1e-2)


def test_parents_in_a_circle_are_refused(tmp_path: Path) -> None:
    bones = [Bone("a", "c"), Bone("b", "a"), Bone("c", "b")]
    assert "circle" in refusal(tmp_path, to_bytes(Scene(bones))).message


def test_old_versions_are_refused_with_a_way_out(tmp_path: Path) -> None:
    for data in (
        small().replace(struct.pack("<I", 7400), struct.pack("<I", 6100), 1),
        small("ascii").replace(b"7400", b"6100"),
    ):
        error = refusal(tmp_path, data)
        assert "6.1 is not read" in error.message and "save it as" in (error.remedy or "")


def test_a_scene_without_skeleton_is_refused(tmp_path: Path) -> None:
    error = refusal(tmp_path, to_bytes(Scene([Bone("Cube", None, {}, "Mesh")])))
    assert "there is no skeleton" in error.message and "Mesh" in error.message


def test_text_says_its_line(tmp_path: Path) -> None:
    data = small("ascii")
    lines = data.split(b"\n")
    at = next(i for i, line in enumerate(lines) if b"KeyValueFloat" in line)
    lines[at + 1] = lines[at + 1].replace(b"0.0,", b"zero,", 1)
    error = refusal(tmp_path, b"\n".join(lines))
    assert error.line == at + 1 and "KeyValueFloat" in error.message and "no number" in error.message
    unclosed = refusal(tmp_path, data.replace(b'"Model::Hips"', b'"Model::Hips', 1))
    assert unclosed.line is not None


def test_properties_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    data = small("ascii").replace(
        b'"PreRotation", "Vector3D", "Vector", "A", 10.0', b'"PreRotation", "Vector3D", "Vector", "A", "ten"'
    )
    assert "'PreRotation' needs 3 finite numbers" in refusal(tmp_path, data).message


def test_names_and_spaces_of_text_files(tmp_path: Path) -> None:
    """Namespaces, other scripts and blanks are kept; comments, CRLF and a byte-order mark change nothing."""
    bones = [Bone("mixamorig:Hips"), Bone("腰 1", "mixamorig:Hips", {"Lcl Translation": (0.0, 5.0, 0.0)})]
    for kind in ("7400", "ascii"):
        assert ambulo.load(_write(tmp_path, to_bytes(Scene(bones), kind))).skeleton.names == ("mixamorig:Hips", "腰 1")
    text = write_ascii(records(Scene(bones), False)).replace(b"\n", b"\r\n")
    text = text.replace(b"Objects:", b'; a comment with { and "\r\nObjects:')
    motion = ambulo.load(_write(tmp_path, b"\xef\xbb\xbf" + text))
    assert motion.skeleton.names == ("mixamorig:Hips", "腰 1")


def test_joints_of_the_same_name_are_kept_apart(tmp_path: Path) -> None:
    top = records(Scene([Bone("Hips"), Bone("Left", "Hips"), Bone("Right", "Hips")]), True)
    motion = ambulo.load(_write(tmp_path, write_binary(_renamed(top, "Right", "Left"))))
    assert motion.skeleton.names == ("Hips", "Left", "Left#2")
    assert "duplicate_name" in [note.code for note in motion.source.warnings]


def _renamed(top: list[Record], old: str, new: str) -> list[Record]:
    def rename(record: Record) -> Record:
        label, values, inner = record
        values = [v.replace(old + "\x00", new + "\x00") if isinstance(v, str) else v for v in values]
        return (label, values, [rename(child) for child in inner])

    return [rename(record) for record in top]


def test_helper_nodes_between_joints_are_folded(tmp_path: Path) -> None:
    bones = [
        Bone("Hips", None, {"Lcl Translation": (0.0, 90.0, 0.0)}),
        Bone("helper", "Hips", {"Lcl Rotation": (0.0, 0.0, 90.0), "Lcl Translation": (0.0, 10.0, 0.0)}, "Null"),
        Bone("Spine", "helper", {"Lcl Translation": (10.0, 0.0, 0.0)}),
    ]
    layer = {("helper", "Lcl Translation", "X"): [Key(0.0, 0.0), Key(1.0, 30.0)]}
    motion = ambulo.load(_write(tmp_path, to_bytes(Scene(bones, [Stack("T", [layer], (0.0, 1.0))]))))
    assert motion.skeleton.names == ("Hips", "Spine")
    world = forward_motion(motion).positions
    np.testing.assert_allclose(world[0, 1], [0.0, 1.1, 0.0], atol=1e-6)
    np.testing.assert_allclose(world[-1, 1], [0.3, 1.1, 0.0], atol=1e-6)


def test_chains_of_nulls_are_a_skeleton_where_there_are_no_bones(tmp_path: Path) -> None:
    bones = [
        Bone("Root", None, {}, "Null"),
        Bone("Arm", "Root", {"Lcl Translation": (9.0, 0.0, 0.0)}, "Null"),
        Bone("Cube", None, {}, "Mesh"),
    ]
    assert ambulo.load(_write(tmp_path, to_bytes(Scene(bones)))).skeleton.names == ("Root", "Arm")


def test_several_roots_below_one_node_are_one_body_and_apart_two(tmp_path: Path) -> None:
    together = [
        Bone("Body", None, {}, "Null"),
        *(Bone(n, "Body") for n in ("A", "B")),
        Bone("A2", "A"),
        Bone("B2", "B"),
    ]
    motion = ambulo.load(_write(tmp_path, to_bytes(Scene(together))))
    assert motion.skeleton.names == ("Body", "A", "A2", "B", "B2")
    apart = [Bone("A"), Bone("A2", "A"), Bone("B"), Bone("B2", "B"), Bone("Prop")]
    motions = ambulo.load_all(_write(tmp_path, to_bytes(Scene(apart))))
    assert [m.skeleton.names for m in motions] == [("A", "A2"), ("B", "B2")]


def test_fbx_is_read_only_and_says_what_can_be_written(tmp_path: Path) -> None:
    motion = ambulo.load(_write(tmp_path, small()))
    with pytest.raises(FormatError, match="cannot be written") as caught:
        ambulo.save(motion, tmp_path / "out.fbx")
    assert ".bvh" in (caught.value.remedy or "")
    assert not (tmp_path / "out.fbx").exists()

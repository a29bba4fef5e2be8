"""Quirks of BVH files in the wild, each as a small file written here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ambulo
from ambulo.errors import AmbuloError, FormatError
from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion

HEADER = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
  JOINT Spine
  {
    OFFSET 0 10 0
    CHANNELS 3 Zrotation Yrotation Xrotation
    End Site
    {
      OFFSET 0 5 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.0333333
"""
ROWS = "1 90 2 0 0 0 0 0 0\n2 90 2 90 0 0 0 0 90\n"


class Folder:
    """A folder to write small files to and read them from."""

    def __init__(self, path: Path) -> None:
        self.path = path / "take.bvh"

    def load(self, text: str | bytes, **options: Any) -> Motion:
        self.path.write_bytes(text.encode() if isinstance(text, str) else text)
        return ambulo.load(self.path, **{"unit": "metre", "up": "y", **options})

    def refuse(self, text: str | bytes, **options: Any) -> FormatError:
        with pytest.raises(FormatError) as caught:
            self.load(text, **options)
        assert caught.value.path == self.path
        return caught.value


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def plain(folder: Folder) -> Motion:
    return folder.load(HEADER + ROWS)


def same(a: Motion, b: Motion) -> None:
    assert a.skeleton.names == b.skeleton.names
    np.testing.assert_array_equal(a.skeleton.parents, b.skeleton.parents)
    np.testing.assert_array_equal(a.skeleton.offsets, b.skeleton.offsets)
    np.testing.assert_array_equal(a.skeleton.end_offsets, b.skeleton.end_offsets)
    np.testing.assert_array_equal(a.positions, b.positions)
    np.testing.assert_array_equal(a.rotations, b.rotations)
    assert a.rate == b.rate


SPELLINGS = {
    "scientific": HEADER + "1e0 9.0E+1 2.0e-00 0 0 0 0 0 0\n.2e1 900e-1 +2. 90 0 -0 0 0 9e1\n",
    "old mac line ends": (HEADER + ROWS).replace("\n", "\r"),
    "dos line ends and end-of-file mark": (HEADER + ROWS).replace("\n", "\r\n") + "\x1a",
    "no last line end": (HEADER + ROWS).rstrip("\n"),
    "blank lines, tabs, trailing blanks": (HEADER + ROWS).replace("\n", " \t\n\n").replace(" 0", "\t 0"),
    "keywords in any case": HEADER.lower().replace("hips", "Hips").replace("spine", "Spine") + ROWS,
    "upper case": HEADER.upper().replace("HIPS", "Hips").replace("SPINE", "Spine") + ROWS,
    "glued braces": HEADER.replace("\n{", " {").replace("  {", "{").replace("Spine\n", "Spine") + ROWS,
    "glued colons": HEADER.replace("Frames: ", "Frames:").replace("Frame Time: ", "Frame Time:") + ROWS,
    "loose colons": HEADER.replace("Frames:", "Frames :").replace("Frame Time:", "Frame Time\t:") + ROWS,
    "channels over two lines": HEADER.replace("Zposition ", "Zposition\n ") + ROWS,
    "offset on the next line": HEADER.replace("OFFSET 0 10 0", "OFFSET\n0 10\n0") + ROWS,
    "name on the next line": HEADER.replace("ROOT Hips", "ROOT\nHips") + ROWS,
    "EndSite": HEADER.replace("End Site", "EndSite Foot") + ROWS,
    "frame time before frames": HEADER.replace("Frames: 2\nFrame Time: 0.0333333", "Frame Time: 0.0333333\nFrames: 2")
    + ROWS,
}


@pytest.mark.parametrize("text", list(SPELLINGS.values()), ids=list(SPELLINGS))
def test_other_spellings_read_as_the_plain_file(folder: Folder, plain: Motion, text: str) -> None:
    same(folder.load(text), plain)


def test_utf16_reads_as_the_plain_file(folder: Folder, plain: Motion) -> None:
    same(folder.load((HEADER + ROWS).encode("utf-16")), plain)


def test_everything_on_one_line(folder: Folder, plain: Motion) -> None:
    header = " ".join(HEADER.split("MOTION")[0].split())
    # A name ends at its brace, so that even this has one meaning.
    text = f"{header} MOTION Frames: 2 Frame Time: 0.0333333 {' '.join(ROWS.split())}"
    same(folder.load(text), plain)


def test_names_that_look_like_keywords(folder: Folder) -> None:
    text = (HEADER + ROWS).replace("ROOT Hips", "ROOT MOTION").replace("JOINT Spine", "JOINT mixamorig:End Site.001")
    assert folder.load(text).skeleton.names == ("MOTION", "mixamorig:End Site.001")


def test_names_in_latin_1(folder: Folder) -> None:
    motion = folder.load((HEADER + ROWS).replace("Spine", "Rücken").encode("latin-1"))
    assert motion.skeleton.names[1] == "Rücken"
    assert [note.code for note in motion.source.warnings] == ["encoding"]


def test_rotation_before_position(folder: Folder, plain: Motion) -> None:
    header = HEADER.replace(
        "Xposition Yposition Zposition Zrotation Yrotation Xrotation",
        "Zrotation Yrotation Xrotation Zposition Xposition Yposition",
    )
    same(folder.load(header + "0 0 0 2 1 90 0 0 0\n90 0 0 2 2 90 0 0 90\n"), plain)


def test_one_position_channel_replaces_one_axis(folder: Folder) -> None:
    header = HEADER.replace("OFFSET 0 10 0\n    CHANNELS 3 ", "OFFSET 7 10 3\n    CHANNELS 4 Yposition ")
    motion = folder.load(header + "1 90 2 0 0 0 11 0 0 0\n1 90 2 0 0 0 12 0 0 0\n")
    np.testing.assert_array_equal(motion.positions[:, 1], [[7, 11, 3], [7, 12, 3]])


@pytest.mark.parametrize("order", ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "X", "YZ", "ZXZ"])
def test_rotations_are_intrinsic_in_the_listed_order(folder: Folder, order: str) -> None:
    channels = " ".join(f"{axis}rotation" for axis in order)
    header = HEADER.replace("CHANNELS 3 Zrotation Yrotation Xrotation", f"CHANNELS {len(order)} {channels}")
    angles = [[33.5, -71.25, 128.0][: len(order)], [-178.0, 90.0, 411.5][: len(order)]]
    rows = "".join("0 0 0 0 0 0 " + " ".join(map(str, row)) + "\n" for row in angles)
    motion = folder.load(header + rows)
    wanted = quaternions.from_euler(np.radians(np.array(angles, np.float64)), order)
    assert quaternions.angle_between(motion.rotations[:, 1].astype(np.float64), wanted).max() < 1e-6


def test_right_angles_are_exact_and_unrolled(folder: Folder) -> None:
    degrees = [0, 90, 180, 270, 360, 450, -90, -180]
    rows = "".join(f"0 0 0 0 0 0 {d} 0 0\n" for d in degrees)
    q = folder.load(HEADER.replace("Frames: 2", "Frames: 8") + rows).rotations[:, 1]
    half = np.float32(np.sqrt(0.5))
    wanted = [(0, 1), (half, half), (1, 0), (half, half), (0, 1), (half, half), (half, half), (1, 0)]
    np.testing.assert_array_equal(np.abs(q[:, 2:]), np.array(wanted, np.float32))
    assert (np.sum(q[1:] * q[:-1], axis=1) >= 0).all()


def test_zero_channels_everywhere(folder: Folder) -> None:
    text = HEADER.split("MOTION")[0].replace(
        "CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation", "CHANNELS 0"
    )
    text = text.replace("CHANNELS 3 Zrotation Yrotation Xrotation", "") + "MOTION\nFrames: 1\nFrame Time: 0.05\n\n"
    motion = folder.load(text)
    np.testing.assert_array_equal(motion.positions, [[[0, 0, 0], [0, 10, 0]]])


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (HEADER + ROWS.replace("2 90 2", "2 90,5 2"), 20, "decimal comma"),
        (HEADER + ROWS.replace("2 90 2", "2 90.1.5 2"), 20, "run together"),
        (HEADER + ROWS.replace("2 90 2", "2 90.25-12.5 2"), 20, "'90.25-12.5'"),
        (HEADER + ROWS.replace("2 90 2", "2 1e400 2"), 20, "too large"),
        (HEADER + ROWS.replace("2 90 2", "2 -1.#IND 2"), 20, "not finite"),
        (HEADER + ROWS.replace("2 90 2", "2 NaN 2"), 20, "not finite"),
        (HEADER + ROWS.replace("2 90 2", "2 Infinity 2"), 20, "not finite"),
        (HEADER + ROWS.replace("2 90 2", "2 0x10 2"), 20, "no number"),
        (HEADER + ROWS.replace("2 90 2", "2 - 2"), 20, "'-'"),
        (HEADER + ROWS.replace("2 90 2", "2 1e 2"), 20, "'1e'"),
        (HEADER + ROWS + "1 2 3 4 5 6 7 8 9 10\n", 21, "10 of 9 values"),
        (HEADER + "1 90 2 0 0 0 0 0\n" + ROWS, 19, "8 of 9 values"),
        (HEADER.replace("0.0333333", "0,0333333") + ROWS, 18, "decimal comma"),
        (HEADER.replace("0.0333333", "-0.03") + ROWS, 18, "not possible"),
        (HEADER.replace("0.0333333", "nan") + ROWS, 18, "'nan'"),
        (HEADER.replace("0.0333333", "1e-320") + ROWS, 18, "not possible"),
        (HEADER.replace("Frame Time: 0.0333333\n", "") + ROWS, 17, "no Frame Time"),
        (HEADER.replace("Frames: 2", "Frames: -2") + ROWS, 17, "'-2'"),
        (HEADER.replace("Frames: 2", "Frames: two") + ROWS, 17, "'two'"),
        (HEADER.replace("OFFSET 0 10 0", "OFFSET 0 1o 0") + ROWS, 8, "'1o'"),
        (HEADER.replace("OFFSET 0 10 0", "OFFSET 0 nan 0") + ROWS, 8, "'nan'"),
        (HEADER.replace("OFFSET 0 10 0", "OFFSET 0 10") + ROWS, 8, "2 of 3"),
        (HEADER.replace("OFFSET 0 10 0", "OFFSET 0 10,5 0") + ROWS, 8, "decimal comma"),
        (HEADER.replace("OFFSET 0 10 0", "OFSET 0 10 0") + ROWS, 8, "'OFSET'"),
        (HEADER.replace("CHANNELS 3", "CHANNELS three"), 9, "'three'"),
        (HEADER.replace("CHANNELS 6 Xposition", "CHANNELS 6 Yposition"), 5, "named twice"),
        (HEADER.replace("JOINT Spine\n  {", "JOINT Spine\n"), 8, "'{' is expected"),
        (HEADER.replace("}\nMOTION", "}}\nMOTION"), 15, "without an open block"),
        (HEADER.split("MOTION")[0], 16, "no MOTION"),
        (HEADER[:120], 6, "where '{' is expected"),
        (HEADER.split("CHANNELS 3")[0], 9, "opened at line 7 is still open"),
        ("MOTION\n" + ROWS, 1, "HIERARCHY is expected"),
        ("HIERARCHY\nMOTION\nFrames: 0\nFrame Time: 0.1\n", 2, "no ROOT"),
        ("# a comment\n" + HEADER, 1, "HIERARCHY is expected"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8, 1, "not a BVH"),
        (b"\xff\xfe\x00\xd8\x00\xd8", 1, "UTF-16"),
        (b"\n\n  \n", 1, "HIERARCHY is expected"),
    ],
)
def test_faults_are_refused_at_their_line(folder: Folder, text: str | bytes, line: int, says: str) -> None:
    error = folder.refuse(text)
    assert says in str(error)
    assert error.line == line


def test_faults_of_one_kind_are_all_listed(folder: Folder) -> None:
    error = folder.refuse(HEADER.replace("Zrotation", "Qrotation"))
    assert error.line == 5
    assert "line 9: 'Qrotation' of Spine" in str(error)
    error = folder.refuse(HEADER + "1 2 3\n" + ROWS + "1 2 3 4\n")
    assert "3 of 9 values" in str(error)
    assert "line 22: 4 of 9 values" in str(error)
    many = folder.refuse(HEADER + "nan 0 0 0 0 0 0 0 0\n" * 5000)
    assert "4980 more" in str(many)
    assert len(str(many)) < 3000


def test_a_short_row_is_never_filled_from_the_next(folder: Folder) -> None:
    # Eight values and then ten: together two rows, but no two rows that anyone wrote.
    error = folder.refuse(HEADER + "1 90 2 0 0 0 0 0\n2 90 2 90 0 0 0 0 90 7\n")
    assert "8 of 9 values" in str(error)
    assert "line 20: 10 of 9 values" in str(error)


def test_lenient_keeps_the_time_axis(folder: Folder) -> None:
    rows = "1 0 0 0 0 0 0 0 0\n2 0 0\n3 0 0 0 0 0 0 0 0\nnan 0 0 0 0 0 0 0 0\n5 0 0 0 0 0 0 0 0\n6 0\n"
    motion = folder.load(HEADER + rows, lenient=True)
    np.testing.assert_array_equal(motion.positions[:, 0, 0], [1, 1, 3, 3, 5])
    lines = {note.line for note in motion.source.warnings if note.code == "damaged_row"}
    assert lines == {20, 22, 24}


def test_lenient_begins_with_the_first_whole_row(folder: Folder) -> None:
    motion = folder.load(HEADER + "inf 0 0 0 0 0 0 0 0\n" + ROWS, lenient=True)
    np.testing.assert_array_equal(motion.positions[:, 0, 0], [1, 1, 2])
    error = folder.refuse(HEADER + "inf 0 0 0 0 0 0 0 0\n", lenient=True)
    assert "no frame is whole" in str(error)


def test_strict_refuses_every_warning(folder: Folder) -> None:
    assert folder.load(HEADER + ROWS, strict=True).frame_count == 2
    text = HEADER.replace("JOINT Spine", "JOINT Hips").replace("Frames: 2", "Frames: 3") + ROWS
    error = folder.refuse(text, strict=True)
    assert "renamed 'Hips#2'" in str(error)
    assert "3 frames are declared" in str(error)
    with pytest.raises(FormatError, match="exclude each other"):
        folder.load(text, strict=True, lenient=True)


def test_a_given_rate_wins_even_over_none(folder: Folder) -> None:
    motion = folder.load(HEADER + ROWS, rate=60)
    assert motion.rate == 60.0
    assert motion.source.frame_time == 0.0333333
    assert folder.load(HEADER.replace("0.0333333", "30fps") + ROWS, rate=24).rate == 24.0
    assert folder.load(HEADER.replace("Frame Time: 0.0333333\n", "") + ROWS, rate=24).rate == 24.0
    for rate in (0.0, -1.0, float("nan")):
        assert folder.refuse(HEADER + ROWS, rate=rate).key == "rate"


def test_missing_frames_line_is_counted(folder: Folder) -> None:
    motion = folder.load(HEADER.replace("Frames: 2\n", "") + ROWS)
    assert motion.frame_count == 2
    assert [note.code for note in motion.source.warnings] == ["frame_count"]


def test_far_more_rows_and_lines_than_declared(folder: Folder) -> None:
    motion = folder.load(HEADER + ROWS * 50)
    assert motion.frame_count == 100
    np.testing.assert_array_equal(motion.positions[:, 0, 0], [1, 2] * 50)
    wrapped = folder.load(HEADER.replace("Frames: 2", "Frames: 100") + (ROWS * 50).replace(" ", "\n"))
    np.testing.assert_array_equal(wrapped.rotations, motion.rotations)


def test_position_channels_left_at_zero_are_warned_of(folder: Folder) -> None:
    header = HEADER.replace("CHANNELS 3 Z", "CHANNELS 6 Xposition Yposition Zposition Z")
    motion = folder.load(header + "1 90 2 0 0 0 0 0 0 0 0 0\n" * 2)
    np.testing.assert_array_equal(motion.positions[:, 1], 0)
    assert "collapsed" in [note.code for note in motion.source.warnings]


def test_deep_and_wide_hierarchies(folder: Folder) -> None:
    deep = 3000
    opening = "".join(f"{'JOINT' if i else 'ROOT'} j{i}\n{{\nOFFSET 0 1 0\nCHANNELS 1 Zrotation\n" for i in range(deep))
    text = f"HIERARCHY\n{opening}{'}' * deep}\nMOTION\nFrames: 1\nFrame Time: 0.05\n{'0 ' * deep}\n"
    motion = folder.load(text)
    assert motion.skeleton.joint_count == deep
    assert forward_motion(motion).positions[0, -1, 1] == pytest.approx(deep, rel=1e-5)
    leaves = "".join("JOINT j\n{\nOFFSET 0 1 0\nCHANNELS 1 Zrotation\n}\n" for _ in range(deep))
    text = f"HIERARCHY\nROOT j\n{{\nOFFSET 0 0 0\n{leaves}}}\nMOTION\nFrames: 1\nFrame Time: 0.05\n{'0 ' * deep}\n"
    motion = folder.load(text)
    assert motion.skeleton.names[-1] == f"j#{deep + 1}"
    assert (motion.skeleton.parents[1:] == 0).all()


def test_renaming_never_makes_a_new_duplicate(folder: Folder) -> None:
    leaves = "".join(f"JOINT {name}\n{{\nOFFSET 0 1 0\n}}\n" for name in ("A", "A#2", "A", "A"))
    motion = folder.load(
        f"HIERARCHY\nROOT R\n{{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n{leaves}}}\nMOTION\nFrames: 1\n"
        "Frame Time: 0.1\n0\n"
    )
    assert motion.skeleton.names == ("R", "A", "A#2", "A#3", "A#4")


def test_files_that_begin_alike_share_nothing_that_changes(folder: Folder) -> None:
    leaves = "JOINT A\n{\nOFFSET 0 1 0\n}\n" * 2
    head = f"HIERARCHY\nROOT R\n{{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n{leaves}}}\n"
    rows = "MOTION\nFrames: 1\nFrame Time: 0.1\n0\n"
    first, second = folder.load(head + rows), folder.load(head + rows.replace("Frames: 1", "Frames: 2"))
    assert first.skeleton.names == second.skeleton.names == ("R", "A", "A#2")
    again = folder.load(head + rows)
    assert again.source.notes == first.source.notes and len(second.source.notes) == len(first.source.notes) + 1
    for name in ("a.bvh", "b.bvh"):
        folder.path = folder.path.with_name(name)
        folder.refuse(head.replace("1 Xrotation", "2 Xrotation") + rows)  # names its own file


def test_mutated_files_load_or_are_refused_but_never_crash(tmp_path: Path) -> None:
    random = np.random.default_rng(20)
    path = tmp_path / "fuzz.bvh"
    seeds = [(HEADER + ROWS * 15).encode(), (HEADER + ROWS * 15).encode("utf-16")]
    seeds.append((HEADER.split("MOTION")[0] + HEADER.split("HIERARCHY\n")[1] + "0 " * 18 + "\n" + "1e5 " * 18).encode())
    alphabet = b"{}0123456789.-+eE,\n\r\t nNaAIiFf:\x00\xff#JROEMCHX"
    outcomes = {"read": 0, "refused": 0}
    for _ in range(1000):
        data = bytearray(seeds[random.integers(len(seeds))])
        for _ in range(random.integers(1, 4)):
            at = int(random.integers(len(data)))
            kind = random.integers(9) // 2
            if kind == 0:
                data[at] = alphabet[random.integers(len(alphabet))]
            elif kind == 1:
                data.insert(at, alphabet[random.integers(len(alphabet))])
            elif kind == 2:
                del data[at : at + int(random.integers(1, 20))]
            elif kind == 3:
                data[at:at] = data[at : at + int(random.integers(1, 40))]
            else:
                del data[at:]
                data += b" "
            data = data or bytearray(b"H")
        path.write_bytes(bytes(data))
        for lenient in (False, True):
            try:
                motions = ambulo.load_all(path, lenient=lenient)
            except AmbuloError as error:
                outcomes["refused"] += 1
                assert error.path == path
            else:
                outcomes["read"] += 1
                for motion in motions:
                    assert np.isfinite(motion.positions).all()
                    assert np.abs(np.linalg.norm(motion.rotations, axis=-1) - 1.0).max(initial=0.0) < 1e-5
    assert min(outcomes.values()) > 150

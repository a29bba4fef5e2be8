"""Converting files and folders: what becomes of every take, and of what is there already."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.errors import FormatError
from ambulo.formats.conversion import ConvertSettings, convert
from ambulo.formats.registry import FORMATS, writable_format
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion

_spec = importlib.util.spec_from_file_location(
    "ambulo_test_convert_motions", Path(__file__).with_name("random_motions.py")
)
assert _spec is not None and _spec.loader is not None
motions_of = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(motions_of)


def take(seed: int = 0, name: str = "take", frames: int = 12) -> Motion:
    skeleton = motions_of.random_skeleton(3, 5, rest=False)
    return motions_of.random_motion(seed, skeleton, frames, 30.0, name=name)


def same_poses(a: Motion, b: Motion) -> None:
    np.testing.assert_allclose(forward_motion(a).positions, forward_motion(b).positions, atol=2e-5)
    assert a.rate == b.rate


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two good takes, one broken one, one file of two animations, and a text, in two folders."""
    root = tmp_path / "takes"
    (root / "below").mkdir(parents=True)
    ambulo.save(take(0), root / "a.bvh", unit="metre")
    ambulo.save(take(1), root / "below" / "b.bvh", unit="metre")
    ambulo.save([take(2, "walk"), take(3, "run/fast")], root / "below" / "c.glb")
    (root / "below" / "broken.bvh").write_text("HIERARCHY\nROOT Hips\n{\n")
    (root / "notes.txt").write_text("no motion")
    return root


def test_a_file_to_a_file_keeps_the_poses(tmp_path: Path) -> None:
    ambulo.save(take(), tmp_path / "a.bvh", unit="metre")
    done = convert(tmp_path / "a.bvh", tmp_path / "b.glb", ConvertSettings(unit="metre"))
    assert [(file.target, file.motions, file.frames) for file in done.written] == [(tmp_path / "b.glb", 1, 12)]
    same_poses(ambulo.load(tmp_path / "b.glb"), take())
    convert(tmp_path / "b.glb", tmp_path / "c.bvh", ConvertSettings(options={"unit": "inch", "order": "XYZ"}))
    same_poses(ambulo.load(tmp_path / "c.bvh", unit="inch", up="y"), take())
    assert "Xrotation Yrotation Zrotation" in (tmp_path / "c.bvh").read_text()


def test_a_folder_keeps_its_shape_and_lists_what_failed(tree: Path, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    out = tmp_path / "out"
    done = convert(tree, out, ConvertSettings(to="glb", unit="metre"), lambda *told: seen.append(told))
    files = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    assert files == ["a.glb", "below/b.glb", "below/c.glb"]
    assert [failed.source for failed in done.failed] == [tree / "below" / "broken.bvh"]
    assert done.failed[0].reason
    assert str(tree) not in done.failed[0].reason
    assert seen[-1] == ("convert", 4, 4)
    assert [motion.name for motion in ambulo.load_all(out / "below" / "c.glb")] == ["walk", "run/fast"]


def test_several_motions_become_several_files_where_they_must(tree: Path, tmp_path: Path) -> None:
    done = convert(tree / "below" / "c.glb", tmp_path / "c.bvh")
    assert [file.target.name for file in done.written] == ["c_walk.bvh", "c_run_fast.bvh"]
    same_poses(ambulo.load(tmp_path / "c_run_fast.bvh", unit="cm", up="y"), take(3))


def test_actors_of_one_take_stay_together_in_bvh_and_part_in_gltf(tmp_path: Path) -> None:
    other = take(1)
    names = tuple(f"{name}_b" for name in other.skeleton.names)
    pair = [take(0), replace(other, skeleton=replace(other.skeleton, names=names))]
    ambulo.save(pair, tmp_path / "pair.bvh", unit="metre")
    done = convert(tmp_path / "pair.bvh", tmp_path / "again.bvh", ConvertSettings(unit="metre", up="y"))
    assert [(file.target.name, file.motions) for file in done.written] == [("again.bvh", 2)]
    done = convert(tmp_path / "pair.bvh", tmp_path / "pair.glb", ConvertSettings(unit="metre", up="y"))
    assert [file.target.name for file in done.written] == ["pair_Joint 0.0.glb", "pair_Joint 0.0_b.glb"]
    same_poses(ambulo.load(tmp_path / "pair_Joint 0.0_b.glb"), other)


def test_names_that_meet_are_numbered(tmp_path: Path) -> None:
    ambulo.save([take(0, "a/b"), take(1, "a:b"), take(2, "a?b")], tmp_path / "x.glb")
    done = convert(tmp_path / "x.glb", tmp_path / "x.bvh")
    assert [file.target.name for file in done.written] == ["x_a_b.bvh", "x_a_b_2.bvh", "x_a_b_3.bvh"]


def test_nothing_is_overwritten_unless_forced(tree: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.glb"
    target.write_bytes(b"mine")
    with pytest.raises(FormatError, match="there already") as caught:
        convert(tree / "a.bvh", target)
    assert "--force" in str(caught.value.remedy)
    assert target.read_bytes() == b"mine"
    convert(tree / "a.bvh", target, ConvertSettings(force=True))
    assert target.read_bytes().startswith(b"glTF")
    # Of several files none is written if one is in the way.
    (tmp_path / "c_run_fast.bvh").write_text("mine")
    with pytest.raises(FormatError, match=r"c_run_fast\.bvh is there already"):
        convert(tree / "below" / "c.glb", tmp_path / "c.bvh")
    assert not (tmp_path / "c_walk.bvh").exists()


def test_a_take_is_not_written_onto_itself_even_if_forced(tree: Path, tmp_path: Path) -> None:
    before = (tree / "a.bvh").read_bytes()
    (tmp_path / "twin.bvh").symlink_to(tree / "a.bvh")
    for target in (tree / "a.bvh", tree / "below" / ".." / "a.bvh", tmp_path / "twin.bvh"):
        with pytest.raises(FormatError, match="never written to"):
            convert(tree / "a.bvh", target, ConvertSettings(force=True, resample=15.0))
    assert (tree / "a.bvh").read_bytes() == before


def test_markers_and_formats_that_are_only_read_are_named(tmp_path: Path, cases: Path) -> None:
    with pytest.raises(FormatError, match="2 markers are no skeleton"):
        convert(cases / "c3d_occluded_marker_no_analog.c3d", tmp_path / "out.glb")
    ambulo.save(take(0), tmp_path / "a.bvh")
    for name in ("out.fbx", "out.c3d", "out.amc"):
        with pytest.raises(FormatError, match="can be read but not written"):
            convert(tmp_path / "a.bvh", tmp_path / name)


def test_two_takes_never_become_one_file(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    ambulo.save(take(0), folder / "a.bvh", unit="metre")
    ambulo.save(take(1), folder / "a.gltf")
    done = convert(folder, tmp_path / "out", ConvertSettings(to="glb", force=True))
    assert [file.source.name for file in done.written] == ["a.bvh"]
    assert "was already made from a.bvh" in done.failed[0].reason


def test_strict_writes_nothing_if_one_take_is_broken(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="1 of 4 files") as caught:
        convert(tree, tmp_path / "out", ConvertSettings(to="glb", strict=True))
    assert "broken.bvh" in str(caught.value)
    assert not (tmp_path / "out").exists()
    (tree / "below" / "broken.bvh").unlink()
    assert len(convert(tree, tmp_path / "out", ConvertSettings(to="glb", strict=True)).written) == 3


def test_into_the_same_folder_only_other_formats_are_converted(tree: Path) -> None:
    done = convert(tree, tree, ConvertSettings(to="bvh", unit="metre"))
    assert [file.source.name for file in done.written] == ["c.glb", "c.glb"]
    assert not done.failed
    # A folder inside the tree that holds results of an earlier run is not taken for takes.
    again = convert(tree, tree / "out", ConvertSettings(to="glb"))
    count = len(again.written)
    assert len(convert(tree, tree / "out", ConvertSettings(to="glb", force=True)).written) == count


def test_resampling_and_reading_options_reach_every_file(tree: Path, tmp_path: Path) -> None:
    convert(tree, tmp_path / "out", ConvertSettings(to="glb", unit="centimetre", up="z", resample=60))
    motion = ambulo.load(tmp_path / "out" / "a.glb")
    assert (motion.rate, motion.frame_count) == (60.0, 23)
    was = forward_motion(take()).positions[-1]
    np.testing.assert_allclose(forward_motion(motion).positions[-1], 0.01 * was[:, [0, 2, 1]] * [1, 1, -1], atol=1e-6)


def test_wrong_requests_are_refused(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="to which format"):
        convert(tree, tmp_path / "out")
    with pytest.raises(FormatError, match="no format is called 'bhv'"):
        convert(tree, tmp_path / "out", ConvertSettings(to="bhv"))
    with pytest.raises(FormatError, match="no format is called"):
        convert(tree / "a.bvh", tmp_path / "a.xyz")
    with pytest.raises(FormatError, match="which format"):
        convert(tree / "a.bvh", tmp_path)
    with pytest.raises(FormatError, match=r"called '\.glb', but bvh"):
        convert(tree / "a.bvh", tmp_path / "a.glb", ConvertSettings(to="bvh"))
    with pytest.raises(FormatError, match="no such file"):
        convert(tree / "absent.bvh", tmp_path / "a.glb")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match="no motion file"):
        convert(tmp_path / "empty", tmp_path / "out", ConvertSettings(to="glb"))
    (tmp_path / "empty" / "x.bvh").write_text("nothing")
    with pytest.raises(FormatError, match="none of 1 files"):
        convert(tmp_path / "empty", tmp_path / "out", ConvertSettings(to="glb"))


def test_every_format_that_can_be_written_is_found_by_name_and_extension() -> None:
    for form in FORMATS:
        if form.write is not None:
            assert writable_format(form.name) is form
            assert all(writable_format(extension) is form for extension in form.extensions)
        else:
            with pytest.raises(FormatError, match="can be read but not written"):
                writable_format(form.name)

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.errors import AmbuloError, FormatError
from ambulo.formats.paths import write_whole
from ambulo.formats.registry import motion_files
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton


@pytest.fixture
def motion() -> Motion:
    skeleton = Skeleton(("Hips", "Spine"), np.array([-1, 0]), np.array([[0, 0, 0], [0, 0.2, 0]]))
    positions = np.tile(skeleton.offsets, (3, 1, 1))
    return Motion(skeleton, positions, np.tile(quaternions.IDENTITY, (3, 2, 1)), 30.0)


def refuse(path: Path | str) -> FormatError:
    with pytest.raises(FormatError) as caught:
        ambulo.load(path)
    return caught.value


def test_paths_that_are_no_motion_file(tmp_path: Path, motion: Motion) -> None:
    assert "no such file" in str(refuse(tmp_path / "absent.bvh"))
    assert "load_all" in str(refuse(tmp_path))
    (tmp_path / "folder.bvh").mkdir()
    assert "folder" in str(refuse(tmp_path / "folder.bvh"))
    (tmp_path / "notes.txt").write_text("hello")
    error = str(refuse(tmp_path / "notes.txt"))
    assert "'.txt'" in error
    assert ".bvh" in error
    ambulo.save(motion, tmp_path / "take.bvh")
    (tmp_path / "take.bvh").rename(tmp_path / "take.dat")
    assert "looks like bvh" in str(refuse(tmp_path / "take.dat"))
    with pytest.raises(FormatError, match=r"use one of \.bvh"):
        ambulo.save(motion, tmp_path / "take.xyz")


def test_extensions_in_any_case_and_paths_as_text(tmp_path: Path, motion: Motion) -> None:
    ambulo.save(motion, str(tmp_path / "TAKE.BVH"))
    again = ambulo.load(str(tmp_path / "TAKE.BVH"))
    assert again.name == "TAKE"
    assert again.source.path == tmp_path / "TAKE.BVH"
    assert again.source.format == "bvh"


def test_a_folder_is_read_in_order(tmp_path: Path, motion: Motion) -> None:
    (tmp_path / "below").mkdir()
    for name in ("b", "a", "c", "below/d"):
        ambulo.save(motion, tmp_path / f"{name}.bvh")
    (tmp_path / "readme.txt").write_text("no motion")
    assert [m.name for m in ambulo.load_all(tmp_path)] == ["a", "b", "c"]
    assert [m.name for m in ambulo.load_all(tmp_path, recursive=True)] == ["a", "b", "d", "c"]
    assert [path.name for path in motion_files(tmp_path)] == ["a.bvh", "b.bvh", "c.bvh"]


def test_a_folder_lists_every_file_that_cannot_be_read(tmp_path: Path, motion: Motion) -> None:
    for name in ("a", "b", "c"):
        ambulo.save(motion, tmp_path / f"{name}.bvh")
    (tmp_path / "b.bvh").write_bytes(b"")
    (tmp_path / "d.bvh").write_text("HIERARCHY\n")
    with pytest.raises(FormatError) as caught:
        ambulo.load_all(tmp_path)
    assert "2 of 4 files" in str(caught.value)
    assert str(tmp_path / "b.bvh") in str(caught.value)
    assert str(tmp_path / "d.bvh") in str(caught.value)
    errors: list[AmbuloError] = []
    assert [m.name for m in ambulo.load_all(tmp_path, on_error=errors.append)] == ["a", "c"]
    assert [error.path for error in errors] == [tmp_path / "b.bvh", tmp_path / "d.bvh"]


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no motion file"):
        ambulo.load_all(tmp_path)


def test_load_all_of_one_file_is_a_list_of_one(tmp_path: Path, motion: Motion) -> None:
    ambulo.save(motion, tmp_path / "a.bvh")
    (only,) = ambulo.load_all(tmp_path / "a.bvh", unit="cm", up="y")
    np.testing.assert_array_equal(only.positions, motion.positions)


def test_a_failed_save_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, motion: Motion, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "take.bvh"
    ambulo.save(motion, path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FormatError, match="No space left"):
        ambulo.save(motion, path, unit="metre")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_saving_to_a_missing_folder_is_refused(tmp_path: Path, motion: Motion) -> None:
    with pytest.raises(FormatError, match="folder does not exist"):
        ambulo.save(motion, tmp_path / "absent" / "take.bvh")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
def test_saved_files_have_ordinary_permissions(tmp_path: Path, motion: Motion) -> None:
    ambulo.save(motion, tmp_path / "take.bvh")
    (tmp_path / "plain").touch()
    assert (tmp_path / "take.bvh").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_unit_and_up_are_checked_before_anything_is_believed(tmp_path: Path, motion: Motion) -> None:
    ambulo.save(motion, tmp_path / "take.bvh")
    with pytest.raises(FormatError) as caught:
        ambulo.load(tmp_path / "take.bvh", unit="parsec")
    assert caught.value.key == "unit"
    with pytest.raises(FormatError) as caught:
        ambulo.load(tmp_path / "take.bvh", up="sideways")
    assert caught.value.key == "up"
    assert ambulo.load(tmp_path / "take.bvh", unit=0.5).source.unit == "custom"


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    try:
        os.mkfifo(tmp_path / "take.bvh")
    except (OSError, AttributeError):
        pytest.skip("this system has no pipes")
    assert "a pipe or a device" in str(refuse(tmp_path / "take.bvh"))
    assert motion_files(tmp_path) == []


def test_a_folder_that_may_not_be_entered_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(self: Path, **options: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "stat", denied)
    assert "Permission denied" in str(refuse(tmp_path / "take.bvh"))
    monkeypatch.setattr(Path, "iterdir", denied)
    with pytest.raises(FormatError, match="the folder cannot be read"):
        motion_files(tmp_path, recursive=True)


def test_a_file_is_written_whole_or_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    write_whole(path, b"old")
    write_whole(path, b"new\r\n")
    assert path.read_bytes() == b"new\r\n"
    blocked = tmp_path / "folder"
    (blocked / "inside").mkdir(parents=True)
    with pytest.raises(OSError):
        write_whole(blocked, b"never")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["folder", "kept.json"]
    assert (blocked / "inside").is_dir()

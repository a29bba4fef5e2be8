"""Storage: files that the safetensors library reads as well, mapped without a copy, refused when damaged."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from ambulo.database import storage
from ambulo.database.row_writer import RowWriter
from ambulo.errors import DatabaseError


def tensors() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {
        "poses": rng.normal(size=(7, 3, 4)).astype(np.float32),
        "none": np.zeros((0, 3), np.int64),
        "flags": np.array([True, False, True]),
        "counts": np.arange(5, dtype=np.uint8),
        "scalar": np.array(3, np.int32),
    }


def test_written_arrays_are_mapped_back_and_the_library_agrees(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    storage.write_tensors(path, tensors())
    mapped, library = storage.map_tensors(path), load_file(path)
    assert list(mapped) == list(tensors())
    for name, array in tensors().items():
        assert mapped[name].dtype == array.dtype and library[name].dtype == array.dtype
        assert np.array_equal(mapped[name], array) and np.array_equal(library[name], array)


def test_rows_written_in_pieces_are_one_array(tmp_path: Path) -> None:
    whole = np.random.default_rng(2).normal(size=(10, 2, 3)).astype(np.float32)
    path, pieces = tmp_path / "whole.safetensors", tmp_path / "pieces.safetensors"
    storage.write_tensors(path, {"x": whole})
    with RowWriter(pieces, "x", "float32", whole.shape) as writer:
        for start, stop in ((0, 4), (4, 4), (4, 10)):
            writer.append(whole[start:stop])
    assert pieces.read_bytes() == path.read_bytes()


def test_rows_copied_from_another_file_are_those_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = np.random.default_rng(3).normal(size=(12, 2, 3)).astype(np.float32)
    source = tmp_path / "source.safetensors"
    with RowWriter(source, "x", "float32", whole.shape) as old:
        for start, stop in ((0, 5), (5, 9), (9, 12)):
            old.append(whole[start:stop])
    wanted = np.concatenate([whole[5:12], whole[:5]])
    for number in range(2):
        if number:  # a system that cannot copy by itself

            def refuse(*_: object) -> int:
                raise OSError(errno.ENOSYS, "not here")

            monkeypatch.setattr(os, "copy_file_range", refuse, raising=False)
        path = tmp_path / f"copied_{number}.safetensors"
        with RowWriter(path, "x", "float32", wanted.shape) as writer:
            writer.copy(source, 5, 7, old.digests[1:])
            writer.append(whole[:5])
        assert np.array_equal(storage.map_tensors(path)["x"], wanted)
        with RowWriter(tmp_path / "anew", "x", "float32", wanted.shape) as anew:
            for part in (whole[5:9], whole[9:12], whole[:5]):
                anew.append(part)
        assert anew.checksum == writer.checksum
    with pytest.raises(OSError, match="ends too soon"), RowWriter(path, "x", "float32", wanted.shape) as writer:
        writer.copy(source, 5, 12, old.digests)


def test_missing_rows_and_rows_of_another_shape_are_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="1 rows written where 2"),
        RowWriter(tmp_path / "a", "x", "float32", (2, 3)) as writer,
    ):
        writer.append(np.zeros((1, 3), np.float32))
    with pytest.raises(ValueError, match="shape"), RowWriter(tmp_path / "a", "x", "float32", (2, 3)) as writer:
        writer.append(np.zeros((1, 4), np.float32))


def test_a_map_is_private(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    storage.write_tensors(path, {"x": np.zeros(4, np.float32)})
    storage.map_tensors(path)["x"][:] = 1.0
    assert storage.map_tensors(path)["x"].tolist() == [0.0] * 4


@pytest.mark.parametrize("keep", [0, 5, 40, -1])
def test_a_truncated_file_is_refused(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "a.safetensors"
    storage.write_tensors(path, {"x": np.zeros(4, np.float32)})
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(DatabaseError, match="damaged") as caught:
        storage.map_tensors(path)
    assert caught.value.path == path and caught.value.remedy


def test_a_missing_file_and_a_file_of_noise_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="missing"):
        storage.map_tensors(tmp_path / "none.safetensors")
    noise = tmp_path / "noise.safetensors"
    noise.write_bytes((16).to_bytes(8, "little") + b"not json at all!" + bytes(100))
    with pytest.raises(DatabaseError, match="damaged"):
        storage.map_tensors(noise)

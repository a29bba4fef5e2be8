"""Arrays on disk: safetensors files that are written in one stream and read as memory maps, without a copy.

The format (an 8-byte little-endian header length, a JSON header, raw little-endian data) is that of the safetensors
library, which opens these files as well; written here because the library needs every array whole in memory to write
and copies what it reads. Header bytes depend on names, types and shapes only: same arrays, same file.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import DatabaseError

Array = NDArray[Any]

_CODES = {
    "float32": "F32",
    "float64": "F64",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "uint8": "U8",
    "int8": "I8",
    "bool": "BOOL",
    "float16": "F16",
    "uint32": "U32",
    "uint64": "U64",
    "uint16": "U16",
}
_DTYPES = {code: np.dtype(name) for name, code in _CODES.items()}
_ALIGNMENT = 64
_MAX_HEADER = 100_000_000
CHECKSUM_BYTES = 16


def tensor_header(entries: Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]]) -> bytes:
    """The bytes before the data of a file with arrays of these names, types and shapes, in this order."""
    table: dict[str, Any] = {}
    offset = 0
    for name, (dtype, shape) in entries.items():
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        table[name] = {"dtype": _CODES[dtype.name], "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(table, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % _ALIGNMENT)
    return len(text).to_bytes(8, "little") + text


def write_tensors(path: Path, tensors: Mapping[str, Array], *, sync: bool = True) -> None:
    """Write named arrays as one safetensors file.

    Args:
        path: the file, replaced if it exists.
        tensors: name -> array; written in the mapping's order.
        sync: wait until the data is on the disk.
    """
    entries = {name: (array.dtype, array.shape) for name, array in tensors.items()}
    with path.open("wb") as file:
        file.write(tensor_header(entries))
        for array in tensors.values():
            file.write(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data)
        if sync:
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def create_tensors(path: Path, entries: Mapping[str, tuple[str, tuple[int, ...]]]) -> Iterator[dict[str, Array]]:
    """A safetensors file of arrays that are filled in place, so that none must be whole in memory.

    Args:
        path: the file, replaced if it exists.
        entries: name -> dtype and shape, in the file's order.

    Yields:
        Name -> array of zeros, a shared map of the file; on the disk when the context is left without an error.
    """
    header = tensor_header({name: (np.dtype(dtype), shape) for name, (dtype, shape) in entries.items()})
    sizes = [int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize for dtype, shape in entries.values()]
    with path.open("wb+") as file:
        file.write(header)
        file.truncate(len(header) + sum(sizes))
        file.flush()
        buffer = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_WRITE)
        arrays, start = {}, len(header)
        for (name, (dtype, shape)), size in zip(entries.items(), sizes, strict=True):
            count = int(np.prod(shape, dtype=np.int64))
            arrays[name] = np.frombuffer(buffer, np.dtype(dtype).newbyteorder("<"), count, start).reshape(shape)
            start += size
        yield arrays
        buffer.flush()
        os.fsync(file.fileno())


def release(*arrays: Array) -> None:
    """Give back the memory of mapped arrays that were only read, or are shared maps; they are read again when touched.

    What was written into a private map is lost. Does nothing to arrays in memory, nor where the system cannot.
    """
    for array in arrays:
        owner: Any = array
        while isinstance(owner, np.ndarray):
            owner = owner.base
        if isinstance(owner, memoryview):
            owner = owner.obj
        if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            owner.madvise(mmap.MADV_DONTNEED)


def map_tensors(path: Path) -> dict[str, Array]:
    """The arrays of a safetensors file as memory maps: opened in microseconds, read from the disk when touched.

    The maps are private: writing into an array changes this process's copy of the page, never the file.

    Raises:
        DatabaseError: the file is missing, damaged, or shorter than its header says.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            length = int.from_bytes(file.read(8), "little")
            if not 0 < length <= min(size - 8, _MAX_HEADER):
                raise ValueError("the header's length is impossible")
            table = json.loads(file.read(length))
            buffer = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        return {name: _view(buffer, 8 + length, name, entry) for name, entry in table.items() if name != "__metadata__"}
    except FileNotFoundError:
        raise DatabaseError("is missing", path=path, remedy="run `ambulo build` again") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DatabaseError(f"is damaged: {error}", path=path, remedy="run `ambulo build` again") from None


def _view(buffer: mmap.mmap, base: int, name: str, entry: Mapping[str, Any]) -> Array:
    dtype, shape = _DTYPES[entry["dtype"]].newbyteorder("<"), tuple(entry["shape"])
    start, stop = entry["data_offsets"]
    count = int(np.prod(shape, dtype=np.int64))
    if stop - start != count * dtype.itemsize or base + stop > len(buffer):
        raise ValueError(f"{name!r} should end at byte {base + stop}, the file has {len(buffer)}")
    return np.frombuffer(buffer, dtype, count, base + start).reshape(shape)


def digest_of(*data: bytes | memoryview) -> bytes:
    """The first 16 bytes of the SHA-256 of some bytes: present processors have instructions for it."""
    found = hashlib.sha256()
    for piece in data:
        found.update(piece)
    return found.digest()[:CHECKSUM_BYTES]


def checksum_of(path: Path) -> str:
    """:func:`digest_of` of a file's bytes, in hexadecimal digits.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()[:CHECKSUM_BYTES].hex()


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file that never changes a second name; where the system has no such links, copy it.

    Raises:
        OSError: it cannot be read, or the copy not be written.
    """
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
        with target.open("rb+") as file:
            os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk (a rename is durable only then). Nothing to do on Windows."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

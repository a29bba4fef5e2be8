"""Writing one array in pieces of rows: new ones from memory, old ones copied by the system from the file they lie in.

Every piece has a digest of its own, and the file's checksum is made of those: rows that are copied need not be read.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import numpy as np

from ambulo.database.storage import Array, digest_of, tensor_header

_AT_ONCE = 1 << 26
# Where the system cannot copy between two files by itself, it says one of these.
_NOT_SUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EXDEV, errno.EOPNOTSUPP, errno.EBADF)


class RowWriter:
    """Writes a safetensors file of one array of known shape, piece by piece, in order; memory stays at one piece.

    Use as a context manager; leaving it checks that all rows came and waits until they are on the disk.

    Attributes:
        digests: of the pieces written so far.
    """

    def __init__(self, path: Path, name: str, dtype: str, shape: tuple[int, ...]) -> None:
        self._dtype = np.dtype(dtype).newbyteorder("<")
        self._shape = shape
        self._row_bytes = int(np.prod(shape[1:], dtype=np.int64)) * self._dtype.itemsize
        self._rows = 0
        self.digests: list[bytes] = []
        self._header = tensor_header({name: (np.dtype(dtype), shape)})
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o666)
        try:
            self._write(memoryview(self._header))
        except OSError:
            os.close(self._descriptor)
            raise

    def append(self, rows: Array) -> None:
        """Add rows ``[n, *row_shape]`` as one piece."""
        if rows.shape[1:] != self._shape[1:]:
            raise ValueError(f"rows of shape {rows.shape[1:]} where {self._shape[1:]} are expected")
        data = np.ascontiguousarray(rows, self._dtype).reshape(-1).view(np.uint8).data
        self._write(data)
        self.digests.append(digest_of(data))
        self._rows += rows.shape[0]

    def copy(self, source: Path, first: int, count: int, digests: Sequence[bytes]) -> None:
        """Add rows that lie in another file of this kind (same row shape), as the pieces that they are there.

        Args:
            source: the file.
            first: its first row that is wanted.
            count: how many rows.
            digests: of the pieces.

        Raises:
            OSError: the file cannot be read or is too short, or this one cannot be written.
        """
        descriptor = os.open(source, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            start = 8 + int.from_bytes(os.read(descriptor, 8), "little") + first * self._row_bytes
            stop = start + count * self._row_bytes
            while start < stop:
                moved = self._move(descriptor, start, min(stop - start, _AT_ONCE))
                if moved == 0:
                    raise OSError(errno.EIO, "the file ends too soon", str(source))
                start += moved
        finally:
            os.close(descriptor)
        self.digests += digests
        self._rows += count

    def _move(self, source: int, start: int, count: int) -> int:
        """Copy bytes from ``start`` of another file to the end of this one; returns how many it were."""
        if hasattr(os, "copy_file_range"):
            try:
                return os.copy_file_range(source, self._descriptor, count, start)
            except OSError as error:
                if error.errno not in _NOT_SUPPORTED:
                    raise
        os.lseek(source, start, os.SEEK_SET)
        data = os.read(source, count)
        self._write(memoryview(data))
        return len(data)

    @property
    def checksum(self) -> str:
        """Digest of the header and the digests of the pieces."""
        return pieces_checksum(self._header, self.digests)

    def _write(self, data: memoryview) -> None:
        while data.nbytes:
            data = data[os.write(self._descriptor, data[:_AT_ONCE]) :]

    def __enter__(self) -> RowWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                if self._rows != self._shape[0]:
                    raise ValueError(f"{self._rows} rows written where {self._shape[0]} were announced")
                os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)


def pieces_checksum(header: bytes, digests: Sequence[bytes]) -> str:
    """The checksum of a file that is a header and pieces of rows with these digests."""
    return digest_of(header, *digests).hex()

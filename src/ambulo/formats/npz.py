"""Arrays out of an ``.npz`` that nobody vouches for: no pickles, no archive that unpacks to far more than it weighs."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import FormatError

_DAMAGED = "the file is damaged or cut short; copy it again"
_FREE = 8_000_000
_RATIO = 8
"""An archive may unpack to eight megabytes, and to eight times its own size: real poses pack to a third at best."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class NpzFile:
    """The arrays of an ``.npz``, each read when asked for.

    Attributes:
        path: the file.
        names: the arrays' names, in the file's order.
    """

    def __init__(self, path: Path) -> None:
        """Open it.

        Raises:
            FormatError: no archive of arrays, or one that unpacks to far more than it weighs.
        """
        self.path = path
        try:
            self._data = path.read_bytes()
            with zipfile.ZipFile(io.BytesIO(self._data)) as archive:
                entries = archive.infolist()
        except OSError as error:
            raise FormatError(f"the file cannot be read: {error.strerror or error}", path=path) from None
        except Exception as error:  # zipfile raises whatever its parser meets: BadZipFile, struct.error, ValueError
            raise FormatError(f"this is no .npz archive: {error}", path=path, remedy=_DAMAGED) from None
        self._entries = {
            entry.filename.removesuffix(".npy"): entry for entry in entries if entry.filename.endswith(".npy")
        }
        self.names = tuple(self._entries)
        size = sum(entry.file_size for entry in self._entries.values())
        if size > max(_FREE, _RATIO * len(self._data)):
            raise FormatError(
                f"the archive of {len(self._data):,} bytes says that it unpacks to {size:,}",
                path=path,
                remedy="if that is so, save it again with numpy.savez",
            )

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def read(self, name: str) -> NDArray[Any]:
        """One array.

        Raises:
            FormatError: there is none of that name, it is damaged, or it holds Python objects.
        """
        entry = self._entries[name]
        if entry.compress_type not in _METHODS or entry.flag_bits & 1:
            raise FormatError(f"the array {name!r} is packed in a way NumPy does not use", path=self.path, key=name)
        try:
            with zipfile.ZipFile(io.BytesIO(self._data)) as archive, archive.open(entry) as packed:
                raw = packed.read(entry.file_size)
            stream = io.BytesIO(raw)
            version = np.lib.format.read_magic(stream)
            header = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }.get(version)
            if header is None:
                raise ValueError(f"version {version[0]}.{version[1]} of the array format is not read")
            shape, fortran, dtype = header(stream)
        except MemoryError:
            raise
        except Exception as error:  # zlib.error, BadZipFile, ValueError, SyntaxError, TokenError, UnicodeError, ...
            raise FormatError(
                f"the array {name!r} cannot be read: {_short(error)}", path=self.path, key=name, remedy=_DAMAGED
            ) from None
        if dtype.hasobject:
            raise FormatError(
                f"the array {name!r} holds Python objects, which are not read: they could run code",
                path=self.path,
                key=name,
                remedy="save it as plain numbers or text",
            )
        start = stream.tell()
        if dtype.itemsize * math.prod(shape) != len(raw) - start or any(length < 0 for length in shape):
            raise FormatError(
                f"the array {name!r} should have shape {_short(shape)}, which is not what is there",
                path=self.path,
                key=name,
                remedy=_DAMAGED,
            )
        try:
            array = (
                np.frombuffer(raw, dtype, offset=start) if dtype.itemsize and len(raw) > start else np.empty(0, dtype)
            )
            return array.reshape(shape, order="F" if fortran else "C")
        except ValueError as error:
            raise FormatError(
                f"the array {name!r} cannot be read: {_short(error)}", path=self.path, key=name, remedy=_DAMAGED
            ) from None

    def numbers(self, name: str) -> NDArray[np.float64]:
        """One array of numbers, in double precision.

        Raises:
            FormatError: as :meth:`read`, or it holds no numbers.
        """
        array = self.read(name)
        if array.dtype.kind not in "fiu":
            raise FormatError(
                f"the array {name!r} holds no numbers but {array.dtype}",
                path=self.path,
                key=name,
                remedy="save it as numbers",
            )
        with np.errstate(all="ignore"):
            return np.ascontiguousarray(array, np.float64)

    def text(self, name: str) -> str:
        """One text, kept as text or as bytes; empty where it is neither, or cannot be read without running code."""
        try:
            value = self.read(name)
        except FormatError:
            return ""
        if value.size != 1 or value.dtype.kind not in "US":
            return ""
        try:
            item = value.reshape(-1)[0]
            return item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)
        except ValueError:  # code points that are none
            return ""


def first_key(archive: NpzFile, names: Mapping[str, Any] | tuple[str, ...]) -> str | None:
    """The first of some names under which the archive has an array."""
    return next((name for name in names if name in archive), None)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 120 else f"{text[:117]}..."

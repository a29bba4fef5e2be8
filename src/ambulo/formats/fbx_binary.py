"""The binary FBX container, versions 7.0 to 7.7: nested records with 32-bit or, from 7.5 on, 64-bit offsets.

A record is: where it ends, how many values it has, how many bytes they take, its name, the values, the records within
(closed by a record of zeros). A value is one letter and its bytes; an array is a letter, a count, an encoding (0 plain,
1 zlib) and its stored size. Nothing is unpacked before it is asked for, so that meshes and textures cost nothing.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import FormatError
from ambulo.formats.fbx_node import ArrayBudget, Node

MAGIC = b"Kaydara FBX Binary  \x00"
_BODY = 27  # the magic, two bytes, and the version
_SCALARS = {"C": "<b", "B": "<b", "Y": "<h", "I": "<i", "L": "<q", "F": "<f", "D": "<d"}
_ARRAYS = {"f": "<f4", "d": "<f8", "i": "<i4", "l": "<i8", "b": "<i1", "c": "<i1"}


class BinaryNode(Node):
    """A record of a binary file.

    Attributes:
        data: the whole file.
        wide: offsets have 64 bits.
        at: where the record begins.
        count: number of values.
        first: where they begin.
        inner: where the records within begin.
        end: where the record ends.
    """

    __slots__ = ("at", "count", "data", "end", "first", "inner", "wide")

    def __init__(self, name: str, parent: Node | None, budget: ArrayBudget, data: bytes, wide: bool) -> None:
        super().__init__(name, parent, budget)
        self.data = data
        self.wide = wide
        self.at = self.first = self.inner = _BODY
        self.count = 0
        self.end = len(data)

    def place(self) -> tuple[int | None, str]:
        """Binary files have bytes, no lines."""
        return None, f"at byte {self.at}"

    def children(self) -> Iterator[Node]:
        """The records within."""
        size = 25 if self.wide else 13
        header = struct.Struct("<QQQB" if self.wide else "<IIIB")
        at = self.inner
        while at + size <= self.end:
            end, count, length, name_length = header.unpack_from(self.data, at)
            if end == 0:  # the record of zeros that closes a list
                return
            name_at = at + size
            first = name_at + name_length
            inner = first + length
            if not (inner <= end <= self.end):
                raise self.error(f"the record at byte {at} ends at byte {end}, beyond the record around it or too soon")
            name = self.data[name_at:first].decode("utf-8", "replace")
            node = BinaryNode(name, self, self.budget, self.data, self.wide)
            node.at, node.count, node.first, node.inner, node.end = at, count, first, inner, end
            yield node
            at = end
        if at != self.end and self.parent is None:
            raise self.error(f"the file is cut short at byte {at}")

    def values(self) -> list[Any]:
        """The values that are no arrays."""
        values: list[Any] = []
        at = self.first
        for _ in range(self.count):
            at = self._value(at, values)
        return values

    def _value(self, at: int, values: list[Any]) -> int:
        """Read one value; returns where the next begins."""
        if at >= self.inner:
            raise self.error(f"the list of {self.count} values is cut short")
        letter = chr(self.data[at])
        at += 1
        code = _SCALARS.get(letter)
        if code is not None:
            stop = at + struct.calcsize(code)
            self._check(stop)
            values.append(struct.unpack_from(code, self.data, at)[0])
            return stop
        if letter in "SR":
            self._check(at + 4)
            stop = at + 4 + int(struct.unpack_from("<I", self.data, at)[0])
            self._check(stop)
            raw = self.data[at + 4 : stop]
            values.append(raw.decode("utf-8", "replace") if letter == "S" else raw)
            return stop
        if letter in _ARRAYS:
            self._check(at + 12)
            stop = at + 12 + int(struct.unpack_from("<I", self.data, at + 8)[0])
            self._check(stop)
            return stop
        raise self.error(f"there is no type of value {letter!r}, found at byte {at - 1}")

    def _check(self, stop: int) -> None:
        if stop > self.inner:
            raise self.error(f"a value ends at byte {stop}, beyond the record's values")

    def array(self, kind: type[np.generic]) -> NDArray[Any] | None:
        """The array that is the first value."""
        if self.count < 1 or self.first >= self.inner or chr(self.data[self.first]) not in _ARRAYS:
            return None
        self._value(self.first, [])
        dtype = np.dtype(_ARRAYS[chr(self.data[self.first])])
        count, encoding, stored = struct.unpack_from("<III", self.data, self.first + 1)
        size = count * dtype.itemsize
        self.budget.take(max(size, count * np.dtype(kind).itemsize), self)
        stored_bytes = memoryview(self.data)[self.first + 13 : self.first + 13 + stored]
        raw: bytes | memoryview = stored_bytes
        if encoding == 1:
            raw = self._inflate(stored_bytes, size)
        elif encoding != 0:
            raise self.error(f"there is no array encoding {encoding}")
        if len(raw) != size:
            raise self.error(f"an array of {count} values takes {size} bytes, {len(raw)} are there")
        with np.errstate(invalid="ignore", over="ignore"):
            return np.frombuffer(raw, dtype).astype(kind)

    def _inflate(self, raw: memoryview, size: int) -> bytes:
        """Unpack, but never more than was announced."""
        try:
            return zlib.decompressobj().decompress(raw, size + 1)
        except zlib.error as error:
            raise self.error(f"a packed array cannot be unpacked: {error}") from None


def parse_binary(data: bytes, path: Path) -> tuple[int, Node]:
    """Version and top of a binary file.

    Raises:
        FormatError: the header is cut short.
    """
    if len(data) < _BODY:
        raise FormatError(
            f"the file ends at byte {len(data)}, within its header", path=path, remedy="copy or export it again"
        )
    version = int(struct.unpack_from("<I", data, 23)[0])
    return version, BinaryNode("", None, ArrayBudget(path, len(data)), data, version >= 7500)

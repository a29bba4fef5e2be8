"""A record of an FBX file, however it is stored: a name, some values, and records within."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import FormatError

DECODED_BYTES_PER_BYTE = 8
"""Arrays of a file may be this many times as large as the file, all together ..."""

DECODED_BYTES_FREE = 16 << 20
"""... or this large: deflate shrinks constant curves a thousandfold, but a small file has no gigabytes of keys."""


class ArrayBudget:
    """How many bytes the arrays of one file may still take when they are decoded.

    Args:
        path: the file.
        file_bytes: its size.
    """

    def __init__(self, path: Path, file_bytes: int) -> None:
        self.path = path
        self.limit = DECODED_BYTES_FREE + DECODED_BYTES_PER_BYTE * file_bytes
        self.left = self.limit

    def take(self, size: int, node: Node) -> None:
        """Count an array of ``size`` bytes.

        Raises:
            FormatError: the file's arrays are larger than a file of this size can mean.
        """
        self.left -= size
        if self.left < 0:
            raise node.error(
                f"the arrays grow beyond {self.limit >> 20} MiB, more than this file's size makes plausible",
                remedy="the file is damaged or made to exhaust memory; export it again",
            )


class Node(ABC):
    """One record. Values and records within are read from the file's bytes when they are asked for, and checked then.

    Attributes:
        name: what kind of record, e.g. ``"Model"``.
        parent: the record around it; None for those at the top.
        budget: of the file.
        as_text: the file is text.
    """

    __slots__ = ("budget", "name", "parent")
    as_text = False

    def __init__(self, name: str, parent: Node | None, budget: ArrayBudget) -> None:
        self.name = name
        self.parent = parent
        self.budget = budget

    @abstractmethod
    def values(self) -> list[Any]:
        """The values: int, float, str or bytes; an array is left out.

        Raises:
            FormatError: they cannot be read.
        """

    @abstractmethod
    def array(self, kind: type[np.generic]) -> NDArray[Any] | None:
        """The record's array as one-dimensional float64, float32, int64 or int32; None where it has none.

        Raises:
            FormatError: it cannot be read, or is implausibly large.
        """

    @abstractmethod
    def children(self) -> Iterator[Node]:
        """The records within, in order.

        Raises:
            FormatError: where one of them cannot be read.
        """

    @abstractmethod
    def place(self) -> tuple[int | None, str]:
        """The line in a text file; and where in words, ``"at byte 1234"``, or ``""`` where there is a line."""

    @property
    def where(self) -> str:
        """The way to this record from the top: ``Objects/AnimationCurve/KeyTime``."""
        names: list[str] = []
        node: Node | None = self
        while node is not None and node.name:
            names.append(node.name)
            node = node.parent
        return "/".join(reversed(names))

    def error(self, message: str, *, joint: str | None = None, remedy: str | None = None) -> FormatError:
        """A refusal that names this record."""
        line, at = self.place()
        return FormatError(
            f"{message} ({', '.join(part for part in (self.where, at) if part)})",
            path=self.budget.path,
            line=line,
            joint=joint,
            key=self.where or None,
            remedy=remedy or "the file is damaged; export it again",
        )

    def child(self, name: str) -> Node | None:
        """The first record of a name within."""
        return next((node for node in self.children() if node.name == name), None)


def number(value: Any) -> float | None:
    """A value as a number; None where it is text."""
    return float(value) if isinstance(value, int | float) else None

"""FBX as text: ``Name: value, value, ... { records within }``, comments from ``;`` on, arrays as ``*N { a: ... }``.

One pass finds which brace closes which, outside strings and comments; records are read from there when asked for.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import FormatError
from ambulo.formats.fbx_node import ArrayBudget, Node

MAX_DEPTH = 64
"""Records within records; real files have six levels."""

_MARK = re.compile(rb'"[^"]*"|;[^\n]*|[{}"]')
_SKIP = re.compile(rb"(?:\s+|;[^\n]*)*")
_NAME = re.compile(rb'([^\s:;,"{}]+)[ \t]*:')
_VALUE = re.compile(rb'[ \t]*("[^"]*"|[^\s,;"{}]+)')
_COMMA = re.compile(rb"[ \t]*,(?:\s+|;[^\n]*)*")
_OPEN = re.compile(rb"\s*\{")
_VERSION = re.compile(rb"^\s*FBXVersion\s*:\s*(\d{1,9})", re.MULTILINE)
_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z")


class _Text:
    """The bytes of a file and its pairs of braces."""

    __slots__ = ("closes", "data", "opens")

    def __init__(self, data: bytes, budget: ArrayBudget) -> None:
        self.data = data
        self.opens: array[int] = array("q")
        self.closes: array[int] = array("q")
        stack: list[int] = []
        for match in _MARK.finditer(data):
            mark, at = data[match.start()], match.start()
            if mark == 0x7B:
                if len(stack) >= MAX_DEPTH:
                    raise self._error(budget, at, f"records are nested more than {MAX_DEPTH} deep")
                stack.append(len(self.opens))
                self.opens.append(at)
                self.closes.append(-1)
            elif mark == 0x7D:
                if not stack:
                    raise self._error(budget, at, "a brace is closed that was never opened")
                self.closes[stack.pop()] = at
            elif mark == 0x22 and match.end() - at == 1:
                raise self._error(budget, at, "a text is not closed")
        if stack:
            raise self._error(budget, self.opens[stack[-1]], "a brace is never closed")

    def _error(self, budget: ArrayBudget, at: int, message: str) -> FormatError:
        remedy = "the file is damaged or cut short; export it again"
        return FormatError(message, path=budget.path, line=self.line(at), remedy=remedy)

    def line(self, at: int) -> int:
        """The line, from 1, of a byte."""
        return self.data.count(b"\n", 0, at) + 1

    def close(self, at: int) -> int:
        """Where the brace that opens at a byte is closed."""
        return self.closes[bisect_left(self.opens, at)]


class AsciiNode(Node):
    """A record of a text file.

    Attributes:
        text: the file.
        at: where the record begins.
        first: where its values begin.
        inner: where the records within begin, and where they end; equal where there are none.
    """

    __slots__ = ("at", "first", "inner", "stop", "text")
    as_text = True

    def __init__(self, name: str, parent: Node | None, budget: ArrayBudget, text: _Text, at: int) -> None:
        super().__init__(name, parent, budget)
        self.text = text
        self.at = self.first = self.inner = at
        self.stop = at

    def place(self) -> tuple[int | None, str]:
        """The record's line."""
        return self.text.line(self.at), ""

    def children(self) -> Iterator[Node]:
        """The records within."""
        data, at = self.text.data, self.inner
        while (at := _end(_SKIP.match(data, at, self.stop), at)) < self.stop:
            match = _NAME.match(data, at, self.stop)
            if match is None:
                shown = data[at : at + 24].split(b"\n")[0].decode("utf-8", "replace")
                line = self.text.line(at)
                raise FormatError(
                    f"a record's name and a colon are expected, found {shown!r}",
                    path=self.budget.path,
                    line=line,
                    key=self.where or None,
                    remedy="the file is damaged; export it again",
                )
            node = AsciiNode(match[1].decode("utf-8", "replace"), self, self.budget, self.text, at)
            node.first = match.end()
            at = node.first
            for _, at in _tokens(data, node.first, self.stop):  # noqa: B007 (where the last one ends)
                pass
            node.inner = node.stop = at
            opened = _OPEN.match(data, at, self.stop)
            if opened is not None:
                node.inner = opened.end()
                node.stop = self.text.close(opened.end() - 1)
                at = node.stop + 1
            yield node

    def values(self) -> list[Any]:
        """The values; the count of an array is none."""
        values: list[Any] = []
        for token, _ in _tokens(self.text.data, self.first, len(self.text.data)):
            if token.startswith(b'"'):
                values.append(token[1:-1].decode("utf-8", "replace").replace("&quot;", '"'))
            elif token.startswith(b"*"):
                continue
            elif _NUMBER.match(token) and len(token) <= 64:
                values.append(_number(token))
            else:
                values.append(token.decode("utf-8", "replace"))
        return values

    def array(self, kind: type[np.generic]) -> NDArray[Any] | None:
        """The array ``*N { a: ... }``."""
        data = self.text.data
        token = next(iter(_tokens(data, self.first, len(data))), (b"", 0))[0]
        if not (token.startswith(b"*") and token[1:].isdigit() and len(token) < 12):
            return None
        count = int(token[1:])
        match = _NAME.match(data, _end(_SKIP.match(data, self.inner, self.stop), self.inner), self.stop)
        if match is None or match[1] != b"a":
            if count == 0:
                return np.zeros(0, kind)
            raise self.error(f"an array of {count} values has none")
        if 2 * count > self.stop - match.end() + 1:
            raise self.error(f"an array of {count} values does not fit into {self.stop - match.end()} characters")
        self.budget.take(count * 8, self)
        body = data[match.end() : self.stop].strip().rstrip(b",")
        parsed = _numbers(body, kind)
        if parsed is None or len(parsed) != count:
            found = "something that is no number" if parsed is None else f"{len(parsed)}"
            raise self.error(f"an array of {count} values holds {found}")
        return parsed


def parse_ascii(data: bytes, path: Path) -> tuple[int, Node]:
    """Version and top of a text file.

    Raises:
        FormatError: braces or texts are not closed, or the version is missing; with the line.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in data[:1024]:
        raise FormatError(
            "not an FBX file: it holds binary data without FBX's mark",
            path=path,
            line=1,
            remedy="check that the file is what its name says",
        )
    version = _VERSION.search(data)
    if version is None:
        raise FormatError(
            "there is no FBXVersion", path=path, line=1, remedy="check that the file is what its name says"
        )
    budget = ArrayBudget(path, len(data))
    top = AsciiNode("", None, budget, _Text(data, budget), 0)
    top.stop = len(data)
    return int(version[1]), top


def _tokens(data: bytes, at: int, stop: int) -> Iterator[tuple[bytes, int]]:
    """The values from a place on, separated by commas, each with where it ends."""
    while True:
        match = _VALUE.match(data, at, stop)
        if match is None:
            return
        yield match[1], match.end()
        comma = _COMMA.match(data, match.end(), stop)
        if comma is None:
            return
        at = comma.end()


def _numbers(body: bytes, kind: type[np.generic]) -> NDArray[Any] | None:
    """Numbers separated by commas; None where something else is among them."""
    import warnings

    whole = np.issubdtype(kind, np.integer)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # how NumPy says that it stopped early
        try:
            parsed = np.fromstring(body.decode("ascii"), np.int64 if whole else np.float64, sep=",")
        except (DeprecationWarning, ValueError):
            return None
    with np.errstate(invalid="ignore", over="ignore"):
        return parsed.astype(kind)


def _number(token: bytes) -> int | float:
    return int(token) if token.lstrip(b"+-").isdigit() else float(token)


def _end(match: re.Match[bytes] | None, at: int) -> int:
    return at if match is None else match.end()

"""Editing a tag file as a person would: rows come and go, comments and the order of all others stay."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ambulo.errors import ProjectError
from ambulo.formats.annotation_table import decode_table, header_of
from ambulo.formats.paths import write_whole
from ambulo.formats.tag_file import COLUMNS, MORE_COLUMNS, TagRange, TagRow, parse_tags, tag_row_text


class ChangedMeanwhile(ProjectError):
    """Somebody else changed a file while it was edited; nothing was written, and nothing of theirs is lost."""


class TagDocument:
    """The text of a tag file while it is edited. A file that is not there is empty.

    Raises:
        ProjectError: the file cannot be read, or is no tag file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._before = _content(path)
        text = "" if self._before is None else decode_table(self._before, path)
        self._bom = (self._before or b"").startswith(b"\xef\xbb\xbf")
        self._lines = text.splitlines(keepends=True)
        self._end = "\r\n" if "\r\n" in text else "\n"
        parse_tags(text, path)  # what is no tag file is not edited

    @property
    def text(self) -> str:
        """The text as it would be saved."""
        return "".join(self._lines)

    @property
    def rows(self) -> list[TagRow]:
        """The ranges and their lines."""
        return parse_tags(self.text, self.path)

    def add(self, entry: TagRange) -> TagRow:
        """Add a range below the others; a range that is there already is not added again.

        Returns:
            The range with its line.
        """
        for row in self.rows:
            if row.range == entry:
                return row
        needed = [name for name in MORE_COLUMNS if getattr(entry, name)]
        found = header_of(self.text, self.path)
        if found is None:
            columns = [*COLUMNS, *needed]
            self._append(",".join(columns))
        else:
            line, columns = found
            missing = [name for name in needed if name not in columns]
            if missing:
                columns += missing
                self._lines[line - 1] = self._with_columns(self._lines[line - 1], missing)
        self._append(tag_row_text(entry, columns).rstrip(","))
        return self.rows[-1]

    def remove(self, tag: str, start: float | None = None, stop: float | None = None) -> list[TagRow]:
        """Take ranges of a tag out: all of them, or those with this start and stop.

        Returns:
            What was taken out.

        Raises:
            ProjectError: there is no such range.
        """
        gone = [
            row
            for row in self.rows
            if row.range.tag == tag
            and (start is None or row.range.start == start)
            and (stop is None or row.range.stop == stop)
        ]
        if not gone:
            there = [f"{r.range.tag} {_span(r.range)}" for r in self.rows]
            raise ProjectError(
                f"has no range {tag!r}" + ("" if start is None and stop is None else " with these times"),
                path=self.path,
                key=tag,
                remedy=f"it has {', '.join(there[:12])}" if there else "it has no ranges",
            )
        lines = {row.line for row in gone}
        self._lines = [text for line, text in enumerate(self._lines, start=1) if line not in lines]
        return gone

    def save(self) -> None:
        """Write the file, whole or not at all.

        Raises:
            ChangedMeanwhile: somebody else changed it since it was read.
            ProjectError: it cannot be written.
        """
        data = self.text.encode()
        data = b"\xef\xbb\xbf" + data if self._bom and data else data
        try:
            with _alone(self.path.parent):
                if _content(self.path) != self._before:
                    raise ChangedMeanwhile(
                        "was changed by somebody else while it was edited; nothing was written",
                        path=self.path,
                        remedy="do it again: it then works on the file as it is now",
                    )
                if data != self._before:
                    write_whole(self.path, data)
        except OSError as error:
            raise ProjectError(
                f"cannot be written: {error.strerror}",
                path=self.path,
                remedy="make room, or check the permissions; the file is as it was",
            ) from None
        self._before = data

    def _append(self, row: str) -> None:
        if self._lines and not self._lines[-1].endswith(("\n", "\r")):
            self._lines[-1] += self._end
        self._lines.append(row + self._end)

    @staticmethod
    def _with_columns(line: str, names: list[str]) -> str:
        content, mark, comment = line.partition("#")
        if not mark:
            content, comment = line.rstrip("\r\n"), line[len(line.rstrip("\r\n")) :]
        kept = content.rstrip()
        return f"{kept},{','.join(names)}{content[len(kept) :]}{mark}{comment}"


def _span(entry: TagRange) -> str:
    start = "" if entry.start is None else f"{entry.start:g}"
    stop = "" if entry.stop is None else f"{entry.stop:g}"
    return f"[{start}, {stop})"


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ProjectError(f"cannot be read: {error.strerror}", path=path) from None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold other editors of this kind off a folder; on Windows, where folders cannot be locked, do without."""
    if os.name == "nt":
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)

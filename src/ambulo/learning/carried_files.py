"""A project on a machine that does not see its files: the database sent there, the model sent back as it grows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from ambulo.database.project import PROJECT_FILE
from ambulo.database.swap import behind_links
from ambulo.errors import AmbuloError, LearningError
from ambulo.formats.paths import is_file, write_whole
from ambulo.learning.checkpoints import CHECKPOINT, last_checkpoint

PIECE = 64 << 20
"""Bytes of a file that are sent at a time."""


class Piece(NamedTuple):
    """A part of a file that is sent along.

    Attributes:
        file: below the project's folder.
        start: its first byte.
        data: its bytes, or on the way what Ray knows them by.
    """

    file: PurePosixPath
    start: int
    data: Any


def pieces(folder: Path, model: Path | None) -> Iterable[Piece]:
    """What a training reads of a project: its file, its database, and a model that it goes on from.

    Args:
        folder: of the project.
        model: folder of that model, below it; None where a training begins anew.
    """
    places = [(folder / PROJECT_FILE, folder / PROJECT_FILE)] if is_file(folder / PROJECT_FILE) else []
    for below in [folder / "database", *([] if model is None else [model])]:
        real = behind_links(below)
        places += [(below / path.relative_to(real), path) for path in sorted(real.rglob("*")) if path.is_file()]
    for path, source in places:
        name = PurePosixPath(path.relative_to(folder).as_posix())
        with source.open("rb") as file:
            start = 0
            while (data := file.read(PIECE)) or not start:
                yield Piece(name, start, data)
                start += len(data)
                if len(data) < PIECE:
                    break


def place(folder: Path, given: Iterable[Piece]) -> None:
    """Write what :func:`pieces` gave below another folder."""
    for piece in given:
        assert isinstance(piece.data, bytes)
        path = folder / piece.file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab" if piece.start else "wb") as file:
            file.write(piece.data)


class Mirror:
    """Sends what changes below a folder: each file that is new or other than when it was last sent.

    Args:
        folder: what is looked at; it need not be there yet.
        send: called with a file's path below it and its content, or None where it is gone.
    """

    def __init__(self, folder: Path, send: Callable[[str, bytes | None], None]) -> None:
        self.folder, self.send = folder, send
        self._sent = self._stamps()  # what is there already was sent here

    def update(self) -> None:
        """Send what changed since the last call. Files named ``.json`` come last: they say which others count."""
        stamps = self._stamps()
        changed = [name for name, stamp in stamps.items() if self._sent.get(name) != stamp]
        for name in sorted(changed, key=lambda name: (name.endswith(".json"), name)):
            self.send(name, (self.folder / name).read_bytes())
        for name in self._sent.keys() - stamps.keys():
            self.send(name, None)
        self._sent = stamps

    def _stamps(self) -> dict[str, tuple[int, int]]:
        found = {}
        for path in self.folder.rglob("*"):
            if path.is_file() and not path.name.endswith(".part"):
                info = path.stat()
                found[path.relative_to(self.folder).as_posix()] = (info.st_size, info.st_mtime_ns)
        return found


def receive(folder: Path, name: str, data: bytes | None) -> None:
    """Write, or remove, what a :class:`Mirror` of that folder sent.

    Raises:
        LearningError: the name leads out of the folder.
        OSError: it cannot be written.
    """
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts:
        raise LearningError(f"a worker sent a file {name!r} that lies outside of the model", path=folder)
    path = folder / relative
    if data is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data)
    if path.name == CHECKPOINT and (kept := last_checkpoint(path.parent)) is not None:
        for other in path.parent.glob("checkpoint-*.safetensors"):  # of a training that was here before
            if other != kept:
                other.unlink(missing_ok=True)


def at_home(error: AmbuloError, away: Path, home: Path) -> AmbuloError:
    """The error, where it names files below ``away`` as they are called below ``home``."""

    def renamed(text: str) -> str:
        return text.replace(str(away), str(home))

    facts: dict[str, Any] = {n: renamed(v) if isinstance(v, str) else v for n, v in error.facts().items()}
    return type(error)(renamed(error.message), **facts)

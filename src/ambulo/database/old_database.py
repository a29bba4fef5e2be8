"""The database that a build finds: what it remembers of its takes, and their frames where those are as they were."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ambulo.database.build_files import read_stamps, touched_files
from ambulo.database.channels import CHANNELS
from ambulo.database.manifest import Manifest, check_files, read_manifest, verify_files
from ambulo.database.pieces import PIECES_FILE, Pieces, read_pieces
from ambulo.database.records import BuildState
from ambulo.database.storage import Array, map_tensors
from ambulo.database.takes import Stamp
from ambulo.errors import DatabaseError


class FrameRun(NamedTuple):
    """Frames of the old database that stand together in the new one as well.

    Attributes:
        start: first frame in the new one.
        old_start: first frame in the old one.
        length: how many.
    """

    start: int
    old_start: int
    length: int


class OldDatabase:
    """What can be taken over from the database that is there. Make one with :meth:`open`.

    Attributes:
        folder: where it lies.
        state: what its build remembers.
        manifest: its manifest.
        pieces: digests of its frames.
        frames: channel -> its rows, mapped.
    """

    def __init__(
        self, folder: Path, state: BuildState, manifest: Manifest, pieces: Pieces, frames: dict[str, Array]
    ) -> None:
        self.folder, self.state, self.manifest = folder, state, manifest
        self.pieces, self.frames = pieces, frames

    @classmethod
    def open(cls, folder: Path, state: BuildState) -> OldDatabase | None:
        """The database in a folder; None where its frames cannot be read, or are not as they were written.

        Damage must not be handed on; what nobody touched since it was written is not read for that.
        """
        try:
            manifest = read_manifest(folder)
            check_files(folder, manifest)
            names = [PIECES_FILE, *(channel.file for channel in CHANNELS)]
            verify_files(folder, manifest, touched_files(folder, manifest, names, read_stamps(folder)))
            frames = {channel.name: map_tensors(folder / channel.file)[channel.name] for channel in CHANNELS}
            return cls(folder, state, manifest, read_pieces(folder), frames)
        except (DatabaseError, KeyError, OSError):
            return None

    def is_intact(self, name: str) -> bool:
        """Whether another of its files is there and holds what was written."""
        try:
            verify_files(self.folder, self.manifest, touched_files(self.folder, self.manifest, [name], self._stamps))
            return name in self.manifest.files
        except (DatabaseError, OSError):
            return False

    @property
    def _stamps(self) -> dict[str, Stamp]:
        return read_stamps(self.folder)

    def close(self) -> None:
        """Let go of its frames: on Windows a mapped file cannot be moved."""
        self.frames.clear()


class CarriedFrames(NamedTuple):
    """What a new database has of the old one; made by the same code.

    Attributes:
        old: the old one.
        runs: in the order of the new one's frames.
        whole: both hold the same frames, in the same places: only what is said about them differs.
    """

    old: OldDatabase
    runs: list[FrameRun]
    whole: bool

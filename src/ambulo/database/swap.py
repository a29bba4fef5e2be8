"""Putting a new database in the place of the old one so that a crash at any moment leaves one of the two, whole.

A folder cannot be replaced in one step on every system, so it goes in two renames: the old one aside, the new one into
its place. Death between them leaves no folder under the database's name but a whole one beside it, which whoever opens
or builds the database next puts back (:func:`recover`).
"""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from ambulo.database.manifest import MANIFEST
from ambulo.database.storage import sync_folder
from ambulo.errors import DatabaseError
from ambulo.formats.paths import is_file, is_folder


def staging_of(folder: Path) -> Path:
    """Where a build prepares the new database: a sibling, so that a rename suffices."""
    return folder.with_name(folder.name + ".building")


def previous_of(folder: Path) -> Path:
    """Where the old database lies during the swap."""
    return folder.with_name(folder.name + ".previous")


def behind_links(folder: Path) -> Path:
    """The folder that a link leads to, such as a database kept on another disk; all renames happen beside it."""
    return Path(os.path.realpath(folder)) if folder.is_symlink() else folder


def remove(path: Path) -> None:
    """Remove whatever has a name: a folder with all in it, a file, a link."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def recover(folder: Path) -> None:
    """Put the old database back where a swap was cut in two. Does nothing in all other cases."""
    previous = previous_of(folder)
    if not (is_folder(folder) or is_file(folder)) and is_file(previous / MANIFEST):
        try:
            previous.rename(folder)
        except OSError:
            if not folder.exists():  # somebody else was quicker, else it is an error
                raise


def swap_in(staging: Path, folder: Path) -> None:
    """Replace ``folder`` by the finished ``staging``. The caller holds the :class:`BuildLock`.

    Raises:
        DatabaseError: the old database cannot be moved (on Windows: a program has it open).
    """
    previous = previous_of(folder)
    sync_folder(staging)
    recover(folder)
    remove(previous)
    # A reader may recover the old database between our two renames; the second then fails and both are done again.
    for _ in range(100):
        aside = not folder.exists()
        try:
            if not aside:
                folder.rename(previous)
                aside = True
            staging.rename(folder)
            break
        except OSError as error:
            if aside and folder.exists():
                continue
            recover(folder)
            raise DatabaseError(
                f"the old database cannot be replaced: {error.strerror}",
                path=folder,
                remedy="close what has it open (a studio, a simulation) and build again",
            ) from None
    else:
        raise DatabaseError("the old database keeps coming back during the swap", path=folder, remedy="build again")
    sync_folder(folder.parent)
    with suppress(OSError):  # the next build tries again
        remove(previous)


class BuildLock:
    """One build of a project at a time. The system drops the lock when its holder dies, so it never goes stale.

    Its file stays beside a database; where a build failed and there is none, it goes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder.with_name(folder.name + ".lock")
        self._descriptor = -1

    def __enter__(self) -> BuildLock:
        self._take()
        # Who held it before may have removed its file in between; then others lock another one.
        while not self._is_ours():
            os.close(self._descriptor)
            self._take()
        return self

    def _is_ours(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        except FileNotFoundError:
            return False

    def _take(self) -> None:
        try:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:
            raise DatabaseError(
                "the database's folder would lie in a folder that does not exist",
                path=self._path.parent,
                remedy="make that folder, or correct the path",
            ) from None
        except OSError as error:
            raise DatabaseError(
                f"nothing can be built here: {error.strerror}",
                path=self._path.parent,
                remedy="check the folder's permissions, or build a copy of the project elsewhere",
            ) from None
        try:
            _lock(self._descriptor)
        except OSError:
            os.close(self._descriptor)
            raise DatabaseError(
                "another build of this project is running", path=self._path, remedy="wait until it is done"
            ) from None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        nothing = not (self._folder.exists() or previous_of(self._folder).exists())
        if nothing and os.name != "nt":  # an open file has no name to lose on Windows, so there it goes afterwards
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)
        if nothing and os.name == "nt":
            with suppress(OSError):
                self._path.unlink(missing_ok=True)


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

"""Taking files out of archives that strangers made: nothing outside the folder, no links, no end of bytes."""

from __future__ import annotations

import contextlib
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Generator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from ambulo.database.takes import compile_glob
from ambulo.errors import ProjectError

BYTES_PER_BYTE = 200
"""An archive may unpack to this many times its size (motion as text shrinks about tenfold) ..."""
BYTES_FREE = 256 << 20
"""... or to this much."""

_DAMAGES = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError)
_BLOCK = 1 << 18


class _Member(NamedTuple):
    """A regular file in an archive."""

    name: str
    size: int
    opened: IO[bytes]


def is_archive(path: Path) -> bool:
    """Whether a file is a zip or tar archive, by its content."""
    try:
        return zipfile.is_zipfile(path) or tarfile.is_tarfile(path)
    except OSError:
        return False


def extract(path: Path, folder: Path, members: Sequence[str] = ("**",), strip: int = 0) -> list[Path]:
    """Take files out of a zip or tar archive. Returns where they are.

    Args:
        path: the archive.
        folder: where to.
        members: patterns of what to take; ``**`` crosses folders; upper and lower case are the same.
        strip: folders to drop from the front of each path; files with fewer are left at the top.

    Raises:
        ProjectError: the archive is damaged, locked, or unpacks without end, a member leads out of the folder or is in
            the place of another, or no member matches. What was unpacked so far is left to the caller to remove.
    """
    wanted = [compile_glob(pattern) for pattern in members]
    left = BYTES_FREE + BYTES_PER_BYTE * path.stat().st_size
    found: list[Path] = []
    seen: set[str] = set()
    try:
        with contextlib.closing(_members(path)) as entries:
            for member in entries:
                with member.opened:
                    inside = _inside(path, member.name)
                    if not any(pattern.fullmatch(inside.as_posix()) for pattern in wanted):
                        continue
                    target = folder.joinpath(*inside.parts[min(strip, len(inside.parts) - 1) :])
                    if target.as_posix().lower() in seen:
                        raise _refusal(path, f"two files of it would be {target.name!r}", "strip fewer folders")
                    seen.add(target.as_posix().lower())
                    left -= _write(member, target, left, path)
                    found.append(target)
    except _DAMAGES as error:
        if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
            raise ProjectError(f"cannot be written: {error.strerror}", path=error.filename) from None
        reason = "it is locked with a password" if "password" in str(error) else f"it is damaged: {error}"
        raise _refusal(path, reason, "fetch it again") from None
    if not found:
        raise _refusal(path, f"no file of it matches {', '.join(members)}", "correct members of the preset")
    return found


def _members(path: Path) -> Generator[_Member, None, None]:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                link = (info.external_attr >> 16) & 0o170000 == 0o120000
                if not info.is_dir() and not link:
                    yield _Member(info.filename, info.file_size, archive.open(info))
        return
    with tarfile.open(path) as tar:
        for entry in tar:
            if entry.isreg():  # links and devices are passed over
                opened = tar.extractfile(entry)
                if opened is not None:
                    yield _Member(entry.name, entry.size, opened)


def _inside(path: Path, name: str) -> PurePosixPath:
    """A member's path, which must stay within the folder."""
    plain = name.replace("\\", "/")
    inside = PurePosixPath(plain)
    if (
        inside.is_absolute()
        or ".." in inside.parts
        or re.match(r"[A-Za-z]:", plain)
        or "\0" in plain
        or not inside.parts
    ):
        raise _refusal(path, f"its member {name!r} leads out of the folder", "do not trust this archive")
    return inside


def _write(member: _Member, target: Path, left: int, path: Path) -> int:
    """Write a member; returns its bytes. What the archive says of its size is not believed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with target.open("xb") as file:
        while block := member.opened.read(_BLOCK):
            written += len(block)
            if written > left:
                limit = BYTES_FREE + BYTES_PER_BYTE * path.stat().st_size
                raise _refusal(path, f"it unpacks to more than {limit >> 20} MiB", "do not trust this archive")
            file.write(block)
    return written


def _refusal(path: Path, message: str, remedy: str) -> ProjectError:
    return ProjectError(f"the archive cannot be used: {message}", path=path, remedy=remedy)

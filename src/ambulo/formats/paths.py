"""Files and folders: what a path leads to, asked so that every system answers, and files written whole."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path


def is_file(path: Path) -> bool:
    """Whether a regular file can be reached there.

    Not :meth:`pathlib.Path.is_file`: up to Python 3.13 it raises where a folder on the way may not be entered.
    """
    return stat.S_ISREG(_mode(path))


def is_folder(path: Path) -> bool:
    """Whether a folder can be reached there; see :func:`is_file`."""
    return stat.S_ISDIR(_mode(path))


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or as it was before: beside its place first, then moved there.

    Raises:
        OSError: it cannot be written; nothing is left behind.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):  # a null byte is a ValueError
        return 0

"""Whether a path leads to a file or a folder, asked so that every system answers."""

from __future__ import annotations

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


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):  # a null byte is a ValueError
        return 0

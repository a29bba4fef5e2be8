"""What a file format is to ambulo, the options that every reader takes, and how a file is opened."""

from __future__ import annotations

import errno
import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ambulo.errors import FormatError
from ambulo.formats.paths import is_folder
from ambulo.motion.motion import Motion

_LFS_POINTER = b"version https://git-lfs"


@dataclass(frozen=True)
class ReadOptions:
    """What the caller knows better than the file.

    Attributes:
        unit: the file's length unit by name (``"centimetre"``, ``"cm"``, ``"cmu"``, ...) or in metres; None to guess.
        up: the file's up axis (``"+Y"``, ``"z"``, ``"-Z"``, ...); None to guess.
        rate: the true frames a second, in place of the file's own; None to believe the file.
        strict: refuse whatever would be read with a warning.
        lenient: read what can be read of a damaged file, with a warning for each damage.
        skeleton: the file that holds the skeleton where the motion's own does not: the ``.asf`` of an ``.amc``, a body
            model for SMPL poses; None to look beside the file, or to take a default.
    """

    unit: str | float | None = None
    up: str | None = None
    rate: float | None = None
    strict: bool = False
    lenient: bool = False
    skeleton: Path | None = None


@dataclass(frozen=True)
class Format:
    """One file format. A new format is one module with one of these, added to ``registry.FORMATS``.

    Attributes:
        name: short name, e.g. ``"bvh"``.
        extensions: lower case, with the dot.
        sniff: whether a file's first bytes look like this format.
        read: all motions (actors) of a file, in metres and +Y up.
        write: the motions as the bytes of one file; None where a format is read only.
        meant: a cheap look whether a file found in a folder is meant as motion at all, where the extension alone does
            not tell (an ``.npz`` may hold anything, an ``.asf`` serves the ``.amc`` files beside it); None for always.
        companions: other files that a file's motion is made of (the ``.asf`` of an ``.amc``); None for none.
        several: what several motions written to one file are: ``"animations"`` of one skeleton (of any length),
            ``"actors"`` of one take (of the same rate and length), or nothing, where a file holds one motion.
    """

    name: str
    extensions: tuple[str, ...]
    sniff: Callable[[bytes], bool]
    read: Callable[[Path, ReadOptions], list[Motion]]
    write: Callable[[Sequence[Motion], dict[str, Any]], bytes] | None = None
    meant: Callable[[Path], bool] | None = None
    companions: Callable[[Path], list[Path]] | None = None
    several: Literal["", "animations", "actors"] = ""


def read_head(path: Path, count: int = 4096) -> bytes:
    """First bytes of a motion file, after the checks that hold for every format.

    Raises:
        FormatError: the path is missing, a folder, unreadable, empty, or a Git LFS pointer.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode) and not is_folder(path):  # reading a pipe may never end
            raise FormatError("this is a pipe or a device, not a file", path=path, remedy="save it as a file first")
        with path.open("rb") as file:
            head = file.read(count)
    except OSError as error:
        raise _cannot_open(path, error) from None
    if not head:
        raise FormatError("the file is empty (0 bytes)", path=path, line=1, remedy="copy or export it again")
    if head.startswith(_LFS_POINTER):
        size = re.search(rb"^size (\d+)", head, re.MULTILINE)
        real = f" (of a file of {int(size[1])} bytes)" if size else ""
        raise FormatError(
            f"this is a Git LFS pointer{real}, not the file itself",
            path=path,
            line=1,
            remedy="fetch the real file: run `git lfs pull` in that repository, or download the raw file",
        )
    return head


def read_file(path: Path) -> bytes:
    """All bytes of a file.

    Raises:
        FormatError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise _cannot_open(path, error) from None


def _cannot_open(path: Path, error: OSError) -> FormatError:
    if is_folder(path):
        return FormatError("this is a folder, not a file", path=path, remedy="use load_all for a folder of files")
    if isinstance(error, FileNotFoundError) or error.errno == errno.ELOOP:
        return FormatError("there is no such file", path=path, remedy="check the path")
    return FormatError(f"the file cannot be read: {error.strerror or error}", path=path)

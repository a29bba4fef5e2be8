"""The errors of ambulo.

Every refusal is an :class:`AmbuloError`. Its message says *what* is wrong, *where* (file, line, joint, frame, key),
*why*, and *what to do*; the same facts are kept as attributes so that ``--json`` and the studio can show them apart.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any


class AmbuloError(Exception):
    """Root of all errors that ambulo raises on purpose.

    Args:
        message: what is wrong and why, one sentence.
        path: the file or folder concerned.
        line: line in that file, counted from 1.
        joint: name of the joint concerned.
        frame: frame concerned, counted from 0.
        key: configuration key, channel, tag or argument concerned.
        remedy: what the user can do about it, one sentence.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | Path | None = None,
        line: int | None = None,
        joint: str | None = None,
        frame: int | None = None,
        key: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.message = printable(message)
        self.path = None if path is None else Path(path)
        self.line = line
        self.joint = joint
        self.frame = frame
        self.key = key
        self.remedy = remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        where = ""
        if self.path is not None:
            where = f"{self.path}:{self.line}: " if self.line is not None else f"{self.path}: "
        elif self.line is not None:
            where = f"line {self.line}: "
        details = [
            f"{label} {value!r}" if isinstance(value, str) else f"{label} {value}"
            for label, value in (("joint", self.joint), ("frame", self.frame), ("key", self.key))
            if value is not None and str(value) not in self.message
        ]
        text = f"{where}{self.message}"
        if details:
            text += f" ({', '.join(details)})"
        if self.remedy:
            text += f" | {self.remedy}"
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors cross process borders when a build runs in parallel; the default would lose the keyword arguments.
        return (_rebuild, (type(self), self.message, self.facts()))

    def facts(self) -> dict[str, Any]:
        """The error's parts as a JSON-ready mapping."""
        return {
            "path": None if self.path is None else printable(str(self.path)),
            "line": self.line,
            "joint": self.joint,
            "frame": self.frame,
            "key": self.key,
            "remedy": self.remedy,
        }


def _rebuild(kind: type[AmbuloError], message: str, facts: dict[str, Any]) -> AmbuloError:
    return kind(message, **facts)


class FormatError(AmbuloError):
    """A file that cannot be read or written as what it claims to be."""


class NoMotionError(FormatError):
    """A sound file that holds no motion, such as a body's shape: refused alone, left out of a folder with one line."""


class SkeletonError(AmbuloError):
    """A skeleton that lacks what was asked of it: a joint, a role, a pair."""


class MotionError(AmbuloError):
    """Arrays that do not form a motion, or a motion too short for what was asked."""


class ProjectError(AmbuloError):
    """A project file, or a source that it names, that cannot be used."""


class DatabaseError(AmbuloError):
    """A built database that is missing, damaged, stale or of another version."""


class QueryError(AmbuloError):
    """A request that the database cannot answer: an unknown tag, feature or weight."""


class ControlError(AmbuloError):
    """An intent, a state or a script that a controller cannot follow."""


class LearningError(AmbuloError):
    """A model that cannot be trained or run: bad settings, too little data, a loss that is no number, stale weights."""


class PosingError(AmbuloError):
    """Points that no body can be posed by: unknown names, no number, too far apart; or a model that does not fit."""


class StudioError(AmbuloError):
    """The web application cannot start or was asked for what it does not serve."""


def printable(name: str) -> str:
    """A file's name as text that every encoding of Unicode can hold.

    Names on disk may be no UTF-8 at all (old archives of other languages); Python keeps such bytes as surrogates, which
    neither a JSON file nor a database takes. They become ``\\xNN``.
    """
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def install_remedy(extra: str) -> str:
    """What to do where an optional dependency is missing: from the package index, and from a checkout."""
    return f"pip install 'ambulo[{extra}]', or in a checkout of ambulo: pip install -e '.[{extra}]'"


def nearest_names(wrong: str, valid: Iterable[str], count: int = 3) -> str:
    """A phrase that lists the valid names, nearest first, for the end of an error message."""
    names = list(valid)
    folded = {name.lower(): name for name in names}
    near = [folded[name] for name in difflib.get_close_matches(wrong.lower(), folded, n=count, cutoff=0.5)]
    if near:
        return f"did you mean {', '.join(repr(name) for name in near)}?"
    shown = ", ".join(sorted(names)[:20])
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return f"valid names: {shown}{more}" if names else "there are none"

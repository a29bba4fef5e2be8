"""Whose data a database holds, under which licence, and whether it may be used for money.

Licences are free text: names of the SPDX list (``CC-BY-NC-4.0``), spellings that people use (``CC BY-NC 4.0``), or a
sentence. What forbids commercial use is recognised by its words and flagged wherever a database is shown or handed on.
This is a reminder, not legal advice: the licence's own text decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ambulo.database.database import Database
    from ambulo.database.project import Project
    from ambulo.database.records import BuildState
    from ambulo.database.takes import Take

_RESTRICTED = re.compile(
    r"\bNC\b|\bNC-|non[-\s]?commercial|not for commercial|no commercial|commercial use (is )?(prohibited|forbidden)"
    r"|academic|(research|education(al)?|personal|scientific)([-\s]use)?[-\s](purposes?[-\s])?only",
    re.IGNORECASE,
)
_FREE_ALL_THE_SAME = re.compile(r"academic free licen[cs]e|\bAFL-", re.IGNORECASE)

_FILE_NAME = re.compile(r"(licen[cs]e|copying|terms|readme)([-_. ].*)?", re.IGNORECASE)
_FILE_BYTES = 65536
_FOLDERS_BELOW = 64
_KNOWN: tuple[tuple[str, re.Pattern[str]], ...] = (
    *(
        (f"CC-{code}-{version}", re.compile(rf"CC[-\s]{code}[-\s]{re.escape(version)}", re.IGNORECASE))
        for version in ("4.0", "3.0")
        for code in ("BY-NC-ND", "BY-NC-SA", "BY-NC", "BY-ND", "BY-SA", "BY")
    ),
    ("CC-BY-NC-ND-4.0", re.compile(r"Attribution-NonCommercial-NoDerivatives 4\.0", re.IGNORECASE)),
    ("CC-BY-NC-SA-4.0", re.compile(r"Attribution-NonCommercial-ShareAlike 4\.0", re.IGNORECASE)),
    ("CC-BY-NC-4.0", re.compile(r"Attribution-NonCommercial 4\.0", re.IGNORECASE)),
    ("CC-BY-SA-4.0", re.compile(r"Attribution-ShareAlike 4\.0", re.IGNORECASE)),
    ("CC-BY-4.0", re.compile(r"Attribution 4\.0", re.IGNORECASE)),
    ("CC0-1.0", re.compile(r"\bCC0\b|Creative Commons Zero", re.IGNORECASE)),
    ("Apache-2.0", re.compile(r"Apache License,?\s+Version 2\.0|Apache-2\.0", re.IGNORECASE)),
    ("MIT", re.compile(r"\bMIT License\b|Permission is hereby granted, free of charge", re.IGNORECASE)),
    ("BSD-3-Clause", re.compile(r"BSD[-\s]3|Redistribution and use in source and binary forms", re.IGNORECASE)),
)


class LicenceUse(msgspec.Struct, frozen=True):
    """One licence and whom it credits, with how much of a database is under it.

    Attributes:
        licence: as the project or the file says it; ``""`` where nobody said.
        attribution: whom to credit.
        non_commercial: its words forbid use for money.
        clips: clips under it, mirrored ones included.
        seconds: of motion in them.
    """

    licence: str
    attribution: str
    non_commercial: bool
    clips: int
    seconds: float

    @property
    def text(self) -> str:
        """One line for a person: licence, flag, attribution, minutes."""
        flag = " [NON-COMMERCIAL]" if self.non_commercial else ""
        credit = f", {self.attribution}" if self.attribution else ""
        return (
            f"{self.licence or 'licence unknown'}{flag}{credit} ({self.clips} clips, {self.seconds / 60:.1f} minutes)"
        )


class LicenceHint(msgspec.Struct, frozen=True):
    """A file beside takes that speaks of a licence.

    Attributes:
        path: the file.
        licence: the licence that its words name; ``""`` where it is none that is known.
        non_commercial: its words forbid use for money.
    """

    path: str
    licence: str
    non_commercial: bool


def is_non_commercial(text: str) -> bool:
    """Whether the words of a licence forbid use for money (``NC``, "non-commercial", "academic", "research only")."""
    return bool(_RESTRICTED.search(_FREE_ALL_THE_SAME.sub("", text.replace("_", "-"))))


def licences_of(database: Database) -> list[LicenceUse]:
    """The licences of a database's clips, that of most motion first."""
    return _sum_up(((clip.licence, clip.attribution, 1, clip.frame_count) for clip in database.clips), database.rate)


def licences_of_build(project: Project, takes: Sequence[Take], state: BuildState) -> tuple[LicenceUse, ...]:
    """The same for a build whose database need not be opened."""
    copies = 2 if project.mirror else 1
    rows = (
        (
            project.sources[take.source].licence or clip.licence,
            project.sources[take.source].attribution or clip.attribution,
            copies,
            copies * clip.frame_count,
        )
        for take, record, starts in zip(takes, state.records, state.starts, strict=True)
        if starts
        for clip in record.clips
    )
    return tuple(_sum_up(rows, project.rate))


def _sum_up(rows: Iterable[tuple[str, str, int, int]], rate: float) -> list[LicenceUse]:
    """One use a licence and attribution, of rows of licence, attribution, clips and frames."""
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    for licence, credit, clips, frames in rows:
        before = sums.get((licence, credit), (0, 0))
        sums[licence, credit] = (before[0] + clips, before[1] + frames)
    ranked = sorted(sums.items(), key=lambda item: (-item[1][1], item[0]))
    return [
        LicenceUse(licence, credit, is_non_commercial(licence), clips, round(frames / rate, 3))
        for (licence, credit), (clips, frames) in ranked
    ]


def licence_hints(folder: Path) -> list[LicenceHint]:
    """Files in a folder of takes, in those directly below and in the one above that name a licence.

    A readme counts only where it names a licence that is known or forbids commercial use.
    """
    from ambulo.formats.paths import is_file, is_folder

    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return []
    files = list(inside)
    for below in [entry for entry in inside if is_folder(entry)][:_FOLDERS_BELOW]:
        with suppress(OSError):
            files += sorted(below.iterdir())
    with suppress(OSError):  # the folder above may be anybody's: only what is called a licence counts there
        files += [file for file in sorted(folder.absolute().parent.iterdir()) if "read" not in file.name.lower()]
    found = [read_hint(file) for file in files if _FILE_NAME.fullmatch(file.name) and is_file(file)]
    return [hint for hint in found if hint is not None]


def read_hint(file: Path) -> LicenceHint | None:
    """What a file says about a licence; None where it says nothing."""
    try:
        with file.open("rb") as opened:
            text = opened.read(_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    licence = next((name for name, words in _KNOWN if words.search(text)), "")
    restricted = is_non_commercial(licence) or (not licence and is_non_commercial(text))
    if file.name.lower().startswith("readme") and not (licence or restricted):
        return None
    return LicenceHint(str(file), licence, restricted)

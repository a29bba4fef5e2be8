"""Takes that tags are proposed for: found in a project, read and prepared as its build would."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ambulo.database.database import Database
from ambulo.database.project import Project
from ambulo.database.takes import find_takes
from ambulo.errors import LearningError
from ambulo.formats.paths import is_file
from ambulo.learning.tag_windows import Windows, describe


class TakeToTag(NamedTuple):
    """A take.

    Attributes:
        path: its file.
        database_name: name of its clip in the project's database; empty where it is none of the project's.
        windows: of its motion.
        rate: frames a second.
        start_time: seconds of the take at its first frame.
    """

    path: Path
    database_name: str
    windows: Windows
    rate: float
    start_time: float


def untagged_takes(project: Project, database: Database, tags: Iterable[str]) -> list[Path]:
    """The takes of a project whose clips carry none of the tags, and the takes that are not in the database yet."""
    wanted = set(tags)
    tagged = {clip.name for clip in database.clips if set(clip.tags) & wanted}
    return [take.path for take in find_takes(project) if Path(take.relative).with_suffix("").as_posix() not in tagged]


def clips_of_takes(project: Project, paths: Sequence[Path]) -> list[TakeToTag]:
    """Read and prepare takes; of a file of several motions, the first.

    Raises:
        LearningError: a file is not there.
        AmbuloError: one cannot be read or prepared.
    """
    from ambulo.formats.registry import load_all
    from ambulo.prepare.pipeline import prepare_take

    known = {os.path.realpath(take.path): take for take in find_takes(project)}
    found = []
    for path in paths:
        if not is_file(path):
            raise LearningError("there is no such take", path=path, key="take")
        take = known.get(os.path.realpath(path))
        if take is None:
            motion, corrections = load_all(path)[0], None
        else:
            source = project.source_of(take.source, take.label)
            motion = load_all(path, unit=source.unit, up=source.up, rate=source.rate)[0]
            spec = project.spec_of(take.source, take.label)
            corrections = None if spec is None else spec.corrections
        clip = prepare_take(motion, project.prepare, dict(project.roles), corrections)
        name = "" if take is None else Path(take.relative).with_suffix("").as_posix()
        windows = describe(clip.skeleton, clip.positions, clip.rotations, clip.rate)
        found.append(TakeToTag(path, name, windows, clip.rate, clip.start_time))
    return found

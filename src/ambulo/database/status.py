"""What of a project's database is stale and why, file by file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

import ambulo
from ambulo.database.annotate import read_annotations
from ambulo.database.build_files import read_stamps, read_state
from ambulo.database.manifest import REPLACE_NEWER, Manifest, is_newer
from ambulo.database.project import PROJECT_FILE, Project
from ambulo.database.records import BuildState, Inputs
from ambulo.database.soundness import check_sound
from ambulo.database.staleness import compare, current_inputs, damage_text
from ambulo.database.styled_takes import find_all_takes
from ambulo.database.takes import Hasher, Take, find_orphans
from ambulo.errors import DatabaseError, ProjectError

UP_TO_DATE = "run `ambulo play`: there is nothing to build"
BUILD = "run `ambulo build`"


class FileStatus(msgspec.Struct, frozen=True):
    """One file that is not as it was built, or that the database could not use.

    Attributes:
        file: as the project names it.
        state: ``new``, ``changed``, ``missing`` (it was built, and is gone), ``left_out`` (it is there, but the project
            no longer names it), ``annotated`` (its tags or numbers changed), ``wrong`` (its annotations cannot be
            read), ``failed``, ``excluded``, or ``no_take`` (annotations without a take).
        why: one sentence.
        remedy: what to do; empty where a build does it.
        line: of the file, where it is known.
    """

    file: str
    state: str
    why: str
    remedy: str = ""
    line: int | None = None


class SettingStatus(msgspec.Struct, frozen=True):
    """One key of the project file that changed since the build, with both values as JSON text."""

    key: str
    before: str
    now: str


class ProjectStatus(msgspec.Struct, frozen=True):
    """What ``ambulo status`` says.

    Attributes:
        project: name of the project.
        folder: of the database.
        built: there is a database that can be opened.
        stale: a build has something to do.
        reasons: why, one phrase each.
        remedy: what to do.
        takes: how many files the project names now.
        files: those that are not as they were built, or not in the database.
        settings: what of the project file changed.
        code: the database was made by other code than this.
        built_by: version of ambulo that built it; empty where there is none.
        version: version of this ambulo.
        names: of all takes, as patterns of the project file and other verbs call them.
    """

    project: str
    folder: str
    built: bool
    stale: bool
    reasons: tuple[str, ...]
    remedy: str
    takes: int
    files: tuple[FileStatus, ...]
    settings: tuple[SettingStatus, ...]
    code: bool
    built_by: str
    version: str
    names: tuple[str, ...] = ()


def project_status(project: Project, folder: Path | None = None) -> ProjectStatus:
    """Compare a project with its database, file by file. Reads no take whose size and time are as they were.

    Raises:
        ProjectError: a source cannot be read.
    """
    folder = project.database_folder if folder is None else folder
    impossible: list[FileStatus] = []
    try:
        takes = find_all_takes(project)
    except ProjectError as error:
        if not (error.key or "").startswith("stylise."):
            raise
        impossible = [FileStatus(PROJECT_FILE, "wrong", error.message, error.remedy or "correct the table", error.line)]
        project = msgspec.structs.replace(project, stylise=[])
        takes = find_all_takes(project)
    now = current_inputs(project, Hasher(read_stamps(folder)))
    files = [FileStatus(o.label, "no_take", o.why, o.remedy) for o in find_orphans(project)]
    manifest: Manifest | None = None
    state: BuildState | None = None
    reasons: tuple[str, ...] = ()
    remedy = BUILD
    try:
        manifest = check_sound(folder)
        state = read_state(folder)
        if state is None:
            reasons = ("the record of its build is missing",)
    except DatabaseError as error:
        reasons, remedy = (damage_text(error),), error.remedy or BUILD
    settings: tuple[SettingStatus, ...] = ()
    code = False
    if state is None:
        files += [FileStatus(take.label, "new", "it is not in the database yet") for take in takes]
    else:
        difference = compare(state.inputs, now)
        reasons, code = difference.reasons, difference.code
        files += _changes(project, state.inputs, now)
        files += _unused(state, {entry.file for entry in files})
        settings = tuple(_differences(state.inputs.project, now.project))
    wrong = impossible + _wrong(project, takes)
    files = [entry for entry in files if entry.file not in {w.file for w in wrong}] + wrong
    if manifest is not None and is_newer(manifest.ambulo):
        reasons = (f"it was built by ambulo {manifest.ambulo}, this is {ambulo.__version__}", *reasons)
        remedy = REPLACE_NEWER
    if not reasons:
        remedy = UP_TO_DATE
    return ProjectStatus(
        project.name,
        str(folder),
        manifest is not None,
        bool(reasons) or bool(wrong),
        reasons,
        "correct what is wrong, then build" if wrong else remedy,
        len(takes),
        tuple(sorted(files, key=lambda entry: (entry.file, entry.state))),
        settings,
        code,
        "" if manifest is None else manifest.ambulo,
        ambulo.__version__,
        tuple(take.label for take in takes),
    )


def _changes(project: Project, before: Inputs, now: Inputs) -> Iterator[FileStatus]:
    old, new = {take.label: take for take in before.takes}, {take.label: take for take in now.takes}
    for label, take in new.items():
        was = old.get(label)
        if was is None:
            yield FileStatus(label, "new", "it is not in the database yet")
            continue
        if was.sha256 != take.sha256:
            yield FileStatus(label, "changed", "its content changed since the build")
        what = [
            f"its {name} {_edit(one, other)}"
            for name, one, other in (
                ("tags", was.tags_sha256, take.tags_sha256),
                ("numbers", was.channels_sha256, take.channels_sha256),
            )
            if one != other
        ]
        if what:
            yield FileStatus(label, "annotated", f"{' and '.join(what)} since the build")
    for label in old:
        if label not in new:
            if (project.folder / label).exists():
                yield FileStatus(label, "left_out", "it is there, but the project no longer names it")
            else:
                yield FileStatus(label, "missing", "it was in the last build, and is gone", "bring it back, or build")


def _edit(before: str | None, now: str | None) -> str:
    return "were added" if before is None else "were removed" if now is None else "were edited"


def _unused(state: BuildState, changed: set[str]) -> Iterator[FileStatus]:
    """Takes that are as they were built, and that the build could not use."""
    for number, (take, record) in enumerate(zip(state.inputs.takes, state.records, strict=True)):
        if take.label in changed:
            continue
        if record.failure is not None:
            reason, _, remedy = record.failure.text.partition(" | ")
            yield FileStatus(take.label, "failed", reason, remedy)
        elif number in state.excluded:
            reason, _, remedy = state.excluded[number].partition(" | ")
            yield FileStatus(take.label, "excluded", reason, remedy)


def _wrong(project: Project, takes: list[Take]) -> list[FileStatus]:
    """Annotations that a build would refuse."""
    wrong = []
    for take in takes:
        try:
            read_annotations(project, [take])
        except ProjectError as error:
            file = take.label if error.path is None else _label_beside(take, error.path)
            wrong.append(FileStatus(file, "wrong", error.message, error.remedy or "correct it", error.line))
    return wrong


def _label_beside(take: Take, path: Path) -> str:
    folder, _, _ = take.label.rpartition("/")
    return f"{folder}/{path.name}" if folder else path.name


def _differences(before: Any, now: Any, key: str = "") -> Iterator[SettingStatus]:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for name in dict.fromkeys([*before, *now]):
            yield from _differences(before.get(name), now.get(name), f"{key}.{name}" if key else name)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for place, (one, other) in enumerate(zip(before, now, strict=True)):
            yield from _differences(one, other, f"{key}[{place}]")
    elif before != now:
        yield SettingStatus(key, *(msgspec.json.encode(value).decode() for value in (before, now)))

"""Whether a built database is up to date with its project, and why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from ambulo.database.build_files import read_stamps, read_state
from ambulo.database.fingerprints import database_code, project_content
from ambulo.database.project import DATABASE_FOLDER, PROJECT_FILE, Project, load_project
from ambulo.database.records import Inputs
from ambulo.database.remote.addresses import as_url
from ambulo.database.retarget_plan import outside_files
from ambulo.database.soundness import check_sound
from ambulo.database.styled_takes import find_all_takes
from ambulo.database.takes import Hasher, TakeInput, hash_takes
from ambulo.errors import AmbuloError, DatabaseError
from ambulo.formats.paths import is_file


class Staleness(msgspec.Struct, frozen=True):
    """What separates a database from its project; all empty where it is up to date.

    Attributes:
        reasons: one phrase each, for a person.
        added: takes that are not in the build.
        removed: takes of the build that the project no longer names.
        changed: takes whose file changed.
        retagged: takes whose tag file or channel file changed.
        settings: top-level keys of the project file that changed.
        code: the database was made by other code.
    """

    reasons: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    retagged: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    code: bool = False

    @property
    def stale(self) -> bool:
        """Whether a build has something to do."""
        return bool(self.reasons)


def current_inputs(project: Project, hasher: Hasher) -> Inputs:
    """What a build of the project would be made from, now.

    Raises:
        ProjectError: a source cannot be read.
    """
    takes = hash_takes(find_all_takes(project), hasher)
    code = database_code(project)
    return Inputs(project_content(project), tuple(takes), code, outside_files(project, hasher))


def damage_text(error: DatabaseError) -> str:
    """What a database that cannot be opened says of itself, with the file that is damaged."""
    return error.message if error.path is None or not error.path.suffix else f"{error.path.name}: {error.message}"


def staleness(project: Project, folder: Path | None = None) -> Staleness:
    """Compare a project with its database. Reads no take whose size and time are as they were.

    Raises:
        ProjectError: a source cannot be read.
    """
    folder = project.database_folder if folder is None else folder
    try:
        check_sound(folder)
    except DatabaseError as error:
        return Staleness((damage_text(error),))
    state = read_state(folder)
    if state is None:
        return Staleness(("the record of its build is missing",))
    return compare(state.inputs, current_inputs(project, Hasher(read_stamps(folder))))


def project_of(place: Path) -> Path | None:
    """The folder of the project that a folder, a project file or a database's folder belongs to; None where of none."""
    if as_url(place) is not None:
        return None
    homes = (place, place.parent) if place.name in (PROJECT_FILE, DATABASE_FOLDER) else (place,)
    return next((home for home in homes if is_file(home / PROJECT_FILE)), None)


def stale_reasons(home: Path | None) -> tuple[str, ...]:
    """Why the database in a project's folder is stale, for whoever reads it: one phrase each.

    Nothing where it is not known: no project, or sources at a URL, for which a question should not wait.
    """
    if home is None:
        return ()
    try:
        project = load_project(home)
        if any(as_url(source.path) for source in project.sources):
            return ()
        return staleness(project).reasons
    except AmbuloError as error:
        return (f"it cannot be compared with its project: {error.message}",)


def compare(old: Inputs, new: Inputs) -> Staleness:
    """What changed from the inputs of a build to others."""
    before, after = {take.label: take for take in old.takes}, {take.label: take for take in new.takes}
    both = [label for label in after if label in before]
    added = tuple(label for label in after if label not in before)
    removed = tuple(label for label in before if label not in after)
    changed = tuple(label for label in both if _content(before[label]) != _content(after[label]))
    retagged = tuple(label for label in both if _annotations(before[label]) != _annotations(after[label]))
    absent: Any = object()
    keys = dict.fromkeys([*old.project, *new.project])
    settings = tuple(key for key in keys if old.project.get(key, absent) != new.project.get(key, absent))
    code = old.code != new.code
    reasons = [
        f"{f'1 take {one}' if len(labels) == 1 else f'{len(labels)} takes {more}'}: "
        f"{', '.join(labels[:3])}{', ...' if len(labels) > 3 else ''}"
        for labels, one, more in (
            (added, "was added", "were added"),
            (removed, "was removed", "were removed"),
            (changed, "changed", "changed"),
            (retagged, "has other tags or numbers beside it", "have other tags or numbers beside them"),
        )
        if labels
    ]
    if settings:
        reasons.append(f"the project file changed: {', '.join(settings)}")
    if code:
        reasons.append("it was built by another version of ambulo")
    if not reasons and old != new:
        reasons.append("the takes are in another order")
    return Staleness(tuple(reasons), added, removed, changed, retagged, settings, code)


def _content(take: TakeInput) -> tuple[str, str]:
    return take.sha256, take.companions_sha256


def _annotations(take: TakeInput) -> tuple[str | None, str | None]:
    return take.tags_sha256, take.channels_sha256

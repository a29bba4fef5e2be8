"""``ambulo new``: make a project from a folder of motion capture, or with the embedded takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import tyro

from ambulo.database.discover import Discovery
from ambulo.database.licences import LicenceHint

_TELLING_ROLES = (
    "hips",
    "chest",
    "head",
    "left_hand",
    "left_foot",
    "left_toe",
    "right_hand",
    "right_foot",
    "right_toe",
)
"""A mistake in detection shows in these: ends of limbs, and left against right."""


@dataclass(frozen=True)
class Arguments:
    """Make a project: look at a folder of motion capture and write ambulo.toml for it. Without --from, the embedded
    synthetic takes are written into the project."""

    folder: Path
    """Folder of the new project."""
    source: Annotated[Path | None, tyro.conf.arg(name="from")] = None
    """Folder of takes, or a URL such as s3://bucket/takes; they stay where they are."""
    preset: str | None = None
    """What is known about the takes: lafan1, 100style, bandai, cmu, cmu_daz, or a .toml file of your own."""
    name: str | None = None
    """Name of the project; the folder's if left out."""
    minutes: float = 20.0
    """Minutes of embedded takes, without --from."""
    seed: int = 0
    """Seed of the embedded takes, without --from."""
    json: bool = False
    """Print one JSON object."""


class NewProject(msgspec.Struct, frozen=True):
    """What ``ambulo new`` made."""

    name: str
    project: str
    takes: str
    embedded: bool
    found: Discovery
    preset: str | None = None
    unmatched: tuple[str, ...] = ()
    licence_hints: tuple[LicenceHint, ...] = ()


def run(arguments: Arguments) -> NewProject:
    """Look at the takes (or write the embedded ones), then write the project file."""
    from ambulo.database.discover import discover, source_notes, source_of
    from ambulo.database.licences import licence_hints
    from ambulo.database.play_settings import PlaySettings
    from ambulo.database.project import PROJECT_FILE, Project
    from ambulo.database.project_text import write_project
    from ambulo.database.remote.addresses import as_url, shown
    from ambulo.database.remote.sources import mirror_source
    from ambulo.errors import ProjectError

    folder = arguments.folder
    if (folder / PROJECT_FILE).exists():
        raise ProjectError(
            "there is a project already",
            path=folder / PROJECT_FILE,
            remedy="choose another folder, or edit the file that is there",
        )
    if folder.exists() and not folder.is_dir():
        raise ProjectError("this is a file, not a folder", path=folder, remedy="choose another name")
    if arguments.preset is not None:
        return _by_preset(arguments, arguments.preset)
    embedded = arguments.source is None
    takes = arguments.source or _write_embedded(folder, arguments.seed, arguments.minutes)
    url = None if embedded else as_url(takes)
    if url is not None:
        takes = mirror_source(url)
    found = discover(takes)
    source = source_of(takes, folder)
    if url is not None:
        source = msgspec.structs.replace(source, path=url)
    if embedded:
        source = msgspec.structs.replace(
            source, licence="Apache-2.0", attribution="ambulo's motion synthesizer", tags_from=()
        )
    name = arguments.name or folder.resolve().name or "character"
    # The embedded takes have many styles; unasked, a character walks in the plain one.
    play = PlaySettings(default_tags=("neutral",)) if embedded else PlaySettings()
    hints = () if embedded else tuple(licence_hints(takes))
    project = Project(name=name, sources=(source,), play=play)
    path = write_project(
        project,
        folder,
        source_notes={0: [*source_notes(found), *(f"licence? {_hint(hint)}" for hint in hints)]},
        source_guesses={0: found.guesses},
        detected_roles=found.roles,
    )
    return NewProject(name, str(path), shown(url) if url else str(takes), embedded, found, licence_hints=hints)


def _by_preset(arguments: Arguments, name: str) -> NewProject:
    """A project of a folder of takes that a preset knows."""
    from ambulo.database.discover import discover
    from ambulo.database.fetch import make_project
    from ambulo.database.licences import licence_hints
    from ambulo.database.preset import load_preset
    from ambulo.database.remote.addresses import as_url
    from ambulo.errors import ProjectError

    takes = arguments.source
    if takes is None:
        raise ProjectError(
            "a preset needs a folder of takes",
            key="preset",
            remedy=f"add --from FOLDER, or fetch them: ambulo fetch {name}",
        )
    if as_url(takes) is not None:
        raise ProjectError(
            "a preset is for takes in a folder of this machine",
            key="preset",
            remedy="copy the takes here, or leave --preset out",
        )
    preset = load_preset(name)
    found = discover(takes)
    title = arguments.name or arguments.folder.resolve().name or preset.name
    path, unmatched = make_project(preset, takes, arguments.folder, title)
    hints = tuple(licence_hints(takes))
    return NewProject(title, str(path), str(takes), False, found, preset.name, tuple(unmatched), hints)


def _hint(hint: LicenceHint) -> str:
    flag = " [NON-COMMERCIAL]" if hint.non_commercial else ""
    return f"{Path(hint.path).name} beside the takes says {hint.licence or 'something of its own'}{flag}"


def _write_embedded(folder: Path, seed: int, minutes: float) -> Path:
    from ambulo.errors import ProjectError
    from ambulo.synthesis.takes import write_takes

    if seed < 0:
        raise ProjectError(f"a seed of {seed} is not possible", key="seed", remedy="give a whole number from 0 up")
    takes = folder / "takes"
    if takes.exists() and any(takes.iterdir()):
        raise ProjectError(
            "there are takes already", path=takes, remedy="use them with --from, or choose another folder"
        )
    try:
        takes.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ProjectError(f"cannot be made: {error.strerror}", path=takes) from None
    write_takes(takes, seed=seed, minutes=minutes)
    return takes


def show(made: NewProject) -> None:
    """Print what was found, and what to do next."""
    found = made.found
    what = "embedded takes" if made.embedded else "takes"
    print(f"{made.name}: {made.project}")
    print(f"  {found.files} {what} in {made.takes}; {found.sampled} looked at:")
    for label, counts in (
        ("unit", found.units),
        ("up", found.ups),
        ("frames a second", found.rates),
        ("skeleton", found.skeletons),
    ):
        print(f"    {label}: " + "; ".join(f"{name} ({count})" for name, count in counts.items()))
    if len(found.skeletons) > 1:
        print("    a build puts people on one of them, that of most motion where [skeleton] names no target;")
        print("    bodies that cannot be put on it, such as animals, are left out: give them a project of their own")
    for note in found.notes:
        print(f"    {note}")
    print(f"  {len(found.roles)} joints recognised" + _missing(found))
    if found.roles:
        shown = [f"{role}={found.roles[role]}" for role in _TELLING_ROLES if role in found.roles]
        print(f"    {', '.join(shown)}")
        print(f"    all of them, to check or correct: [roles] in {made.project}")
    if made.preset is not None:
        print(f"  read by the preset {made.preset!r}; its values win over what was guessed")
    for pattern in made.unmatched:
        print(f"  no file matches {pattern}")
    for hint in made.licence_hints:
        print(f"  licence? {_hint(hint)}: {hint.path}")
    for file, error in found.errors.items():
        print(f"  cannot be read: {file}: {error}")
    folder = Path(made.project).parent
    print(f"next: ambulo build {folder}")


def _missing(found: Discovery) -> str:
    return f", none found for {', '.join(found.missing_roles)}" if found.missing_roles else ""

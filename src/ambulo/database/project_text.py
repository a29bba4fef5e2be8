"""Writing ``ambulo.toml`` as a person would: what matters first, a comment for what can be changed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from ambulo.database.project import DATABASE_FOLDER, PROJECT_FILE, Project, SourceSpec
from ambulo.errors import ProjectError

_PREPARE_HELP = {
    "position_window": "seconds over which the root's position is smoothed",
    "direction_window": "seconds over which the root's direction is smoothed",
    "contact_speed": "m/s below which a toe is on the ground",
    "contact_window": "seconds over which contacts are smoothed",
    "contact_height": "metres above its standing height up to which a toe can be on the ground",
    "smoothing_order": "order of both smoothing filters",
    "floor": "put the floor at y = 0",
    "trim": "cut T-poses and calibration off the ends of takes",
    "glitch_speed": "m/s from which a joint's movement is a glitch of the capture",
    "glitch_margin": "seconds around a glitch that are not used either",
}


def write_project(
    project: Project,
    folder: Path,
    *,
    source_notes: Mapping[int, Sequence[str]] | None = None,
    source_guesses: Mapping[int, Mapping[str, str | float]] | None = None,
    detected_roles: Mapping[str, str] | None = None,
) -> Path:
    """Write ``ambulo.toml`` into a folder that has none, and a ``.gitignore`` for what is built there.

    Args:
        project: the content.
        folder: where to; made if need be.
        source_notes: number of a source -> comment lines (what was found).
        source_guesses: number of a source -> ``unit``, ``up``, ``rate`` as guessed, written as comments.
        detected_roles: role -> joint name as detected, written as comments for whoever wants to correct one.

    Raises:
        ProjectError: there is a project file already, or the folder cannot be written.
    """
    path = folder / PROJECT_FILE
    text = project_text(project, source_notes or {}, source_guesses or {}, detected_roles or {})
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        ignored = folder / ".gitignore"
        if not ignored.exists():
            ignored.write_bytes(f"# built by ambulo from the takes\n/{DATABASE_FOLDER}*\n".encode())
    except FileExistsError:
        raise ProjectError(
            "there is a project already" if path.exists() else "is a file, not a folder",
            path=path if path.exists() else folder,
            remedy="choose another folder, or edit the file that is there",
        ) from None
    except OSError as error:
        raise ProjectError(f"cannot be written: {error.strerror}", path=path) from None
    return path


def project_text(
    project: Project,
    source_notes: Mapping[int, Sequence[str]] = MappingProxyType({}),
    source_guesses: Mapping[int, Mapping[str, str | float]] = MappingProxyType({}),
    detected_roles: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The text of ``ambulo.toml``; :func:`~ambulo.database.project.load_project` reads the same project from it."""
    lines = [
        "# An ambulo project. Build it with `ambulo build`, steer it with `ambulo play`.",
        "",
        f"name = {toml_value(project.name)}",
        f"rate = {toml_value(project.rate)}  # frames a second of the database; takes are resampled",
        f"mirror = {toml_value(project.mirror)}  # add a mirrored copy of every clip",
        f"controllers = {toml_value(project.controllers)}",
        "",
        "# What is compared when motion is searched: position and velocity of a joint (or role), or where the root",
        "# will be and face some seconds from now. A larger weight counts more.",
        "features = [",
        *(f"  {_inline(msgspec.to_builtins(spec))}," for spec in project.features),
        "]",
    ]
    for number, source in enumerate(project.sources):
        lines += [
            "",
            "[[sources]]",
            *_source_lines(source, source_notes.get(number, ()), source_guesses.get(number, {})),
        ]
    for spec in project.takes:
        entries = msgspec.to_builtins(spec)
        lines += ["", "[[takes]]", *(f"{key} = {toml_value(value)}" for key, value in entries.items())]
    target = project.skeleton.target
    lines += [
        "",
        "# Motion on other skeletons is put on this one: a file on it, or the path of a source.",
        "[skeleton]",
        '# target = "character.glb"  # left out: the skeleton that most of the motion is on'
        if target is None
        else f"target = {toml_value(target)}",
    ]
    lines += [
        "",
        "# Which joint plays which part. Joints are found by name and by geometry; name one here to correct it.",
        "[roles]",
        *(f"{role} = {toml_value(joint)}" for role, joint in project.roles.items()),
        *(f"# {role} = {toml_value(joint)}" for role, joint in detected_roles.items() if role not in project.roles),
        *_annotation_lines(project),
        "",
        "[play]",
        f"default_tags = {toml_value(project.play.default_tags)}  # shown while nothing else is asked for",
        f"opt_in_tags = {toml_value(project.play.opt_in_tags)}  # shown only when asked for",
        f"fallback = {toml_value(project.play.fallback)}  # folders of projects that answer what this one cannot",
        "",
        "[prepare]",
    ]
    prepare = msgspec.to_builtins(project.prepare)
    for key, value in prepare.items():
        if key != "rate" and value is not None:
            comment = _PREPARE_HELP.get(key)
            lines.append(f"{key} = {toml_value(value)}" + (f"  # {comment}" if comment else ""))
    return "\n".join(lines) + "\n"


def _annotation_lines(project: Project) -> Iterable[str]:
    for name, channel in project.channels.items():
        entries = {key: value for key, value in msgspec.to_builtins(channel).items() if value is not None}
        yield from ("", f"[channels.{_key(name)}]", *(f"{key} = {toml_value(value)}" for key, value in entries.items()))
    if project.tags.exclusive:
        yield from ("", "[tags]", f"exclusive = {toml_value(project.tags.exclusive)}  # one of each group at a time")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _source_lines(source: SourceSpec, notes: Sequence[str], guesses: Mapping[str, str | float]) -> Iterable[str]:
    yield f"path = {toml_value(source.path)}  # relative to this file"
    yield f"glob = {toml_value(source.glob)}"
    yield f"exclude = {toml_value(source.exclude)}"
    for note in notes:
        yield f"# {note}"
    optional = (
        ("unit", "centimetre", "guessed for each file if left out"),
        ("up", "+Y", "guessed for each file if left out"),
        ("rate", 120.0, "true frames a second, where the files lie about it"),
    )
    for key, example, comment in optional:
        value = getattr(source, key)
        yield (
            f"# {key} = {toml_value(guesses.get(key, example))}  # {comment}"
            if value is None
            else f"{key} = {toml_value(value)}"
        )
    if source.skip_first:
        yield f"skip_first = {source.skip_first}  # frames left out at the start of every take"
    yield f"tags = {toml_value(source.tags)}  # on every take of this source"
    yield f"tags_from = {toml_value(source.tags_from)}  # words of folder names, of file names"
    if source.numbers:
        numbers = ", ".join(f"{_key(name)} = {toml_value(value)}" for name, value in source.numbers.items())
        yield f"numbers = {{ {numbers} }}"
    if not source.retarget:
        yield "retarget = false  # takes on other skeletons than the target's are left out"
    if source.mapping is not None:
        yield f"mapping = {toml_value(source.mapping)}  # target joint = source joint or role"
    if source.travel != "as_is":
        yield f"travel = {toml_value(source.travel)}  # from standing feet, for clips that walk in place"
    yield f"licence = {toml_value(source.licence)}"
    yield f"attribution = {toml_value(source.attribution)}"


def toml_value(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # A JSON string is a TOML basic string, but for the one character that TOML wants escaped as well.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, float):
        return repr(int(value)) + ".0" if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, int):
        return repr(value)
    if isinstance(value, Mapping):
        return _inline(value)
    return f"[{', '.join(toml_value(item) for item in value)}]"


def _inline(table: Mapping[str, Any]) -> str:
    shown = {key: value for key, value in table.items() if value not in ("", [], ())}
    return "{ " + ", ".join(f"{key} = {toml_value(value)}" for key, value in shown.items()) + " }"

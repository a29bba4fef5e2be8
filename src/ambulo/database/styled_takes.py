"""The takes of a project with those that ``[[stylise]]`` makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from ambulo.database.project import Project
from ambulo.database.takes import Take, compile_glob, find_takes
from ambulo.database.toml_check import line_of
from ambulo.errors import ProjectError, nearest_names
from ambulo.formats.paths import is_file


def find_all_takes(project: Project) -> list[Take]:
    """The takes of all sources, as :func:`ambulo.database.takes.find_takes` lists them, then what is made of them.

    Raises:
        ProjectError: a source's folder is missing, or a style applies to no take.
    """
    takes = find_takes(project)
    return takes + [made for number in range(len(project.stylise)) for made in _made(project, takes, number)]


def _made(project: Project, takes: Sequence[Take], number: int) -> list[Take]:
    from ambulo.database.annotate import read_annotations

    style = project.stylise[number]
    patterns = [compile_glob(pattern) for pattern in style.takes]
    named = [take for take in takes if any(pattern.fullmatch(take.label) for pattern in patterns)]
    chosen = named
    if style.of_tags:
        said = read_annotations(project, named)
        chosen = [
            take
            for take, annotations in zip(named, said, strict=True)
            if set(style.of_tags) <= {note.range.tag for note in annotations.tags}
        ]
    if not chosen:
        raise _no_takes(project, number, takes, named)
    made = []
    for take in chosen:
        path = PurePosixPath(take.relative)
        # Its name in the database is that of its base and the style: walk_01@limp.
        relative = path.with_name(f"{path.stem}@{style.name}{path.suffix}").as_posix()
        made.append(take._replace(label=f"{take.label}@{style.name}", relative=relative, style=number))
    return made


def _no_takes(project: Project, number: int, takes: Sequence[Take], named: Sequence[Take]) -> ProjectError:
    """The error for a style that applies to nothing: by its pattern, or by its tags."""
    style = project.stylise[number]
    if named:
        message = f"none of the {len(named)} takes of the style {style.name!r} carries {' and '.join(style.of_tags)}"
        remedy = f"correct of_tags, or tag one of them: `ambulo tag add {named[0].label} {style.of_tags[0]}`"
    else:
        wrong = style.takes[0] if style.takes else ""
        folders = sorted({take.label.rpartition("/")[0] for take in takes})
        there = nearest_names(wrong, [take.label for take in takes])
        patterns = ", ".join(repr(f"{folder}/*" if folder else "*") for folder in folders[:3])
        message = f"the style {style.name!r} applies to no take: none is called {', '.join(style.takes)}; {there}"
        remedy = f"name takes with the path of their source, such as {patterns}; `ambulo status --takes` lists them"
        if not takes:
            remedy = "the project has no takes: correct its sources"
    key = "takes" if not named else "of_tags"
    line = None
    if is_file(project.path):
        text = project.path.read_text("utf-8-sig", errors="replace")
        line = line_of(text, ("stylise", number, key))
    return ProjectError(message, path=project.path, line=line, key=f"stylise.{key}", remedy=remedy)

"""The takes of a project with those that ``[[stylise]]`` makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from ambulo.database.project import Project
from ambulo.database.takes import Take, compile_glob, find_takes
from ambulo.errors import ProjectError


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
    chosen = [take for take in takes if any(pattern.fullmatch(take.label) for pattern in patterns)]
    if style.of_tags:
        said = read_annotations(project, chosen)
        chosen = [
            take
            for take, annotations in zip(chosen, said, strict=True)
            if set(style.of_tags) <= {note.range.tag for note in annotations.tags}
        ]
    if not chosen:
        what = f"{', '.join(style.takes)}" + (f" with {', '.join(style.of_tags)}" if style.of_tags else "")
        raise ProjectError(
            f"the style {style.name!r} applies to no take ({what})",
            path=project.path,
            key="stylise.takes",
            remedy="check its takes and of_tags; takes are called as in `ambulo status`",
        )
    made = []
    for take in chosen:
        path = PurePosixPath(take.relative)
        # Its name in the database is that of its base and the style: walk_01@limp.
        relative = path.with_name(f"{path.stem}@{style.name}{path.suffix}").as_posix()
        made.append(take._replace(label=f"{take.label}@{style.name}", relative=relative, style=number))
    return made

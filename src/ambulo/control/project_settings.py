"""What a project's file says of its character at play: the ``[play]`` table, and which controller plays it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ambulo.control.create import CONTROLLERS, full_name
from ambulo.control.settings import ControlSettings
from ambulo.database.project import PROJECT_FILE, Project, load_project
from ambulo.errors import ProjectError, nearest_names

DEFAULT_CONTROLLER = "motion_matching"


def project_settings(
    folder: str | Path, base: ControlSettings | None = None, *, known_tags: Iterable[str] | None = None
) -> ControlSettings:
    """Settings for the controllers of a project.

    Args:
        folder: the project's folder, its file, or the folder of a database, with or without a project beside it.
        base: all other settings.
        known_tags: the tags of the project's database; default tags are checked against them where they are given.

    Returns:
        ``base`` with the project's tags; ``base`` itself where there is no project file.

    Raises:
        ProjectError: the project file cannot be used, or asks by default for a tag that nothing carries.
    """
    base = base or ControlSettings()
    project = _project_of(folder)
    if project is None:
        return base
    play = project.play
    if known_tags is not None:
        names = list(known_tags)
        for tag in play.default_tags:
            if tag not in names:
                raise ProjectError(
                    f"nothing carries the tag {tag!r} that is shown by default; {nearest_names(tag, names)}",
                    path=project.path,
                    key="play.default_tags",
                    remedy="correct the tag, tag some takes with it and build again, or leave it out",
                )
    return replace(base, search=replace(base.search, default_tags=play.default_tags, opt_in_tags=play.opt_in_tags))


def project_controller(folder: str | Path, *, trained: Iterable[str] = ()) -> str:
    """The controller that a project is played by unless another is asked for: the first that its file names.

    Args:
        folder: as for :func:`project_settings`; without a project file it is motion matching.
        trained: names of trained models, which a project may name too.

    Raises:
        ProjectError: the project file cannot be used, or names a controller that does not exist.
    """
    project = _project_of(folder)
    if project is None:
        return DEFAULT_CONTROLLER
    known = [*CONTROLLERS, *trained]
    for name in project.controllers:
        if full_name(name) not in known:
            raise ProjectError(
                f"there is no controller {name!r}",
                path=project.path,
                key="controllers",
                remedy=nearest_names(name, known),
            )
    return full_name(next(iter(project.controllers), DEFAULT_CONTROLLER))


def project_fallback(folder: str | Path) -> tuple[Path, ...]:
    """The projects that answer what this one cannot, in their order: ``fallback`` in its ``[play]`` table.

    Args:
        folder: as for :func:`project_settings`; there are none without a project file.

    Raises:
        ProjectError: the project file cannot be used.
    """
    project = _project_of(folder)
    return () if project is None else tuple(project.folder / place for place in project.play.fallback)


def _project_of(folder: str | Path) -> Project | None:
    folder = Path(folder)
    for place in (folder, folder.parent):
        file = place / PROJECT_FILE if place.is_dir() else place
        if file.name == PROJECT_FILE and file.is_file():
            return load_project(file)
    return None

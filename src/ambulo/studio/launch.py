"""From folders on the command line to a session that is ready to play."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ambulo.control.create import full_name
from ambulo.control.project_settings import project_controller
from ambulo.database.database import Database
from ambulo.errors import StudioError
from ambulo.learning.create import models_folder, trained_models
from ambulo.studio.open_project import OpenProject, open_project
from ambulo.studio.session import Session

WARM_STEPS = 30
"""Steps taken before the page opens: they load the compiled kernels and pass a few searches."""


def check_projects(folders: Sequence[Path]) -> None:
    """Refuse what cannot be played before anything that takes long is begun.

    Raises:
        StudioError: no folder is given, or the same one twice.
        DatabaseError: a project was not built, or is damaged.
        ProjectError: a folder holds no project.
    """
    for folder in project_places(folders).values():
        Database.open(folder)


def make_session(
    folders: Sequence[Path], *, controller: str | None = None, seed: int = 0, fallback: Sequence[Path] = ()
) -> Session:
    """A session that has taken its first steps, so that nothing is compiled while somebody plays.

    Args:
        folders: of built projects (or their ``ambulo.toml``); named after their folders.
        controller: name of the controller; the first that the first project names where it is None.
        seed: for the controller.
        fallback: built projects that answer what these cannot, after those that their files name.

    Raises:
        StudioError: no folder is given, or the same one twice.
        DatabaseError: a project was not built, or is damaged.
        ControlError: there is no such controller.
        ProjectError: a project file cannot be used.
    """
    places = project_places(folders)

    def opener(name: str) -> OpenProject:
        return open_project(places[name], name, fallback)

    first = next(iter(places.values()))
    controller = full_name(controller or project_controller(first, trained=trained_models(models_folder(first))))
    session = Session(list(places), opener, controller=controller, seed=seed)
    for _ in range(WARM_STEPS):
        session.advance()
    session.choice()
    return session


def project_places(folders: Sequence[Path]) -> dict[str, Path]:
    """A short unique name for every project, and its folder.

    Raises:
        StudioError: no folder is given, or the same one twice.
    """
    return _names([folder.parent if folder.suffix == ".toml" else folder for folder in folders])


def _names(folders: Sequence[Path]) -> dict[str, Path]:
    """A short unique name for every folder: its own, with its parent's where two are equal."""
    if not folders:
        raise StudioError("there is no project to play", remedy="name the folder of a built project")
    resolved = [folder.resolve() for folder in folders]
    if len(set(resolved)) < len(resolved):
        raise StudioError("the same project is named twice", path=next(p for p in resolved if resolved.count(p) > 1))
    short = [path.name for path in resolved]
    return {
        path.name if short.count(path.name) == 1 else path.as_posix(): folder
        for path, folder in zip(resolved, folders, strict=True)
    }

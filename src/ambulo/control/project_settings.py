"""The settings of a project's character: the ``[play]`` table of its file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ambulo.control.settings import ControlSettings
from ambulo.database.project import PROJECT_FILE, load_project


def project_settings(folder: str | Path, base: ControlSettings | None = None) -> ControlSettings:
    """Settings for the controllers of a project.

    Args:
        folder: the project's folder, its file, or the folder of a database, with or without a project beside it.
        base: all other settings.

    Returns:
        ``base`` with the project's tags; ``base`` itself where there is no project file.

    Raises:
        ProjectError: the project file cannot be used.
    """
    base = base or ControlSettings()
    folder = Path(folder)
    for place in (folder, folder.parent):
        file = place / PROJECT_FILE if place.is_dir() else place
        if file.name == PROJECT_FILE and file.is_file():
            play = load_project(file).play
            return replace(
                base, search=replace(base.search, default_tags=play.default_tags, opt_in_tags=play.opt_in_tags)
            )
    return base

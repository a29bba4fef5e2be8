"""Watching a project's files: its ``ambulo.toml``, takes, tags and numbers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from ambulo.database.project import PROJECT_FILE, load_project
from ambulo.database.takes import ANNOTATION_ENDINGS
from ambulo.errors import AmbuloError
from ambulo.formats.paths import is_file, is_folder
from ambulo.formats.registry import FORMATS

SETTLE_MILLISECONDS = 250
"""Files that are written within this of each other are one change."""

_SUFFIXES = tuple(extension for form in FORMATS for extension in form.extensions)


class ProjectWatch:
    """Tells of changes to the files of some projects, from a thread.

    Args:
        places: name of a project -> its folder.
        changed: called with the name of a project whose files changed.
    """

    def __init__(self, places: dict[str, Path], changed: Callable[[str], None]) -> None:
        self._places = places
        self._changed = changed
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(name,), name=f"ambulo-studio-watch-{name}", daemon=True)
            for name in places
        ]

    def start(self) -> None:
        """Start watching."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop watching."""
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=2.0)

    def _run(self, name: str) -> None:
        from watchfiles import watch

        folder = self._places[name]
        while not self._stop.is_set():
            sources = source_places(folder)  # a new one may stand in the project file
            wanted = [path for path in (folder, *sources) if path.exists()]
            for changes in watch(
                *_outermost(wanted),
                watch_filter=_Filter(folder, sources),
                debounce=4 * SETTLE_MILLISECONDS,
                step=SETTLE_MILLISECONDS,
                rust_timeout=500,
                stop_event=self._stop,
                raise_interrupt=False,
            ):
                self._changed(name)
                if any(Path(path).name == PROJECT_FILE for _, path in changes):
                    break


class _Filter:
    def __init__(self, folder: Path, sources: list[Path]) -> None:
        self._folder, self._sources = folder, sources

    def __call__(self, change: object, path: str) -> bool:
        return matters(Path(path), self._folder, self._sources)


def source_places(folder: Path) -> list[Path]:
    """Folders and files that a project's sources name; none where its file cannot be read."""
    try:
        project = load_project(folder)
    except AmbuloError:
        return []
    return [Path(os.path.realpath(project.folder / source.path)) for source in project.sources]


def matters(path: Path, folder: Path, sources: list[Path]) -> bool:
    """Whether a build of the project may come out otherwise when this file changes."""
    real, home = Path(os.path.realpath(path)), Path(os.path.realpath(folder))
    if real == home / PROJECT_FILE:
        return True
    database = home / "database"
    if any(parent.name.startswith(database.name) and parent.parent == home for parent in (real, *real.parents)):
        return False
    source = next((source for source in sources if real == source or source in real.parents), None)
    if source is None or any(part.startswith(".") for part in real.relative_to(source).parts):
        return False  # what is hidden is no take, or still being written
    return path.name.endswith(ANNOTATION_ENDINGS) or path.suffix.lower() in _SUFFIXES or is_folder(path)


def _outermost(paths: list[Path]) -> list[Path]:
    """Of paths within each other the outer ones."""
    real = list(dict.fromkeys(Path(os.path.realpath(path)) for path in paths))
    return [path for path in real if not any(other in path.parents for other in real if not is_file(other))]

"""The folder of an export: where it may lie, and what in it may be replaced or removed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ambulo.database.project import DATABASE_FOLDER, PROJECT_FILE, load_project
from ambulo.errors import AmbuloError

_OURS = ("ambulo controller", "ambulo holden", "ambulo jlpm")


def refuse_project_folders(folder: Path, project: str | Path) -> None:
    """Refuse to write into a project, beside its file, or among its takes, its database or its models.

    Raises:
        AmbuloError: see above, or the folder holds something else of ours, as a database or a model.
    """
    remedy = "name another folder, as export/NAME in the project"
    place = folder.resolve()
    if (place / PROJECT_FILE).exists():
        raise AmbuloError("the folder is an ambulo project", path=folder, key="out", remedy=remedy)
    given = Path(project).resolve()
    home = given if given.is_dir() else given.parent
    kept = {home / DATABASE_FOLDER: "the project's database", home / "models": "the project's models"}
    if not (home / PROJECT_FILE).exists():
        kept = {home: "a database"}
    else:
        sources = (str(source.path) for source in load_project(project).sources)
        takes = ((home / path).resolve() for path in sources if "://" not in path)
        kept |= {path: "takes of the project" for path in takes if not home.is_relative_to(path)}
    for path, what in kept.items():
        if place.is_relative_to(path):
            raise AmbuloError(
                f"the folder is where {what} lie{'s' if what.endswith('database') else ''}",
                path=folder,
                key="out",
                remedy=remedy,
            )
    told = _manifest_of(folder / "manifest.json")
    kind = str(told.get("format", ""))
    if kind.startswith("ambulo") and kind not in _OURS:
        raise AmbuloError(f"the folder holds an {kind}", path=folder, key="out", remedy=remedy)


def refuse_overwriting(folder: Path, names: Iterable[str], *, force: bool) -> None:
    """Refuse to replace files that are not an earlier export's own, untouched since.

    Args:
        folder: need not exist.
        names: of the files that will be written.
        force: the user allows any of them to be replaced.

    Raises:
        AmbuloError: a file is there that somebody else wrote or changed, or the folder is none.
    """
    above = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not above.is_dir():
        raise AmbuloError("a file is where the folder should be", path=above, key="out", remedy="name another folder")
    ours = _written_before(folder / "manifest.json")
    for name in names:
        path = folder / name
        if path.is_dir():
            raise AmbuloError("a folder is where a file should be", path=path, key="out", remedy="name another folder")
        if force or not path.exists():
            continue
        if ours is None or (name != "manifest.json" and ours.get(name) != _digest(path)):
            raise AmbuloError(
                "it is there already, and no earlier export left it so",
                path=path,
                key="out",
                remedy="name another folder, or give --force to overwrite it",
            )


def leftovers(folder: Path, names: Iterable[str]) -> list[Path]:
    """Files of an earlier export, untouched since, that are none of those names: another controller's or target's."""
    ours = _written_before(folder / "manifest.json") or {}
    others = [name for name in sorted(ours) if Path(name).name == name and name not in set(names)]
    return [folder / name for name in others if (folder / name).is_file() and _digest(folder / name) == ours[name]]


def _manifest_of(path: Path) -> dict[str, Any]:
    """What a manifest says; nothing where there is none."""
    try:
        told = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _written_before(manifest: Path) -> dict[str, str] | None:
    """Hashes by name that an earlier export noted; None where there was none."""
    told = _manifest_of(manifest)
    files = told.get("files") if told.get("format") in _OURS else None
    return files if isinstance(files, dict) else None


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

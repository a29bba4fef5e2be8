"""The folder of an export: what in it may be replaced."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from ambulo.errors import AmbuloError


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


def _written_before(manifest: Path) -> dict[str, str] | None:
    """Hashes by name that an earlier export noted; None where there was none."""
    try:
        told = json.loads(manifest.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(told, dict) or not str(told.get("format", "")).startswith("ambulo "):
        return None
    files = told.get("files")
    return files if isinstance(files, dict) else None


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

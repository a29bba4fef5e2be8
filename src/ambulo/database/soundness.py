"""Whether a database folder can be opened: what a reader would refuse, a build must not call up to date."""

from __future__ import annotations

from pathlib import Path

from ambulo.database.catalog import CATALOG, read_catalog
from ambulo.database.manifest import Manifest, check_files, read_manifest
from ambulo.database.storage import map_tensors


def check_sound(folder: Path) -> Manifest:
    """Read everything of a database but the numbers in its arrays. Takes milliseconds.

    Returns:
        The manifest.

    Raises:
        DatabaseError: a file is missing, damaged, or of another version.
    """
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    for name in manifest.files:
        if name.endswith(".safetensors"):
            map_tensors(folder / name)
    read_catalog(folder / CATALOG)
    return manifest

"""The files in which a build keeps what it remembers for the next one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from ambulo.database.manifest import Manifest
from ambulo.database.records import BuildState
from ambulo.database.takes import Stamp

BUILD_FILE = "build.json"
STAMPS_FILE = "stamps.json"

OWN_FILES = frozenset({STAMPS_FILE})
"""Files of a database's folder that are no part of its content."""


def read_state(folder: Path) -> BuildState | None:
    """The state of a built database; None where there is none that can be read (then everything is built anew)."""
    try:
        return msgspec.json.decode((folder / BUILD_FILE).read_bytes(), type=BuildState)
    except (OSError, msgspec.DecodeError, RecursionError):
        return None


def read_stamps(folder: Path) -> dict[str, Stamp]:
    """The stamps of the last build; none where they cannot be read (then every take is hashed)."""
    try:
        return msgspec.json.decode((folder / STAMPS_FILE).read_bytes(), type=dict[str, Stamp])
    except (OSError, msgspec.DecodeError, RecursionError):
        return {}


_OWN = "database:"


def array_files(manifest: Manifest) -> list[str]:
    """The files of a database that hold its arrays: what a later build takes over."""
    return [name for name in manifest.files if name.endswith(".safetensors")]


def own_stamps(folder: Path, manifest: Manifest) -> dict[str, Stamp]:
    """What a database's own arrays look like: they are read whole again only if touched since."""
    stamps = {}
    for name in array_files(manifest):
        info = (folder / name).stat()
        stamps[_OWN + name] = Stamp(info.st_size, info.st_mtime_ns, manifest.checksums[name])
    return stamps


def touched_files(folder: Path, manifest: Manifest, names: Iterable[str], stamps: dict[str, Stamp]) -> list[str]:
    """Those of a database's own files that are not as they were when they were built."""
    touched = []
    for name in names:
        stamp = stamps.get(_OWN + name)
        info = (folder / name).stat()
        if stamp != Stamp(info.st_size, info.st_mtime_ns, manifest.checksums.get(name, "")):
            touched.append(name)
    return touched


def write_stamps(folder: Path, stamps: dict[str, Stamp]) -> None:
    """Keep the stamps for the next build. They speak of this machine only and are no part of the database's content."""
    temporary = folder / (STAMPS_FILE + ".new")
    temporary.write_bytes(msgspec.json.encode(stamps, order="sorted"))
    temporary.replace(folder / STAMPS_FILE)

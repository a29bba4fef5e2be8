"""The files in which a build keeps what it remembers for the next one."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ambulo.database.records import BuildState
from ambulo.database.takes import Stamp

BUILD_FILE = "build.json"
STAMPS_FILE = "stamps.json"


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


def write_stamps(folder: Path, stamps: dict[str, Stamp]) -> None:
    """Keep the stamps for the next build. They speak of this machine only and are no part of the database's content."""
    temporary = folder / (STAMPS_FILE + ".new")
    temporary.write_bytes(msgspec.json.encode(stamps, order="sorted"))
    temporary.replace(folder / STAMPS_FILE)

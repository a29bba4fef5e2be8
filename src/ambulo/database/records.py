"""What a build remembers about each take, so that the next one prepares only what changed."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

import ambulo
from ambulo.database.manifest import SkeletonRecord
from ambulo.database.project import Project
from ambulo.database.takes import Stamp, TakeInput
from ambulo.errors import AmbuloError
from ambulo.motion.motion import Note

BUILD_FILE = "build.json"
STAMPS_FILE = "stamps.json"

FRAME_ROOMS = ("maths", "motion", "formats", "prepare")
"""Packages whose code decides what the frames of a take are."""

DATABASE_ROOMS = (*FRAME_ROOMS, "database", "matching")
"""Packages whose code decides what a database holds."""


class ClipRecord(msgspec.Struct, frozen=True):
    """One clip of a take, without its frames.

    Attributes:
        frame_count: number of frames.
        start_time: seconds of the take at which the first frame lies.
        skeleton: key of its skeleton in :class:`BuildState`.
        invalid_count: frames marked as glitches.
        licence: as the file says it.
        attribution: as the file says it.
    """

    frame_count: int
    start_time: float
    skeleton: str
    invalid_count: int = 0
    licence: str = ""
    attribution: str = ""


class Failure(msgspec.Struct, frozen=True):
    """Why a take could not be prepared: the error's class, message and facts."""

    kind: str
    message: str
    facts: dict[str, Any]

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """The failure that an error describes."""
        if isinstance(error, AmbuloError):
            return cls(type(error).__name__, error.message, error.facts())
        return cls(type(error).__name__, f"unexpected {type(error).__name__}: {error}", {})

    @property
    def text(self) -> str:
        """The message for a person, without the take's path, which is shown beside it."""
        return str(AmbuloError(self.message, **{k: v for k, v in self.facts.items() if k != "path"}))


class TakeRecord(msgspec.Struct, frozen=True):
    """What became of one take.

    Attributes:
        key: hash of all that its frames depend on.
        clips: its clips in order, without the mirrored ones; empty where it failed.
        failure: why it failed; None where it did not.
        notes: what was found odd or decided.
        format, unit, metres_per_unit, unit_guessed, up, up_guessed, frame_time: how the file was read.
    """

    key: str
    clips: tuple[ClipRecord, ...] = ()
    failure: Failure | None = None
    notes: tuple[Note, ...] = ()
    format: str = ""
    unit: str = ""
    metres_per_unit: float | None = None
    unit_guessed: bool | None = None
    up: str = ""
    up_guessed: bool | None = None
    frame_time: float | None = None


class Inputs(msgspec.Struct, frozen=True):
    """All that a database depends on.

    Attributes:
        project: the project file's content.
        takes: hashes of every take and its tag file, in order.
        code: hash of the code of :data:`DATABASE_ROOMS`.
    """

    project: dict[str, Any]
    takes: tuple[TakeInput, ...]
    code: str

    @property
    def digest(self) -> str:
        """Hash of it all."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()


class Summary(msgspec.Struct, frozen=True):
    """Size of a database: clips, mirrored ones of them, frames, and seconds of motion a tag."""

    clips: int
    mirrored: int
    frames: int
    tags: dict[str, float]


class BuildState(msgspec.Struct, frozen=True):
    """The content of ``build.json``: from what the database was made, and what became of every take, in order.

    Attributes:
        inputs: from what.
        skeletons: hash -> skeleton.
        records: one a take, in the order of ``inputs.takes``.
        starts: by take, first frame of each of its clips in the database (each followed by its mirrored one where the
            project mirrors); empty where the take is not in the database.
        excluded: number of a take -> why it is left out although it could be read.
        summary: size of the database.
    """

    inputs: Inputs
    skeletons: dict[str, SkeletonRecord]
    records: tuple[TakeRecord, ...]
    starts: tuple[tuple[int, ...], ...]
    excluded: dict[int, str]
    summary: Summary


def project_content(project: Project) -> dict[str, Any]:
    """What of the project file goes into the database, as JSON values: all but where it lies and how it is played."""
    content: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(project, enc_hook=str))
    for key in ("folder", "play", "controllers"):
        del content[key]
    return content


@cache
def code_fingerprint(rooms: tuple[str, ...]) -> str:
    """Hash of the source code of some packages of ambulo: a database made by other code is stale."""
    digest = hashlib.sha256(ambulo.__version__.encode())
    home = Path(ambulo.__file__).parent
    for room in rooms:
        for file in sorted((home / room).glob("*.py")):
            digest.update(f"{room}/{file.name}\0".encode())
            digest.update(file.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()


def take_key(project: Project, source: int, take: TakeInput) -> str:
    """Hash of all that the frames of a take depend on; its tags are not among them."""
    spec = project.sources[source]
    parts = [
        take.label,
        take.sha256,
        [spec.unit, spec.up, spec.rate],
        sorted(project.roles.items()),
        msgspec.to_builtins(project.prepare),
        project.mirror,
        code_fingerprint(FRAME_ROOMS),
    ]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def skeleton_key(record: SkeletonRecord) -> str:
    """Hash of a skeleton."""
    return hashlib.sha256(msgspec.json.encode(record, order="sorted")).hexdigest()[:16]


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

"""What a build remembers: from what a database was made, and what became of each take."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from ambulo.database.manifest import SkeletonRecord
from ambulo.database.takes import TakeInput
from ambulo.errors import AmbuloError
from ambulo.motion.motion import Note


class ClipRecord(msgspec.Struct, frozen=True):
    """One clip of a take, without its frames.

    Attributes:
        frame_count: number of frames.
        start_time: seconds of the take at which the first frame lies.
        skeleton: key of its skeleton in :class:`BuildState`.
        invalid_count: frames marked as glitches.
        licence: as the file says it.
        attribution: as the file says it.
        name: as the file calls it; a file of several clips names them.
    """

    frame_count: int
    start_time: float
    skeleton: str
    invalid_count: int = 0
    licence: str = ""
    attribution: str = ""
    name: str = ""


class RetargetRecord(msgspec.Struct, frozen=True):
    """What retargeting did to a clip; pairs are before and after.

    Attributes:
        target: file on the target's skeleton.
        joints: of the clip's own skeleton.
        frames: of the file.
        scale: leg length of the target over its own.
        slide: m/s of toes in contact.
        penetration: metres of toes below their standing height, mean over contacts.
        jumps: joint-angle jumps a minute.
        contact_f1: agreement of contacts after with those before.
    """

    target: str
    joints: int
    frames: int
    scale: float
    slide: tuple[float, float]
    penetration: tuple[float, float]
    jumps: tuple[float, float]
    contact_f1: float


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
        retargeted: what retargeting did, clip by clip; empty where the take is on the target's skeleton itself.
        native_key: ``key`` without the target, where the take was put on the skeleton of the most motion.
        native_clips: its clips on its own skeleton, in that case: they count when that skeleton is chosen.
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
    retargeted: tuple[RetargetRecord, ...] = ()
    native_key: str = ""
    native_clips: tuple[ClipRecord, ...] = ()

    @property
    def own_clips(self) -> tuple[ClipRecord, ...]:
        """Its clips on its own skeleton."""
        return self.native_clips or self.clips


class Inputs(msgspec.Struct, frozen=True):
    """All that a database depends on.

    Attributes:
        project: the project file's content.
        takes: hashes of every take and its tag file, in order.
        code: hash of the code of :data:`DATABASE_ROOMS`.
        files: other files, the target and mapping files -> hash.
    """

    project: dict[str, Any]
    takes: tuple[TakeInput, ...]
    code: str
    files: dict[str, str] = {}

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
        notes: number of a take -> what is wrong with its annotations.
        summary: size of the database.
    """

    inputs: Inputs
    skeletons: dict[str, SkeletonRecord]
    records: tuple[TakeRecord, ...]
    starts: tuple[tuple[int, ...], ...]
    excluded: dict[int, str]
    notes: dict[int, tuple[Note, ...]]
    summary: Summary

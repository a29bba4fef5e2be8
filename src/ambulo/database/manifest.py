"""The manifest: what a database folder holds, in which version, and how large each file must be."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import ambulo
from ambulo.database.channels import Channel
from ambulo.database.pieces import ANEW, PIECES_FILE, Pieces, read_pieces, verify_pieces
from ambulo.database.storage import checksum_of
from ambulo.errors import DatabaseError, SkeletonError
from ambulo.motion.skeleton import Skeleton
from ambulo.prepare.settings import LIMITS

FORMAT = "ambulo database"
VERSION = 2
MANIFEST = "manifest.json"
REPLACE_NEWER = (
    "update ambulo, or build with this one somewhere else (`ambulo build PROJECT --folder ...`), "
    "or remove the database's folder yourself and build again"
)
_AGAIN = "run `ambulo build` again"


class SkeletonRecord(msgspec.Struct, frozen=True):
    """A skeleton as JSON. ``end_offsets`` has None where a joint has no tip."""

    names: list[str]
    parents: list[int]
    offsets: list[list[float]]
    end_offsets: list[list[float] | None]
    roles: dict[str, int]
    rest_rotations: list[list[float]] = []

    @classmethod
    def of(cls, skeleton: Skeleton) -> SkeletonRecord:
        """The record of a skeleton."""
        return cls(
            list(skeleton.names),
            skeleton.parents.tolist(),
            skeleton.offsets.tolist(),
            [None if np.isnan(end).any() else end.tolist() for end in skeleton.end_offsets],
            dict(sorted(skeleton.roles.items(), key=lambda item: (item[1], item[0]))),
            [] if (skeleton.rest_rotations == (0.0, 0.0, 0.0, 1.0)).all() else skeleton.rest_rotations.tolist(),
        )

    def skeleton(self) -> Skeleton:
        """The skeleton of a record."""
        none = [np.nan] * 3
        return Skeleton(
            tuple(self.names),
            np.array(self.parents, np.int32),
            np.array(self.offsets, np.float32).reshape(-1, 3),
            np.array([none if end is None else end for end in self.end_offsets], np.float32).reshape(-1, 3),
            self.roles,
            np.array(self.rest_rotations, np.float32).reshape(-1, 4),
        )

    @property
    def signature(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """What two skeletons must share for their frames to lie in one database: names and parents."""
        return tuple(self.names), tuple(self.parents)


class Manifest(msgspec.Struct, frozen=True):
    """The content of ``manifest.json``.

    Attributes:
        name: the project's name.
        rate: frames a second.
        frame_count: frames of all clips together.
        clip_count: clips, mirrored ones included.
        skeleton: the one skeleton of all clips.
        channels: the arrays that lie under ``frames/``.
        files: path relative to the folder -> bytes, for every file but the manifest and the build's own records.
        checksums: the same paths -> the first 16 bytes of the SHA-256 of the content; of a file of frames, of its
            header and its pieces' digests (:mod:`ambulo.database.pieces`).
        digest: hash of all that the database was made from; the same digest means the same database.
        code: hash of the code that made it.
        ambulo: version of ambulo that wrote it.
        format: always ``"ambulo database"``.
        version: version of this layout.
    """

    name: str
    rate: float
    frame_count: int
    clip_count: int
    skeleton: SkeletonRecord
    channels: list[Channel]
    files: dict[str, int]
    checksums: dict[str, str]
    digest: str
    code: str
    ambulo: str
    format: str = FORMAT
    version: int = VERSION


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write ``manifest.json`` so that it is there whole or not at all."""
    temporary = folder / (MANIFEST + ".new")
    with temporary.open("wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(folder / MANIFEST)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a database folder.

    Raises:
        DatabaseError: there is none, it is damaged, or a newer or unknown version.
    """
    path = folder / MANIFEST
    try:
        raw: Any = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError:
        raise DatabaseError(
            "there is no database here", path=folder, remedy="build it with `ambulo build PROJECT`"
        ) from None
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise DatabaseError(f"is damaged: {error}", path=path, remedy=_AGAIN) from None
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise DatabaseError("is not the manifest of an ambulo database", path=path, remedy=_AGAIN)
    version = raw.get("version")
    if not isinstance(version, int) or version != VERSION:
        newer = isinstance(version, int) and version > VERSION
        raise DatabaseError(
            f"the database has layout version {version}, this ambulo reads {VERSION}",
            path=path,
            key="version",
            remedy=REPLACE_NEWER if newer else _AGAIN,
        )
    try:
        manifest = msgspec.convert(raw, Manifest)
        manifest.skeleton.skeleton()
    except (msgspec.ValidationError, SkeletonError, ValueError, OverflowError) as error:
        raise DatabaseError(f"is damaged: {error}", path=path, remedy=_AGAIN) from None
    least, greatest = LIMITS["rate"]
    if not least <= manifest.rate <= greatest:
        raise DatabaseError(f"is damaged: a rate of {manifest.rate:g}", path=path, key="rate", remedy=_AGAIN)
    return manifest


def refuse_newer(folder: Path) -> None:
    """Let no build replace what a newer ambulo built: this one cannot even tell what would be lost.

    Raises:
        DatabaseError: the folder's manifest says a newer layout, or a newer ambulo.
    """
    path = folder / MANIFEST
    try:
        raw: Any = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError, RecursionError):
        return  # nothing there, or damage: a build mends it
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        return
    version, writer = raw.get("version"), raw.get("ambulo")
    if isinstance(version, int) and version > VERSION:
        raise DatabaseError(
            f"is of a newer ambulo: layout version {version}, this one writes {VERSION}; it is not replaced",
            path=path,
            key="version",
            remedy=REPLACE_NEWER,
        )
    if isinstance(writer, str) and is_newer(writer):
        raise DatabaseError(
            f"was built by ambulo {writer}, this is {ambulo.__version__}; it is not replaced",
            path=path,
            key="ambulo",
            remedy=REPLACE_NEWER,
        )


def is_newer(version: str) -> bool:
    """Whether a version of ambulo is later than this one."""
    return _numbers(version) > _numbers(ambulo.__version__)


def _numbers(version: str) -> tuple[int, ...]:
    parts = []
    for part in version.split("+")[0].split("."):
        digits = "".join(character for character in part if character.isdigit())
        parts.append(int(digits) if digits else 0)
    return tuple(parts)


def check_files(folder: Path, manifest: Manifest) -> None:
    """Compare the size of every file with the manifest's.

    Raises:
        DatabaseError: a file is missing or has another size.
    """
    for name, size in manifest.files.items():
        path = folder / name
        try:
            found = path.stat().st_size
        except OSError:
            raise DatabaseError("is missing from the database", path=path, remedy=_AGAIN) from None
        if found != size:
            raise DatabaseError(f"has {found} bytes where {size} were written", path=path, remedy=_AGAIN)


def verify_files(folder: Path, manifest: Manifest, names: Iterable[str] | None = None) -> None:
    """Read files whole and compare them with the checksums of the build. About a second a gigabyte.

    Args:
        folder: the database's.
        manifest: its manifest.
        names: which files; all by default.

    Raises:
        DatabaseError: a file is missing, cannot be read, or holds other bytes than were written.
    """
    check_files(folder, manifest)
    channels = {channel.file: channel.name for channel in manifest.channels}
    pieces: Pieces | None = None
    for name in sorted(manifest.checksums if names is None else names, key=lambda name: name != PIECES_FILE):
        path, wanted = folder / name, manifest.checksums.get(name)
        try:
            if name in channels:
                pieces = pieces or read_pieces(folder)
                verify_pieces(path, channels[name], pieces, wanted)
                continue
            same = checksum_of(path) == wanted
        except OSError as error:
            raise DatabaseError(f"cannot be read: {error.strerror}", path=path, remedy=_AGAIN) from None
        if not same:
            raise DatabaseError("holds other bytes than were written: it is damaged", path=path, remedy=ANEW)


def list_files(folder: Path, exclude: frozenset[str] = frozenset()) -> dict[str, int]:
    """Every file under a folder but the manifest and those excluded: relative POSIX path -> bytes, sorted."""
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name != MANIFEST and name not in exclude:
            found[name] = path.stat().st_size
    return dict(sorted(found.items()))

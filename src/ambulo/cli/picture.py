"""``ambulo picture``: a sheet of pictures of a take, or of a clip of a built database, as PNG."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ambulo.motion.skeleton import Skeleton


_MOST_PIXELS = 200_000_000


@dataclass(frozen=True)
class Arguments:
    """Draw many frames of a motion side by side, to look it over at a glance. Needs no display."""

    source: Path
    """A take (any format that can be read), or the folder of a built project."""
    out: Path = Path("motion.png")
    """The PNG file."""
    clip: str | None = None
    """Which clip of a project, or which animation of a file; the first if left out."""
    start: float = 0.0
    """Seconds from the beginning to the first picture."""
    stop: float | None = None
    """Seconds from the beginning to the last picture; the end if left out."""
    view: Literal["side", "front", "three_quarter", "back", "top"] = "three_quarter"
    """Where it is seen from."""
    columns: int = 8
    """Pictures a row."""
    rows: int = 4
    """Rows."""
    size: int = 240
    """Height of one picture, pixels."""
    json: bool = False
    """Print one JSON object."""


class Picture(msgspec.Struct, frozen=True):
    """What was drawn."""

    file: str
    name: str
    frames: list[int]
    rate: float


def run(arguments: Arguments) -> Picture:
    """Load, draw, write."""
    from ambulo.errors import AmbuloError
    from ambulo.export.pictures import contact_sheet

    for key in ("columns", "rows", "size"):
        if getattr(arguments, key) < 1:
            raise AmbuloError(f"{key} must be at least 1, it is {getattr(arguments, key)}", key=key)
    pixels = arguments.columns * arguments.rows * arguments.size**2
    if pixels > _MOST_PIXELS:
        raise AmbuloError(
            f"{arguments.columns} by {arguments.rows} pictures of {arguments.size} pixels are too many to draw",
            key="size",
            remedy="ask for fewer or smaller ones",
        )
    for key in ("start", "stop"):
        seconds = getattr(arguments, key)
        if seconds is not None and not (math.isfinite(seconds) and abs(seconds) < 1e9):
            raise AmbuloError(f"{seconds} is no time in seconds", key=key)
    if not arguments.out.name or arguments.out.is_dir():
        raise AmbuloError("this is a folder, not a file", path=arguments.out, key="out", remedy="add a file's name")
    name, skeleton, positions, rotations, contacts, rate = _motion(arguments)
    total = len(positions)
    first = round(arguments.start * rate)
    last = total - 1 if arguments.stop is None else round(arguments.stop * rate)
    last = min(last, total - 1)
    if not 0 <= first <= last:
        raise AmbuloError(
            f"{name!r} has {(total - 1) / rate:.2f} s, there is nothing from {arguments.start:g} s on",
            key="start",
            remedy="choose --start and --stop within it",
        )
    frames = np.unique(np.linspace(first, last, arguments.columns * arguments.rows).round().astype(int)).tolist()
    contact_sheet(
        skeleton,
        positions,
        arguments.out,
        frames=frames,
        columns=arguments.columns,
        view=arguments.view,
        cell=(max(arguments.size * 2 // 3, 1), arguments.size),
        rate=rate,
        global_rotations=rotations,
        contacts=contacts,
    )
    return Picture(str(arguments.out), name, frames, rate)


def _motion(
    arguments: Arguments,
) -> tuple[str, Skeleton, NDArray[np.float32], NDArray[np.float32], NDArray[np.uint8] | None, float]:
    """Name, skeleton, global positions and rotations, contacts and rate of what is asked for."""
    from ambulo.database.project import PROJECT_FILE
    from ambulo.motion.kinematics import forward

    if arguments.source.is_dir() or arguments.source.name == PROJECT_FILE:
        from ambulo.database.database import Database
        from ambulo.errors import QueryError, nearest_names

        database = Database.open(arguments.source)
        clips = {clip.name: clip for clip in database.clips}
        name = arguments.clip or database.clips[0].name
        if name not in clips:
            raise QueryError(f"no clip {name!r}; {nearest_names(name, clips)}", key="clip")
        part = slice(clips[name].start, clips[name].stop)
        pose = forward(database.positions[part], database.rotations[part], database.skeleton.parents)
        return (name, database.skeleton, pose.positions, pose.rotations, database.contacts[part], database.rate)

    from ambulo.errors import FormatError, SkeletonError, nearest_names
    from ambulo.formats.registry import load_all
    from ambulo.motion.humanoid import with_detected_roles

    motions = {motion.name: motion for motion in load_all(arguments.source)}
    chosen = arguments.clip or next(iter(motions))
    if chosen not in motions:
        raise FormatError(f"no motion {chosen!r}; {nearest_names(chosen, motions)}", path=arguments.source, key="clip")
    motion = motions[chosen]
    with suppress(SkeletonError):  # where no body is known, the bones are drawn
        motion = with_detected_roles(motion)
    pose = forward(motion.positions, motion.rotations, motion.skeleton.parents)
    return motion.name, motion.skeleton, pose.positions, pose.rotations, None, motion.rate


def show(picture: Picture) -> None:
    """Print what was drawn."""
    seconds = (picture.frames[-1] - picture.frames[0]) / picture.rate
    print(f"{picture.file}: {len(picture.frames)} pictures of {picture.name}, {seconds:.2f} s")

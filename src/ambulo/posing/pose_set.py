"""Poses to learn from: the 43 points of the frames of many takes, split by take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import AmbuloError, PosingError
from ambulo.formats.registry import load_all
from ambulo.motion.humanoid import with_detected_roles
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion
from ambulo.motion.reference_pose import reference_pose
from ambulo.posing.body_points import body_points
from ambulo.posing.points import POINT_COUNT
from ambulo.prepare.floor import floor_height
from ambulo.prepare.trim import usable_range

Float = NDArray[np.float32]


@dataclass(frozen=True)
class PoseSet:
    """Poses as points, with the take that each is from.

    Attributes:
        points: float32 ``[N, 43, 3]`` in metres, every body scaled to
            :data:`~ambulo.posing.points.LEG_LENGTH`.
        scales: float32 ``[N]``, how much larger the captured body was.
        takes: int32 ``[N]``, index into ``names``.
        names: of the takes.
        skipped: take -> why it gave no poses.
    """

    points: Float
    scales: Float
    takes: NDArray[np.int32]
    names: tuple[str, ...]
    skipped: dict[str, str]

    def __len__(self) -> int:
        return len(self.points)

    def of_takes(self, chosen: Sequence[bool] | NDArray[np.bool_]) -> PoseSet:
        """The poses of the takes whose entry (one a name) is True."""
        keep = np.asarray(chosen, bool)[self.takes]
        return PoseSet(self.points[keep], self.scales[keep], self.takes[keep], self.names, self.skipped)


def take_points(motion: Motion, *, rate: float = 15.0) -> tuple[Float, float]:
    """The points of a take's poses, about ``rate`` a second, scaled to the standard body.

    Frames that preparation would trim (calibration poses) are left out. The floor that the feet stand on is moved to
    y = 0 where it is off by more than preparation tolerates: captured floors differ by up to a hand, which a model
    would take for crouching.

    Returns:
        ``[N, 43, 3]`` and the body's scale.

    Raises:
        AmbuloError: its skeleton is no humanoid, or lacks what points sit on.
    """
    motion = with_detected_roles(motion)
    trim = usable_range(motion)
    motion = motion.slice(trim.start_frame, trim.stop_frame)
    pose = forward_motion(motion)
    body = body_points(reference_pose(motion.skeleton, motion, pose))
    step = max(1, round(motion.rate / rate))
    points = body.of_pose(pose.positions[::step], pose.rotations[::step])
    points[..., 1] += np.float32(floor_height(motion, pose=pose).offset)
    sound = np.isfinite(points).all(axis=(1, 2))
    return points[sound] / np.float32(body.scale), body.scale


@dataclass(frozen=True)
class PoseFile:
    """A file to take poses from, and how it is to be read.

    Attributes:
        path: the file.
        unit: its length unit; None guesses.
        up: its up axis; None guesses.
        rate: its true frames a second; None believes the file.
        licence: of what is in it.
    """

    path: Path
    unit: str | float | None = None
    up: str | None = None
    rate: float | None = None
    licence: str = ""


def gather_poses(
    files: Sequence[Path | PoseFile], *, rate: float = 15.0, tell: Callable[[int, int], None] | None = None
) -> PoseSet:
    """The poses of many take files. Files that give none are listed in ``skipped``.

    Args:
        files: paths, or files with how to read them. A file with several motions gives a take for each.
        rate: about how many poses a second.
        tell: called with the number of files that are done, and of all.

    Raises:
        PosingError: no file gives a pose.
    """
    points: list[Float] = []
    scales: list[Float] = []
    takes: list[NDArray[np.int32]] = []
    names: list[str] = []
    skipped: dict[str, str] = {}
    for number, given in enumerate(files):
        file = given if isinstance(given, PoseFile) else PoseFile(given)
        if tell is not None:
            tell(number, len(files))
        try:
            motions = load_all(file.path, unit=file.unit, up=file.up, rate=file.rate)
            for motion in motions:
                found, scale = take_points(motion, rate=rate)
                points.append(found)
                scales.append(np.full(len(found), scale, np.float32))
                takes.append(np.full(len(found), len(names), np.int32))
                names.append(file.path.name if len(motions) == 1 else f"{file.path.name} {motion.name}")
        except AmbuloError as error:
            skipped[file.path.name] = error.message
    if not names:
        why = "; ".join(f"{name}: {reason}" for name, reason in list(skipped.items())[:3])
        raise PosingError(f"none of {len(files)} files gives a pose to learn from ({why})")
    empty = np.zeros((0, POINT_COUNT, 3), np.float32)
    return PoseSet(
        np.concatenate([empty, *points]), np.concatenate(scales), np.concatenate(takes), tuple(names), skipped
    )

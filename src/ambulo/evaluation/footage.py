"""Footage: motion to be measured, made or captured, in one shape, so that value and raw come from the same code."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import MotionError
from ambulo.motion import kinematics
from ambulo.motion.quadruped import is_quadruped
from ambulo.motion.skeleton import Skeleton

if TYPE_CHECKING:
    from ambulo.control.recording import Recording
    from ambulo.database.database import Database

Float = NDArray[np.floating]


@dataclass(frozen=True)
class Footage:
    """Stretches of motion end to end. F frames, J joints.

    Attributes:
        skeleton: with roles.
        rate: frames a second.
        global_positions: ``[F, J, 3]``, metres.
        rotations: local ``[F, J, 4]``.
        contacts: bool ``[F, 2]``, left and right foot planted.
        stretch: int64 ``[F]``: which unbroken stretch a frame belongs to, -1 for a frame that must not be measured.
        weights: float64 ``[F]``: how much a frame counts.
    """

    skeleton: Skeleton
    rate: float
    global_positions: Float
    rotations: Float
    contacts: NDArray[np.bool_]
    stretch: NDArray[np.int64]
    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        frames, joints = self.global_positions.shape[:2]
        shapes = (self.rotations.shape, self.contacts.shape, self.stretch.shape, self.weights.shape)
        if shapes != ((frames, joints, 4), (frames, 2), (frames,), (frames,)) or joints != self.skeleton.joint_count:
            raise MotionError(f"arrays of footage do not fit together: {self.global_positions.shape}, {shapes}")

    @property
    def frame_count(self) -> int:
        """Number of frames F."""
        return int(self.global_positions.shape[0])

    def unbroken(self, steps: int) -> NDArray[np.bool_]:
        """bool ``[F]``: frames that are in one stretch with the frame ``steps`` later."""
        result = np.zeros(self.frame_count, bool)
        if steps < self.frame_count:
            ahead = self.stretch[steps:] if steps else self.stretch
            result[: self.frame_count - steps] = (self.stretch[: self.frame_count - steps] == ahead) & (ahead >= 0)
        return result

    def mean(self, values: ArrayLike, mask: NDArray[np.bool_] | None = None) -> float:
        """Weighted mean over frames ``[F]`` where the mask is set; NaN where nothing counts."""
        weights = self.weights if mask is None else np.where(mask, self.weights, 0.0)
        total = float(weights.sum())
        if total <= 0.0:
            return float("nan")
        counted = weights > 0.0
        return float(np.sum(np.asarray(values, np.float64)[counted] * weights[counted]) / total)

    @cached_property
    def toes(self) -> tuple[int, int]:
        """The joints that touch the ground, left and right: toes, or feet where there are no toes."""
        roles = self.skeleton.roles
        return tuple(  # type: ignore[return-value]
            roles.get(f"{side}_toe", roles.get(f"{side}_foot", -1)) for side in ("left", "right")
        )

    @cached_property
    def ankles(self) -> tuple[int, int]:
        """The feet's upper joints, left and right; -1 on four legs, whose hocks come near the ground as they like."""
        if is_quadruped(self.skeleton):
            return (-1, -1)
        return tuple(self.skeleton.roles.get(f"{side}_foot", -1) for side in ("left", "right"))  # type: ignore[return-value]


def recording_footage(recording: Recording, database: Database) -> Footage:
    """What a simulation did, each character a stretch.

    A foot counts as planted where the *capture* says so for the frame that is shown: a controller cannot better its
    slide by denying contacts.
    """
    frames, count = recording.global_positions.shape[:2]
    joints = recording.global_positions.shape[2]

    def end_to_end(array: Float, width: int) -> Float:
        return np.ascontiguousarray(np.moveaxis(array, 1, 0)).reshape(count * frames, joints, width)

    shown = np.moveaxis(recording.frames, 1, 0).reshape(-1)
    return Footage(
        database.skeleton,
        float(recording.rate),
        end_to_end(recording.global_positions, 3),
        end_to_end(recording.rotations, 4),
        np.asarray(database.contacts[shown], bool),
        np.repeat(np.arange(count, dtype=np.int64), frames),
        np.ones(count * frames),
    )


def database_footage(database: Database, shown: ArrayLike | None = None) -> Footage:
    """The capture itself: the clips that were drawn on, each frame counted as often as it was shown.

    Args:
        database: where the frames lie.
        shown: frames that were shown, any shape; all valid frames once where None.
    """
    if shown is None:
        uses = np.ones(database.frame_count)
        chosen = list(database.clips)
    else:
        frames = np.asarray(shown, np.int64).reshape(-1)
        uses = np.bincount(frames, minlength=database.frame_count).astype(np.float64)
        used = np.unique(database.clip_of_frame(frames))
        chosen = [database.clips[int(index)] for index in used]
    if not chosen:
        raise MotionError("no frame of the database was shown, so there is nothing to compare with")
    index = np.concatenate([np.arange(clip.start, clip.stop) for clip in chosen])
    valid = np.asarray(database.valid[index], bool)
    # A new stretch begins with each clip and after each frame that is not valid.
    begins = np.zeros(len(index), bool)
    begins[np.cumsum([0, *(clip.stop - clip.start for clip in chosen[:-1])])] = True
    begins[1:] |= valid[1:] & ~valid[:-1]
    stretch = np.where(valid, np.cumsum(begins) - 1, -1)
    rotations = np.asarray(database.rotations[index])
    pose = kinematics.forward(database.positions[index], rotations, database.skeleton.parents)
    return Footage(
        database.skeleton,
        database.rate,
        pose.positions,
        rotations,
        np.asarray(database.contacts[index], bool),
        stretch.astype(np.int64),
        np.where(valid, uses[index], 0.0),
    )

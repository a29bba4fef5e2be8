"""The motion: local positions and rotations over time on a skeleton, and where they came from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import MotionError
from ambulo.motion.skeleton import Skeleton


@dataclass(frozen=True)
class Note:
    """One thing that a reader found odd, or decided, about a file.

    Attributes:
        code: a stable short name, e.g. ``"frame_count"``, ``"unit_guess"``.
        message: one sentence for a person.
        warning: True where something looks wrong, False where a decision is merely reported.
        line: line of the file, from 1.
        joint: joint concerned.
    """

    code: str
    message: str
    warning: bool = False
    line: int | None = None
    joint: str | None = None


@dataclass(frozen=True)
class Source:
    """Where a motion came from and how it was converted to metres and +Y up.

    Attributes:
        path: the file.
        format: name of the format, e.g. ``"bvh"``.
        unit: the file's length unit, e.g. ``"centimetre"``, ``"cmu"`` (0.056444 m), or ``"custom"``.
        metres_per_unit: what positions were multiplied by.
        unit_guessed: the unit was guessed from the body's size, not given by the file or the caller.
        up: the file's up axis, e.g. ``"+Y"``, ``"+Z"``.
        up_guessed: the same for the axis.
        frame_time: seconds a frame exactly as the file says it; None where the format has no such field.
        notes: what the reader found odd or decided.
        licence: licence of the data, where known.
        attribution: whom to credit, where known.
    """

    path: Path | None = None
    format: str = ""
    unit: str = "metre"
    metres_per_unit: float = 1.0
    unit_guessed: bool = False
    up: str = "+Y"
    up_guessed: bool = False
    frame_time: float | None = None
    notes: tuple[Note, ...] = ()
    licence: str = ""
    attribution: str = ""

    @property
    def warnings(self) -> tuple[Note, ...]:
        """The notes that say that something looks wrong."""
        return tuple(note for note in self.notes if note.warning)


@dataclass(frozen=True)
class Motion:
    """Poses at even steps of time on one skeleton.

    Attributes:
        skeleton: J joints.
        positions: float32 ``[T, J, 3]``, metres, in the parent's frame; a root's in the world.
        rotations: float32 ``[T, J, 4]``, unit quaternions ``(x, y, z, w)`` in the parent's frame, unrolled in time.
        rate: frames a second. Frame ``i`` is at ``i / rate`` seconds; the duration is ``(T - 1) / rate``.
        name: a short name, usually the file's stem.
        source: where it came from.
    """

    skeleton: Skeleton
    positions: NDArray[np.float32]
    rotations: NDArray[np.float32]
    rate: float
    name: str = ""
    source: Source = field(default_factory=Source)

    def __post_init__(self) -> None:
        object.__setattr__(self, "positions", np.ascontiguousarray(self.positions, np.float32))
        object.__setattr__(self, "rotations", np.ascontiguousarray(self.rotations, np.float32))
        joints = self.skeleton.joint_count
        frames = self.positions.shape[0] if self.positions.ndim else 0
        if self.positions.shape != (frames, joints, 3) or self.rotations.shape != (frames, joints, 4):
            raise MotionError(
                f"positions and rotations must be [T, {joints}, 3] and [T, {joints}, 4], "
                f"got {self.positions.shape} and {self.rotations.shape}",
                path=self.source.path,
            )
        if not (np.isfinite(self.rate) and self.rate > 0):
            raise MotionError(f"a rate of {self.rate} frames a second is not possible", path=self.source.path)

    @property
    def frame_count(self) -> int:
        """Number of frames T."""
        return int(self.positions.shape[0])

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return max(self.frame_count - 1, 0) / self.rate

    def slice(self, start: int, stop: int) -> Motion:
        """The frames ``[start, stop)``, as views."""
        return replace(self, positions=self.positions[start:stop], rotations=self.rotations[start:stop])

    def with_roles(self, roles: dict[str, int]) -> Motion:
        """The same motion with another role table on its skeleton."""
        return replace(self, skeleton=self.skeleton.with_roles(roles))

"""The prepared clip: a take at the project's rate with its root bone, velocities, contacts and validity."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import MotionError
from ambulo.motion.motion import Note, Source
from ambulo.motion.skeleton import Skeleton

if TYPE_CHECKING:
    from ambulo.prepare.trim import TrimReport


@dataclass(frozen=True)
class PreparedClip:
    """What a take becomes before it enters a database.

    Attributes:
        name: a short name, usually the file's stem.
        skeleton: J joints; joint 0 is the root (simulation bone) of S4.3; roles are set.
        rate: frames a second; frame ``i`` of the clip is at ``start_time + i / rate`` seconds of the take.
        positions: float32 ``[T, J, 3]`` local, metres.
        rotations: float32 ``[T, J, 4]`` local, unit, unrolled.
        velocities: float32 ``[T, J, 3]`` of the local positions, m/s.
        angular_velocities: float32 ``[T, J, 3]`` rad/s in the parent's frame; the root's in world axes.
        contacts: uint8 ``[T, 2]``, left and right foot on the ground (S4.11).
        valid: uint8 ``[T]``, 0 where the capture has a glitch: never to be chosen.
        notes: what was found odd or decided, reader's notes included.
        source: where the take came from.
        trim: what was cut off at the ends and why; None where nothing was looked at.
        start_time: seconds from the take's first frame to the clip's first frame.
    """

    name: str
    skeleton: Skeleton
    rate: float
    positions: NDArray[np.float32]
    rotations: NDArray[np.float32]
    velocities: NDArray[np.float32]
    angular_velocities: NDArray[np.float32]
    contacts: NDArray[np.uint8]
    valid: NDArray[np.uint8]
    notes: tuple[Note, ...] = ()
    source: Source = field(default_factory=Source)
    trim: TrimReport | None = None
    start_time: float = 0.0

    def __post_init__(self) -> None:
        frames, joints = self.positions.shape[0], self.skeleton.joint_count
        expected = {
            "positions": (frames, joints, 3),
            "rotations": (frames, joints, 4),
            "velocities": (frames, joints, 3),
            "angular_velocities": (frames, joints, 3),
            "contacts": (frames, 2),
            "valid": (frames,),
        }
        for name, shape in expected.items():
            dtype = np.uint8 if name in ("contacts", "valid") else np.float32
            array = np.ascontiguousarray(getattr(self, name), dtype)
            if array.shape != shape:
                raise MotionError(f"{name} of clip {self.name!r} must be {shape}, got {array.shape}", key=name)
            object.__setattr__(self, name, array)

    @property
    def frame_count(self) -> int:
        """Number of frames T."""
        return int(self.positions.shape[0])

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return max(self.frame_count - 1, 0) / self.rate

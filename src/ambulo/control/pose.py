"""The pose: what a controller shows after one step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.control.kernel_arrays import PoseArrays

Float = NDArray[np.float32]

_NO_LEVELS = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Pose:
    """One pose of N characters with J joints, and what the controller thought of when it chose it.

    Attributes:
        root_position: ``[N, 3]``, metres, world; the same numbers as joint 0 of ``positions``.
        root_rotation: ``[N, 4]``, world; the same as joint 0 of ``rotations``.
        positions: ``[N, J, 3]``, metres, in the parent's frame; joint 0, the root, in the world.
        rotations: ``[N, J, 4]``, in the parent's frame; joint 0 in the world.
        velocities: ``[N, J, 3]``, m/s, time derivative of ``positions``.
        angular_velocities: ``[N, J, 3]``, rad/s, in the parent's frame; joint 0 in the world.
        global_positions: ``[N, J, 3]``, metres, world.
        global_rotations: ``[N, J, 4]``, world.
        contacts: uint8 ``[N, 2]``, left and right toe on the ground.
        transitioned: bool ``[N]``, whether the playhead jumped in this step.
        frames: int64 ``[N]``, the database frame shown (the nearest one between two).
        trajectory_positions: ``[N, K, 3]``, metres, world, where the simulation object is expected to be.
        trajectory_directions: ``[N, K, 3]``, unit, world, where it is expected to face.
        simulation_position: ``[N, 3]``, metres, world, the simulation object that the wish drives.
        simulation_rotation: ``[N, 4]``, world.
        animated_positions: ``[N, J, 3]``, metres, world: the joints as the animation has them, before any smoothing.
        levels: int64 ``[N]``, which database of a chain answered; 0 where there is only one.
    """

    root_position: Float
    root_rotation: Float
    positions: Float
    rotations: Float
    velocities: Float
    angular_velocities: Float
    global_positions: Float
    global_rotations: Float
    contacts: NDArray[np.uint8]
    transitioned: NDArray[np.bool_]
    frames: NDArray[np.int64]
    trajectory_positions: Float
    trajectory_directions: Float
    simulation_position: Float
    simulation_rotation: Float
    animated_positions: Float
    levels: NDArray[np.int64] = field(default_factory=lambda: _NO_LEVELS)

    def __post_init__(self) -> None:
        if self.levels is _NO_LEVELS:
            object.__setattr__(self, "levels", np.zeros(len(self.positions), np.int64))

    @property
    def count(self) -> int:
        """Number of characters N."""
        return len(self.positions)

    @classmethod
    def of_arrays(cls, arrays: PoseArrays, **rest: NDArray[Any]) -> Pose:
        """A pose from the arrays that kernels filled, and all other fields by name."""
        return cls(
            root_position=arrays.positions[:, 0], root_rotation=arrays.rotations[:, 0], **arrays._asdict(), **rest
        )

    def with_joints(self, arrays: PoseArrays, contacts: NDArray[np.uint8] | None = None) -> Pose:
        """The same pose with other joints, and other contacts where they are given."""
        # All fields at once: a frozen class sets them one by one, which takes longer than the kernels.
        other = object.__new__(Pose)
        fields = other.__dict__
        fields.update(self.__dict__)
        fields.update(zip(PoseArrays._fields, arrays, strict=True))
        fields["root_position"], fields["root_rotation"] = arrays.positions[:, 0], arrays.rotations[:, 0]
        if contacts is not None:
            fields["contacts"] = contacts
        return other

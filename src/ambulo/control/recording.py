"""The recording: what a simulation did, frame by frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.control.intent import Event, Tags
from ambulo.errors import ControlError
from ambulo.motion.motion import Motion, Source
from ambulo.motion.skeleton import Skeleton

Float = NDArray[np.float32]


@dataclass(frozen=True)
class Recording:
    """T steps of N characters with J joints. Row t is the pose after step t, and the intent that led to it.

    Attributes:
        skeleton: of the poses, root first.
        rate: steps a second.
        controller, script: names for reports.
        root_positions, root_rotations: ``[T, N, 3]``, ``[T, N, 4]``, world.
        positions, rotations: ``[T, N, J, 3]``, ``[T, N, J, 4]``, local.
        global_positions, global_rotations: the same in the world.
        contacts: uint8 ``[T, N, 2]``.
        transitioned: bool ``[T, N]``.
        frames: int64 ``[T, N]``, database frames shown.
        desired_velocity, desired_facing: ``[T, N, 3]``, the intent.
        simulation_positions, simulation_rotations: ``[T, N, 3]``, ``[T, N, 4]``.
        trajectory_positions, trajectory_directions: ``[T, N, K, 3]``.
        step_seconds: float64 ``[T]``, how long each step took.
        desired_path: ``[P, 3]`` where the script follows one; else None.
        tags: the required tags of each step, ``T`` tuples.
        preferred_tags: the preferred ones, likewise.
        numbers: the wanted numbers of each step, ``T`` mappings from channel to float32 ``[N]``.
        events: what was to happen, ``T`` tuples with ``(tag, seconds)`` or None a character; empty where nothing was.
        levels: int64 ``[T, N]``, which database of a chain answered; None where it is not known.
    """

    skeleton: Skeleton
    rate: float
    controller: str
    script: str
    root_positions: Float
    root_rotations: Float
    positions: Float
    rotations: Float
    global_positions: Float
    global_rotations: Float
    contacts: NDArray[np.uint8]
    transitioned: NDArray[np.bool_]
    frames: NDArray[np.int64]
    desired_velocity: Float
    desired_facing: Float
    simulation_positions: Float
    simulation_rotations: Float
    trajectory_positions: Float
    trajectory_directions: Float
    step_seconds: NDArray[np.float64]
    desired_path: Float | None = None
    tags: tuple[Tags | tuple[Tags, ...], ...] = ()
    preferred_tags: tuple[Tags | tuple[Tags, ...], ...] = ()
    numbers: tuple[Mapping[str, Float], ...] = ()
    events: tuple[tuple[Event | None, ...], ...] = ()
    levels: NDArray[np.int64] | None = None

    @property
    def frame_count(self) -> int:
        """Number of steps T."""
        return int(self.positions.shape[0])

    @property
    def count(self) -> int:
        """Number of characters N."""
        return int(self.positions.shape[1])

    @property
    def times(self) -> NDArray[np.float64]:
        """Seconds at which each step's intent was given, float64 ``[T]``."""
        return np.arange(self.frame_count) / self.rate

    def motion(self, character: int = 0) -> Motion:
        """One character's motion, ready to be saved in any format."""
        if not 0 <= character < self.count:
            raise ControlError(f"character {character} of {self.count}", key="character")
        return Motion(
            self.skeleton,
            self.positions[:, character],
            self.rotations[:, character],
            self.rate,
            name=f"{self.controller}_{self.script}",
            source=Source(format="simulation"),
        )

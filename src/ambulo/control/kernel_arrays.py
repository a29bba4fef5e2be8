"""Arrays that travel into kernels together.

A kernel takes such a pack as one argument; inside it, the fields are the arrays themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float32]


class PoseArrays(NamedTuple):
    """Joints of N poses, which kernels fill; fields as in :class:`ambulo.control.pose.Pose`."""

    positions: Float
    rotations: Float
    velocities: Float
    angular_velocities: Float
    global_positions: Float
    global_rotations: Float


class FrameArrays(NamedTuple):
    """Frames of a database; fields as in :class:`ambulo.database.database.Database`."""

    positions: Float
    rotations: Float
    velocities: Float
    angular_velocities: Float
    contacts: NDArray[np.uint8]


class Wishes(NamedTuple):
    """What is asked: velocity and facing, float32 ``[N, 3]``, world."""

    velocity: Float
    facing: Float


class Playing(NamedTuple):
    """What a step begins with; fields as in :class:`ambulo.control.database_controller.PlayerState`."""

    playhead: NDArray[np.float64]
    timer: NDArray[np.float64]
    wish: NDArray[np.float64]
    impatience: NDArray[np.float64]
    root: NDArray[np.float64]
    simulation: NDArray[np.float64]


class Ties(NamedTuple):
    """What keeps characters from searching.

    Attributes:
        stops: int64 ``[N]``, a frame up to which they play on whatever their tags say; 0 for none.
        busy: uint8 ``[N]``: 0 may search, 1 must not before its run ends, 2 must not in this step at all,
            3 searches even if it rests.
        free: bool ``[F]``, frames that may be left by a jump; ``[0]`` where all may.
    """

    stops: NDArray[np.int64]
    busy: NDArray[np.uint8]
    free: NDArray[np.bool_]


class Planned(NamedTuple):
    """What the first half of a step finds out.

    Attributes:
        timer, wish, impatience, simulation: the same after the step.
        trajectory_positions, trajectory_directions: float32 ``[N, K, 3]``, predicted, world.
        query: float32 ``[N, D]``, raw, of those who search.
        current: int64 ``[N]``, the continuing frame, -1 where the playhead must leave.
        due: bool ``[N]``, who searches.
        eager: bool ``[N]``, who does so out of impatience.
    """

    timer: NDArray[np.float64]
    wish: NDArray[np.float64]
    impatience: NDArray[np.float64]
    simulation: NDArray[np.float64]
    trajectory_positions: Float
    trajectory_directions: Float
    query: Float
    current: NDArray[np.int64]
    due: NDArray[np.bool_]
    eager: NDArray[np.bool_]


class QueryLayout(NamedTuple):
    """Which dimensions of a query come from the predicted trajectory.

    Attributes:
        times: float64 ``[K]``, seconds ahead, distinct and rising.
        slots: int32 ``[M, 3]``: dimension, index of its time, component (see :mod:`ambulo.control.query_kernels`).
    """

    times: NDArray[np.float64]
    slots: NDArray[np.int32]


class Reach(NamedTuple):
    """What characters with certain tags may be shown.

    Attributes:
        run_stops: int64 ``[F]``, see :class:`ambulo.control.frame_sets.FrameSet`.
        features: float32 ``[F, D]``, raw.
    """

    run_stops: NDArray[np.int64]
    features: Float


class Rules(NamedTuple):
    """What stays the same from step to step.

    Attributes:
        layout: of a query.
        constants: of :class:`ambulo.control.settings.SimulationSettings`.
        limits: float64, at the places ``VELOCITY_CHANGE`` to ``REST_SPEED`` of :mod:`ambulo.control.query_kernels`.
    """

    layout: QueryLayout
    constants: NDArray[np.float64]
    limits: NDArray[np.float64]


class Pace(NamedTuple):
    """How long a step is: in frames of the database, and in seconds."""

    frames: float
    seconds: float


class BlendArrays(NamedTuple):
    """Other places that are blended in; fields as in :class:`ambulo.control.blended_matching.BlendState`."""

    places: NDArray[np.float64]
    shares: NDArray[np.float64]
    speeds: NDArray[np.float64]
    targets: NDArray[np.float64]


class Shown(NamedTuple):
    """What the second half of a step fills besides the joints: the new playhead, root, contacts and nearest frame."""

    playhead: NDArray[np.float64]
    root: NDArray[np.float64]
    contacts: NDArray[np.uint8]
    frames: NDArray[np.int64]


def empty_pose(count: int, joint_count: int) -> PoseArrays:
    """Arrays of N poses with J joints."""
    vectors, quaternions = (count, joint_count, 3), (count, joint_count, 4)
    return PoseArrays(
        np.empty(vectors, np.float32),
        np.empty(quaternions, np.float32),
        np.empty(vectors, np.float32),
        np.empty(vectors, np.float32),
        np.empty(vectors, np.float32),
        np.empty(quaternions, np.float32),
    )


def empty_plan(count: int, time_count: int, dimension_count: int) -> Planned:
    """Arrays for N characters, K times ahead, D dimensions."""
    trajectory = (count, time_count, 3)
    return Planned(
        timer=np.empty(count),
        wish=np.empty((count, 3)),
        impatience=np.empty(count),
        simulation=np.empty((count, 10)),
        trajectory_positions=np.empty(trajectory, np.float32),
        trajectory_directions=np.empty(trajectory, np.float32),
        query=np.empty((count, dimension_count), np.float32),
        current=np.empty(count, np.int64),
        due=np.empty(count, np.bool_),
        eager=np.empty(count, np.bool_),
    )


def empty_shown(count: int) -> Shown:
    """Arrays for N characters."""
    return Shown(np.empty(count), np.empty((count, 6)), np.empty((count, 2), np.uint8), np.empty(count, np.int64))

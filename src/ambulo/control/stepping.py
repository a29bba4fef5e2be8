"""What the database-playing controllers share: checks, the simulation object's first state and its pose, queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ambulo.control.intent import Intent
from ambulo.control.pose import Float, Pose
from ambulo.errors import ControlError

if TYPE_CHECKING:
    from ambulo.matching.schema import FeatureSchema

SIMULATION_COLUMNS = ("x", "y", "z", "velocity_x", "velocity_z", "acceleration_x", "acceleration_z", "heading",
                      "turning", "goal_heading")  # fmt: skip
"""Columns of a state's ``simulation``: metres, m/s, m/s2, radians about +Y, rad/s, radians."""

_COMPONENTS = {("trajectory_position", 0): 0, ("trajectory_position", 1): 1, ("trajectory_direction", 0): 2,
               ("trajectory_direction", 1): 3, ("trajectory_height", 0): 4, ("trajectory_velocity", 0): 5,
               ("trajectory_velocity", 1): 6}  # fmt: skip


class PoseArrays(NamedTuple):
    """Empty arrays that the kernels fill, in the order in which they take them."""

    positions: Float
    rotations: Float
    velocities: Float
    angular_velocities: Float
    global_positions: Float
    global_rotations: Float


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


SHORTEST_STEP, LONGEST_STEP = 1e-6, 10.0
"""Seconds; outside of these, speeds and springs lose all their digits."""


def check_state(state: object, kind: type, width: int, array: str) -> None:
    """Refuse a state of another controller or body, whose arrays the kernels would read beyond their ends.

    Args:
        state: what the caller was given.
        kind: the controller's own kind of state.
        width: what the second axis of the named array must be.

    Raises:
        ControlError: see above.
    """
    if type(state) is not kind or getattr(state, array).shape[1] != width:
        raise_foreign_state()


def raise_foreign_state() -> NoReturn:
    """Refuse a state that this controller cannot have made."""
    raise ControlError(
        "the state is of another controller, body or database",
        key="state",
        remedy="begin with this controller's start()",
    )


def check_step(count: int, intent: Intent, dt: float) -> None:
    """Refuse an intent of other characters, a step of nobody, and a step that goes nowhere or too far.

    Raises:
        ControlError: see above. Numbers of the intent are looked at by the kernels.
    """
    if len(intent.velocity) != count:
        raise ControlError(
            f"the intent moves {len(intent.velocity)} characters, the state has {count}",
            key="intent",
            remedy=f"give velocity and facing as [{count}, 3]",
        )
    if not count:
        raise ControlError("the state has no characters", key="state", remedy="leave the step out")
    if not isinstance(dt, float | int | np.floating | np.integer):
        raise ControlError(f"a step lasts a positive number of seconds, not {dt!r}", key="dt")
    if not (SHORTEST_STEP <= dt <= LONGEST_STEP):
        raise ControlError(
            f"a step lasts a positive number of seconds, {SHORTEST_STEP:g} to {LONGEST_STEP:g}, not {dt}",
            key="dt",
            remedy="take several steps for a longer time",
        )


def raise_not_finite(character: int) -> NoReturn:
    """Refuse a wish with NaN, infinity or an absurd speed in it."""
    raise ControlError(
        f"the wish of character {character} has a number that is not finite, or is faster than a million m/s",
        key="intent",
        remedy="check the input device or script before making the intent",
    )


def start_simulation(positions: Float, headings: NDArray[np.float64]) -> NDArray[np.float64]:
    """The simulation objects of standing characters, float64 ``[N, 10]``."""
    simulation = np.zeros((len(positions), len(SIMULATION_COLUMNS)))
    simulation[:, 0:3] = positions
    simulation[:, 7] = headings
    simulation[:, 9] = headings
    return simulation


def simulation_pose(simulation: NDArray[np.float64]) -> tuple[Float, Float]:
    """World positions ``[N, 3]`` and rotations ``[N, 4]`` of the simulation objects."""
    rotations = np.zeros((len(simulation), 4), np.float32)
    half = 0.5 * simulation[:, 7]
    rotations[:, 1], rotations[:, 3] = np.sin(half), np.cos(half)
    return simulation[:, 0:3].astype(np.float32), rotations


def make_pose(
    arrays: PoseArrays,
    contacts: NDArray[np.uint8],
    transitioned: NDArray[np.bool_],
    frames: NDArray[np.int64],
    trajectory_positions: Float,
    trajectory_directions: Float,
    simulation: NDArray[np.float64],
) -> Pose:
    """The pose of a step from the arrays that the kernels filled."""
    return Pose(
        arrays.positions[:, 0],
        arrays.rotations[:, 0],
        *arrays,
        contacts,
        transitioned,
        frames,
        trajectory_positions,
        trajectory_directions,
        *simulation_pose(simulation),
        arrays.global_positions,
    )


def trajectory_slots(schema: FeatureSchema) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Which dimensions of a query come from the predicted trajectory.

    Returns:
        The K distinct times, seconds, float64 ``[K]``, and int32 ``[M, 3]``: dimension, index of its time, component
        (see :mod:`ambulo.control.query_kernels`).
    """
    times = sorted({time for group in schema.groups for time in group.times})
    slots = []
    for group in schema.groups:
        width = group.size // max(len(group.times), 1)
        for step, time in enumerate(group.times):
            for axis in range(width):
                dimension = group.start + step * width + axis
                slots.append((dimension, times.index(time), _COMPONENTS[group.kind, axis]))
    return np.array(times, np.float64), np.array(slots, np.int32).reshape(-1, 3)


def replace_arrays(pose: Pose, arrays: PoseArrays, contacts: NDArray[np.uint8] | None = None) -> Pose:
    """The same pose with other joints, and other contacts where they are given."""
    return Pose(
        arrays.positions[:, 0],
        arrays.rotations[:, 0],
        *arrays,
        pose.contacts if contacts is None else contacts,
        pose.transitioned,
        pose.frames,
        pose.trajectory_positions,
        pose.trajectory_directions,
        pose.simulation_position,
        pose.simulation_rotation,
        pose.animated_positions,
    )

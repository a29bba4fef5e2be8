"""Compiled first half of a step: predict the trajectory, decide who searches, write the queries."""

from __future__ import annotations

import math
from typing import Any

from ambulo.control.simulation_kernels import (
    ACCELERATION,
    GOAL_HEADING,
    VELOCITY,
    VELOCITY_HALF_LIFE,
    desired_heading,
    move,
    predict,
    spring_exponent,
    spring_velocity,
    wrap_angle,
)
from ambulo.maths.kernels import kernel

# Columns of a row of the root and of the wish that was last searched for.
ROOT_X, ROOT_Y, ROOT_Z, ROOT_HEADING, ROOT_VELOCITY_X, ROOT_VELOCITY_Z = range(6)
WISH_X, WISH_Z, WISH_HEADING = 0, 1, 2

# Metres a second below which a wish or a body counts as standing, and above which as going.
_STAND, _GOES = 0.1, 0.25

# Radians up to which a body that is asked to stand, and rests, may face elsewhere than it is asked to.
_ASIDE = 0.35

# Metres a second beyond which a wish is no speed: squares of its features would leave the range of float32.
_FASTEST = 1e6

# Places in the limits of a plan: m/s, radians, seconds, seconds, m/s.
VELOCITY_CHANGE, FACING_CHANGE, INTERVAL, PATIENCE, REST_SPEED = range(5)

# Components that a trajectory dimension can hold.
POSITION_X, POSITION_Z, DIRECTION_X, DIRECTION_Z, HEIGHT, VELOCITY_X, VELOCITY_Z = range(7)


@kernel
def wish_of(n: int, velocity: Any, facing: Any, simulation: Any) -> tuple[float, float, float]:
    """Desired velocity's x and z, and desired heading of character ``n``."""
    heading = desired_heading(velocity[n, 0], velocity[n, 2], facing[n, 0], facing[n, 2], simulation[n, GOAL_HEADING])
    return velocity[n, 0], velocity[n, 2], heading


@kernel
def is_finite(n: int, velocity: Any, facing: Any) -> bool:
    """Whether all six numbers of a wish are finite, and none of its speeds is absurd."""
    finite = True
    for c in range(3):
        finite = finite and abs(velocity[n, c]) <= _FASTEST and math.isfinite(facing[n, c])
    return finite


@kernel
def wish_changed(
    vx: float, vz: float, heading: float, wish_row: Any, velocity_change: float, facing_change: float
) -> bool:
    """Whether a wish differs enough from the one last searched for to be answered at once (S0.29)."""
    dx, dz = vx - wish_row[WISH_X], vz - wish_row[WISH_Z]
    if dx * dx + dz * dz > velocity_change * velocity_change:
        return True
    return abs(wrap_angle(heading - wish_row[WISH_HEADING])) > facing_change


@kernel
def is_disobeyed(vx: float, vz: float, root_row: Any) -> bool:
    """Whether the body goes although it is asked to stand, or stands although it is asked to go."""
    speed = math.hypot(root_row[ROOT_VELOCITY_X], root_row[ROOT_VELOCITY_Z])
    asked = math.hypot(vx, vz)
    return (asked < _STAND and speed > _GOES) or (asked > _GOES and speed < _STAND)


@kernel
def rests(vx: float, vz: float, heading: float, root_row: Any, rest_speed: float) -> bool:
    """Whether the body stands, is asked to stand, and faces about where it is asked to."""
    speed = math.hypot(root_row[ROOT_VELOCITY_X], root_row[ROOT_VELOCITY_Z])
    turned = abs(wrap_angle(heading - root_row[ROOT_HEADING]))
    return math.hypot(vx, vz) < _STAND and speed < rest_speed and turned < _ASIDE


@kernel
def fill_query(
    n: int, moment: float, last: int, goal: tuple[float, float], playing: Any, features: Any, rules: Any, planned: Any
) -> None:
    """Fill row ``n`` of the raw queries: the pose's features at a moment, the trajectory's from the prediction.

    ``goal`` is the desired velocity (x, z); the rest as in :func:`plan`.
    """
    root, simulation = playing.root, playing.simulation
    query, positions, directions = planned.query, planned.trajectory_positions, planned.trajectory_directions
    slots, times = rules.layout.slots, rules.layout.times
    i = int(moment)
    a = moment - i
    if a > 0.0 and i < last:
        for d in range(features.shape[1]):
            query[n, d] = (1.0 - a) * features[i, d] + a * features[i + 1, d]
    else:
        for d in range(features.shape[1]):
            query[n, d] = features[i, d]
    s, c = math.sin(root[n, ROOT_HEADING]), math.cos(root[n, ROOT_HEADING])
    y = spring_exponent(rules.constants[VELOCITY_HALF_LIFE])
    row = simulation[n]
    for m in range(slots.shape[0]):
        dimension, k, component = slots[m, 0], slots[m, 1], slots[m, 2]
        if component == HEIGHT:
            query[n, dimension] = 0.0  # the simulated ground is level
            continue
        if component <= POSITION_Z:
            x = positions[n, k, 0] - root[n, ROOT_X]
            z = positions[n, k, 2] - root[n, ROOT_Z]
        elif component <= DIRECTION_Z:
            x, z = float(directions[n, k, 0]), float(directions[n, k, 2])
        else:
            _, x, _ = spring_velocity(row[VELOCITY], row[ACCELERATION], goal[0], y, times[k])
            _, z, _ = spring_velocity(row[VELOCITY + 1], row[ACCELERATION + 1], goal[1], y, times[k])
        if component in (POSITION_X, DIRECTION_X, VELOCITY_X):
            query[n, dimension] = c * x - s * z
        else:
            query[n, dimension] = s * x + c * z


@kernel
def plan(members: Any, wishes: Any, playing: Any, ties: Any, reach: Any, rules: Any, pace: Any, planned: Any) -> int:
    """Before the search: predict, decide who searches, and write their queries.

    ``planned.current`` becomes the continuing frame, or -1 where the playhead must leave (its clip or its tags end).
    A character that has not obeyed for longer than its patience searches at once, and is ``eager``.

    Args:
        members: int64, who these frames are for.
        wishes, playing, ties, reach, rules, pace, planned: packs of :mod:`ambulo.control.kernel_arrays`; ``planned`` is
            filled.

    Returns:
        How many characters search, ``-1 - n`` where the wish of character ``n`` is not finite, or ``-1 - N - n`` where
        its playhead is in no frame of this database.
    """
    velocity, facing = wishes.velocity, wishes.facing
    playhead, wish, root, simulation = playing.playhead, playing.wish, playing.root, playing.simulation
    run_stops, features = reach.run_stops, reach.features
    constants, limits = rules.constants, rules.limits
    dt = pace.seconds
    searching = 0
    count = playhead.shape[0]
    for m in range(members.shape[0]):
        n = members[m]
        if not is_finite(n, velocity, facing):
            return -1 - int(n)
        if not (0.0 <= playhead[n] <= features.shape[0] - 1):
            return -1 - int(count) - int(n)
        vx, vz, heading = wish_of(n, velocity, facing, simulation)
        predict(
            n, simulation, vx, vz, heading, constants, rules.layout.times, planned.trajectory_positions,
            planned.trajectory_directions,
        )  # fmt: skip
        move(n, simulation, vx, vz, heading, constants, dt, planned.simulation)
        frame = int(playhead[n])
        last = max(run_stops[frame], ties.stops[n]) - 1
        leave = playhead[n] + pace.frames > last
        planned.timer[n] = playing.timer[n] - dt
        changed = wish_changed(vx, vz, heading, wish[n], limits[VELOCITY_CHANGE], limits[FACING_CHANGE])
        idle = is_disobeyed(vx, vz, root[n]) and not changed
        planned.impatience[n] = playing.impatience[n] + dt if idle else 0.0
        planned.eager[n] = planned.impatience[n] > limits[PATIENCE]
        # Whoever is tied does not search, and makes up for it as soon as that is over.
        tied = ties.busy[n] == 2 or (
            not leave and (ties.busy[n] == 1 or (ties.free.shape[0] > 0 and not ties.free[frame]))
        )
        planned.timer[n] = max(planned.timer[n], 0.0)
        if tied:
            planned.impatience[n] = 0.0
            planned.eager[n] = False
        # Who rests is not made to change its mind about how: a jump between two ways of standing only shows.
        due = planned.timer[n] <= 1e-6 and (
            ties.busy[n] == 3 or not rests(vx, vz, heading, root[n], limits[REST_SPEED])
        )
        if not tied and (leave or changed or planned.eager[n] or due):
            searching += 1
            planned.due[n] = True
            planned.timer[n] = limits[INTERVAL]
            if planned.eager[n]:
                planned.impatience[n] = 0.0
            planned.wish[n, WISH_X], planned.wish[n, WISH_Z], planned.wish[n, WISH_HEADING] = vx, vz, heading
            planned.current[n] = -1 if leave else int(playhead[n] + 0.5)
            fill_query(n, playhead[n], last, (vx, vz), playing, features, rules, planned)
        else:
            planned.due[n] = False
            for c in range(3):
                planned.wish[n, c] = wish[n, c]
    return searching

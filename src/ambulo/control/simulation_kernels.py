"""Compiled steps of the simulation object: springs of velocity and heading, prediction, adjustment and clamping.

Everything here lives on the ground plane: positions have x and z, rotations are headings about +Y. A row of
``simulation`` is described by the ``*`` constants below; see :mod:`ambulo.control.simulation_object`.
"""

from __future__ import annotations

import math
from typing import Any

from ambulo.maths.kernels import kernel

# Columns of a row of the simulation array.
POSITION = 0  # x, y, z
VELOCITY = 3  # x, z
ACCELERATION = 5  # x, z
HEADING = 7  # radians about +Y, unbounded
TURNING = 8  # rad/s
GOAL_HEADING = 9  # radians, the last desired heading
SIZE = 10

# Places in SimulationSettings.constants().
VELOCITY_HALF_LIFE = 0
ROTATION_HALF_LIFE = 1
ADJUSTMENT_POSITION_HALF_LIFE = 2
ADJUSTMENT_ROTATION_HALF_LIFE = 3
ADJUSTMENT_RATIO = 4
CLAMPING_DISTANCE = 5
CLAMPING_ANGLE = 6
CLAMPING_YIELD = 7

_LN2 = math.log(2.0)


@kernel
def wrap_angle(angle: float) -> float:
    """The same angle in (-pi, pi]."""
    return angle - 2.0 * math.pi * math.ceil((angle - math.pi) / (2.0 * math.pi))


@kernel
def spring_exponent(half_life: float) -> float:
    """Half the damping of a half-life: y in the closed forms of :mod:`ambulo.maths.springs`."""
    return 2.0 * _LN2 / (half_life + 1e-5)


@kernel
def spring_velocity(v: float, a: float, goal: float, y: float, t: float) -> tuple[float, float, float]:
    """Way gone, velocity and acceleration after ``t`` seconds of a critically damped spring on the velocity."""
    j0 = v - goal
    j1 = a + j0 * y
    e = math.exp(-y * t)
    way = e * (-j1 / (y * y) + (-j0 - j1 * t) / y) + j1 / (y * y) + j0 / y + goal * t
    return way, e * (j0 + j1 * t) + goal, e * (a - j1 * y * t)


@kernel
def spring_heading(heading: float, turning: float, goal: float, y: float, t: float) -> tuple[float, float]:
    """Heading and turning speed after ``t`` seconds of a critically damped spring, the shorter way round."""
    j0 = wrap_angle(heading - goal)
    j1 = turning + j0 * y
    e = math.exp(-y * t)
    return heading - j0 + e * (j0 + j1 * t), e * (turning - j1 * y * t)


@kernel
def desired_heading(velocity_x: float, velocity_z: float, facing_x: float, facing_z: float, last: float) -> float:
    """The heading that is asked for: the facing, else where the velocity goes, else what it was."""
    if facing_x * facing_x + facing_z * facing_z > 1e-8:
        return math.atan2(facing_x, facing_z)
    if velocity_x * velocity_x + velocity_z * velocity_z > 1e-2:
        return math.atan2(velocity_x, velocity_z)
    return last


@kernel
def predict(
    n: int,
    simulation: Any,
    goal_x: float,
    goal_z: float,
    goal_heading: float,
    constants: Any,
    times: Any,
    positions: Any,
    directions: Any,
) -> None:
    """Fill where character ``n``'s simulation object will be and face at each time, ``[N, K, 3]`` both."""
    yv = spring_exponent(constants[VELOCITY_HALF_LIFE])
    yr = spring_exponent(constants[ROTATION_HALF_LIFE])
    s = simulation[n]
    for k in range(times.shape[0]):
        t = times[k]
        dx, _, _ = spring_velocity(s[VELOCITY], s[ACCELERATION], goal_x, yv, t)
        dz, _, _ = spring_velocity(s[VELOCITY + 1], s[ACCELERATION + 1], goal_z, yv, t)
        heading, _ = spring_heading(s[HEADING], s[TURNING], goal_heading, yr, t)
        positions[n, k, 0] = s[POSITION] + dx
        positions[n, k, 1] = s[POSITION + 1]
        positions[n, k, 2] = s[POSITION + 2] + dz
        directions[n, k, 0] = math.sin(heading)
        directions[n, k, 1] = 0.0
        directions[n, k, 2] = math.cos(heading)


@kernel
def move(
    n: int,
    simulation: Any,
    goal_x: float,
    goal_z: float,
    goal_heading: float,
    constants: Any,
    dt: float,
    moved: Any,
) -> None:
    """Fill row ``n`` of ``moved``: the simulation object ``dt`` seconds later."""
    yv = spring_exponent(constants[VELOCITY_HALF_LIFE])
    yr = spring_exponent(constants[ROTATION_HALF_LIFE])
    s = simulation[n]
    dx, vx, ax = spring_velocity(s[VELOCITY], s[ACCELERATION], goal_x, yv, dt)
    dz, vz, az = spring_velocity(s[VELOCITY + 1], s[ACCELERATION + 1], goal_z, yv, dt)
    heading, turning = spring_heading(s[HEADING], s[TURNING], goal_heading, yr, dt)
    moved[n, POSITION] = s[POSITION] + dx
    moved[n, POSITION + 1] = s[POSITION + 1]
    moved[n, POSITION + 2] = s[POSITION + 2] + dz
    moved[n, VELOCITY] = vx
    moved[n, VELOCITY + 1] = vz
    moved[n, ACCELERATION] = ax
    moved[n, ACCELERATION + 1] = az
    moved[n, HEADING] = wrap_angle(heading)
    moved[n, TURNING] = turning
    moved[n, GOAL_HEADING] = goal_heading


@kernel
def follow(
    x: float,
    z: float,
    heading: float,
    speed: float,
    turning: float,
    simulation_row: Any,
    constants: Any,
    dt: float,
) -> tuple[float, float, float]:
    """Draw a body that just moved by its animation towards the simulation object, then clamp the two together.

    The correction fades the distance by a damper and is no faster than a part of the body's own speed (``speed``,
    m/s) and turning (``turning``, rad/s), so that a body at rest is left alone. What then is still too far apart is
    clamped: the simulation object gives way by the part ``CLAMPING_YIELD`` (its row is changed), the body by the rest.
    Returns x, z and heading of the body.
    """
    ratio = constants[ADJUSTMENT_RATIO]
    give = constants[CLAMPING_YIELD]
    dx = simulation_row[POSITION] - x
    dz = simulation_row[POSITION + 2] - z
    distance = math.sqrt(dx * dx + dz * dz)
    if distance > 1e-9:
        part = 1.0 - math.exp(-_LN2 * dt / (constants[ADJUSTMENT_POSITION_HALF_LIFE] + 1e-5))
        way = min(part * distance, ratio * speed * dt)
        excess = max(distance - way - constants[CLAMPING_DISTANCE], 0.0)
        way += (1.0 - give) * excess
        x += dx / distance * way
        z += dz / distance * way
        simulation_row[POSITION] -= dx / distance * give * excess
        simulation_row[POSITION + 2] -= dz / distance * give * excess
    difference = wrap_angle(simulation_row[HEADING] - heading)
    angle = abs(difference)
    side = 1.0 if difference >= 0.0 else -1.0
    part = 1.0 - math.exp(-_LN2 * dt / (constants[ADJUSTMENT_ROTATION_HALF_LIFE] + 1e-5))
    turn = min(part * angle, ratio * abs(turning) * dt)
    excess = max(angle - turn - constants[CLAMPING_ANGLE], 0.0)
    turn += (1.0 - give) * excess
    simulation_row[HEADING] = wrap_angle(simulation_row[HEADING] - side * give * excess)
    return x, z, heading + side * turn

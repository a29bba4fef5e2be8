"""Critically damped springs with a half-life, in closed form: exact at any time step.

The half-life is the time in which a damper halves its distance; a critically damped spring of the same damping takes
a little longer. The damping of half-life h is ``4 ln 2 / h`` and the spring's exponent is half of it (D. Holden,
"Spring-It-On: The Game Developer's Spring-Roll-Call", theorangeduck.com/page/spring-roll-call). Works on floats and on
arrays of any shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ambulo.maths import quaternions

_LN2 = 0.6931471805599453


def damping(half_life: Any) -> Any:
    """Damping (1/s) of a half-life (s)."""
    return 4.0 * _LN2 / (half_life + 1e-5)


def damper(x: Any, goal: Any, half_life: Any, dt: float) -> Any:
    """Move ``x`` towards ``goal`` so that half the way remains after ``half_life`` seconds."""
    return goal + (x - goal) * np.exp(-_LN2 * dt / (half_life + 1e-5))


def spring(x: Any, v: Any, goal: Any, half_life: Any, dt: float) -> tuple[Any, Any]:
    """Critically damped spring to a fixed goal. Returns position and velocity after ``dt`` seconds."""
    y = 0.5 * damping(half_life)
    j0 = x - goal
    j1 = v + j0 * y
    decay = np.exp(-y * dt)
    return decay * (j0 + j1 * dt) + goal, decay * (v - j1 * y * dt)


def decay(x: Any, v: Any, half_life: Any, dt: float) -> tuple[Any, Any]:
    """Critically damped spring to zero: how an inertialization offset fades. Returns offset and its velocity."""
    y = 0.5 * damping(half_life)
    j1 = v + x * y
    factor = np.exp(-y * dt)
    return factor * (x + j1 * dt), factor * (v - j1 * y * dt)


def spring_velocity(x: Any, v: Any, a: Any, goal_velocity: Any, half_life: Any, dt: float) -> tuple[Any, Any, Any]:
    """Spring on the velocity, integrated: how a simulated character answers a stick.

    Returns position, velocity and acceleration after ``dt`` seconds.
    """
    y = 0.5 * damping(half_life)
    j0 = v - goal_velocity
    j1 = a + j0 * y
    factor = np.exp(-y * dt)
    position = factor * ((-j1) / (y * y) + (-j0 - j1 * dt) / y) + (j1 / (y * y)) + j0 / y + goal_velocity * dt + x
    return position, factor * (j0 + j1 * dt) + goal_velocity, factor * (a - j1 * y * dt)


def spring_rotation(q: Any, w: Any, goal: Any, half_life: Any, dt: float) -> tuple[Any, Any]:
    """Critically damped spring on a rotation. ``[..., 4], [..., 3], [..., 4]``; world frame, rad/s."""
    y = 0.5 * damping(half_life)
    j0 = quaternions.to_scaled_angle_axis(quaternions.multiply_inverse(q, goal))
    j1 = w + j0 * y
    factor = np.exp(-y * dt)
    rotated = quaternions.multiply(quaternions.from_scaled_angle_axis(factor * (j0 + j1 * dt)), goal)
    return rotated, factor * (w - j1 * y * dt)


def decay_rotation(q: Any, w: Any, half_life: Any, dt: float) -> tuple[Any, Any]:
    """Critically damped spring of a rotation offset to the identity. ``[..., 4], [..., 3]``."""
    x, w = decay(quaternions.to_scaled_angle_axis(q), w, half_life, dt)
    return quaternions.from_scaled_angle_axis(x), w

"""Legs: two-bone inverse kinematics from hip joint to ankle, for all frames at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.maths import quaternions
from ambulo.synthesis.body import LEG, SHANK, THIGH
from ambulo.synthesis.pelvis import leg_reach

Array = NDArray[np.float64]

_SOFT = float(leg_reach(np.deg2rad(8.0)))
_HARD = float(leg_reach(np.deg2rad(2.5)))


def solve_leg(hip: Array, ankle: Array, forward: Array) -> tuple[Array, Array]:
    """World rotations of thigh and shank whose rest directions are -Y and whose knee bends towards ``forward``.

    A leg shorter than asked for never locks: beyond 8 degrees of flexion the stretch is softened and ends at 2.5.

    Args:
        hip: ``[T, 3]``.
        ankle: ``[T, 3]``.
        forward: where the knee points, ``[T, 3]``.
    """
    line = ankle - hip
    distance = np.linalg.norm(line, axis=-1)
    reach = soften(distance)
    direction = line / np.maximum(distance, 1e-9)[:, None]
    cosine = np.clip((THIGH**2 + reach**2 - SHANK**2) / (2.0 * THIGH * reach), -1.0, 1.0)
    pole = forward - np.sum(forward * direction, axis=-1, keepdims=True) * direction
    pole /= np.maximum(np.linalg.norm(pole, axis=-1, keepdims=True), 1e-9)
    sine = np.sqrt(1.0 - cosine**2)
    thigh = direction * cosine[:, None] + pole * sine[:, None]
    shank = (direction * reach[:, None] - THIGH * thigh) / SHANK
    side = np.cross(pole, direction)
    return _frame(thigh, side), _frame(shank, side)


def soften(distance: Array) -> Array:
    """Hip-to-ankle distance that is really reached: exact up to 8 degrees of knee flexion, then softly bounded."""
    span = _HARD - _SOFT
    beyond = np.maximum(distance - _SOFT, 0.0)
    return np.where(distance > _SOFT, _SOFT + span * (1.0 - np.exp(-beyond / span)), np.clip(distance, 0.25, LEG))


def _frame(down: Array, side: Array) -> Array:
    """Rotation whose -Y is ``down`` and whose X is ``side`` or its opposite, whichever is the body's left."""
    down = down / np.linalg.norm(down, axis=-1, keepdims=True)
    x = side - np.sum(side * down, axis=-1, keepdims=True) * down
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    y = -down
    return quaternions.from_matrix(np.stack([x, y, np.cross(x, y)], axis=-1))

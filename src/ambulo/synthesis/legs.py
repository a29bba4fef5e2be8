"""Legs: two-bone inverse kinematics from hip joint to ankle, for all frames at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.maths import quaternions
from ambulo.synthesis.body import SHANK, THIGH
from ambulo.synthesis.pelvis import leg_reach

Array = NDArray[np.floating]

_SOFT = float(leg_reach(np.deg2rad(5.5)))
_HARD = float(leg_reach(np.deg2rad(2.5)))
_SWING_SOFT = float(leg_reach(np.deg2rad(46.0)))
_SWING_HARD = float(leg_reach(np.deg2rad(6.0)))


def solve_leg(hip: Array, ankle: Array, forward: Array, ease: Array) -> tuple[Array, Array]:
    """World rotations of thigh and shank whose rest directions are -Y and whose knee bends towards ``forward``.

    A leg shorter than asked for never locks: beyond 5.5 degrees of flexion the stretch is softened and ends at 2.5.

    Args:
        hip: ``[T, 3]``.
        ankle: ``[T, 3]``.
        forward: where the knee points, ``[T, 3]``.
        ease: 0 where the ankle must be met, 1 where the leg swings and may shorten, ``[T]``.
    """
    line = ankle - hip
    distance = np.linalg.norm(line, axis=-1)
    reach = (1.0 - ease) * soften(distance, _SOFT, _HARD) + ease * soften(distance, _SWING_SOFT, _SWING_HARD)
    direction = line / np.maximum(distance, 1e-9)[:, None]
    cosine = np.clip((THIGH**2 + reach**2 - SHANK**2) / (2.0 * THIGH * reach), -1.0, 1.0)
    pole = forward - np.sum(forward * direction, axis=-1, keepdims=True) * direction
    pole /= np.maximum(np.linalg.norm(pole, axis=-1, keepdims=True), 1e-9)
    sine = np.sqrt(1.0 - cosine**2)
    thigh = direction * cosine[:, None] + pole * sine[:, None]
    shank = (direction * reach[:, None] - THIGH * thigh) / SHANK
    side = np.cross(pole, direction)
    return _frame(thigh, side), _frame(shank, side)


def soften(distance: Array, soft: float, hard: float) -> Array:
    """Hip-to-ankle distance that is really reached: exact up to ``soft``, then bounded by ``hard``."""
    span = hard - soft
    beyond = np.maximum(distance - soft, 0.0)
    return np.where(distance > soft, soft + span * (1.0 - np.exp(-beyond / span)), np.maximum(distance, 0.25))


def _frame(down: Array, side: Array) -> Array:
    """Rotation whose -Y is ``down`` and whose X is ``side`` or its opposite, whichever is the body's left."""
    down = down / np.linalg.norm(down, axis=-1, keepdims=True)
    x = side - np.sum(side * down, axis=-1, keepdims=True) * down
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    y = -down
    return quaternions.from_matrix(np.stack([x, y, np.cross(x, y)], axis=-1))

"""The body's path: what a smooth controller makes of a wish, so that data and players' wishes agree.

A wish is a velocity and a facing at every frame. The path answers through the same critically damped springs that a
game character's controller uses (see :mod:`ambulo.maths.springs`), with half-lives of 0.15 to 0.4 s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Wish:
    """What an actor is told to do.

    Attributes:
        velocity: wished ground velocity ``[T, 2]`` (world x and z), m/s.
        facing: wished heading of the body ``[T]``, radians from +Z towards +X, unwrapped.
        half_life: seconds in which the body's velocity answers ``[T]``.
        turn_half_life: the same for its heading ``[T]``.
    """

    velocity: Array
    facing: Array
    half_life: Array
    turn_half_life: Array


@dataclass(frozen=True)
class BodyPath:
    """Where the body goes.

    Attributes:
        rate: frames a second.
        position: ``[T, 2]`` on the ground (world x and z), metres.
        velocity: ``[T, 2]``, m/s.
        acceleration: ``[T, 2]``, m/s^2.
        facing: heading ``[T]``, radians, unwrapped.
        turning: ``[T]``, rad/s, positive to the left.
    """

    rate: float
    position: Array
    velocity: Array
    acceleration: Array
    facing: Array
    turning: Array

    @property
    def frame_count(self) -> int:
        """Number of frames."""
        return len(self.facing)

    @property
    def speed(self) -> Array:
        """Ground speed ``[T]``, m/s."""
        return np.hypot(self.velocity[:, 0], self.velocity[:, 1])

    def in_facing(self, vectors: Array) -> Array:
        """Ground vectors ``[T, 2]`` as (left, forward) components of the body's heading ``[T, 2]``."""
        sine, cosine = np.sin(self.facing), np.cos(self.facing)
        x, z = vectors[:, 0], vectors[:, 1]
        return np.stack([x * cosine - z * sine, x * sine + z * cosine], axis=-1)


def follow(wish: Wish, rate: float) -> BodyPath:
    """The path of a body that follows a wish, from rest at the origin."""
    from ambulo.synthesis import path_kernels

    frames = len(wish.facing)
    state = np.zeros((frames, 3))
    rates = np.zeros((frames, 3))
    goals = np.column_stack([wish.velocity, wish.facing])
    start = np.array([0.0, 0.0, wish.facing[0]])
    half_lives = np.column_stack([wish.half_life, wish.half_life, wish.turn_half_life])
    path_kernels.follow(goals, half_lives, start, 1.0 / rate, state, rates)
    velocity, acceleration = state[:, :2], rates[:, :2]
    position = np.zeros((frames, 2))
    position[1:] = np.cumsum(0.5 * (velocity[1:] + velocity[:-1]), axis=0) / rate
    return BodyPath(rate, position, velocity.copy(), acceleration.copy(), state[:, 2].copy(), rates[:, 2].copy())

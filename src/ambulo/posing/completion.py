"""From a few wishes to all 43 points: two Gaussians and a network that learned what is left.

1. A Gaussian that knows no heading guesses where the body stands and faces. Its covariance is symmetric under turns
   about the vertical, so the guess turns with the wishes.
2. Seen from there, a Gaussian of bodies that face ahead completes the points, and says how sure it is of each.
3. A network moves each point by a part of its standard deviation: exact points stay, tolerances need no training of
   their own. It is asked for the mirrored body too, and the mean of both is taken.

So the completion of turned, moved or mirrored wishes is the turned, moved or mirrored completion, by construction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.maths import quaternions
from ambulo.posing.gaussian import PoseGaussian
from ambulo.posing.observations import Observations
from ambulo.posing.points import MIRRORED, POINT_COUNT, POINTS, mirror_points

Double = NDArray[np.float64]

_LEFT = [POINTS.index("left_hip"), POINTS.index("left_upper_arm")]
_RIGHT = [POINTS.index("right_hip"), POINTS.index("right_upper_arm")]
_HIPS = POINTS.index("hips")


def facing_yaws(points: NDArray[np.floating]) -> Double:
    """Where bodies face, by their hips and shoulders: radians about +Y, 0 is +Z. From ``[N, 43, 3]`` to ``[N]``."""
    across = np.asarray(points, np.float64)
    left = (across[:, _LEFT] - across[:, _RIGHT]).sum(axis=1)
    return np.asarray(np.arctan2(-left[:, 2], left[:, 0]), np.float64)


def standing_places(points: NDArray[np.floating]) -> Double:
    """The point of the ground below the hips, ``[N, 3]``."""
    places = np.asarray(points, np.float64)[:, _HIPS].copy()
    places[:, 1] = 0.0
    return places


def to_facing(points: NDArray[np.floating], yaws: Double, places: Double) -> Double:
    """Points ``[N, 43, 3]`` in the axes of bodies that stand at ``places`` and face ``yaws``."""
    turns = np.asarray(quaternions.from_yaw(yaws))[:, None, :]
    return np.asarray(quaternions.inverse_rotate(turns, np.asarray(points, np.float64) - places[:, None]), np.float64)


def from_facing(points: NDArray[np.floating], yaws: Double, places: Double) -> Double:
    """The way back of :func:`to_facing`."""
    turns = np.asarray(quaternions.from_yaw(yaws))[:, None, :]
    return np.asarray(quaternions.rotate(turns, np.asarray(points, np.float64)) + places[:, None], np.float64)


@dataclass(frozen=True)
class Guess:
    """What the Gaussians make of wishes, in the axes of the bodies.

    Attributes:
        yaws: ``[N]``, radians, where each body is thought to face.
        places: ``[N, 3]``, metres, where it is thought to stand.
        points: ``[N, 43, 3]``, metres, the second Gaussian's mean.
        deviations: ``[43, 3]``, metres, its standard deviations.
    """

    yaws: Double
    places: Double
    points: Double
    deviations: Double


def guess_points(turned: PoseGaussian, facing: PoseGaussian, wishes: Observations) -> Guess:
    """The first two steps."""
    rough, _ = turned.condition(wishes)
    yaws, places = facing_yaws(rough), standing_places(rough)
    points, deviations = facing.condition(wishes.seen_from(yaws, places))
    return Guess(yaws, places, points, deviations)


def network_input(guess_points: NDArray[np.floating], deviations: NDArray[np.floating]) -> NDArray[np.float32]:
    """What the network sees: points and deviations end to end, ``[N, 258]``."""
    spread = np.broadcast_to(deviations, guess_points.shape)
    both = np.concatenate([guess_points, spread], axis=-1)
    return np.ascontiguousarray(both.reshape(len(both), -1), np.float32)


INPUT_COUNT = 6 * POINT_COUNT
OUTPUT_COUNT = 3 * POINT_COUNT


def mirror_deviations(deviations: NDArray[np.floating]) -> NDArray[np.floating]:
    """The deviations of the mirrored body."""
    return deviations[..., MIRRORED, :]


@dataclass(frozen=True)
class Completion:
    """Wishes in, points out.

    Attributes:
        turned: the Gaussian of bodies that face every way.
        facing: the Gaussian of bodies that face +Z.
        weights: the network's layers, ``[in, out]`` and ``[out]`` each, ReLU between; empty for the Gaussians alone.
    """

    turned: PoseGaussian
    facing: PoseGaussian
    weights: tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...] = ()

    def complete(self, wishes: Observations) -> Double:
        """All points, ``[N, 43, 3]``, metres, of bodies of the standard size."""
        guess = guess_points(self.turned, self.facing, wishes)
        points = guess.points
        if self.weights:
            moved = self._moved(points, guess.deviations)
            mirrored = self._moved(mirror_points(points), mirror_deviations(guess.deviations))
            points = points + 0.5 * (moved + mirror_points(mirrored))
        return from_facing(points, guess.yaws, guess.places)

    def _moved(self, points: NDArray[np.floating], deviations: NDArray[np.floating]) -> Double:
        x = network_input(points, deviations)
        for number, (weight, bias) in enumerate(self.weights):
            x = x @ weight + bias
            if number < len(self.weights) - 1:
                np.maximum(x, 0.0, out=x)
        return x.reshape(-1, POINT_COUNT, 3).astype(np.float64) * deviations

"""From a few wishes to all 43 points: two Gaussians and a network that learned what is left.

1. A Gaussian that knows no heading guesses where the body stands and faces. Its covariance is symmetric under turns
   about the vertical, so the guess turns with the wishes.
2. Seen from there, a Gaussian of bodies that face ahead completes the points, and says how sure it is of each.
3. A network moves each point by a part of its standard deviation: exact points stay, tolerances need no training of
   their own. It is asked for the mirrored body too, and the mean of both is taken.

What comes out faces better than the first guess, so steps 2 and 3 are done once more from there.

So the completion of turned, moved or mirrored wishes is the turned, moved or mirrored completion, by construction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.learning.weights import Layers
from ambulo.posing.gaussian import PoseGaussian
from ambulo.posing.observations import Observations, turn_vectors
from ambulo.posing.points import MIRRORED, POINT_COUNT, POINTS, mirror_points

Double = NDArray[np.float64]

LEFT = [POINTS.index("left_hip"), POINTS.index("left_upper_arm")]
RIGHT = [POINTS.index("right_hip"), POINTS.index("right_upper_arm")]
HIPS = POINTS.index("hips")
NOWHERE = 1e-4


def facing_yaws(points: NDArray[np.floating]) -> Double:
    """Where bodies face, by their hips and shoulders: radians about +Y, 0 is +Z. From ``[N, 43, 3]`` to ``[N]``.

    The mean of all bodies that one point allows faces nowhere: 0 then.
    """
    across = np.asarray(points, np.float64)
    left = (across[:, LEFT] - across[:, RIGHT]).sum(axis=1)
    yaws = np.arctan2(-left[:, 2], left[:, 0])
    return np.asarray(np.where(np.hypot(left[:, 0], left[:, 2]) > NOWHERE, yaws, 0.0), np.float64)


def standing_places(points: NDArray[np.floating]) -> Double:
    """The point of the ground below the hips, ``[N, 3]``."""
    places = np.asarray(points, np.float64)[:, HIPS].copy()
    places[:, 1] = 0.0
    return places


def to_facing(points: NDArray[np.floating], yaws: Double, places: Double) -> Double:
    """Points ``[N, 43, 3]`` in the axes of bodies that stand at ``places`` and face ``yaws``."""
    return turn_vectors(np.asarray(points, np.float64) - places[:, None], -yaws)


def from_facing(points: NDArray[np.floating], yaws: Double, places: Double) -> Double:
    """The way back of :func:`to_facing`."""
    return turn_vectors(points, yaws) + places[:, None]


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


def guess_facing(turned: PoseGaussian, wishes: Observations) -> tuple[Double, Double]:
    """The first step: yaws ``[N]`` and places ``[N, 3]``.

    Wishes are first moved to about the origin, so that wherever they are asked, the answer is the same to rounding.
    """
    weights = wishes.rows.sum(axis=1)
    placed = np.abs(weights) > 0.5
    middle = np.zeros((wishes.count, 3))
    if placed.any():
        middle = (wishes.values[:, placed] / weights[placed, None]).mean(axis=1)
        middle[:, 1] = 0.0
    rough, _ = turned.condition(wishes.seen_from(np.zeros(wishes.count), middle))
    return facing_yaws(rough), standing_places(rough) + middle


def guess_points(facing: PoseGaussian, wishes: Observations, yaws: Double, places: Double) -> Guess:
    """The second step, for bodies that stand at ``places`` ``[N, 3]`` and face ``yaws`` ``[N]``."""
    points, deviations = facing.condition(wishes.seen_from(yaws, places))
    return Guess(yaws, places, points, deviations)


def network_input(guess_points: NDArray[np.floating], deviations: NDArray[np.floating]) -> NDArray[np.float32]:
    """What the network sees: points and deviations end to end, ``[N, 258]``."""
    spread = np.broadcast_to(deviations, guess_points.shape)
    both = np.concatenate([guess_points, spread], axis=-1)
    return np.ascontiguousarray(both.reshape(len(both), -1), np.float32)


INPUT_COUNT = 6 * POINT_COUNT
OUTPUT_COUNT = 3 * POINT_COUNT


@dataclass(frozen=True)
class Completion:
    """Wishes in, points out.

    Attributes:
        turned: the Gaussian of bodies that face every way.
        facing: the Gaussian of bodies that face +Z.
        network: from :func:`network_input` to points in standard deviations; None for the Gaussians alone.
        passes: how often the body is completed, each time from where the last one faces.
    """

    turned: PoseGaussian
    facing: PoseGaussian
    network: Layers | None = None
    passes: int = 2

    def complete(self, wishes: Observations) -> Double:
        """All points, ``[N, 43, 3]``, metres, of bodies of the standard size."""
        yaws, places = guess_facing(self.turned, wishes)
        for more in range(self.passes - 1, -1, -1):
            guess = guess_points(self.facing, wishes, yaws, places)
            points = from_facing(self.refined(guess), yaws, places)
            if more:
                yaws, places = facing_yaws(points), standing_places(points)
        return points

    def refined(self, guess: Guess) -> Double:
        """The third step, ``[N, 43, 3]`` in the axes of the bodies."""
        if self.network is None:
            return guess.points
        mirrored = mirror_points(guess.points), guess.deviations[MIRRORED]
        both = np.concatenate([network_input(guess.points, guess.deviations), network_input(*mirrored)])
        moved, moved_mirrored = self.network(both).astype(np.float64).reshape(2, -1, POINT_COUNT, 3)
        return guess.points + 0.5 * (moved + mirror_points(moved_mirrored)) * guess.deviations

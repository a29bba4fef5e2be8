"""What retargeting did to a take, in numbers: the same measures of the source before and of the target after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.maths import quaternions
from ambulo.motion.standing import Standing, toe_contacts

Double = NDArray[np.float64]

JUMP = 25.0
"""rad/s by which a joint's angular velocity may change from one frame to the next; more is a jump."""


@dataclass(frozen=True)
class StageNumbers:
    """A body's measures.

    Attributes:
        slide: m/s, mean horizontal speed of the toe points where the source's are in contact.
        penetration: metres, mean depth of the toe points below their standing height, over the source's contacts.
        deepest: metres, the depth that one frame of a hundred exceeds, over all frames.
        jumps: joint-angle jumps a minute: a joint whose angular velocity changes by more than :data:`JUMP` rad/s.
    """

    slide: float
    penetration: float
    deepest: float
    jumps: float


@dataclass(frozen=True)
class RetargetReport:
    """Before and after.

    Attributes:
        before: of the source.
        after: of the target.
        contact_f1: agreement of the target's contacts with the source's, 0 to 1; 1 where neither has any.
        scale: leg length of the target over the source's.
        reach: metres, mean of what feet lack to their places, where the legs are too short.
        iterations: mean number of the fit's.
        mapped: joints of the target that follow the source.
        resting: names of the target's joints that stay at rest.
        frame_count: frames.
    """

    before: StageNumbers
    after: StageNumbers
    contact_f1: float
    scale: float
    reach: float
    iterations: float
    mapped: int
    resting: tuple[str, ...]
    frame_count: int


def stage_numbers(
    points: Double, down: NDArray[np.bool_], level: float, rotations: NDArray[np.float32], rate: float
) -> StageNumbers:
    """Measure toe points ``[T, 2, 3]`` with contacts ``[T, 2]`` and local rotations ``[T, J, 4]``."""
    depth = np.maximum(level - points[..., 1], 0.0)
    slide = 0.0
    if len(points) > 1 and down.any():
        velocity = np.gradient(points[..., [0, 2]], axis=0) * rate
        slide = float(np.sqrt(np.einsum("tfk,tfk->tf", velocity, velocity)[down]).mean())
    return StageNumbers(
        slide,
        float(depth[down].mean()) if down.any() else 0.0,
        float(np.percentile(depth, 99.0)) if depth.size else 0.0,
        count_jumps(rotations, rate),
    )


def count_jumps(rotations: NDArray[np.float32], rate: float) -> float:
    """Joint-angle jumps a minute in local rotations ``[T, J, 4]``."""
    if len(rotations) < 3:
        return 0.0
    turn = 2.0 * rate * quaternions.multiply_inverse(rotations[1:], rotations[:-1])
    spin = turn[..., :3] * np.sign(turn[..., 3:])
    change = np.diff(spin, axis=0)
    jumps = int((np.einsum("tjk,tjk->tj", change, change) > JUMP * JUMP).sum())
    return 60.0 * jumps * rate / len(rotations)


def contact_f1(before: Standing, points: Double, rate: float, speed: float) -> float:
    """Agreement of contacts: two right over two right and all wrong."""
    after = toe_contacts(points, rate, speed)
    both, either = int((before.down & after).sum()), int(before.down.sum() + after.sum())
    return 1.0 if either == 0 else 2.0 * both / either

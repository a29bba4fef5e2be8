"""Inverse kinematics of a chain by damped least squares, batched over frames (S3.28: damping 2.0, 20 iterations).

The method is C. Wampler's, "Manipulator inverse kinematic solutions based on vector formulations and damped
least-squares methods", IEEE Trans. SMC 16 (1986).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import MotionError

DAMPING = 2.0
"""Centimetres a radian (S3.28)."""
ITERATIONS = 20
"""At most (S3.28)."""


class ChainSolution(NamedTuple):
    """What :func:`solve_chain` found.

    Attributes:
        points: float64 ``[T, N + 1, 3]``, joints and end, metres.
        turns: float64 ``[T, N, 4]``, by what each joint's global rotation is to be multiplied from the left.
        iterations: int64 ``[T]``.
    """

    points: NDArray[np.float64]
    turns: NDArray[np.float64]
    iterations: NDArray[np.int64]


def solve_chain(
    points: ArrayLike,
    targets: ArrayLike,
    *,
    hinges: ArrayLike | None = None,
    free: ArrayLike | None = None,
    damping: float = DAMPING,
    iterations: int = ITERATIONS,
) -> ChainSolution:
    """Turn the joints of chains so that their ends come to the targets; bone lengths stay.

    Of all ways to get there damped least squares takes a short one, so the result stays near the pose that is given.
    A target out of reach leaves the chain stretched towards it.

    Args:
        points: ``[T, N + 1, 3]``, metres, global: N joints and the end.
        targets: ``[T, 3]``, metres.
        hinges: ``[T, N, 3]``, unit axes of hinge joints, global.
        free: ``[N]``, 1 for a ball joint, 0 for a hinge, -1 for a joint that stays; all balls by default.
        damping: centimetres a radian.
        iterations: at most.

    Raises:
        MotionError: shapes that do not fit, numbers that are none, or a damping that is not positive.
    """
    from ambulo.motion import damped_least_squares_kernels as kernels

    p = np.array(points, np.float64, order="C")
    goal = np.ascontiguousarray(targets, np.float64)
    if p.ndim != 3 or p.shape[1] < 2 or p.shape[2] != 3 or goal.shape != (p.shape[0], 3):
        raise MotionError(f"a chain needs points [T, N + 1, 3] and targets [T, 3], got {p.shape} and {goal.shape}")
    count = p.shape[1] - 1
    kinds = np.ones(count, np.int64) if free is None else np.ascontiguousarray(free, np.int64)
    axes = np.zeros((p.shape[0], count, 3)) if hinges is None else np.array(hinges, np.float64, order="C")
    if kinds.shape != (count,) or axes.shape != (p.shape[0], count, 3):
        raise MotionError(f"a chain of {count} joints has free [{count}] and hinges [T, {count}, 3]")
    if not (np.isfinite(p).all() and np.isfinite(goal).all() and np.isfinite(axes).all()):
        raise MotionError("a chain or a target has a coordinate that is no finite number")
    if not (np.isfinite(damping) and damping > 0.0) or iterations < 1:
        raise MotionError(f"a damping of {damping:g} with {iterations} iterations is not possible", key="damping")
    turns = np.empty((p.shape[0], count, 4))
    steps = np.empty(p.shape[0], np.int64)
    kernels.solve_damped_batch(p, axes, kinds, goal, float(damping), int(iterations), turns, steps)
    return ChainSolution(p, turns, steps)

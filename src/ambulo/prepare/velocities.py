"""Velocities by central differences, with Markelov's rule at the ends (S4.9)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.maths import quaternions

Float = NDArray[np.float32]


def linear(positions: ArrayLike, dt: float) -> Float:
    """Linear velocities along axis 0. ``[T, ...] -> [T, ...]``, units of the positions a second.

    Inside: ``(x[i+1] - x[i-1]) / 2h``. Ends, as S4.9 has them: ``v[0] = v[1] - (v[3] - v[2])`` and
    ``v[-1] = v[-2] + (v[-2] - v[-3])``. (The true linear extrapolation at the start would use ``v[2] - v[1]``; the two
    differ in frame 0 alone, and only by the change of acceleration over one frame. Kept, so that our numbers are the
    published ones.) From five frames up; with fewer, the nearest inner value is repeated, with two the one difference,
    with one zero.
    """
    x = np.asarray(positions)
    steps = np.diff(x, axis=0) / np.asarray(dt, x.dtype if x.dtype.kind == "f" else np.float64)
    return _from_steps(steps, x.shape)


def angular(rotations: ArrayLike, dt: float) -> Float:
    """Angular velocities along axis 0, in the frame that the rotations are given in (the parent's), rad/s.

    ``[T, ..., 4] -> [T, ..., 3]``. The mean of the rotation vectors of the step before and the step after, which is the
    central difference of S4.9 for rotations (and holds up to half a turn a frame); the ends as in :func:`linear`.
    """
    from ambulo.prepare import velocities_kernels

    q = np.ascontiguousarray(rotations, np.float32)
    flat = q.reshape(q.shape[0], -1, 4)
    steps = np.empty((max(q.shape[0] - 1, 0), flat.shape[1], 3), np.float32)
    velocities_kernels.rotation_steps(flat, 1.0 / dt, steps)
    return _from_steps(steps.reshape(steps.shape[0], *q.shape[1:-1], 3), (*q.shape[:-1], 3))


def _from_steps(steps: NDArray[np.floating], shape: tuple[int, ...]) -> Float:
    v = np.zeros(shape, np.float32)
    count = shape[0]
    if count == 2:
        v[:] = steps[0]
    elif count > 2:
        v[1:-1] = 0.5 * (steps[1:] + steps[:-1])
        v[0], v[-1] = v[1], v[-2]
        if count >= 5:
            v[0] = v[1] - (v[3] - v[2])
            v[-1] = v[-2] + (v[-2] - v[-3])
    return v


def rotation_steps(rotations: ArrayLike) -> NDArray[np.floating]:
    """Angles between neighbours in time, radians. ``[T, ..., 4] -> [T - 1, ...]``."""
    q = np.asarray(rotations)
    return quaternions.angle_between(q[:-1], q[1:])

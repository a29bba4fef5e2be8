"""Compiled resampling: cubic positions, and rotations along the great arc with a cubic correction."""

from __future__ import annotations

from typing import Any

from ambulo.maths.kernels import (
    kernel,
    quat_from_scaled_angle_axis,
    quat_inverse,
    quat_multiply,
    quat_normalize,
    quat_to_scaled_angle_axis,
)


@kernel
def read(rotations: Any, t: int, j: int) -> Any:
    """One quaternion as a tuple of doubles."""
    return (
        float(rotations[t, j, 0]),
        float(rotations[t, j, 1]),
        float(rotations[t, j, 2]),
        float(rotations[t, j, 3]),
    )


@kernel
def step(rotations: Any, t: int, j: int) -> Any:
    """Rotation from frame ``t`` to ``t + 1`` as a vector in the joint's own frame at ``t``."""
    return quat_to_scaled_angle_axis(quat_multiply(quat_inverse(read(rotations, t, j)), read(rotations, t + 1, j)))


@kernel
def resample_positions(positions: Any, frames: Any, out: Any) -> None:
    """Cubic Hermite with Catmull-Rom tangents; at the ends the tangent of the parabola through three samples.

    ``positions [T, J, 3]``, ``frames float64 [N]`` in ``[0, T - 1]``, ``out [N, J, 3]``.
    """
    count = positions.shape[0]
    for n in range(frames.shape[0]):
        i = min(int(frames[n]), count - 1)
        u = frames[n] - i
        if u <= 0.0 or i + 1 >= count:
            out[n] = positions[i]
            continue
        u2, u3 = u * u, u * u * u
        h1, h2, h3 = 3.0 * u2 - 2.0 * u3, u3 - 2.0 * u2 + u, u3 - u2
        for j in range(positions.shape[1]):
            for k in range(3):
                a, b = float(positions[i, j, k]), float(positions[i + 1, j, k])
                line = b - a
                before = a - float(positions[i - 1, j, k]) if i > 0 else line
                after = float(positions[i + 2, j, k]) - b if i + 2 < count else line
                start = 0.5 * (before + line) if i > 0 else line - 0.5 * (after - line)
                stop = 0.5 * (line + after) if i + 2 < count else line + 0.5 * (line - before)
                out[n, j, k] = a + h1 * line + h2 * start + h3 * stop


@kernel
def resample_rotations(rotations: Any, frames: Any, cubic: bool, out: Any) -> None:
    """Rotations at fractional frames, each with the sign nearest to the one before it.

    With ``line`` the rotation vector from one sample to the next, plain slerp is ``a exp(u line)``. The cubic adds
    what makes the angular velocity at the samples the mean of both sides, so that it has no steps.
    """
    count = rotations.shape[0]
    for n in range(frames.shape[0]):
        i = min(int(frames[n]), count - 1)
        u = frames[n] - i
        last = u <= 0.0 or i + 1 >= count
        u2, u3 = u * u, u * u * u
        h1, h2, h3 = 3.0 * u2 - 2.0 * u3, u3 - 2.0 * u2 + u, u3 - u2
        for j in range(rotations.shape[1]):
            q = read(rotations, i, j)
            if not last:
                line = step(rotations, i, j)
                size = line[0] * line[0] + line[1] * line[1] + line[2] * line[2]
                if cubic and size < 1.0:
                    before = step(rotations, i - 1, j) if i > 0 else line
                    after = step(rotations, i + 1, j) if i + 2 < count else line
                    x0 = 0.5 * (before[0] + line[0]) if i > 0 else line[0] - 0.5 * (after[0] - line[0])
                    y0 = 0.5 * (before[1] + line[1]) if i > 0 else line[1] - 0.5 * (after[1] - line[1])
                    z0 = 0.5 * (before[2] + line[2]) if i > 0 else line[2] - 0.5 * (after[2] - line[2])
                    x1 = 0.5 * (line[0] + after[0]) if i + 2 < count else line[0] + 0.5 * (line[0] - before[0])
                    y1 = 0.5 * (line[1] + after[1]) if i + 2 < count else line[1] + 0.5 * (line[1] - before[1])
                    z1 = 0.5 * (line[2] + after[2]) if i + 2 < count else line[2] + 0.5 * (line[2] - before[2])
                    v = (
                        h1 * line[0] + h2 * x0 + h3 * x1,
                        h1 * line[1] + h2 * y0 + h3 * y1,
                        h1 * line[2] + h2 * z0 + h3 * z1,
                    )
                else:
                    v = (u * line[0], u * line[1], u * line[2])
                q = quat_normalize(quat_multiply(q, quat_from_scaled_angle_axis(v)))
            sign = 1.0
            if n > 0:
                dot = (
                    q[0] * out[n - 1, j, 0]
                    + q[1] * out[n - 1, j, 1]
                    + q[2] * out[n - 1, j, 2]
                    + q[3] * out[n - 1, j, 3]
                )
                if dot < 0.0:
                    sign = -1.0
            for k in range(4):
                out[n, j, k] = sign * q[k]

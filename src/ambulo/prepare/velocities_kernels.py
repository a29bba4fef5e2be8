"""Compiled differences of rotations."""

from __future__ import annotations

from typing import Any

from ambulo.maths.kernels import kernel, quat_inverse, quat_multiply, quat_to_scaled_angle_axis


@kernel
def rotation_steps(rotations: Any, scale: float, out: Any) -> None:
    """Rotation vectors from each frame to the next, times ``scale``. ``[T, J, 4] -> [T - 1, J, 3]``."""
    for t in range(rotations.shape[0] - 1):
        for j in range(rotations.shape[1]):
            a = (
                float(rotations[t, j, 0]),
                float(rotations[t, j, 1]),
                float(rotations[t, j, 2]),
                float(rotations[t, j, 3]),
            )
            b = (
                float(rotations[t + 1, j, 0]),
                float(rotations[t + 1, j, 1]),
                float(rotations[t + 1, j, 2]),
                float(rotations[t + 1, j, 3]),
            )
            v = quat_to_scaled_angle_axis(quat_multiply(b, quat_inverse(a)))
            out[t, j, 0] = scale * v[0]
            out[t, j, 1] = scale * v[1]
            out[t, j, 2] = scale * v[2]

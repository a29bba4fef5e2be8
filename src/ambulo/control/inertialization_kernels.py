"""Compiled inertialization: at a jump the difference becomes an offset, and the offset fades by a spring."""

from __future__ import annotations

import math
from typing import Any

from ambulo.control.sampling_kernels import forward_row
from ambulo.control.simulation_kernels import spring_exponent
from ambulo.maths.kernels import (
    kernel,
    quat_from_scaled_angle_axis,
    quat_inverse,
    quat_multiply,
    quat_normalize,
    quat_rotate,
    quat_to_scaled_angle_axis,
)


@kernel
def inertialize(
    positions: Any,
    rotations: Any,
    velocities: Any,
    angular_velocities: Any,
    transitioned: Any,
    fresh: Any,
    last_positions: Any,
    last_rotations: Any,
    last_velocities: Any,
    last_angular_velocities: Any,
    offsets: Any,
    parents: Any,
    half_life: float,
    dt: float,
    new_offsets: Any,
    out_positions: Any,
    out_rotations: Any,
    out_velocities: Any,
    out_angular_velocities: Any,
    global_positions: Any,
    global_rotations: Any,
) -> None:
    """One step of N characters.

    ``offsets`` is ``[N, J, 12]``: position, its velocity, rotation vector, its velocity. At a transition the offset is
    what the pose shown last, and its velocities, differ by from where the new animation was at that moment; then it
    fades for ``dt`` as in every other step. What is shown is thus pulled to the animation by one and the same spring
    whatever jumps, so it stays near it even if every step is a transition or lasts for seconds. ``fresh`` characters
    have shown nothing yet and get no offset.
    """
    y = spring_exponent(half_life)
    e = math.exp(-y * dt)
    for n in range(positions.shape[0]):
        jumps = transitioned[n] and not fresh[n]
        for j in range(positions.shape[1]):
            q = (rotations[n, j, 0], rotations[n, j, 1], rotations[n, j, 2], rotations[n, j, 3])
            w = (angular_velocities[n, j, 0], angular_velocities[n, j, 1], angular_velocities[n, j, 2])
            for c in range(12):
                new_offsets[n, j, c] = offsets[n, j, c]
            if jumps:
                for c in range(3):
                    v = last_velocities[n, j, c] - velocities[n, j, c]
                    new_offsets[n, j, c] = last_positions[n, j, c] + dt * velocities[n, j, c] - positions[n, j, c]
                    new_offsets[n, j, 3 + c] = v
                lw = (
                    last_angular_velocities[n, j, 0],
                    last_angular_velocities[n, j, 1],
                    last_angular_velocities[n, j, 2],
                )
                lq = (
                    last_rotations[n, j, 0],
                    last_rotations[n, j, 1],
                    last_rotations[n, j, 2],
                    last_rotations[n, j, 3],
                )
                before = quat_multiply(quat_from_scaled_angle_axis((-dt * w[0], -dt * w[1], -dt * w[2])), q)
                r = quat_to_scaled_angle_axis(quat_multiply(lq, quat_inverse(before)))
                turned = quat_rotate(quat_from_scaled_angle_axis(r), w)
                for c in range(3):
                    new_offsets[n, j, 6 + c] = r[c]
                    new_offsets[n, j, 9 + c] = lw[c] - turned[c]
            for c in (0, 1, 2, 6, 7, 8):
                x, v = new_offsets[n, j, c], new_offsets[n, j, 3 + c]
                j1 = v + x * y
                new_offsets[n, j, c] = e * (x + j1 * dt)
                new_offsets[n, j, 3 + c] = e * (v - j1 * y * dt)
            turn = quat_from_scaled_angle_axis(
                (float(new_offsets[n, j, 6]), float(new_offsets[n, j, 7]), float(new_offsets[n, j, 8]))
            )
            shown = quat_normalize(quat_multiply(turn, q))
            turned = quat_rotate(turn, w)
            for c in range(3):
                out_positions[n, j, c] = positions[n, j, c] + new_offsets[n, j, c]
                out_velocities[n, j, c] = velocities[n, j, c] + new_offsets[n, j, 3 + c]
                out_angular_velocities[n, j, c] = turned[c] + new_offsets[n, j, 9 + c]
            for c in range(4):
                out_rotations[n, j, c] = shown[c]
        forward_row(n, parents, out_positions, out_rotations, global_positions, global_rotations)

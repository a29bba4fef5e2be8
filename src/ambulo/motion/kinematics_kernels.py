"""Compiled forward kinematics: one pass over frames and joints, nothing allocated inside."""

from __future__ import annotations

from typing import Any

from ambulo.maths.kernels import kernel, quat_multiply, quat_rotate


@kernel
def forward(positions: Any, rotations: Any, parents: Any, global_positions: Any, global_rotations: Any) -> None:
    """Fill global positions ``[T, J, 3]`` and rotations ``[T, J, 4]`` from local ones."""
    for t in range(positions.shape[0]):
        for j in range(positions.shape[1]):
            p = parents[j]
            v = (positions[t, j, 0], positions[t, j, 1], positions[t, j, 2])
            q = (rotations[t, j, 0], rotations[t, j, 1], rotations[t, j, 2], rotations[t, j, 3])
            if p >= 0:
                parent_q = (
                    global_rotations[t, p, 0],
                    global_rotations[t, p, 1],
                    global_rotations[t, p, 2],
                    global_rotations[t, p, 3],
                )
                x, y, z = quat_rotate(parent_q, v)
                v = (x + global_positions[t, p, 0], y + global_positions[t, p, 1], z + global_positions[t, p, 2])
                q = quat_multiply(parent_q, q)
            global_positions[t, j, 0] = v[0]
            global_positions[t, j, 1] = v[1]
            global_positions[t, j, 2] = v[2]
            global_rotations[t, j, 0] = q[0]
            global_rotations[t, j, 1] = q[1]
            global_rotations[t, j, 2] = q[2]
            global_rotations[t, j, 3] = q[3]


@kernel
def forward_velocities(
    positions: Any,
    velocities: Any,
    angular_velocities: Any,
    parents: Any,
    global_positions: Any,
    global_rotations: Any,
    global_velocities: Any,
    global_angular_velocities: Any,
) -> None:
    """Fill global linear and angular velocities ``[T, J, 3]``; the global poses are given."""
    for t in range(positions.shape[0]):
        for j in range(positions.shape[1]):
            p = parents[j]
            v = (velocities[t, j, 0], velocities[t, j, 1], velocities[t, j, 2])
            w = (angular_velocities[t, j, 0], angular_velocities[t, j, 1], angular_velocities[t, j, 2])
            if p >= 0:
                parent_q = (
                    global_rotations[t, p, 0],
                    global_rotations[t, p, 1],
                    global_rotations[t, p, 2],
                    global_rotations[t, p, 3],
                )
                v = quat_rotate(parent_q, v)
                w = quat_rotate(parent_q, w)
                # The lever arm in the world is the difference of the global positions.
                ax = global_positions[t, j, 0] - global_positions[t, p, 0]
                ay = global_positions[t, j, 1] - global_positions[t, p, 1]
                az = global_positions[t, j, 2] - global_positions[t, p, 2]
                px = global_angular_velocities[t, p, 0]
                py = global_angular_velocities[t, p, 1]
                pz = global_angular_velocities[t, p, 2]
                v = (
                    v[0] + global_velocities[t, p, 0] + py * az - pz * ay,
                    v[1] + global_velocities[t, p, 1] + pz * ax - px * az,
                    v[2] + global_velocities[t, p, 2] + px * ay - py * ax,
                )
                w = (w[0] + px, w[1] + py, w[2] + pz)
            global_velocities[t, j, 0] = v[0]
            global_velocities[t, j, 1] = v[1]
            global_velocities[t, j, 2] = v[2]
            global_angular_velocities[t, j, 0] = w[0]
            global_angular_velocities[t, j, 1] = w[1]
            global_angular_velocities[t, j, 2] = w[2]

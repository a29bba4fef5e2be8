"""Compiled forward kinematics: one pass over frames and joints, nothing allocated inside."""

from __future__ import annotations

from typing import Any

import numpy as np

from ambulo.maths.kernels import kernel, quat_rotate

_TWO = np.float32(2.0)
_BLOCK = 16


@kernel
def forward(positions: Any, rotations: Any, parents: Any, global_positions: Any, global_rotations: Any) -> None:
    """Fill global positions ``[T, J, 3]`` and rotations ``[T, J, 4]`` from local ones, all float32.

    Frames go in blocks, joints outside, frames inside: a joint needs its parent's result, so that one frame alone
    would wait for each product, while the frames of a block do not depend on one another. The products are written out
    to stay in single precision.
    """
    for start in range(0, positions.shape[0], _BLOCK):
        stop = min(start + _BLOCK, positions.shape[0])
        for j in range(positions.shape[1]):
            p = parents[j]
            if p < 0:
                for t in range(start, stop):
                    for k in range(3):
                        global_positions[t, j, k] = positions[t, j, k]
                    for k in range(4):
                        global_rotations[t, j, k] = rotations[t, j, k]
                continue
            for t in range(start, stop):
                vx, vy, vz = positions[t, j, 0], positions[t, j, 1], positions[t, j, 2]
                ax, ay, az = global_rotations[t, p, 0], global_rotations[t, p, 1], global_rotations[t, p, 2]
                aw = global_rotations[t, p, 3]
                bx, by, bz, bw = rotations[t, j, 0], rotations[t, j, 1], rotations[t, j, 2], rotations[t, j, 3]
                tx, ty, tz = _TWO * (ay * vz - az * vy), _TWO * (az * vx - ax * vz), _TWO * (ax * vy - ay * vx)
                global_positions[t, j, 0] = global_positions[t, p, 0] + vx + aw * tx + ay * tz - az * ty
                global_positions[t, j, 1] = global_positions[t, p, 1] + vy + aw * ty + az * tx - ax * tz
                global_positions[t, j, 2] = global_positions[t, p, 2] + vz + aw * tz + ax * ty - ay * tx
                global_rotations[t, j, 0] = aw * bx + ax * bw + ay * bz - az * by
                global_rotations[t, j, 1] = aw * by - ax * bz + ay * bw + az * bx
                global_rotations[t, j, 2] = aw * bz + ax * by - ay * bx + az * bw
                global_rotations[t, j, 3] = aw * bw - ax * bx - ay * by - az * bz


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

"""Compiled reading of database frames at any moment between two frames, and the root motion between two moments."""

from __future__ import annotations

import math
from typing import Any

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
def heading_of(x: float, y: float, z: float, w: float) -> float:
    """Angle about +Y by which a rotation turns +Z within the ground plane."""
    return math.atan2(2.0 * (x * z + w * y), 1.0 - 2.0 * (x * x + y * y))


@kernel
def root_at(positions: Any, rotations: Any, moment: float) -> tuple[float, float, float]:
    """Root's x, z and heading at a moment (in frames) of the database."""
    i = int(moment)
    a = moment - i
    x, z = positions[i, 0, 0], positions[i, 0, 2]
    heading = heading_of(rotations[i, 0, 0], rotations[i, 0, 1], rotations[i, 0, 2], rotations[i, 0, 3])
    if a > 0.0:
        later = heading_of(
            rotations[i + 1, 0, 0], rotations[i + 1, 0, 1], rotations[i + 1, 0, 2], rotations[i + 1, 0, 3]
        )
        turn = later - heading
        turn -= 2.0 * math.pi * math.ceil((turn - math.pi) / (2.0 * math.pi))
        x += a * (positions[i + 1, 0, 0] - x)
        z += a * (positions[i + 1, 0, 2] - z)
        heading += a * turn
    return x, z, heading


@kernel
def root_way(positions: Any, rotations: Any, start: float, stop: float) -> tuple[float, float, float]:
    """How far the root goes between two moments of one clip: to its left, ahead (metres), and how far it turns."""
    x0, z0, heading0 = root_at(positions, rotations, start)
    x1, z1, heading1 = root_at(positions, rotations, stop)
    s, c = math.sin(heading0), math.cos(heading0)
    dx, dz = x1 - x0, z1 - z0
    turn = heading1 - heading0
    turn -= 2.0 * math.pi * math.ceil((turn - math.pi) / (2.0 * math.pi))
    return c * dx - s * dz, s * dx + c * dz, turn


@kernel
def sample_joints(n: int, moment: float, frame_arrays: Any, pose: Any) -> None:
    """Fill row ``n`` of a pose with joints 1 to J-1 at a moment; rotations are blended and normalised."""
    frames, frame_rotations = frame_arrays.positions, frame_arrays.rotations
    frame_velocities, frame_angular_velocities = frame_arrays.velocities, frame_arrays.angular_velocities
    positions, rotations = pose.positions, pose.rotations
    velocities, angular_velocities = pose.velocities, pose.angular_velocities
    i = int(moment)
    a = moment - i
    joint_count = frames.shape[1]
    if a == 0.0:
        for j in range(1, joint_count):
            for c in range(3):
                positions[n, j, c] = frames[i, j, c]
                velocities[n, j, c] = frame_velocities[i, j, c]
                angular_velocities[n, j, c] = frame_angular_velocities[i, j, c]
            for c in range(4):
                rotations[n, j, c] = frame_rotations[i, j, c]
        return
    b = 1.0 - a
    for j in range(1, joint_count):
        for c in range(3):
            positions[n, j, c] = b * frames[i, j, c] + a * frames[i + 1, j, c]
            velocities[n, j, c] = b * frame_velocities[i, j, c] + a * frame_velocities[i + 1, j, c]
            angular_velocities[n, j, c] = (
                b * frame_angular_velocities[i, j, c] + a * frame_angular_velocities[i + 1, j, c]
            )
        dot = 0.0
        for c in range(4):
            dot += frame_rotations[i, j, c] * frame_rotations[i + 1, j, c]
        sign = a if dot >= 0.0 else -a
        square = 0.0
        for c in range(4):
            value = b * frame_rotations[i, j, c] + sign * frame_rotations[i + 1, j, c]
            rotations[n, j, c] = value
            square += value * value
        scale = 1.0 / math.sqrt(square)
        for c in range(4):
            rotations[n, j, c] *= scale


@kernel
def blend_joints(n: int, moment: float, weight: float, weight_rate: float, frame_arrays: Any, pose: Any) -> None:
    """Blend row ``n`` (which counts ``weight``) with the frames at a moment (which count the rest), joints 1 to J-1.

    ``weight_rate`` is the weight's time derivative: what the blend itself adds to the velocities.
    """
    frames, frame_rotations = frame_arrays.positions, frame_arrays.rotations
    frame_velocities, frame_angular_velocities = frame_arrays.velocities, frame_arrays.angular_velocities
    positions, rotations = pose.positions, pose.rotations
    velocities, angular_velocities = pose.velocities, pose.angular_velocities
    i = int(moment + 0.5)
    rest = 1.0 - weight
    for j in range(1, frames.shape[1]):
        q = (rotations[n, j, 0], rotations[n, j, 1], rotations[n, j, 2], rotations[n, j, 3])
        p = (frame_rotations[i, j, 0], frame_rotations[i, j, 1], frame_rotations[i, j, 2], frame_rotations[i, j, 3])
        difference = quat_to_scaled_angle_axis(quat_multiply(q, quat_inverse(p)))
        part = quat_from_scaled_angle_axis((weight * difference[0], weight * difference[1], weight * difference[2]))
        blended = quat_normalize(quat_multiply(part, p))
        for c in range(4):
            rotations[n, j, c] = blended[c]
        for c in range(3):
            gap = positions[n, j, c] - frames[i, j, c]
            positions[n, j, c] = frames[i, j, c] + weight * gap
            velocities[n, j, c] = weight * velocities[n, j, c] + rest * frame_velocities[i, j, c] + weight_rate * gap
            angular_velocities[n, j, c] = (
                weight * angular_velocities[n, j, c]
                + rest * frame_angular_velocities[i, j, c]
                + weight_rate * difference[c]
            )


@kernel
def place_root(
    n: int, x: float, y: float, z: float, heading: float, last_x: float, last_z: float, last_heading: float, dt: float,
    pose: Any,
) -> None:  # fmt: skip
    """Fill joint 0 of row ``n``: the root in the world and its velocities since the last step."""
    positions, rotations = pose.positions, pose.rotations
    velocities, angular_velocities = pose.velocities, pose.angular_velocities
    turn = heading - last_heading
    turn -= 2.0 * math.pi * math.ceil((turn - math.pi) / (2.0 * math.pi))
    positions[n, 0, 0] = x
    positions[n, 0, 1] = y
    positions[n, 0, 2] = z
    rotations[n, 0, 0] = 0.0
    rotations[n, 0, 1] = math.sin(0.5 * heading)
    rotations[n, 0, 2] = 0.0
    rotations[n, 0, 3] = math.cos(0.5 * heading)
    velocities[n, 0, 0] = (x - last_x) / dt
    velocities[n, 0, 1] = 0.0
    velocities[n, 0, 2] = (z - last_z) / dt
    angular_velocities[n, 0, 0] = 0.0
    angular_velocities[n, 0, 1] = turn / dt
    angular_velocities[n, 0, 2] = 0.0


@kernel
def forward_row(
    n: int, parents: Any, positions: Any, rotations: Any, global_positions: Any, global_rotations: Any
) -> None:
    """Forward kinematics of row ``n``."""
    for j in range(positions.shape[1]):
        p = parents[j]
        v = (positions[n, j, 0], positions[n, j, 1], positions[n, j, 2])
        q = (rotations[n, j, 0], rotations[n, j, 1], rotations[n, j, 2], rotations[n, j, 3])
        if p >= 0:
            above = (
                global_rotations[n, p, 0],
                global_rotations[n, p, 1],
                global_rotations[n, p, 2],
                global_rotations[n, p, 3],
            )
            x, y, z = quat_rotate(above, v)
            v = (x + global_positions[n, p, 0], y + global_positions[n, p, 1], z + global_positions[n, p, 2])
            q = quat_multiply(above, q)
        global_positions[n, j, 0] = v[0]
        global_positions[n, j, 1] = v[1]
        global_positions[n, j, 2] = v[2]
        global_rotations[n, j, 0] = q[0]
        global_rotations[n, j, 1] = q[1]
        global_rotations[n, j, 2] = q[2]
        global_rotations[n, j, 3] = q[3]

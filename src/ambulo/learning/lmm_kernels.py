"""Compiled parts of a learned-motion-matching step: states that are stepped on, and rows that become joints."""

from __future__ import annotations

import math
from typing import Any

from ambulo.control.playback_kernels import move_root
from ambulo.control.sampling_kernels import forward_row
from ambulo.maths.kernels import Quaternion, kernel, quat_inverse, quat_multiply, quat_to_scaled_angle_axis

# Places of the blocks of a pose's row.
POSITIONS, ROTATIONS, VELOCITIES, ANGULAR_VELOCITIES, ROOT_VELOCITY, ROOT_TURNING, CONTACTS = range(7)


@kernel
def step_on(values: Any, rates: Any, lowest: Any, highest: Any, dt: float, out: Any) -> None:
    """Fill ``out`` with ``values + rates * dt``, held within what was seen in training; NaN becomes the lowest."""
    for n in range(values.shape[0]):
        for d in range(values.shape[1]):
            value = values[n, d] + rates[n, d] * dt
            if not value >= lowest[d]:
                value = lowest[d]
            elif value > highest[d]:
                value = highest[d]
            out[n, d] = value


@kernel
def quat_from_axes(row: Any, start: int) -> Quaternion:
    """The rotation whose x axis is that of six numbers, and whose y axis lies in the plane of both."""
    xx, xy, xz = float(row[start]), float(row[start + 1]), float(row[start + 2])
    yx, yy, yz = float(row[start + 3]), float(row[start + 4]), float(row[start + 5])
    length = math.sqrt(xx * xx + xy * xy + xz * xz) + 1e-12
    xx, xy, xz = xx / length, xy / length, xz / length
    zx, zy, zz = xy * yz - xz * yy, xz * yx - xx * yz, xx * yy - xy * yx
    length = math.sqrt(zx * zx + zy * zy + zz * zz) + 1e-12
    zx, zy, zz = zx / length, zy / length, zz / length
    yx, yy, yz = zy * xz - zz * xy, zz * xx - zx * xz, zx * xy - zy * xx
    # The largest of the four components comes first, so that nothing small is divided by.
    trace = xx + yy + zz
    if trace > 0.0:
        s = 0.5 / math.sqrt(trace + 1.0)
        q = ((yz - zy) * s, (zx - xz) * s, (xy - yx) * s, 0.25 / s)
    elif xx > yy and xx > zz:
        s = 2.0 * math.sqrt(1.0 + xx - yy - zz)
        q = (0.25 * s, (xy + yx) / s, (xz + zx) / s, (yz - zy) / s)
    elif yy > zz:
        s = 2.0 * math.sqrt(1.0 + yy - xx - zz)
        q = ((xy + yx) / s, 0.25 * s, (yz + zy) / s, (zx - xz) / s)
    else:
        s = 2.0 * math.sqrt(1.0 + zz - xx - yy)
        q = ((xz + zx) / s, (yz + zy) / s, 0.25 * s, (xy - yx) / s)
    return q


@kernel
def show(
    rows: Any, blocks: Any, places: Any, offsets: Any, parents: Any, root: Any, simulation: Any, constants: Any,
    dt: float, pose: Any, new_root: Any, contacts: Any,
) -> None:  # fmt: skip
    """Turn decompressed rows into poses: move the root, read the joints, pose them in the world.

    Args:
        rows: float32 ``[N, P]``.
        blocks: int64 ``[7]``, first column of each block.
        places: int64 ``[J]``, which moving joint a joint is, -1 for fixed ones.
        offsets: float32 ``[J, 3]``, of fixed joints.
        parents: int32 ``[J]``.
        root, simulation: as in :func:`ambulo.control.playback_kernels.move_root`.
        constants: of the simulation object.
        dt: seconds.
        pose: pack of joints, filled; turned about the root while they are worked out.
        new_root: float64 ``[N, 6]``, filled.
        contacts: uint8 ``[N, 2]``, filled.
    """
    joints = parents.shape[0]
    for n in range(rows.shape[0]):
        row = rows[n]
        v, w = blocks[ROOT_VELOCITY], blocks[ROOT_TURNING]
        way = (float(row[v]) * dt, float(row[v + 2]) * dt, float(row[w + 1]) * dt)
        move_root(n, way, root, simulation, constants, dt, new_root, pose)
        for j in range(1, joints):
            turned = quat_from_axes(row, blocks[ROTATIONS] + 6 * (j - 1))
            for c in range(4):
                pose.global_rotations[n, j, c] = turned[c]
            local = turned
            p = parents[j]
            if p > 0:
                above = (
                    float(pose.global_rotations[n, p, 0]),
                    float(pose.global_rotations[n, p, 1]),
                    float(pose.global_rotations[n, p, 2]),
                    float(pose.global_rotations[n, p, 3]),
                )
                local = quat_multiply(quat_inverse(above), turned)
            sign = 1.0 if local[3] >= 0.0 else -1.0
            for c in range(4):
                pose.rotations[n, j, c] = sign * local[c]
            m = places[j]
            for c in range(3):
                pose.angular_velocities[n, j, c] = row[blocks[ANGULAR_VELOCITIES] + 3 * (j - 1) + c]
                if m >= 0:
                    pose.positions[n, j, c] = row[blocks[POSITIONS] + 3 * m + c]
                    pose.velocities[n, j, c] = row[blocks[VELOCITIES] + 3 * m + c]
                else:
                    pose.positions[n, j, c] = offsets[j, c]
                    pose.velocities[n, j, c] = 0.0
        forward_row(n, parents, pose.positions, pose.rotations, pose.global_positions, pose.global_rotations)
        contacts[n, 0] = row[blocks[CONTACTS]] > 0.5
        contacts[n, 1] = row[blocks[CONTACTS] + 1] > 0.5


@kernel
def follow_toes(
    joints: Any, positions: Any, contacts: Any, jumped: Any, toes: Any, dragged: Any, new_toes: Any, new_dragged: Any
) -> None:
    """Add up how far toes that touch the ground are dragged over it.

    Args:
        joints: int64, the toes.
        positions: float32 ``[N, J, 3]``, world.
        contacts: uint8 ``[N, 2]``.
        jumped: bool ``[N]``.
        toes: float64 ``[N, 2, 3]``: x, z (metres), and 1 where it touched, a step ago.
        dragged: float64 ``[N]``, metres since the last jump.
        new_toes, new_dragged: filled.
    """
    for n in range(positions.shape[0]):
        most = 0.0
        for f in range(2):
            for c in range(3):
                new_toes[n, f, c] = 0.0
        for f in range(joints.shape[0]):
            x, z = float(positions[n, joints[f], 0]), float(positions[n, joints[f], 2])
            touches = contacts[n, f] != 0
            if touches and toes[n, f, 2] > 0.5:
                most = max(most, math.hypot(x - toes[n, f, 0], z - toes[n, f, 1]))
            new_toes[n, f, 0], new_toes[n, f, 1] = x, z
            new_toes[n, f, 2] = 1.0 if touches else 0.0
        new_dragged[n] = 0.0 if jumped[n] else dragged[n] + most


@kernel
def move_at_jumps(rows: Any, who: Any, blocks: Any, places: Any, parents: Any, dt: float, pose: Any) -> None:
    """Velocities of those who jumped: how far joints came since where they landed, in place of decompressed ones.

    A jump's smoothing goes by them, and what is shown next moves by finite differences: where decompressed velocities
    differ from these, joints would jerk. The root keeps its own.

    Args:
        rows: float32 ``[M, P]``, decompressed where they landed, a step before ``pose``.
        who: int64 ``[M]``, the characters.
        blocks, places, parents: as in :func:`show`.
        dt: seconds of the step.
        pose: pack of joints, shown; its velocities are changed.
    """
    for m in range(who.shape[0]):
        n, row = who[m], rows[m]
        for j in range(1, parents.shape[0]):
            before = quat_from_axes(row, blocks[ROTATIONS] + 6 * (j - 1))
            p = parents[j]
            if p > 0:
                before = quat_multiply(quat_inverse(quat_from_axes(row, blocks[ROTATIONS] + 6 * (p - 1))), before)
            now = (
                float(pose.rotations[n, j, 0]),
                float(pose.rotations[n, j, 1]),
                float(pose.rotations[n, j, 2]),
                float(pose.rotations[n, j, 3]),
            )
            turned = quat_to_scaled_angle_axis(quat_multiply(now, quat_inverse(before)))
            moving = places[j]
            for c in range(3):
                pose.angular_velocities[n, j, c] = turned[c] / dt
                if moving >= 0:
                    place = float(row[blocks[POSITIONS] + 3 * moving + c])
                    pose.velocities[n, j, c] = (float(pose.positions[n, j, c]) - place) / dt

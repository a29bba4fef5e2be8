"""Compiled retargeting: one frame after the other, from a source's global pose to a target's local rotations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ambulo.maths.kernels import (
    Quaternion,
    kernel,
    quat_from_scaled_angle_axis,
    quat_inverse,
    quat_multiply,
    quat_normalize,
    quat_rotate,
    vec_dot,
    vec_length,
    vec_subtract,
)
from ambulo.motion.damped_least_squares_kernels import cross, solve_damped
from ambulo.motion.inverse_kinematics_kernels import quaternion_at, soft_limit, vector_at

# Which part of a leg a joint belongs to.
THIGH, SHANK, FOOT = 1, 2, 3
LEAST_BEND = 0.03  # Radians of a knee before it is solved for.


@kernel
def put4(array: Any, n: int, q: Quaternion) -> None:
    """Set row ``n`` of ``[N, 4]``."""
    array[n, 0], array[n, 1], array[n, 2], array[n, 3] = q


@kernel
def place(positions: Any, rotations: Any, offsets: Any, j: int, p: int) -> None:
    """Put a joint where its parent carries it."""
    v = quat_rotate(quaternion_at(rotations, p), vector_at(offsets, j))
    for k in range(3):
        positions[j, k] = positions[p, k] + v[k]


@kernel
def blend(a: Quaternion, b: Quaternion, share: float) -> Quaternion:
    """Normalised linear interpolation along the shorter arc."""
    s = share
    if a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] < 0.0:
        s = -share
    r = 1.0 - share
    return quat_normalize((r * a[0] + s * b[0], r * a[1] + s * b[1], r * a[2] + s * b[2], r * a[3] + s * b[3]))


@kernel
def retarget_frames(
    source_positions: Any,
    source_rotations: Any,
    parents: Any,
    offsets: Any,
    rest: Any,
    follow: Any,
    shares: Any,
    firsts: Any,
    seconds: Any,
    hips: int,
    source_hips: int,
    scale: float,
    lifts: Any,
    legs: Any,
    parts: Any,
    knee_axes: Any,
    foot_points: Any,
    toe_targets: Any,
    fit: bool,
    keep_heights: bool,
    damping: float,
    iterations: int,
    buffer: float,
    out_positions: Any,
    out_rotations: Any,
    gaps: Any,
    drops: Any,
    steps: Any,
) -> None:
    """Carry a motion over.

    Args:
        source_positions: ``[T, S, 3]`` global; source_rotations: ``[T, S, 4]``.
        parents: ``[J]`` of the target; offsets: ``[J, 3]``; rest: ``[J, 4]`` local, of the reference pose.
        follow: ``[J, 2]`` source joints, -1 where a joint keeps ``rest``; shares: ``[J]`` of the second.
        firsts, seconds: ``[J, 4]``, what the source joints' global rotations are multiplied by from the right.
        hips, source_hips: joints.
        scale: by which the way is scaled; lifts: ``[T]``, added to the height of the hips.
        legs: ``[2, 3]`` upper leg, lower leg, foot; parts: ``[J, 2]`` (which leg, which part of it), -1 for none.
        knee_axes: ``[2, 3]``, the hinge in the upper leg's frame.
        foot_points: ``[2, 3]``, the toe point in the foot's frame, as the reference pose has it.
        toe_targets: ``[T, 2, 3]``, where toe points belong.
        fit: bring the feet to their places by damped least squares.
        keep_heights: only the heights of feet are corrected, not their places.
        damping, iterations: of the fit.
        buffer: metres before full stretch in which a leg's reach is softened.
        out_positions: ``[T, 3]`` of the hips, local; out_rotations: ``[T, J, 4]`` local.
        gaps: ``[T, 2]``, metres between foot and its place after the fit; drops: ``[T, 2]``, metres by which
            the hips are too high for it; steps: ``[T, 2]`` iterations.
    """
    joints = parents.shape[0]
    p = np.empty((joints, 3))
    g = np.empty((joints, 4))
    points, axes, turns = np.empty((3, 3)), np.zeros((2, 3)), np.empty((2, 4))
    free = np.array([1, 0])
    for t in range(source_positions.shape[0]):
        for j in range(joints):
            above = parents[j]
            a, b = follow[j, 0], follow[j, 1]
            if a >= 0:
                q = quat_multiply(quaternion_at(source_rotations[t], a), quaternion_at(firsts, j))
                if b != a:
                    q = blend(
                        q, quat_multiply(quaternion_at(source_rotations[t], b), quaternion_at(seconds, j)), shares[j]
                    )
            elif above >= 0:
                q = quat_multiply(quaternion_at(g, above), quaternion_at(rest, j))
            else:
                q = quaternion_at(rest, j)
            put4(g, j, quat_normalize(q))
            if j == hips:
                for k in range(3):
                    p[j, k] = scale * source_positions[t, source_hips, k]
                p[j, 1] += lifts[t]
            elif above >= 0:
                place(p, g, offsets, j, above)
            else:
                for k in range(3):
                    p[j, k] = offsets[j, k]
        if fit:
            for f in range(2):
                upper, lower, foot = legs[f, 0], legs[f, 1], legs[f, 2]
                hip, knee, ankle = vector_at(p, upper), vector_at(p, lower), vector_at(p, foot)
                arm = quat_rotate(quaternion_at(g, foot), vector_at(foot_points, f))
                x, y, z = toe_targets[t, f, 0] - arm[0], toe_targets[t, f, 1] - arm[1], toe_targets[t, f, 2] - arm[2]
                if keep_heights:
                    x, z = ankle[0], ankle[2]
                wanted = (x, y, z)
                way = vec_subtract(wanted, hip)
                distance = vec_length(way)
                longest = vec_length(vec_subtract(knee, hip)) + vec_length(vec_subtract(ankle, knee))
                current = vec_length(vec_subtract(ankle, hip))
                limit = soft_limit(distance, current, longest, buffer)
                if distance > 1e-6 and limit < distance:
                    s = limit / distance
                    wanted = (hip[0] + s * way[0], hip[1] + s * way[1], hip[2] + s * way[2])
                for k in range(3):
                    points[0, k], points[1, k], points[2, k] = hip[k], knee[k], ankle[k]
                # The knee bends about the line square to thigh and shank; the straighter it is (CMU's knees lock, and
                # then that line is noise), the more about its own hinge.
                bend = cross(vec_subtract(knee, hip), vec_subtract(ankle, knee))
                own = quat_rotate(quaternion_at(g, upper), vector_at(knee_axes, f))
                size = 0.1 * longest * longest
                forwards = 1.0 if vec_dot(bend, own) > 0.0 else 0.0
                axis = (
                    forwards * bend[0] + size * own[0],
                    forwards * bend[1] + size * own[1],
                    forwards * bend[2] + size * own[2],
                )
                norm = max(vec_length(axis), 1e-12)
                for k in range(3):
                    axes[1, k] = axis[k] / norm
                flex = vec_dot(bend, vector_at(axes, 1)) / (0.25 * longest * longest)
                early = (0.0, 0.0, 0.0, 1.0)
                if flex < LEAST_BEND:
                    # From straight, least squares know no way in, and from beyond it they would bend it backwards.
                    angle = LEAST_BEND - flex
                    early = quat_from_scaled_angle_axis((angle * axes[1, 0], angle * axes[1, 1], angle * axes[1, 2]))
                    shank = quat_rotate(early, vec_subtract(ankle, knee))
                    for k in range(3):
                        points[2, k] = knee[k] + shank[k]
                steps[t, f] = solve_damped(points, axes, free, turns, wanted, damping, iterations)
                drops[t, f] = 0.0
                if distance > limit + 1e-5 and way[1] < 0.0:
                    # How much lower the hip must be to be within the limit of the foot's place.
                    across = way[0] * way[0] + way[2] * way[2]
                    most = max(longest - buffer, current)
                    drops[t, f] = -way[1] - math.sqrt(max(most * most - across, 0.0))
                gaps[t, f] = math.sqrt((points[2, 0] - x) ** 2 + (points[2, 1] - y) ** 2 + (points[2, 2] - z) ** 2)
                shank_turn = quat_multiply(quaternion_at(turns, 1), early)
                for j in range(joints):
                    if parts[j, 0] != f:
                        continue
                    if parts[j, 1] == THIGH:
                        put4(g, j, quat_multiply(quaternion_at(turns, 0), quaternion_at(g, j)))
                    elif parts[j, 1] == SHANK:
                        put4(g, j, quat_multiply(shank_turn, quaternion_at(g, j)))
                    if j != upper:
                        place(p, g, offsets, j, parents[j])
        for j in range(joints):
            above = parents[j]
            q = quaternion_at(g, j)
            if above >= 0:
                q = quat_normalize(quat_multiply(quat_inverse(quaternion_at(g, above)), q))
            if t > 0:
                d = 0.0
                for k in range(4):
                    d += q[k] * out_rotations[t - 1, j, k]
                if d < 0.0:
                    q = (-q[0], -q[1], -q[2], -q[3])
            put4(out_rotations[t], j, q)
        v = vector_at(p, hips)
        if parents[hips] >= 0:
            v = vec_subtract(v, vector_at(p, parents[hips]))
            v = quat_rotate(quat_inverse(quaternion_at(g, parents[hips])), v)
        for k in range(3):
            out_positions[t, k] = v[k]

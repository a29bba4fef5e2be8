"""Compiled legs: the rotations of hip, knee and ankle that bring a toe to its target.

See :mod:`ambulo.control.foot_lock` for what it is for.
"""

from __future__ import annotations

import math
from typing import Any

from ambulo.maths.kernels import (
    Quaternion,
    Vector,
    kernel,
    quat_between,
    quat_inverse,
    quat_multiply,
    quat_normalize,
    quat_rotate,
    quat_to_scaled_angle_axis,
    vec_length,
    vec_square_to,
    vec_subtract,
)
from ambulo.motion.inverse_kinematics_kernels import soft_limit, two_bone

# Columns of the heights of a foot: lowest toe and ankle, highest toe in contact.
TOE_FLOOR, ANKLE_FLOOR, TOE_CEILING = 0, 1, 2

# A leg that IK stretches keeps this much of its length at most: from quite straight, a knee would snap.
_STRAIGHTEST = 0.99
# Nor is one that the animation itself holds straight solved beyond this part of it: the knee's angle would be noise.
_SOLVABLE = 0.9999


@kernel
def vector3(array: Any, n: int, j: int) -> Vector:
    """``array[n, j]`` as a tuple of doubles."""
    return (float(array[n, j, 0]), float(array[n, j, 1]), float(array[n, j, 2]))


@kernel
def quaternion4(array: Any, n: int, j: int) -> Quaternion:
    """``array[n, j]`` as a tuple of doubles."""
    return (float(array[n, j, 0]), float(array[n, j, 1]), float(array[n, j, 2]), float(array[n, j, 3]))


@kernel
def write_quaternion(array: Any, n: int, j: int, q: Quaternion) -> None:
    """``array[n, j] = q``."""
    for c in range(4):
        array[n, j, c] = q[c]


@kernel
def place_ankle(hip: Vector, target: Vector, ankle: Vector, foot_length: float, reach: float) -> Vector:
    """Where the ankle goes when the leg reaches only ``reach``: the heel lifts about the toe, the toe stays.

    The ankle stays in the plane of hip, toe target and wished ankle, at ``foot_length`` from the toe target; where even
    that is too far, leg and foot form a line.
    """
    to_hip = vec_subtract(hip, target)
    d = vec_length(to_hip)
    if foot_length < 1e-6 or d < 1e-6:
        scale = reach / max(vec_length(vec_subtract(ankle, hip)), 1e-9)
        away = vec_subtract(ankle, hip)
        return (hip[0] + scale * away[0], hip[1] + scale * away[1], hip[2] + scale * away[2])
    u = (to_hip[0] / d, to_hip[1] / d, to_hip[2] / d)
    if d >= reach + foot_length:
        return (hip[0] - reach * u[0], hip[1] - reach * u[1], hip[2] - reach * u[2])
    side = vec_square_to(vec_subtract(ankle, target), u)
    size = vec_length(side)
    if size < 1e-9:
        return (hip[0] - reach * u[0], hip[1] - reach * u[1], hip[2] - reach * u[2])
    along = (d * d + foot_length * foot_length - reach * reach) / (2.0 * d)
    off = math.sqrt(max(foot_length * foot_length - along * along, 0.0)) / size
    return (
        target[0] + along * u[0] + off * side[0],
        target[1] + along * u[1] + off * side[1],
        target[2] + along * u[2] + off * side[2],
    )


@kernel
def leg_at(n: int, f: int, legs: Any, global_positions: Any) -> tuple[Vector, Vector, Vector, Vector, float]:
    """Hip, knee and ankle of a leg, the way from ankle to toe, and how far the leg may reach."""
    hip = vector3(global_positions, n, legs[f, 0])
    knee = vector3(global_positions, n, legs[f, 1])
    ankle = vector3(global_positions, n, legs[f, 2])
    sole = vec_subtract(vector3(global_positions, n, legs[f, 3]), ankle)
    # A leg that IK stretches keeps this bend: from quite straight, a knee would snap when it is let go.
    longest = _STRAIGHTEST * (vec_length(vec_subtract(knee, hip)) + vec_length(vec_subtract(ankle, knee)))
    return hip, knee, ankle, sole, max(longest, vec_length(vec_subtract(ankle, hip)))


@kernel
def needed_drop(hip: Vector, target: Vector, reach: float) -> float:
    """How far the hip must come down to be within ``reach`` of a target below it."""
    across = math.hypot(hip[0] - target[0], hip[2] - target[2])
    if across >= reach:
        return math.inf
    return max(hip[1] - target[1] - math.sqrt(reach * reach - across * across), 0.0)


@kernel
def solve_leg(
    n: int,
    f: int,
    target: Vector,
    drop: float,
    ground: float,
    legs: Any,
    heights: Any,
    knees: Any,
    margin: float,
    rotations: Any,
    global_positions: Any,
    global_rotations: Any,
) -> None:
    """Bring a toe to its target by the rotations of hip, knee and ankle; the toes keep their own direction."""
    upper, lower, foot, toe, above = legs[f, 0], legs[f, 1], legs[f, 2], legs[f, 3], legs[f, 4]
    hip, knee, ankle, sole, longest = leg_at(n, f, legs, global_positions)
    hip, knee, ankle = (
        (hip[0], hip[1] - drop, hip[2]),
        (knee[0], knee[1] - drop, knee[2]),
        (ankle[0], ankle[1] - drop, ankle[2]),
    )
    foot_length = vec_length(sole)
    # The foot moves as a whole; its heel is never under the ground.
    wished = vec_subtract(target, sole)
    lowest = ground + heights[f, ANKLE_FLOOR]
    if wished[1] < lowest:
        # Raised by turning the foot about the toe: the foot keeps its length, so the toe can stay.
        rise = min(max(lowest - target[1], -foot_length), foot_length)
        across = math.hypot(wished[0] - target[0], wished[2] - target[2])
        k = math.sqrt(foot_length * foot_length - rise * rise) / max(across, 1e-9)
        wished = (target[0] + k * (wished[0] - target[0]), lowest, target[2] + k * (wished[2] - target[2]))
    distance = vec_length(vec_subtract(wished, hip))
    reach = soft_limit(distance, vec_length(vec_subtract(ankle, hip)), longest, margin)
    whole = vec_length(vec_subtract(knee, hip)) + vec_length(vec_subtract(ankle, knee))
    reach = min(reach, _SOLVABLE * whole)
    if reach < distance - 1e-9:
        wished = place_ankle(hip, target, wished, foot_length, reach)
    above_q = quaternion4(global_rotations, n, above)
    upper_q = quaternion4(global_rotations, n, upper)
    foot_q = quaternion4(global_rotations, n, foot)
    toe_q = quaternion4(global_rotations, n, toe)
    hint = quat_rotate(upper_q, (knees[f, 0], knees[f, 1], knees[f, 2]))
    lower_q = quaternion4(global_rotations, n, lower)
    upper_local, lower_local = two_bone(hip, knee, ankle, wished, hint, upper_q, lower_q, above_q, 1e-4)
    lower_q = quat_multiply(quat_multiply(above_q, upper_local), lower_local)
    new_foot_q = foot_q
    if foot_length > 1e-6:
        new_foot_q = quat_normalize(quat_multiply(quat_between(sole, vec_subtract(target, wished)), foot_q))
    write_quaternion(rotations, n, upper, upper_local)
    write_quaternion(rotations, n, lower, lower_local)
    write_quaternion(rotations, n, foot, quat_normalize(quat_multiply(quat_inverse(lower_q), new_foot_q)))
    if toe != foot:
        write_quaternion(rotations, n, toe, quat_normalize(quat_multiply(quat_inverse(new_foot_q), toe_q)))


@kernel
def leg_velocities(
    n: int,
    f: int,
    legs: Any,
    fresh: bool,
    leg_rotations: Any,
    dt: float,
    rotations: Any,
    angular_velocities: Any,
    new_leg_rotations: Any,
) -> None:
    """Angular velocities of a leg's joints from what was shown last, and what is shown for the next step."""
    for k in range(4):
        joint = legs[f, k]
        now = quaternion4(rotations, n, joint)
        if not fresh:
            before = quaternion4(leg_rotations[n], f, k)
            w = quat_to_scaled_angle_axis(quat_multiply(now, quat_inverse(before)))
            for c in range(3):
                angular_velocities[n, joint, c] = w[c] / dt
        for c in range(4):
            new_leg_rotations[n, f, k, c] = now[c]

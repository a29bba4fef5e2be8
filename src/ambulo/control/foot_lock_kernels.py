"""Compiled foot lock: a state machine a toe, a target that fades between lock and animation, and two-bone IK.

See :mod:`ambulo.control.foot_lock` for what it does and why.
"""

from __future__ import annotations

import math
from typing import Any

from ambulo.control.sampling_kernels import forward_row
from ambulo.control.simulation_kernels import spring_exponent
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
)
from ambulo.motion.inverse_kinematics_kernels import length, soft_limit, square_to, subtract, two_bone

# Columns of the integer and float rows of a foot's state.
LOCKED, TOUCHING, STEPPING, PENDING = 0, 1, 2, 3
POINT, OFFSET, OFFSET_VELOCITY, TOE, TOE_VELOCITY, ANIMATED, STEP_TIME = 0, 3, 6, 9, 12, 15, 18

# Places in FootLock's constants.
RELEASE_HALF_LIFE, UNLOCK_DISTANCE, STRETCH_MARGIN, LOCK_SPEED, LOCK_HEIGHT = range(5)
STEP_HEIGHT, STEP_DURATION, HEIGHT_HALF_LIFE, PELVIS_DROP, DROP_HALF_LIFE = 5, 6, 7, 8, 9

# Columns of the heights of a foot: lowest toe and ankle, highest toe in contact.
TOE_FLOOR, ANKLE_FLOOR, TOE_CEILING = 0, 1, 2

_NEAR_GROUND = 0.015
_STRAIGHTEST = 0.99
_LOW_SHARE = 0.2
_OVER = 0.85


@kernel
def vector3(array: Any, n: int, j: int) -> Vector:
    """``array[n, j]`` as a tuple of doubles."""
    return (float(array[n, j, 0]), float(array[n, j, 1]), float(array[n, j, 2]))


@kernel
def quaternion4(array: Any, n: int, j: int) -> Quaternion:
    """``array[n, j]`` as a tuple of doubles."""
    return (float(array[n, j, 0]), float(array[n, j, 1]), float(array[n, j, 2]), float(array[n, j, 3]))


@kernel
def place_ankle(hip: Vector, target: Vector, ankle: Vector, foot_length: float, reach: float) -> Vector:
    """Where the ankle goes when the leg reaches only ``reach``: the heel lifts about the toe, the toe stays.

    The ankle stays in the plane of hip, toe target and wished ankle, at ``foot_length`` from the toe target; where even
    that is too far, leg and foot form a line.
    """
    to_hip = subtract(hip, target)
    d = length(to_hip)
    if foot_length < 1e-6 or d < 1e-6:
        scale = reach / max(length(subtract(ankle, hip)), 1e-9)
        away = subtract(ankle, hip)
        return (hip[0] + scale * away[0], hip[1] + scale * away[1], hip[2] + scale * away[2])
    u = (to_hip[0] / d, to_hip[1] / d, to_hip[2] / d)
    if d >= reach + foot_length:
        return (hip[0] - reach * u[0], hip[1] - reach * u[1], hip[2] - reach * u[2])
    side = square_to(subtract(ankle, target), u)
    size = length(side)
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
def fade(x: float, v: float, k: float, dt: float) -> tuple[float, float]:
    """A critically damped spring to zero of exponent ``k``: offset and velocity after ``dt``."""
    e, j = math.exp(-k * dt), v + x * k
    return e * (x + j * dt), e * (v - j * k * dt)


@kernel
def track_toe(
    n: int,
    f: int,
    toe: Vector,
    contact: bool,
    transitioned: bool,
    stretched: bool,
    fresh: bool,
    ground: float,
    heights: Any,
    constants: Any,
    flags: Any,
    values: Any,
    dt: float,
    new_flags: Any,
    new_values: Any,
) -> Vector:
    """Advance the state machine of one toe and return where the toe shall be.

    On the ground plane the toe is at its source plus an offset; its source is the lock point, the animation's toe, or a
    step that leads from where the toe was to where the animation's is. Its height is the animation's plus an offset,
    plus the lift of a step. Offsets start where the source changes (release, transition), so that position and velocity
    go on, and fade. A lock takes hold where the toe is: a foot that has landed does not slip.
    """
    flag, value, out = flags[n, f], values[n, f], new_values[n, f]
    floor, ceiling = ground + heights[f, TOE_FLOOR], ground + heights[f, TOE_CEILING]
    zero = (0.0, 0.0, 0.0)
    last_toe, last_v, animated_v = toe, zero, zero
    point, offset, offset_v, step_time = toe, zero, zero, 0.0
    locked, stepping, pending = False, False, False
    if not fresh:
        animated_v = (
            (toe[0] - value[ANIMATED]) / dt,
            (toe[1] - value[ANIMATED + 1]) / dt,
            (toe[2] - value[ANIMATED + 2]) / dt,
        )
        last_toe = (value[TOE], value[TOE + 1], value[TOE + 2])
        last_v = (value[TOE_VELOCITY], value[TOE_VELOCITY + 1], value[TOE_VELOCITY + 2])
        point = (value[POINT], value[POINT + 1], value[POINT + 2])
        offset = (value[OFFSET], value[OFFSET + 1], value[OFFSET + 2])
        offset_v = (value[OFFSET_VELOCITY], value[OFFSET_VELOCITY + 1], value[OFFSET_VELOCITY + 2])
        locked, stepping, pending = flag[LOCKED] != 0, flag[STEPPING] != 0, flag[PENDING] != 0
        step_time = value[STEP_TIME]
    if pending and not transitioned:
        # The step before was a transition; only now is it known how fast the new animation moves.
        still = locked or stepping
        offset_v = (
            offset_v[0] if still else last_v[0] - animated_v[0],
            last_v[1] - animated_v[1] if contact else max(last_v[1] - animated_v[1], 0.0),
            offset_v[2] if still else last_v[2] - animated_v[2],
        )
    expected = (last_toe[0] + dt * last_v[0], last_toe[1] + dt * last_v[1], last_toe[2] + dt * last_v[2])
    gap = math.hypot(expected[0] - toe[0], expected[2] - toe[2])
    lift = max(last_toe[1], toe[1]) - ceiling
    touching = contact and lift <= constants[LOCK_HEIGHT]
    duration = constants[STEP_DURATION]

    locks, releases, steps = False, False, False
    if locked:
        limit = constants[UNLOCK_DISTANCE]
        if flags[n, 1 - f, STEPPING] != 0:
            limit *= 1.5  # one foot at a time
        far = stretched or math.hypot(point[0] - toe[0], point[2] - toe[2]) > limit
        # The animation stands, but elsewhere: step there rather than drag the toe over the ground.
        steps = far and contact
        releases = not contact
    elif stepping:
        step_time += dt
        # Over the place, and on the way down: from here on it does not move sideways.
        locks = contact and step_time >= _OVER * duration
        releases = not contact
    elif touching:
        slow = math.hypot(last_v[0], last_v[2]) < constants[LOCK_SPEED]
        locks = fresh or (slow and gap < 0.75 * constants[UNLOCK_DISTANCE])
        steps = not locks
    stepping = (stepping or steps) and not locks and not releases
    locked = (locked or locks) and not releases and not steps

    x, y, z = offset
    vx, vy, vz = offset_v
    if steps:
        point, step_time = last_toe, 0.0
        x, z, vx, vz = 0.0, 0.0, 0.0, 0.0
    source = (toe[0], toe[2])
    raised = 0.0
    if stepping:
        u = min(step_time / duration, 1.0)
        # Up first, then over, then down: what is low moves little.
        s = min(max((u - (1.0 - _OVER)) / (2.0 * _OVER - 1.0), 0.0), 1.0)
        s = s * s * s * (10.0 + s * (6.0 * s - 15.0))
        source = (point[0] + s * (toe[0] - point[0]), point[2] + s * (toe[2] - point[2]))
        raised = 4.0 * constants[STEP_HEIGHT] * u * (1.0 - u)
    if locks:
        point = last_toe
        x, z, vx, vz = 0.0, 0.0, 0.0, 0.0
    elif releases or (transitioned and not locked):
        x, z = expected[0] - source[0], expected[2] - source[1]
        vx, vz = last_v[0] - animated_v[0], last_v[2] - animated_v[2]
        if stepping:
            vx, vz = 0.0, 0.0
    elif not steps:
        k = spring_exponent(constants[RELEASE_HALF_LIFE])
        x, vx = fade(x, vx, k, dt)
        z, vz = fade(z, vz, k, dt)
    if transitioned or ((locks or releases) and not fresh):
        # The lift of a step that ends here becomes an offset like any other.
        y, vy = expected[1] - toe[1] - raised, 0.0 if transitioned else last_v[1] - animated_v[1]
    else:
        # A swinging toe passes close over the ground: what would lower it is taken back sooner than what lifts it.
        low = y < 0.0 and not contact
        y, vy = fade(y, vy, spring_exponent(constants[HEIGHT_HALF_LIFE] * (_LOW_SHARE if low else 1.0)), dt)
    height = toe[1] + y + raised
    target = (point[0], height, point[2]) if locked else (source[0] + x, height, source[1] + z)
    if fresh:
        target, point, x, y, z, vx, vy, vz = toe, toe, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if target[1] < floor:
        target = (target[0], floor, target[2])
    new_flags[n, f, LOCKED] = locked
    new_flags[n, f, TOUCHING] = touching
    new_flags[n, f, STEPPING] = stepping
    new_flags[n, f, PENDING] = transitioned and not fresh
    out[OFFSET], out[OFFSET + 1], out[OFFSET + 2] = x, y, z
    out[OFFSET_VELOCITY], out[OFFSET_VELOCITY + 1], out[OFFSET_VELOCITY + 2] = vx, vy, vz
    out[STEP_TIME] = step_time
    for c in range(3):
        out[POINT + c] = point[c]
        out[TOE + c] = target[c]
        out[TOE_VELOCITY + c] = 0.0 if fresh else (target[c] - last_toe[c]) / dt
        out[ANIMATED + c] = toe[c]
    return target


@kernel
def write_quaternion(array: Any, n: int, j: int, q: Quaternion) -> None:
    """``array[n, j] = q``."""
    for c in range(4):
        array[n, j, c] = q[c]


@kernel
def leg_at(n: int, f: int, legs: Any, global_positions: Any) -> tuple[Vector, Vector, Vector, Vector, float]:
    """Hip, knee and ankle of a leg, the way from ankle to toe, and how far the leg may reach."""
    hip = vector3(global_positions, n, legs[f, 0])
    knee = vector3(global_positions, n, legs[f, 1])
    ankle = vector3(global_positions, n, legs[f, 2])
    sole = subtract(vector3(global_positions, n, legs[f, 3]), ankle)
    # A leg that IK stretches keeps this bend: from quite straight, a knee would snap when it is let go.
    longest = _STRAIGHTEST * (length(subtract(knee, hip)) + length(subtract(ankle, knee)))
    return hip, knee, ankle, sole, max(longest, length(subtract(ankle, hip)))


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
    foot_length = length(sole)
    # The foot moves as a whole; its heel is never under the ground.
    wished = subtract(target, sole)
    lowest = ground + heights[f, ANKLE_FLOOR]
    if wished[1] < lowest:
        # Raised by turning the foot about the toe: the foot keeps its length, so the toe can stay.
        rise = min(max(lowest - target[1], -foot_length), foot_length)
        across = math.hypot(wished[0] - target[0], wished[2] - target[2])
        k = math.sqrt(foot_length * foot_length - rise * rise) / max(across, 1e-9)
        wished = (target[0] + k * (wished[0] - target[0]), lowest, target[2] + k * (wished[2] - target[2]))
    distance = length(subtract(wished, hip))
    reach = soft_limit(distance, length(subtract(ankle, hip)), longest, margin)
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
        new_foot_q = quat_normalize(quat_multiply(quat_between(sole, subtract(target, wished)), foot_q))
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


@kernel
def foot_lock(
    legs: Any,
    pelvis: int,
    heights: Any,
    knees: Any,
    parents: Any,
    constants: Any,
    flags: Any,
    values: Any,
    drops: Any,
    leg_rotations: Any,
    fresh: Any,
    contacts: Any,
    transitioned: Any,
    animated: Any,
    dt: float,
    positions: Any,
    rotations: Any,
    velocities: Any,
    angular_velocities: Any,
    global_positions: Any,
    global_rotations: Any,
    new_flags: Any,
    new_values: Any,
    new_drops: Any,
    new_leg_rotations: Any,
    new_contacts: Any,
) -> None:
    """One step of N characters. The pose's arrays are changed in place.

    ``legs`` is int32 ``[2, 5]``: upper leg, lower leg, foot, toe, parent of the upper leg. ``heights`` and
    ``knees`` are ``[2, 3]``, see :class:`ambulo.control.foot_lock.FootGeometry`. ``drops`` is ``[N, 2]``: how far the
    pelvis is let down, and its velocity.
    """
    margin, most = constants[STRETCH_MARGIN], constants[PELVIS_DROP]
    for n in range(positions.shape[0]):
        ground = positions[n, 0, 1]
        # The animation's toes go with the root that is shown, which smoothing moved a little.
        shift = subtract(vector3(positions, n, 0), vector3(animated, n, 0))
        left, right = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        wanted = 0.0
        for f in range(2):
            hip, _, _, sole, longest = leg_at(n, f, legs, global_positions)
            reach = longest + length(sole) - margin
            held = (values[n, f, POINT], values[n, f, TOE + 1], values[n, f, POINT + 2])
            stretched = flags[n, f, LOCKED] != 0 and needed_drop(hip, held, reach) > most
            toe = vector3(animated, n, legs[f, 3])
            toe = (toe[0] + shift[0], toe[1] + shift[1], toe[2] + shift[2])
            target = track_toe(
                n,
                f,
                toe,
                contacts[n, f] != 0,
                transitioned[n],
                stretched,
                fresh[n],
                ground,
                heights,
                constants,
                flags,
                values,
                dt,
                new_flags,
                new_values,
            )
            if new_flags[n, f, LOCKED] != 0:
                # A leg may be as long as in the animation: a body that stands upright there stands upright here.
                own = length(subtract(toe, hip))
                wanted = max(wanted, min(needed_drop(hip, target, max(reach - margin, own)), most))
            if f == 0:
                left = target
            else:
                right = target
        offset, speed = fade(drops[n, 0] - wanted, drops[n, 1], spring_exponent(constants[DROP_HALF_LIFE]), dt)
        drop = max(wanted + offset, 0.0)
        new_drops[n, 0], new_drops[n, 1] = drop, speed
        positions[n, pelvis, 1] -= drop
        velocities[n, pelvis, 1] -= speed
        for f in range(2):
            target = left if f == 0 else right
            solve_leg(
                n, f, target, drop, ground, legs, heights, knees, margin, rotations, global_positions, global_rotations
            )
            leg_velocities(n, f, legs, fresh[n], leg_rotations, dt, rotations, angular_velocities, new_leg_rotations)
        forward_row(n, parents, positions, rotations, global_positions, global_rotations)
        for f in range(2):
            # The reported contact is what is shown: a foot that is lifted to step over is not on the ground.
            lifted = global_positions[n, legs[f, 3], 1] > ground + heights[f, TOE_CEILING] + _NEAR_GROUND
            new_contacts[n, f] = 1 if new_flags[n, f, TOUCHING] != 0 and not lifted else 0

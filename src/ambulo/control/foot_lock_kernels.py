"""Compiled foot lock: a state machine a toe, and a target that fades between lock, step and animation.

See :mod:`ambulo.control.foot_lock` for what it does and why.
"""

from __future__ import annotations

import math
from typing import Any

from ambulo.control.leg_kernels import (
    TOE_CEILING,
    TOE_FLOOR,
    leg_at,
    leg_velocities,
    needed_drop,
    solve_leg,
    vector3,
)
from ambulo.control.sampling_kernels import forward_row
from ambulo.control.simulation_kernels import spring_exponent
from ambulo.maths.kernels import Vector, kernel, vec_length, vec_subtract

# Columns of the integer and float rows of a foot's state.
LOCKED, TOUCHING, STEPPING, PENDING = 0, 1, 2, 3
HOP = 2  # in STEPPING: a low, quick step
POINT, OFFSET, OFFSET_VELOCITY, TOE, TOE_VELOCITY, ANIMATED, STEP_TIME = 0, 3, 6, 9, 12, 15, 18

# Places in FootLock's constants.
RELEASE_HALF_LIFE, UNLOCK_DISTANCE, STRETCH_MARGIN, LOCK_SPEED, LOCK_HEIGHT = range(5)
STEP_HEIGHT, STEP_DURATION, HEIGHT_HALF_LIFE, PELVIS_DROP, DROP_HALF_LIFE, STEP_SPEED = 5, 6, 7, 8, 9, 10

# Metres above where toes in contact are, up to which a toe that is shown counts as on the ground.
_NEAR_GROUND = 0.015
# An offset that lowers a swinging toe by little fades in this part of the usual half-life; the more it lowers it the
# slower, up to the usual one at so many metres: a toe is taken up in time, never thrown.
_LOW_SHARE, _LOW_DEPTH = 0.1, 0.2
# Metres: rounding of an offset that is none.
_NOISE = 1e-6
# The part of a step after which the toe is over its place and only comes down.
_OVER = 0.8
# A hop has this part of a step's height and duration.
_HOP_SHARE = 0.6
# Midway a step is so much faster than its distance over its duration.
_FASTEST = 1.875 / (2.0 * _OVER - 1.0)


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
    # From where the toe would be if it went on, to where the animation has it.
    gap = math.hypot(last_toe[0] + dt * last_v[0] - toe[0], last_toe[2] + dt * last_v[2] - toe[2])
    lift = max(last_toe[1], toe[1]) - ceiling
    touching = contact and lift <= constants[LOCK_HEIGHT]

    locks, releases, steps = False, False, False
    # With the other foot in the air a step is low and quick, and is put off longer: the body must not hover.
    alone = flags[n, 1 - f, LOCKED] == 0
    hop = stepping and flag[STEPPING] == HOP
    if locked:
        # The animation stands, but elsewhere: step there rather than drag the toe over the ground.
        limit = constants[UNLOCK_DISTANCE] * (1.5 if alone else 1.0)
        far = stretched or math.hypot(point[0] - toe[0], point[2] - toe[2]) > limit
        steps = far and contact
        releases = not contact
    elif stepping:
        duration = constants[STEP_DURATION] * (_HOP_SHARE if hop else 1.0)
        # A long way takes longer: no toe is thrown.
        speed = _FASTEST * math.hypot(point[0] - toe[0], point[2] - toe[2]) / duration
        step_time += dt * min(constants[STEP_SPEED] / max(speed, 1e-6), 1.0)
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
        # Far is never a hop: the leg would flick.
        hop = alone and gap < 2.0 * constants[UNLOCK_DISTANCE]
        point, step_time = last_toe, 0.0
        x, z, vx, vz = 0.0, 0.0, 0.0, 0.0
    source = (toe[0], toe[2])
    raised = 0.0
    if stepping:
        share = _HOP_SHARE if hop else 1.0
        u = min(step_time / (share * constants[STEP_DURATION]), 1.0)
        # Up first, then over, then down: what is low moves little.
        s = min(max((u - (1.0 - _OVER)) / (2.0 * _OVER - 1.0), 0.0), 1.0)
        s = s * s * s * (10.0 + s * (6.0 * s - 15.0))
        source = (point[0] + s * (toe[0] - point[0]), point[2] + s * (toe[2] - point[2]))
        raised = 4.0 * share * constants[STEP_HEIGHT] * u * (1.0 - u)
    if locks:
        point = last_toe
        x, z, vx, vz = 0.0, 0.0, 0.0, 0.0
    elif not steps:
        if releases or (transitioned and not locked):
            # Where the animation was a step ago is known, unless it just jumped.
            back = 0.0 if transitioned else dt
            x = last_toe[0] - (source[0] - back * animated_v[0])
            z = last_toe[2] - (source[1] - back * animated_v[2])
            moving = 0.0 if stepping else 1.0
            was = 0.0 if transitioned else 1.0
            vx = moving * (last_v[0] - was * animated_v[0])
            vz = moving * (last_v[2] - was * animated_v[2])
        # Also in the step in which it began: jumps in every step must not add up to a way without end.
        k = spring_exponent(constants[RELEASE_HALF_LIFE])
        x, vx = fade(x, vx, k, dt)
        z, vz = fade(z, vz, k, dt)
    if transitioned or ((locks or releases) and not fresh):
        # The lift of a step that ends here becomes an offset like any other.
        y = last_toe[1] - raised - (toe[1] - (0.0 if transitioned else dt * animated_v[1]))
        vy = 0.0 if transitioned else last_v[1] - animated_v[1]
    # A swinging toe passes close over the ground: what would lower it is taken back sooner than what lifts it.
    part = min(max(-y / _LOW_DEPTH, _LOW_SHARE), 1.0) if y < -_NOISE and not contact else 1.0
    y, vy = fade(y, vy, spring_exponent(part * constants[HEIGHT_HALF_LIFE]), dt)
    height = toe[1] + y + raised
    target = (point[0], height, point[2]) if locked else (source[0] + x, height, source[1] + z)
    if fresh:
        target, point, x, y, z, vx, vy, vz = toe, toe, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if target[1] < floor:
        target = (target[0], floor, target[2])
    new_flags[n, f, LOCKED] = locked
    new_flags[n, f, TOUCHING] = touching
    new_flags[n, f, STEPPING] = (HOP if hop else 1) if stepping else 0
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
        shift = vec_subtract(vector3(positions, n, 0), vector3(animated, n, 0))
        left, right = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        wanted = 0.0
        for f in range(2):
            hip, _, _, sole, longest = leg_at(n, f, legs, global_positions)
            reach = longest + vec_length(sole) - margin
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
                own = vec_length(vec_subtract(toe, hip))
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

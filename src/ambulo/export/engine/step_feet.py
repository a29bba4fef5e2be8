"""Foot lock as a graph: which toe is held where, both feet of all characters at once; as
:mod:`ambulo.control.foot_lock_kernels`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.control.foot_lock import FootGeometry
from ambulo.control.settings import FootLockSettings
from ambulo.export.engine.graph import Graph, Value
from ambulo.export.engine.graph_maths import (
    fade,
    forward_kinematics,
    hypot,
    length,
    quat_inverse,
    quat_log,
    quat_multiply,
    spring_exponent,
)
from ambulo.export.engine.slots import Slot, Slots
from ambulo.export.engine.step_legs import Legs, legs_at, needed_drop, solve_legs
from ambulo.export.engine.step_plan import HAIR
from ambulo.export.engine.step_smooth import Joints

_NEAR_GROUND, _LOW_SHARE, _OVER, _HOP_SHARE, _NOISE = 0.015, 0.1, 0.8, 0.6, 1e-6

FEET_SLOTS = Slots(
    (
        Slot("feet_locked", (2,), "left and right: 1 while the toe is held"),
        Slot("feet_stepping", (2,), "1 while it steps to where the animation is, 2 while it hops"),
        Slot("feet_pending", (2,), "1 in the step after a transition"),
        Slot("feet_point", (2, 3), "where the lock is, or where a step began (m, world)"),
        Slot("feet_offset", (2, 3), "what still fades of the last change (m)"),
        Slot("feet_offset_velocity", (2, 3), "its velocity (m/s)"),
        Slot("feet_toe", (2, 3), "the toe that was shown (m, world)"),
        Slot("feet_toe_velocity", (2, 3), "its velocity (m/s)"),
        Slot("feet_animated", (2, 3), "the toe of the animation (m, world)"),
        Slot("feet_step_time", (2,), "seconds since the step began"),
        Slot("feet_drop", (2,), "how far the pelvis is let down (m), and how fast (m/s)"),
        Slot("feet_rotations", (2, 4, 4), "local rotations shown of upper leg, lower leg, foot and toe"),
    )
)


@dataclass(frozen=True)
class Toes:
    """What became of the toes: targets ``[N, 2, 3]``, bool ``[N, 2]``, and the slots after the step."""

    target: Value
    locked: Value
    touching: Value
    slots: dict[str, Value]


def track_toes(
    g: Graph, state: dict[str, Value], toe: Value, contact: Value, transitioned: Value, fresh: Value, stretched: Value,
    ground: Value, heights: NDArray[np.float64], settings: FootLockSettings, dt: Value,
) -> Toes:  # fmt: skip
    """Advance the state machines. ``toe`` is ``[N, 2, 3]``; ``transitioned``, ``fresh``, ``ground`` are ``[N, 1]``."""
    own = settings

    def old(name: str, instead: Value | float = 0.0) -> list[Value]:
        value = state[name]
        return [g.where(fresh, instead.at(k) if isinstance(instead, Value) else instead, value.at(k)) for k in range(3)]

    t = [toe.at(k) for k in range(3)]
    animated_v = [g.where(fresh, 0.0, (t[k] - state["feet_animated"].at(k)) / dt) for k in range(3)]
    last, last_v = old("feet_toe", toe), old("feet_toe_velocity")
    point, offset, offset_v = old("feet_point", toe), old("feet_offset"), old("feet_offset_velocity")
    old_locked = state["feet_locked"] > 0.5
    locked = old_locked & ~fresh
    stepping = (state["feet_stepping"] > 0.5) & ~fresh
    pending = (state["feet_pending"] > 0.5) & ~fresh
    step_time = g.where(fresh, 0.0, state["feet_step_time"])

    corrects, still = pending & ~transitioned, locked | stepping
    rise = last_v[1] - animated_v[1]
    better_v = [
        g.where(still, offset_v[0], last_v[0] - animated_v[0]),
        g.where(contact, rise, g.greater_of(rise, 0.0)),
        g.where(still, offset_v[2], last_v[2] - animated_v[2]),
    ]
    offset_v = [g.where(corrects, new, was) for new, was in zip(better_v, offset_v, strict=True)]
    gap = hypot(last[0] + dt * last_v[0] - t[0], last[2] + dt * last_v[2] - t[2])
    floor, ceiling = ground + _row(heights[:, 0]), ground + _row(heights[:, 2])
    touching = contact & (g.greater_of(last[1], t[1]) - ceiling <= own.lock_height)

    alone = ~(old_locked.number().pick(np.array([1, 0]), 1) > 0.5)
    hop = stepping & (state["feet_stepping"] > 1.5)
    limit = g.where(alone, 1.5 * own.unlock_distance, own.unlock_distance)
    far = stretched | (hypot(point[0] - t[0], point[2] - t[2]) > limit)
    swings = ~locked & stepping
    step_time = g.where(swings, step_time + dt, step_time)
    # Twelve steps at 60 a second: sums of doubles fall just short of the limit, see HAIR.
    over = step_time >= g.where(hop, _HOP_SHARE, 1.0) * (_OVER * own.step_duration) + HAIR
    lands = ~locked & ~stepping & touching
    slow = hypot(last_v[0], last_v[2]) < own.lock_speed
    takes = fresh | (slow & (gap < 0.75 * own.unlock_distance))
    locks = (swings & contact & over) | (lands & takes)
    releases = (locked | swings) & ~contact
    steps = (locked & far & contact) | (lands & ~takes)
    stepping = (stepping | steps) & ~locks & ~releases
    locked = (locked | locks) & ~releases & ~steps

    hop = g.where(steps, (alone & (gap < 2.0 * own.unlock_distance)).number(), hop.number()) > 0.5
    point = [g.where(steps, last[k], point[k]) for k in range(3)]
    step_time = g.where(steps, 0.0, step_time)
    share = g.where(hop, _HOP_SHARE, 1.0)
    u = g.lesser_of(step_time / (share * own.step_duration), 1.0)
    s = g.lesser_of(g.greater_of((u - (1.0 - _OVER)) / (2.0 * _OVER - 1.0), 0.0), 1.0)
    s = s * s * s * (10.0 + s * (6.0 * s - 15.0))
    source = {k: g.where(stepping, point[k] + s * (t[k] - point[k]), t[k]) for k in (0, 2)}
    raised = g.where(stepping, 4.0 * own.step_height * share * u * (1.0 - u), 0.0)

    halts = steps | locks
    begins = releases | (transitioned & ~locked)
    back, was = g.where(transitioned, 0.0, dt), g.where(transitioned, 0.0, 1.0)
    moving = g.where(stepping, 0.0, 1.0)
    sideways = {}
    for k in (0, 2):
        x = g.where(begins, last[k] - (source[k] - back * animated_v[k]), offset[k])
        v = g.where(begins, moving * (last_v[k] - was * animated_v[k]), offset_v[k])
        x, v = fade(x, v, own.release_half_life, dt)
        sideways[k] = g.where(halts, 0.0, x), g.where(halts, 0.0, v)
    point = [g.where(locks, last[k], point[k]) for k in range(3)]
    resets = transitioned | ((locks | releases) & ~fresh)
    y = g.where(resets, last[1] - raised - (t[1] - back * animated_v[1]), offset[1])
    vy = g.where(resets, g.where(transitioned, 0.0, last_v[1] - animated_v[1]), offset_v[1])
    low = (y < -_NOISE) & ~contact
    quick = spring_exponent(own.height_half_life * _LOW_SHARE)
    pace = g.where(low, quick, spring_exponent(own.height_half_life))
    e, j = (pace * -dt).exp(), vy + y * pace
    y, vy = e * (y + j * dt), e * (vy - j * pace * dt)
    target = [
        g.where(locked, point[0], source[0] + sideways[0][0]),
        t[1] + y + raised,
        g.where(locked, point[2], source[2] + sideways[2][0]),
    ]
    target = [g.where(fresh, t[k], target[k]) for k in range(3)]
    point = [g.where(fresh, t[k], point[k]) for k in range(3)]
    target[1] = g.greater_of(target[1], floor)
    shown = g.stack(*target)
    none = fresh
    slots = {
        "feet_locked": locked.number(),
        "feet_stepping": g.where(stepping, g.where(hop, 2.0, 1.0), 0.0),
        "feet_pending": (transitioned & ~fresh).number() * np.ones((1, 2), np.float32),
        "feet_point": g.stack(*point),
        "feet_offset": g.where(none.wide(-1), 0.0, g.stack(sideways[0][0], y, sideways[2][0])),
        "feet_offset_velocity": g.where(none.wide(-1), 0.0, g.stack(sideways[0][1], vy, sideways[2][1])),
        "feet_toe": shown,
        "feet_toe_velocity": g.where(none.wide(-1), 0.0, (shown - g.stack(*last)) / dt),
        "feet_animated": toe,
        "feet_step_time": step_time,
    }
    return Toes(shown, locked, touching, slots)


def _row(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """One number a foot, ``[1, 2]``."""
    return np.asarray(values, np.float32)[None]


def lock_feet(
    g: Graph, state: dict[str, Value], joints: Joints, animated: Joints, contacts: Value, transitioned: Value,
    geometry: FootGeometry, settings: FootLockSettings, parents: NDArray[np.int32], dt: Value,
) -> tuple[Joints, Value, dict[str, Value]]:  # fmt: skip
    """One step of N characters.

    Args:
        g: the graph.
        state: the slots, ``fresh`` of inertialization among them.
        joints: what is shown otherwise.
        animated: before inertialization.
        contacts: float ``[N, 2]``.
        transitioned: bool ``[N]``.
        geometry, settings: of the foot lock.
        parents: of the joints.
        dt: seconds, ``[1]``.

    Returns:
        The joints, contacts float ``[N, 2]`` of what is shown, and the slots after the step.
    """
    index = np.asarray(geometry.legs, np.int64)
    fresh, jumped = (state["fresh"] > 0.5).wide(1), transitioned.wide(1)
    # Seen from the root, lengths keep their digits wherever in the world it is.
    root = joints.positions.at(0, 1).wide(1)
    others = np.ones((1, len(parents), 1), np.float32)
    others[0, 0] = 0.0
    around, turns = forward_kinematics(joints.positions * others, joints.rotations, parents)
    animated_around, _ = forward_kinematics(animated.positions * others, animated.rotations, parents)
    ground, own_toe = root.at(1), animated_around.pick(index[:, 3], 1)
    toe = own_toe + root
    legs: Legs = legs_at(g, geometry, around, turns)
    margin, most = settings.stretch_margin, settings.pelvis_drop
    reach = legs.longest + length(legs.sole) - margin
    point, shown = state["feet_point"], state["feet_toe"]
    held = g.stack(point.at(0), shown.at(1), point.at(2)) - root
    stretched = (state["feet_locked"] > 0.5) & (needed_drop(g, legs.hip, held, reach) > most)
    toes = track_toes(g, state, toe, contacts > 0.5, jumped, fresh, stretched, ground, geometry.heights, settings, dt)
    target = toes.target - root
    own_reach = g.greater_of(reach - margin, length(own_toe - legs.hip))
    wants = g.lesser_of(needed_drop(g, legs.hip, target, own_reach), most)
    wanted = g.where(toes.locked, wants, 0.0).most(1)
    before = state["feet_drop"]
    offset, speed = fade(before.at(0) - wanted, before.at(1), settings.drop_half_life, dt)
    drop = g.greater_of(wanted + offset, 0.0)
    pelvis = np.zeros((1, len(parents), 3), np.float32)
    pelvis[0, geometry.pelvis, 1] = 1.0
    positions = joints.positions - drop.wide(1, 2) * pelvis
    velocities = joints.velocities - speed.wide(1, 2) * pelvis

    solved = solve_legs(g, geometry, legs, target, drop, margin)
    count = len(parents)
    places = np.arange(count)
    for f in range(2):
        for k in (3, 2, 1, 0):  # a foot that is its own toe keeps the foot's rotation
            places[index[f, k]] = count + 4 * f + k
    rotations = g.join(joints.rotations, solved.reshape(0, 8, 4), axis=1).pick(places, 1)
    now = rotations.pick(index[:, :4].reshape(-1), 1)
    turning = quat_log(quat_multiply(now, quat_inverse(state["feet_rotations"].reshape(0, 8, 4)))) / dt
    old_turning = joints.angular_velocities.pick(index[:, :4].reshape(-1), 1)
    turning = g.where(fresh.wide(-1), old_turning, turning)
    angular = g.join(joints.angular_velocities, turning, axis=1).pick(places, 1)
    after, _ = forward_kinematics(positions * others, rotations, parents)
    height = after.pick(index[:, 3], 1).at(1)
    lifted = height > _row(geometry.heights[:, 2] + _NEAR_GROUND)
    slots = {
        **toes.slots,
        "feet_drop": g.stack(drop, speed),
        "feet_rotations": now.reshape(0, 2, 4, 4),
    }
    return Joints(positions, rotations, velocities, angular), (toes.touching & ~lifted).number(), slots

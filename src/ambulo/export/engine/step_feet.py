"""Foot lock as a graph: which toe is held where, both feet of all characters at once; as
:mod:`ambulo.control.foot_lock_kernels`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.control.foot_lock import FootGeometry
from ambulo.control.settings import FootLockSettings
from ambulo.export.engine.graph import Graph, Value
from ambulo.export.engine.graph_maths import FLAT, UPRIGHT, forward_kinematics, spring_exponent
from ambulo.export.engine.slots import Slot, Slots
from ambulo.export.engine.step_legs import Legs, legs_at, needed_drop, solve_legs
from ambulo.export.engine.step_plan import HAIR
from ambulo.export.engine.step_smooth import Joints

_NEAR_GROUND, _LOW_SHARE, _LOW_DEPTH, _OVER, _HOP_SHARE, _NOISE = 0.015, 0.1, 0.2, 0.8, 0.6, 1e-6
_UP, _ASIDE = UPRIGHT > 0.5, FLAT > 0.5
_NO_FLOOR = -1e6

FEET_SLOTS = Slots(
    (
        Slot(
            "feet_flags",
            (4, 2),
            "of left and right: 1 while the toe is held; 1 while it steps to where the animation is, 2 while it hops; "
            "1 in the step after a transition; seconds of its usual duration that a step has done",
        ),
        Slot(
            "feet_points",
            (6, 2, 3),
            "of left and right: what still fades of the last change (m), its velocity and the shown toe's (m/s); "
            "where the lock is or a step began, the toe shown, the animation's toe (m, world)",
        ),
        Slot("feet_drop", (2,), "how far the pelvis is let down (m), and how fast (m/s)"),
    )
)


@dataclass(frozen=True)
class Toes:
    """What became of the toes: targets ``[N, 2, 3]``, bool ``[N, 2, 1]``, and the slots after the step."""

    target: Value
    locked: Value
    touching: Value
    slots: dict[str, Value]


@dataclass(frozen=True)
class Feet:
    """Where the state machines stand: bool or seconds ``[N, 2, 1]``, and points ``[N, 2, 3]``."""

    locked: Value
    stepping: Value
    hop: Value
    pending: Value
    step_time: Value
    offset: Value
    offset_v: Value
    last_v: Value
    point: Value
    last: Value
    animated: Value

    @classmethod
    def of(cls, g: Graph, state: dict[str, Value], toe: Value, fresh: Value) -> Feet:
        """From the slots; of who was never shown, at rest where the animation is."""
        flags = g.where(fresh, 0.0, state["feet_flags"].reshape(0, 8, 1)).split(2, 2, 2, 2)
        none = np.zeros((g.count, 6, 3))
        points = g.where(fresh, g.join(none, toe, toe, toe, axis=1), state["feet_points"].reshape(0, 12, 3))
        return cls(
            flags[0] > 0.5, flags[1] > 0.5, flags[1] > 1.5, flags[2] > 0.5, flags[3],
            *points.split(2, 2, 2, 2, 2, 2),
        )  # fmt: skip


def track_toes(
    g: Graph, state: dict[str, Value], toe: Value, contact: Value, transitioned: Value, fresh: Value, stretched: Value,
    ground: Value, heights: NDArray[np.float64], own: FootLockSettings, dt: Value,
) -> Toes:  # fmt: skip
    """Advance the state machines of toes ``[N, 2, 3]``; ``transitioned``, ``fresh``, ``ground`` are ``[N, 1, 1]``."""
    was = Feet.of(g, state, toe, fresh)
    last, last_v, step_time = was.last, was.last_v, was.step_time
    animated_v = (toe - was.animated) / dt
    still = was.locked | was.stepping
    away = last_v - animated_v
    upward = g.where(contact, away, g.greater_of(away, 0.0))
    better_v = g.where(_UP, upward, g.where(still, was.offset_v, away))
    offset_v = g.where(was.pending & ~transitioned, better_v, was.offset_v)
    gap = ((last + dt * last_v - toe) * FLAT).norm()
    lowest, highest = (np.asarray(heights[:, k], np.float32)[None, :, None] for k in (0, 2))
    low_enough = g.greater_of(last, toe).part(1, 2) <= ground + (highest + np.float32(own.lock_height))
    touching = contact & low_enough

    alone = ~was.locked.pick(np.array([1, 0]), 1)
    limit = g.where(alone, 1.5 * own.unlock_distance, own.unlock_distance)
    apart = ((was.point - toe) * FLAT).norm()
    far = stretched | (apart > limit)
    swings = ~was.locked & was.stepping
    # A long way takes longer, and goes no faster than a step may.
    slower = (2.0 * _OVER - 1.0) / 1.875 * own.step_speed * own.step_duration
    share = g.where(was.hop, _HOP_SHARE * slower, slower)
    step_time = g.where(swings, step_time + dt * g.lesser_of(share / g.greater_of(apart, 1e-6), 1.0), step_time)
    # Twelve steps at 60 a second: sums of doubles fall just short of the limit, see HAIR.
    whole = _OVER * own.step_duration
    over = step_time >= g.where(was.hop, _HOP_SHARE * whole + HAIR, whole + HAIR)
    lands = ~still & touching
    slow = (last_v * FLAT).norm() < own.lock_speed
    takes = fresh | (slow & (gap < 0.75 * own.unlock_distance))
    locks = (swings & contact & over) | (lands & takes)
    releases = still & ~contact
    steps = (was.locked & far & contact) | (lands & ~takes)
    keeps = ~(locks | releases)
    stepping = (was.stepping | steps) & keeps
    locked = (was.locked | locks) & ~(releases | steps)

    hop = (steps & alone & (gap < 2.0 * own.unlock_distance)) | (was.hop & ~steps)
    point = g.where(steps, last, was.point)
    step_time = g.where(steps, 0.0, step_time)
    u = g.lesser_of(step_time * g.where(hop, 1.0 / (_HOP_SHARE * own.step_duration), 1.0 / own.step_duration), 1.0)
    s = (u * (1.0 / (2.0 * _OVER - 1.0)) - (1.0 - _OVER) / (2.0 * _OVER - 1.0)).clip(0.0, 1.0)
    s = s * s * s * (10.0 + s * (6.0 * s - 15.0))
    # Where the toe shall be but for what fades: on the ground plane on its way, in height the animation's and a lift.
    lift = g.where(hop, 4.0 * _HOP_SHARE * own.step_height, 4.0 * own.step_height) * u * (1.0 - u)
    source = toe + g.where(stepping, (point - toe) * (1.0 - s) * FLAT + lift * UPRIGHT, 0.0)

    halts = (steps | locks) & _ASIDE
    begins = releases | (transitioned & ~locked)
    resets = transitioned | ((locks | releases) & ~fresh)
    renews = (begins & _ASIDE) | (resets & _UP)
    back = animated_v * g.where(transitioned, 0.0, dt)
    kept = g.where(transitioned, 0.0, 1.0)
    aside = g.where(stepping, 0.0, last_v - kept * animated_v)
    x = g.where(renews, last - source + back, was.offset)
    v = g.where(renews, g.where(_UP, kept * away, aside), offset_v)
    quick = (x < -_NOISE) & (~contact & _UP)
    usual = np.where(_UP, spring_exponent(own.height_half_life), spring_exponent(own.release_half_life))
    quicker = (x * -(own.height_half_life / _LOW_DEPTH)).clip(own.height_half_life * _LOW_SHARE, own.height_half_life)
    pace = g.where(quick, 2.0 * np.log(2.0) / (quicker + 1e-5), usual[None, None])
    e, j = (pace * -dt).exp(), v + x * pace
    ahead = j * dt
    x, v = e * (x + ahead), e * (v - pace * ahead)
    x, v = g.where(halts, 0.0, x), g.where(halts, 0.0, v)
    point = g.where(locks, last, point)
    target = g.where(locked & _ASIDE, point, source + x)
    floor = np.where(_UP, lowest, _NO_FLOOR)
    shown = g.greater_of(target, ground + floor)
    after = (shown - last) / dt
    flags = [
        locked.number(),
        g.where(stepping, g.where(hop, 2.0, 1.0), 0.0),
        *[(transitioned & ~fresh).number()] * 2,
        step_time,
    ]
    slots = {
        "feet_flags": g.join(*flags, axis=1),
        "feet_points": g.join(g.where(fresh, 0.0, g.join(x, v, after, axis=1)), point, shown, toe, axis=1),
    }
    return Toes(shown, locked, touching, slots)


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
        transitioned: bool ``[N, 1]``.
        geometry, settings: of the foot lock.
        parents: of the joints.
        dt: seconds, ``[1]``.

    Returns:
        The joints (their velocities as they were), contacts float ``[N, 2]`` of what is shown, and the slots after the
        step.
    """
    index, count = np.asarray(geometry.legs, np.int64), len(parents)
    fresh, jumped = (state["fresh"] > 0.5).wide(1), transitioned.wide(1)
    # Seen from the root, lengths keep their digits wherever in the world it is. Both poses are one forest.
    root = joints.positions.part(0, 1, 1)
    forest = np.concatenate([parents, np.where(parents < 0, -1, parents + count)]).astype(np.int32)
    wanted = np.concatenate([index.T.reshape(-1), index[:, 3] + count])
    around, turns = forward_kinematics(
        g.join(joints.positions, animated.positions, axis=1),
        g.join(joints.rotations, animated.rotations, axis=1),
        forest, wanted,
    )  # fmt: skip
    ground = root.part(1, 2)
    legs: Legs = legs_at(g, around, turns)
    toe = legs.animated + root
    margin, most = settings.stretch_margin, settings.pelvis_drop
    reach = legs.longest + (legs.foot_length - margin)
    points = state["feet_points"].reshape(0, 12, 3)
    held = g.where(_UP, points.part(8, 10, 1), points.part(6, 8, 1)) - root
    was_locked = state["feet_flags"].reshape(0, 8, 1).part(0, 2, 1) > 0.5
    stretched = was_locked & (needed_drop(g, legs.hip - held, reach) > most)
    toes = track_toes(
        g, state, toe, contacts.wide(2) > 0.5, jumped, fresh, stretched, ground, geometry.heights, settings, dt
    )
    target = toes.target - root
    own_reach = g.greater_of(reach - margin, legs.stretch)
    wants = g.lesser_of(needed_drop(g, legs.hip - target, own_reach), most)
    wanted_drop = g.where(toes.locked, wants, 0.0).most(1)
    drop, let_down = let_down_pelvis(g, state["feet_drop"], wanted_drop, settings, dt)

    solved, toe_height = solve_legs(g, geometry, legs, target, drop.wide(1), margin)
    places = np.arange(count)
    for f in range(2):
        for k in (3, 2, 1, 0):  # a foot that is its own toe keeps the foot's rotation
            places[index[f, k]] = count + 2 * k + f
    rotations = g.join(joints.rotations, solved, axis=1).pick(places, 1)
    pelvis = np.zeros((1, count, 3), np.float32)
    pelvis[0, geometry.pelvis, 1] = 1.0
    positions = joints.positions - drop.wide(1) * pelvis
    highest = np.asarray(geometry.heights[:, 2] + _NEAR_GROUND, np.float32)[None, :, None]
    shown = (toes.touching & (toe_height <= highest)).number().reshape(0, 2)
    slots = {**toes.slots, "feet_drop": let_down}
    return Joints(positions, rotations, joints.velocities, joints.angular_velocities), shown, slots


def let_down_pelvis(
    g: Graph, before: Value, wanted: Value, settings: FootLockSettings, dt: Value
) -> tuple[Value, Value]:
    """How far the pelvis is let down after the step ``[N, 1]``, and the slot."""
    exponent = spring_exponent(settings.drop_half_life)
    x, v = before.split(1, 1)
    x = x - wanted
    e, j = (dt * -exponent).exp(), v + x * exponent
    ahead = j * dt
    drop = g.greater_of(wanted + e * (x + ahead), 0.0)
    return drop, g.join(drop, e * (v - exponent * ahead), axis=1)

"""Legs as a graph: rotations of hip, knee and ankle that bring a toe to its target, both legs at once; as
:mod:`ambulo.control.leg_kernels` and :mod:`ambulo.motion.inverse_kinematics_kernels`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.control.foot_lock import FootGeometry
from ambulo.export.engine.graph import Graph, Value
from ambulo.export.engine.graph_maths import (
    hypot,
    inner,
    length,
    quat_between,
    quat_inverse,
    quat_multiply,
    quat_normalize,
    quat_rotate,
)

_STRAIGHTEST, _SOLVABLE = 0.99, 0.9999
_FAR = 1e9


@dataclass(frozen=True)
class Legs:
    """Joints of both legs ``[N, 2, 3]`` from the root, rotations ``[N, 2, 4]``, and how far each reaches ``[N, 2]``."""

    hip: Value
    knee: Value
    ankle: Value
    sole: Value
    longest: Value
    above_q: Value
    upper_q: Value
    lower_q: Value
    foot_q: Value
    toe_q: Value


def legs_at(g: Graph, geometry: FootGeometry, world: Value, turns: Value) -> Legs:
    """Both legs of poses seen from the root."""
    index = np.asarray(geometry.legs, np.int64)
    hip, knee, ankle, toe = (world.pick(index[:, k], 1) for k in range(4))
    upper_q, lower_q, foot_q, toe_q, above_q = (turns.pick(index[:, k], 1) for k in range(5))
    longest = g.greater_of(_STRAIGHTEST * (length(knee - hip) + length(ankle - knee)), length(ankle - hip))
    return Legs(hip, knee, ankle, toe - ankle, longest, above_q, upper_q, lower_q, foot_q, toe_q)


def needed_drop(g: Graph, hip: Value, target: Value, reach: Value) -> Value:
    """How far the hip must come down to be within reach of a target below it; a billion where it cannot."""
    across = hypot(hip.at(0) - target.at(0), hip.at(2) - target.at(2))
    down = g.greater_of(reach * reach - across * across, 0.0).sqrt()
    return g.where(across >= reach, _FAR, g.greater_of(hip.at(1) - target.at(1) - down, 0.0))


def soft_limit(g: Graph, distance: Value, current: Value, longest: Value, buffer: float) -> Value:
    """A reach that never locks the knee."""
    start = g.lesser_of(g.greater_of(longest - buffer, current), longest)
    room = longest - start
    none = room < 1e-6
    safe = g.where(none, 1.0, room)
    # Beyond the start only; within it the exponent would overflow.
    beyond = g.greater_of(distance - start, 0.0)
    soft = g.where(none, start, start + room * (1.0 - (-(beyond / safe)).exp()))
    return g.where(distance <= start, distance, soft)


def _square_to(v: Value, axis: Value) -> Value:
    return v - inner(v, axis, keep=True) * axis


def _place_ankle(g: Graph, hip: Value, target: Value, ankle: Value, foot_length: Value, reach: Value) -> Value:
    """Where the ankle goes when the leg reaches only ``reach``: the heel lifts about the toe."""
    to_hip = hip - target
    d = length(to_hip)
    tiny = (foot_length < 1e-6) | (d < 1e-6)
    away = ankle - hip
    short = hip + (reach / g.greater_of(length(away), 1e-9)).wide(-1) * away
    safe_d = g.where(d < 1e-6, 1.0, d)
    u = to_hip / safe_d.wide(-1)
    straight = hip - reach.wide(-1) * u
    side = _square_to(ankle - target, u)
    size = length(side)
    line = (d >= reach + foot_length) | (size < 1e-9)
    along = (d * d + foot_length * foot_length - reach * reach) / (2.0 * safe_d)
    off = g.greater_of(foot_length * foot_length - along * along, 0.0).sqrt() / g.greater_of(size, 1e-9)
    bent = target + along.wide(-1) * u + off.wide(-1) * side
    return g.where(tiny.wide(-1), short, g.where(line.wide(-1), straight, bent))


def solve_legs(g: Graph, geometry: FootGeometry, legs: Legs, target: Value, drop: Value, margin: float) -> Value:
    """Local rotations ``[N, 2, 4, 4]`` of upper leg, lower leg, foot and toe that bring the toes to their targets.

    Legs and targets are seen from the root, which is on the ground.
    """
    down = drop.wide(1, 2) * np.array([[[0, 1, 0]]], np.float32)
    hip, knee, ankle = legs.hip - down, legs.knee - down, legs.ankle - down
    foot_length = length(legs.sole)
    wished = target - legs.sole
    lowest = drop.wide(1) * 0.0 + np.asarray(geometry.heights[:, 1], np.float32)[None]
    rise = g.lesser_of(g.greater_of(lowest - target.at(1), -foot_length), foot_length)
    wx, wz = wished.at(0) - target.at(0), wished.at(2) - target.at(2)
    k = g.greater_of(foot_length * foot_length - rise * rise, 0.0).sqrt() / g.greater_of(hypot(wx, wz), 1e-9)
    lifted = g.stack(target.at(0) + k * wx, lowest, target.at(2) + k * wz)
    wished = g.where((wished.at(1) < lowest).wide(-1), lifted, wished)
    distance = length(wished - hip)
    reach = soft_limit(g, distance, length(ankle - hip), legs.longest, margin)
    reach = g.lesser_of(reach, _SOLVABLE * (length(knee - hip) + length(ankle - knee)))
    placed = _place_ankle(g, hip, target, wished, foot_length, reach)
    wished = g.where((reach < distance - 1e-7).wide(-1), placed, wished)
    hint = quat_rotate(legs.upper_q, legs.upper_q.part(0, 3) * 0.0 + np.asarray(geometry.knees, np.float32)[None])
    upper, lower = two_bone(g, hip, knee, ankle, wished, hint, legs.upper_q, legs.lower_q, legs.above_q, 1e-4)
    lower_q = quat_multiply(quat_multiply(legs.above_q, upper), lower)
    turned = quat_normalize(quat_multiply(quat_between(legs.sole, target - wished), legs.foot_q))
    foot_q = g.where((foot_length > 1e-6).wide(-1), turned, legs.foot_q)
    foot = quat_normalize(quat_multiply(quat_inverse(lower_q), foot_q))
    toe = quat_normalize(quat_multiply(quat_inverse(foot_q), legs.toe_q))
    return g.join(*(q.wide(2) for q in (upper, lower, foot, toe)), axis=2)


def two_bone(
    g: Graph, root: Value, mid: Value, end: Value, target: Value, hint: Value, root_q: Value, mid_q: Value,
    parent_q: Value, buffer: float,
) -> tuple[Value, Value]:  # fmt: skip
    """Local rotations of root and mid joint that bring the end to the target."""
    upper, lower = length(mid - root), length(end - mid)
    longest, shortest = upper + lower, (upper - lower).abs()
    reach_now, reach = end - root, target - root
    now, distance = length(reach_now), length(reach)
    none = (upper < 1e-6) | (lower < 1e-6) | (distance < 1e-6) | (now < 1e-6)
    safe = g.where(none, 1.0, distance)
    aim = reach / safe.wide(-1)
    wanted = g.greater_of(soft_limit(g, distance, now, longest, buffer), shortest)
    wanted = g.where(none, 1.0, wanted)

    swing = quat_between(reach_now, reach)
    bend = _square_to(quat_rotate(swing, mid - root), aim)
    hint = _square_to(quat_rotate(swing, hint), aim)
    hint_length = length(hint, keep=True)
    hinted = hint_length > 1e-6
    hint = hint / g.where(hinted, hint_length, 1.0)
    toward = inner(bend, hint, keep=True) + 0.25 * length(bend, keep=True)
    part = longest.wide(-1) * 0.04
    sure = g.lesser_of(g.greater_of(toward / g.greater_of(part, 1e-9), 0.0), 1.0)
    sure = sure * sure * (3.0 - 2.0 * sure)
    bend = g.where(hinted, sure * bend + (1.0 - sure) * part * hint, bend)
    lost = length(bend, keep=True) < 1e-9
    side = g.where(aim.part(2, 3).abs() < 0.9, np.array([0, 0, 1], np.float32), np.array([1, 0, 0], np.float32))
    bend = g.where(lost, _square_to(side, aim), bend)
    bend = bend / length(bend, keep=True)

    along = (upper * upper - lower * lower + wanted * wanted) / (2.0 * wanted)
    off = g.greater_of(upper * upper - along * along, 0.0).sqrt()
    mid_new = along.wide(-1) * aim + off.wide(-1) * bend
    end_new = wanted.wide(-1) * aim
    turn_upper = quat_between(mid - root, mid_new)
    turn_lower = quat_between(quat_rotate(turn_upper, end - mid), end_new - mid_new)
    root_new = quat_normalize(quat_multiply(turn_upper, root_q))
    mid_new_q = quat_normalize(quat_multiply(turn_lower, quat_multiply(turn_upper, mid_q)))
    root_new = g.where(none.wide(-1), root_q, root_new)
    mid_new_q = g.where(none.wide(-1), mid_q, mid_new_q)
    return quat_multiply(quat_inverse(parent_q), root_new), quat_multiply(quat_inverse(root_new), mid_new_q)

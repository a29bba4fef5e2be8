"""Legs as a graph: rotations of hip, knee and ankle that bring a toe to its target, both legs at once; as
:mod:`ambulo.control.leg_kernels` and :mod:`ambulo.motion.inverse_kinematics_kernels`.

Lengths and other single numbers are ``[N, 2, 1]``, one a leg. Where a bone has no length, or a target lies in the hip,
the kernels leave the leg alone; here divisors are kept from 0, so that the answer is finite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.control.foot_lock import FootGeometry
from ambulo.export.engine.graph import Graph, Value
from ambulo.export.engine.graph_maths import (
    FLAT,
    UPRIGHT,
    inner,
    quat_between,
    quat_multiply,
    quat_normalize,
    quat_rotate,
)

_STRAIGHTEST, _SOLVABLE = 0.99, 0.9999
_TINY = 1e-6


@dataclass(frozen=True)
class Legs:
    """Both legs, from the root: hips, bones and the animation's toes ``[N, 2, 3]``, rotations in the world
    ``[N, 12, 4]`` (upper legs, lower legs, feet, toes, what is above; left and right each), lengths ``[N, 2, 1]``."""

    hip: Value
    upper: Value
    lower: Value
    line: Value
    sole: Value
    animated: Value
    turns: Value
    upper_length: Value
    lower_length: Value
    line_length: Value
    foot_length: Value
    stretch: Value
    both: Value
    longest: Value


def legs_at(g: Graph, places: Value, turns: Value) -> Legs:
    """From the places and rotations of upper legs, lower legs, feet, toes, what is above (left and right each), and of
    the animation's toes."""
    hip, knee, ankle, toe, animated = (np.eye(6)[k] for k in (0, 1, 2, 3, 5))
    rows = np.stack([hip, animated, knee - hip, ankle - knee, ankle - hip, toe - ankle, animated - hip])
    # Each of them for left and right: differences of places, exactly.
    vectors = g.op("MatMul", np.kron(rows, np.eye(2)), places)
    _, upper_length, lower_length, line_length, foot_length, stretch = vectors.norm().split(4, 2, 2, 2, 2, 2)
    hips, toes, upper, lower, line, sole, _ = vectors.split(*[2] * 7)
    both = upper_length + lower_length
    longest = g.greater_of(_STRAIGHTEST * both, line_length)
    return Legs(
        hips, upper, lower, line, sole, toes, turns, upper_length, lower_length, line_length, foot_length, stretch,
        both, longest,
    )  # fmt: skip


def needed_drop(g: Graph, down_to: Value, reach: Value) -> Value:
    """How far a hip, so far from its target, must come down to be within reach; a billion where it cannot."""
    across = (down_to * FLAT).norm()
    down = g.greater_of(reach * reach - across * across, 0.0).sqrt()
    return g.where(across >= reach, 1e9, g.greater_of(down_to.part(1, 2) - down, 0.0))


def soft_limit(g: Graph, distance: Value, current: Value, longest: Value, buffer: float) -> Value:
    """A reach that never locks the knee."""
    start = g.lesser_of(g.greater_of(longest - buffer, current), longest)
    room = longest - start
    beyond = g.greater_of(distance - start, 0.0) / g.greater_of(room, _TINY)
    return g.lesser_of(distance, start) + room * (1.0 - (-beyond).exp())


def _square_to(v: Value, axis: Value) -> Value:
    return v - inner(v, axis) * axis


def _place_ankle(g: Graph, target: Value, sole: Value, foot_length: Value, reach: Value) -> Value:
    """Where the ankle, ``sole`` from the toe's target, goes when the leg reaches only ``reach``: the heel lifts about
    the toe; without a foot the leg stretches. All is seen from the hip."""
    d = g.greater_of(target.norm(), _TINY)
    u = target / d
    side = _square_to(sole, u)
    size = side.norm()
    line = (d >= reach + foot_length) | (size < 1e-9)
    square = foot_length * foot_length
    along = 0.5 * (d + (square - reach * reach) / d)
    off = g.greater_of(square - along * along, 0.0).sqrt() / g.greater_of(size, 1e-9)
    bent = (d - along) * u + off * side
    return g.where(line, reach * u, bent)


def solve_legs(
    g: Graph, geometry: FootGeometry, legs: Legs, target: Value, drop: Value, margin: float
) -> tuple[Value, Value]:
    """Local rotations ``[N, 8, 4]`` of upper legs, lower legs, feet and toes that bring the toes to their targets; and
    how high over the root the toes come ``[N, 2, 1]``.

    Targets are seen from the root, which is on the ground.
    """
    hip = legs.hip - drop * UPRIGHT
    target = target - hip  # all that follows is seen from the hip
    hip_height = hip.part(1, 2)
    foot_length = legs.foot_length
    lowest = np.asarray(geometry.heights[:, 1], np.float32)[None, :, None] - hip_height
    # The ankle behind the toe as the animation has it, turned about the toe where it would be too low.
    back = -legs.sole
    rise = g.lesser_of(g.greater_of(lowest - target.part(1, 2), -foot_length), foot_length)
    flat = g.greater_of(foot_length * foot_length - rise * rise, 0.0).sqrt()
    lifted = back * (FLAT * (flat / g.greater_of((back * FLAT).norm(), 1e-9))) + (lowest - target.part(1, 2)) * UPRIGHT
    behind = g.where(back.part(1, 2) + target.part(1, 2) < lowest, lifted, back)
    wished = target + behind
    distance = wished.norm()
    reach = soft_limit(g, distance, legs.line_length, legs.longest, margin)
    reach = g.lesser_of(reach, _SOLVABLE * legs.both)
    placed = _place_ankle(g, target, behind, foot_length, reach)
    ankle = g.where(reach < distance - 1e-7, placed, wished)

    sole = target - ankle
    between = quat_between(g.join(legs.line, legs.sole, axis=1), g.join(ankle, sole, axis=1))
    swing, turned = between.split(2, 2)
    upper_q, lower_q, foot_q, toe_q, above_q, _ = legs.turns.split(*[2] * 6)
    knees = np.asarray(geometry.knees, np.float32)[None]
    hint = quat_rotate(swing, quat_rotate(upper_q, knees))
    turn_upper, turn_lower, end = _two_bone(g, legs, ankle, quat_rotate(swing, legs.upper), hint)
    halves = quat_multiply(g.join(turn_upper, turn_upper, axis=1), g.join(upper_q, lower_q, axis=1))
    upper_new, lower_new = halves.split(2, 2)
    lower_new = quat_multiply(turn_lower, lower_new)
    foot_new = quat_multiply(turned, foot_q)
    above, own = (
        g.join(above_q, upper_new, lower_new, foot_new, axis=1),
        g.join(upper_new, lower_new, foot_new, toe_q, axis=1),
    )
    solved = quat_normalize(quat_multiply(above, own, invert_a=True))
    height = hip_height + end.part(1, 2) + (foot_length / g.greater_of(sole.norm(), _TINY)) * sole.part(1, 2)
    return solved, height


def _two_bone(g: Graph, legs: Legs, target: Value, bend: Value, hint: Value) -> tuple[Value, Value, Value]:
    """Rotations in the world of upper and then of lower leg that bring the ankle to its target, and where it comes.

    Seen from the hip; ``bend`` is the knee, ``hint`` where it points, both swung to the target.
    """
    upper, lower, longest = legs.upper_length, legs.lower_length, legs.both
    distance = g.greater_of(target.norm(), _TINY)
    aim = target / distance
    shortest = (upper - lower).abs()
    wanted = g.greater_of(soft_limit(g, distance, legs.line_length, longest, 1e-4), shortest)
    wanted = g.greater_of(wanted, _TINY)

    bend, hint = _square_to(bend, aim), _square_to(hint, aim)
    hint = hint / g.greater_of(hint.norm(), _TINY)
    toward = inner(bend, hint) + 0.25 * bend.norm()
    part = longest * 0.04
    sure = (toward / g.greater_of(part, 1e-9)).clip(0.0, 1.0)
    sure = sure * sure * (3.0 - 2.0 * sure)
    bend = sure * bend + ((1.0 - sure) * part) * hint
    bend = bend / g.greater_of(bend.norm(), 1e-9)

    square = upper * upper
    along = (square - lower * lower + wanted * wanted) / (2.0 * wanted)
    off = g.greater_of(square - along * along, 0.0).sqrt()
    knee, end = along * aim + off * bend, wanted * aim
    turn_upper = quat_between(legs.upper, knee)
    turn_lower = quat_between(quat_rotate(turn_upper, legs.lower), end - knee)
    return turn_upper, turn_lower, end

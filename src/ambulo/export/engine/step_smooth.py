"""Inertialization as a graph; as :mod:`ambulo.control.inertialization_kernels`."""

from __future__ import annotations

from dataclasses import dataclass

from ambulo.export.engine.graph import Graph, Value
from ambulo.export.engine.graph_maths import (
    fade,
    quat_exp,
    quat_inverse,
    quat_log,
    quat_multiply,
    quat_normalize,
    quat_rotate,
)
from ambulo.export.engine.slots import Slot, Slots


@dataclass(frozen=True)
class Joints:
    """Local poses of N characters: rotations ``[N, J, 4]``, all others ``[N, J, 3]``."""

    positions: Value
    rotations: Value
    velocities: Value
    angular_velocities: Value


def smooth_slots(joint_count: int) -> Slots:
    """What inertialization remembers."""
    vector, quaternion = (joint_count, 3), (joint_count, 4)
    return Slots(
        (
            Slot("fresh", (), "1 before the first step, then 0"),
            Slot("shown_positions", vector, "joints shown last, local; the root's in the world (m)"),
            Slot("shown_rotations", quaternion, "the same, quaternions x, y, z, w"),
            Slot("shown_velocities", vector, "their velocities (m/s)"),
            Slot("shown_angular_velocities", vector, "their angular velocities (rad/s)"),
            Slot("offset_positions", vector, "what still fades of the last jump (m)"),
            Slot("offset_velocities", vector, "its velocity (m/s)"),
            Slot("offset_turns", vector, "the same of rotations, as rotation vectors (rad)"),
            Slot("offset_turnings", vector, "its velocity (rad/s)"),
        )
    )


def smooth(
    graph: Graph, state: dict[str, Value], joints: Joints, transitioned: Value, half_life: float, dt: Value
) -> tuple[Joints, dict[str, Value]]:
    """One step. ``transitioned`` is bool ``[N]``. Returns what is shown, and the slots after the step."""
    g = graph
    jumps = (transitioned & (state["fresh"] < 0.5)).wide(1, 2)
    q, w, v = joints.rotations, joints.angular_velocities, joints.velocities
    before = quat_multiply(quat_exp(w * -dt), q)
    r = quat_log(quat_multiply(state["shown_rotations"], quat_inverse(before)))
    x = g.where(jumps, state["shown_positions"] + dt * v - joints.positions, state["offset_positions"])
    xv = g.where(jumps, state["shown_velocities"] - v, state["offset_velocities"])
    rv = g.where(jumps, state["shown_angular_velocities"] - quat_rotate(quat_exp(r), w), state["offset_turnings"])
    r = g.where(jumps, r, state["offset_turns"])
    x, xv = fade(x, xv, half_life, dt)
    r, rv = fade(r, rv, half_life, dt)
    turn = quat_exp(r)
    shown = Joints(
        joints.positions + x,
        quat_normalize(quat_multiply(turn, q)),
        v + xv,
        quat_rotate(turn, w) + rv,
    )
    after = {
        "fresh": state["fresh"] * 0.0,
        "shown_positions": shown.positions,
        "shown_rotations": shown.rotations,
        "shown_velocities": shown.velocities,
        "shown_angular_velocities": shown.angular_velocities,
        "offset_positions": x,
        "offset_velocities": xv,
        "offset_turns": r,
        "offset_turnings": rv,
    }
    return shown, after

"""Inertialization as a graph; as :mod:`ambulo.control.inertialization_kernels`."""

from __future__ import annotations

from dataclasses import dataclass

from ambulo.export.engine.graph import Graph, Value
from ambulo.export.engine.graph_maths import (
    fade_matrix,
    quat_exp,
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
            Slot(
                "offsets",
                (2, 2, *vector),
                "what still fades of the last jump, then how fast: of positions (m, m/s), of rotations as rotation "
                "vectors (rad, rad/s)",
            ),
        )
    )


def smooth(
    graph: Graph, state: dict[str, Value], joints: Joints, count: int, transitioned: Value, half_life: float, dt: Value
) -> tuple[Joints, dict[str, Value]]:
    """One step of ``count`` joints; ``transitioned`` is bool ``[N, 1]``, ``dt`` ``[1]``.

    Returns:
        What is shown, and the slots after the step.
    """
    g = graph
    jumps = (transitioned & (state["fresh"] < 0.5)).wide(1)
    q, w, v = joints.rotations, joints.angular_velocities, joints.velocities
    before = quat_multiply(quat_exp(w * -dt), q)
    apart = quat_multiply(state["shown_rotations"], before, invert_b=True)
    begins = g.join(
        state["shown_positions"] + dt * v - joints.positions,
        quat_log(apart),
        state["shown_velocities"] - v,
        state["shown_angular_velocities"] - quat_rotate(apart, w),
        axis=1,
    ).reshape(0, 2, -1)
    offsets = fade_matrix(dt, half_life).dot(g.where(jumps, begins, state["offsets"].reshape(0, 2, -1)))
    x, r, xv, rv = offsets.reshape(0, 4 * count, 3).split(*[count] * 4)
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
        "offsets": offsets,
    }
    return shown, after

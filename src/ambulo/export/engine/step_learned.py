"""Learned motion matching as a graph: projector, stepper, decompressor; as :mod:`ambulo.learning.lmm_controller`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.control.settings import ControlSettings
from ambulo.export.engine.graph import Graph, Value
from ambulo.export.engine.graph_maths import (
    cross,
    forward_kinematics,
    heading_quaternion,
    quat_log,
    quat_multiply,
    quat_normalize,
)
from ambulo.export.engine.networks import network
from ambulo.export.engine.slots import Slot, Slots, merge
from ambulo.export.engine.step_plan import PLAN_SLOTS, Followed, follow, plan_step
from ambulo.export.engine.step_smooth import Joints
from ambulo.learning.lmm_controller import toe_joints
from ambulo.learning.lmm_model import LmmModel
from ambulo.learning.lmm_state import LmmSettings


@dataclass(frozen=True)
class Advanced:
    """What a controller gives to its wrappers: joints, bool ``[N, 1]``, contacts float ``[N, 2]``, its slots."""

    joints: Joints
    transitioned: Value
    contacts: Value
    slots: dict[str, Value]


def learned_slots(model: LmmModel) -> Slots:
    """What a character of a trained model remembers."""
    width = len(model.start)
    return merge(
        [
            Slots(
                (
                    Slot("values", (width,), "normalised features, then latents"),
                    Slot("since", (), "seconds since the last jump"),
                    Slot("dragged", (), "metres by which toes that stand were dragged since the last jump"),
                    Slot("toes", (2, 3), "left and right: the animation's toe, x and z (m, world); 1 while it stands"),
                )
            ),
            PLAN_SLOTS,
        ]
    )


def learned_step(
    graph: Graph, model: LmmModel, settings: ControlSettings, own: LmmSettings, state: dict[str, Value],
    velocity: Value, facing: Value, dt: Value,
) -> Advanced:  # fmt: skip
    """One step, without its wrappers."""
    g, width = graph, model.schema.dimension_count
    values = state["values"]
    going_on = values.part(0, width)
    since = state["since"] + dt
    # Who was not put back onto the data for so long, or drags a foot, searches even if it rests.
    overdue = (since > own.latest) | (state["dragged"] > own.drag)
    plan = plan_step(g, state, velocity, facing, dt, going_on, model.schema, settings, leave=None, asks=overdue)
    # What is of the pose is normalised already, and remains.
    of_pose = np.array([model.schema.groups[group].joint >= 0 for group in model.schema.group_of_dimension])
    factor = np.where(of_pose, 1.0, model.feature_coefficients)
    query = plan.query * factor - np.where(of_pose, 0.0, model.feature_mean * model.feature_coefficients)
    found = network(g, model.projector, query)
    hurry = np.where(of_pose, 1.0, settings.search.impatient_emphasis**2).astype(np.float32)
    weights = g.where(plan.eager, hurry, np.ones(width, np.float32))

    def cost(features: Value) -> Value:
        difference = query - features
        return (difference * difference * weights).sum(keep=True)

    better = cost(found.part(0, width)) + g.where(plan.eager, 0.0, settings.search.bias) < cost(going_on)
    jumps = plan.due & (better | overdue)
    values = g.where(jumps, found, values)
    since = g.where(jumps, 0.0, since)
    stepped = values + network(g, model.stepper, values) * dt
    after = g.lesser_of(g.greater_of(stepped, model.lowest), model.highest)
    # Beside the pose the one a step before it, for the velocities of who jumps: one product of twice the rows.
    both = network(g, model.decompressor, g.join(after, values, axis=0))
    rows, landed = both.split(g.count, g.count, axis=0)

    columns = model.layout.columns
    sizes = {name: place.stop - place.start for name, place in columns.items() if place.stop > place.start}
    blocks = dict(zip(sizes, rows.split(*sizes.values()), strict=True))
    v, w = columns["root_velocity"].start, columns["root_turning"].start
    way = rows.pick(np.array([v, v + 2, w + 1]), 1) * dt
    followed = follow(g, way, state, plan, settings, dt)
    joints = _joints(g, model, blocks, _local_rotations(g, model, both), landed, followed, jumps, dt)
    contacts = (blocks["contacts"] > 0.5).number()
    toes, moved = _follow_toes(g, model, joints, contacts, state["toes"])
    dragged = g.where(jumps, 0.0, state["dragged"] + moved)
    slots = {"values": after, "since": since, "dragged": dragged, "toes": toes, **followed.slots}
    return Advanced(joints, jumps, contacts, slots)


def _follow_toes(g: Graph, model: LmmModel, joints: Joints, contacts: Value, before: Value) -> tuple[Value, Value]:
    """The slot of the toes, and how far they were dragged, ``[N, 1]``; as
    :func:`ambulo.learning.lmm_kernels.follow_toes`."""
    toes = toe_joints(model.skeleton)
    if not len(toes):
        return before, g.constant(np.zeros((g.count, 1)))
    parents = np.asarray(model.skeleton.parents, np.int32)
    places, _ = forward_kinematics(joints.positions, joints.rotations, parents, toes)
    now = (places + joints.positions.part(0, 1, 1)).pick(np.array([0, 2], np.int64), 2)
    then, stood = before.split(2, 1, axis=2)
    stands = contacts.wide(2)
    moved = ((now - then).norm() * stands * stood).most(1)
    return g.join(now, stands, axis=2), moved


def _local_rotations(g: Graph, model: LmmModel, both: Value) -> list[Value]:
    """Rotations ``[N, J-1, 4]`` of all joints but the root, of the pose and of where it landed, in their parents'
    frames: decompressed ones are in the root's."""
    parents = np.asarray(model.layout.parents)
    count, place = len(parents), model.layout.columns["rotations"]
    turned = quat_from_axes(g, both.part(place.start, place.stop).reshape(0, count - 1, 6))
    # Joints below the root are local already: no rotation stands in for the root's own.
    none = np.tile(np.array([0, 0, 0, 1], np.float32), (2 * g.count, 1, 1))
    above = g.join(none, turned, axis=1).pick(np.maximum(parents[1:], 0).astype(np.int64), 1)
    return quat_multiply(above, turned, invert_a=True).split(g.count, g.count, axis=0)


def _joints(
    g: Graph, model: LmmModel, blocks: dict[str, Value], turned: list[Value], landed: Value, root: Followed,
    jumps: Value, dt: Value,
) -> Joints:  # fmt: skip
    """Joints of decompressed rows. Who jumped has the velocities of :func:`ambulo.learning.lmm_kernels.move_at_jumps`,
    from rows ``landed`` a step before."""
    count = len(model.layout.parents)
    local, before = turned
    jumped = jumps.wide(1)
    came = quat_log(quat_multiply(local, before, invert_b=True)) / dt
    turning = g.where(jumped, came, blocks["angular_velocities"].reshape(0, count - 1, 3))
    local = local * g.where(local.part(3, 4) >= 0.0, 1.0, -1.0)
    rotations = g.join(heading_quaternion(root.heading).wide(1), local, axis=1)

    moving = model.layout.moving
    places = np.arange(count)
    places[0] = count
    places[moving] = count + 1 + np.arange(len(moving))

    def spread(rest: NDArray[np.float32], first: Value, rows: Value | None) -> Value:
        """Moving joints from their rows, all others from what rests, the root from elsewhere."""
        table = [np.tile(rest[None], (g.count, 1, 1)), first, *([] if rows is None else [rows])]
        return g.join(*table, axis=1).pick(places, 1)

    shown = speeds = None
    if len(moving):
        place = model.layout.columns["positions"]
        shown, was = (
            rows.reshape(0, len(moving), 3) for rows in (blocks["positions"], landed.part(place.start, place.stop))
        )
        speeds = g.where(jumped, (shown - was) / dt, blocks["velocities"].reshape(0, len(moving), 3))
    positions = spread(np.asarray(model.layout.offsets, np.float32), root.position.wide(1), shown)
    velocities = spread(np.zeros((count, 3), np.float32), root.velocity, speeds)
    return Joints(positions, rotations, velocities, g.join(root.turning, turning, axis=1))


def quat_from_axes(g: Graph, axes: Value) -> Value:
    """Rotations ``[N, J, 4]`` of two axes ``[N, J, 6]``; see :func:`ambulo.learning.lmm_kernels.quat_from_axes`.

    Of a rotation's matrix four multiples of its quaternion are linear, by each of its components: the one by the
    largest is taken, which its square tells, and of equal ones the first.
    """
    x, y = axes.split(3, 3, axis=2)
    x = x / (x.norm() + 1e-12)
    z = cross(x, y)
    z = z / (z.norm() + 1e-12)
    y = cross(z, x)
    multiples = (g.join(x, y, z, axis=2).dot(_MULTIPLES) + _ONES).split(16, 4, axis=2)
    largest = multiples[1].argmax().equals(np.arange(4)).number()
    chosen = (multiples[0] * largest.dot(np.repeat(np.eye(4), 4, axis=1))).dot(np.tile(np.eye(4), (4, 1)))
    return quat_normalize(chosen)


def _multiples() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Linear map of a matrix (columns x, y, z end to end) to four times its quaternion's products ``[4, 4]`` and to
    the squares among them; and what is added."""
    table, one = np.zeros((9, 4, 4), np.float32), np.eye(4, dtype=np.float32)
    diagonal = (0, 4, 8)
    for k in range(4):
        for axis in range(3):
            table[diagonal[axis], k, k] = 1.0 if k in (axis, 3) else -1.0
    # x y, x z, y z are sums across the diagonal; w x, w y, w z differences.
    for i, j in ((0, 1), (0, 2), (1, 2)):
        table[3 * i + j, i, j] = table[3 * j + i, i, j] = table[3 * i + j, j, i] = table[3 * j + i, j, i] = 1.0
    for k, (i, j) in enumerate(((1, 2), (2, 0), (0, 1))):
        for a, b in ((k, 3), (3, k)):
            table[3 * i + j, a, b], table[3 * j + i, a, b] = 1.0, -1.0
    squares = np.arange(4)
    whole = np.concatenate([table.reshape(9, 16), table[:, squares, squares]], axis=1)
    return whole, np.concatenate([one.reshape(16), np.ones(4, np.float32)])


_MULTIPLES, _ONES = _multiples()

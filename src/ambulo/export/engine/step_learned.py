"""Learned motion matching as a graph: projector, stepper, decompressor; as :mod:`ambulo.learning.lmm_controller`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.control.settings import ControlSettings
from ambulo.export.engine.graph import Graph, Value
from ambulo.export.engine.graph_maths import heading_quaternion, length, quat_inverse, quat_multiply
from ambulo.export.engine.networks import network
from ambulo.export.engine.slots import Slot, Slots, merge
from ambulo.export.engine.step_plan import PLAN_SLOTS, follow, plan_step
from ambulo.export.engine.step_smooth import Joints
from ambulo.learning.lmm_controller import LmmSettings
from ambulo.learning.lmm_model import LmmModel


@dataclass(frozen=True)
class Advanced:
    """What a controller gives to its wrappers: joints, bool ``[N]``, contacts float ``[N, 2]``, its slots."""

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
    raw = going_on / model.feature_coefficients + model.feature_mean
    since = state["since"] + dt
    # Who was not put back onto the data for so long searches even if it rests.
    overdue = since > own.latest
    plan = plan_step(g, state, velocity, facing, dt, raw, model.schema, settings, leave=None, asks=overdue)
    query = (plan.query - model.feature_mean) * model.feature_coefficients
    found = network(g, model.projector, query)
    of_pose = [model.schema.groups[group].joint >= 0 for group in model.schema.group_of_dimension]
    hurry = np.where(of_pose, 1.0, settings.search.impatient_emphasis**2).astype(np.float32)
    weights = g.where(plan.eager.wide(-1), hurry, np.ones(width, np.float32))

    def cost(features: Value) -> Value:
        difference = query - features
        return (difference * difference * weights).sum()

    better = cost(found.part(0, width)) + g.where(plan.eager, 0.0, settings.search.bias) < cost(going_on)
    jumps = plan.due & (better | overdue)
    values = g.where(jumps.wide(-1), found, values)
    since = g.where(jumps, 0.0, since)
    stepped = values + network(g, model.stepper, values) * dt
    after = g.lesser_of(g.greater_of(stepped, model.lowest), model.highest)
    rows = network(g, model.decompressor, after)

    columns = model.layout.columns
    v, w = columns["root_velocity"].start, columns["root_turning"].start
    way = (rows.at(v) * dt, rows.at(v + 2) * dt, rows.at(w + 1) * dt)
    root, root_velocity, root_turning, simulation = follow(g, way, state["root"], plan.moved, settings, dt)
    joints = _joints(g, model, rows, root, root_velocity, root_turning)
    contacts = (rows.part(columns["contacts"].start, columns["contacts"].stop) > 0.5).number()
    slots = {
        "values": after, "since": since, "timer": plan.timer, "wish": plan.wish, "impatience": plan.impatience,
        "root": root, "simulation": g.stack(*simulation),
    }  # fmt: skip
    return Advanced(joints, jumps, contacts, slots)


def _joints(g: Graph, model: LmmModel, rows: Value, root: Value, velocity: Value, turning: Value) -> Joints:
    """Joints of decompressed rows: rotations in the root's frame become local ones."""
    columns, parents = model.layout.columns, np.asarray(model.layout.parents)
    count = len(parents)

    def block(name: str, *shape: int) -> Value:
        return rows.part(columns[name].start, columns[name].stop).reshape(0, -1, *shape)

    turned = quat_from_axes(g, block("rotations", 6))
    # Joints below the root are local already: the root's own rotation stands in for identity.
    none = turned.part(0, 1, 1) * 0.0 + np.array([0, 0, 0, 1], np.float32)
    above = g.join(none, turned, axis=1).pick(np.maximum(parents[1:], 0).astype(np.int64), 1)
    local = quat_multiply(quat_inverse(above), turned)
    local = local * g.where(local.part(3, 4) >= 0.0, 1.0, -1.0)
    rotations = g.join(heading_quaternion(root.at(3)).wide(1), local, axis=1)

    moving = model.layout.moving
    fixed = np.asarray(model.layout.offsets, np.float32)[None]
    places = np.full(count, -1)
    places[moving] = np.arange(len(moving))

    def spread(name: str, rest: Value, first: Value) -> Value:
        """Moving joints from their columns, all others from what rests, the root from elsewhere."""
        table, own = rest, count
        if len(moving):
            table = g.join(rest, block(name, 3), axis=1)
        picks = np.array([own + place if place >= 0 else joint for joint, place in enumerate(places)][1:], np.int64)
        return g.join(first.wide(1), table.pick(picks, 1), axis=1)

    zeros = velocity.wide(1) * np.zeros((1, count, 1), np.float32)
    positions = spread("positions", zeros + fixed, root.part(0, 3))
    velocities = spread("velocities", zeros, velocity)
    angular = g.join(turning.wide(1), block("angular_velocities", 3), axis=1)
    return Joints(positions, rotations, velocities, angular)


def quat_from_axes(g: Graph, axes: Value) -> Value:
    """Rotations ``[N, J, 4]`` of two axes ``[N, J, 6]``; see :func:`ambulo.learning.lmm_kernels.quat_from_axes`."""
    from ambulo.export.engine.graph_maths import cross

    x = axes.part(0, 3)
    x = x / (length(x, keep=True) + 1e-12)
    z = cross(x, axes.part(3, 6))
    z = z / (length(z, keep=True) + 1e-12)
    y = cross(z, x)
    xx, xy, xz = (x.part(k, k + 1) for k in range(3))
    yx, yy, yz = (y.part(k, k + 1) for k in range(3))
    zx, zy, zz = (z.part(k, k + 1) for k in range(3))
    trace = xx + yy + zz
    first, second, third = trace > 0.0, (xx > yy) & (xx > zz), yy > zz
    a, b, c = yz - zy, zx - xz, xy - yx
    d, e, f = xy + yx, zx + xz, yz + zy
    # Each is the quaternion times a number; which one is divided by is the largest of its four components.
    candidates = [
        g.join(a, b, c, trace + 1.0),
        g.join(1.0 + xx - yy - zz, d, e, a),
        g.join(d, 1.0 - xx + yy - zz, f, b),
        g.join(e, f, 1.0 - xx - yy + zz, c),
    ]
    rest = g.where(third, candidates[2], candidates[3])
    chosen = g.where(first, candidates[0], g.where(second, candidates[1], rest))
    return chosen / length(chosen, keep=True)

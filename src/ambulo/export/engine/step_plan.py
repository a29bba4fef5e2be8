"""The first half of a step as a graph: springs, prediction, who searches, the raw query.

As :mod:`ambulo.control.query_kernels` and :mod:`ambulo.control.simulation_kernels`, for all characters at once. Where a
kernel compares sums of double precision with a limit that they just meet at 60 steps a second, the limit here is moved
by a little, so that sums of single precision fall on the same side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ambulo.control.query_layout import query_layout
from ambulo.control.settings import ControlSettings
from ambulo.export.engine.graph import Graph, Value
from ambulo.export.engine.graph_maths import atan2, damping, hypot, spring_exponent, wrap_angle
from ambulo.export.engine.slots import Slot, Slots
from ambulo.matching.schema import FeatureSchema

HAIR = 1e-4
"""Seconds by which limits are moved, see above."""

PLAN_SLOTS = Slots(
    (
        Slot("timer", (), "seconds until the next search"),
        Slot("wish", (3,), "desired velocity x, z (m/s) and heading (rad) of the last search"),
        Slot("impatience", (), "seconds for which the body has not done what it is asked"),
        Slot("root", (6,), "x, y, z (m), heading about +Y (rad), smoothed velocity x, z (m/s) of the body"),
        Slot(
            "simulation",
            (10,),
            "simulation object: x, y, z (m), velocity x, z (m/s), acceleration x, z (m/s2), heading (rad), turning "
            "(rad/s), goal heading (rad)",
        ),
    )
)


@dataclass(frozen=True)
class PlanStep:
    """What the first half finds out, each ``[N]`` unless said.

    Attributes:
        timer, impatience: as they are after the step where nothing is searched for.
        due, eager: bool.
        leave: bool, the clip ends.
        wish: ``[N, 3]``, after the step.
        moved: columns of the simulation object after the step.
        query: raw ``[N, D]``.
    """

    timer: Value
    impatience: Value
    due: Value
    eager: Value
    leave: Value
    wish: Value
    moved: list[Value]
    query: Value


def spring_velocity(v: Value, a: Value, goal: Value, y: float, t: Any) -> tuple[Value, Value, Value]:
    """Way gone, velocity and acceleration after ``t`` seconds."""
    j0 = v - goal
    j1 = a + j0 * y
    e = (v.graph.constant(t) * -y).exp() if not isinstance(t, Value) else (t * -y).exp()
    # With 1 - e apart, what nearly cancels is small from the start.
    way = (1.0 - e) * (j1 / (y * y) + j0 / y) - e * (j1 * t / y) + goal * t
    return way, e * (j0 + j1 * t) + goal, e * (a - j1 * y * t)


def spring_heading(heading: Value, turning: Value, goal: Value, y: float, t: Any) -> tuple[Value, Value]:
    """Heading and turning speed after ``t`` seconds, the shorter way round."""
    j0 = wrap_angle(heading - goal)
    j1 = turning + j0 * y
    e = (heading.graph.constant(t) * -y).exp() if not isinstance(t, Value) else (t * -y).exp()
    return heading - j0 + e * (j0 + j1 * t), e * (turning - j1 * y * t)


def desired_heading(velocity: Value, facing: Value, last: Value) -> Value:
    """The heading that is asked for: the facing, else where the velocity goes, else what it was."""
    g = velocity.graph
    fx, fz, vx, vz = facing.at(0), facing.at(2), velocity.at(0), velocity.at(2)
    goes = vx * vx + vz * vz > 1e-2
    return g.where(fx * fx + fz * fz > 1e-8, atan2(fx, fz), g.where(goes, atan2(vx, vz), last))


def plan_step(
    graph: Graph,
    state: dict[str, Value],
    velocity: Value,
    facing: Value,
    dt: Value,
    pose_features: Value,
    schema: FeatureSchema,
    settings: ControlSettings,
    *,
    leave: Value | None,
    asks: Value | None = None,
    bound: Value | None = None,
) -> PlanStep:
    """Predict, decide and ask.

    Args:
        graph: that is written.
        state: the slots.
        velocity, facing: ``[N, 3]``, world.
        dt: seconds, ``[1]``.
        pose_features: raw ``[N, D]`` of the moment that is shown.
        schema: D dimensions.
        settings: of the controller.
        leave: bool ``[N]``, the clip ends; None for never.
        asks: bool ``[N]``, something else is asked than before; None for never.
        bound: bool ``[N]``, must not search; None for never.
    """
    g, own, search = graph, settings.simulation, settings.search
    simulation, root = state["simulation"], state["root"]
    s = [simulation.at(k) for k in range(10)]
    vx, vz = velocity.at(0), velocity.at(2)
    goal = desired_heading(velocity, facing, s[9])
    yv, yr = spring_exponent(own.velocity_half_life), spring_exponent(own.rotation_half_life)

    dx, mvx, max_ = spring_velocity(s[3], s[5], vx, yv, dt)
    dz, mvz, maz = spring_velocity(s[4], s[6], vz, yv, dt)
    heading, turning = spring_heading(s[7], s[8], goal, yr, dt)
    moved = [s[0] + dx, s[1], s[2] + dz, mvx, mvz, max_, maz, wrap_angle(heading), turning, goal]

    wish = state["wish"]
    wx, wz = vx - wish.at(0), vz - wish.at(1)
    changed = (wx * wx + wz * wz > search.velocity_change**2) | (
        wrap_angle(goal - wish.at(2)).abs() > search.facing_change
    )
    speed, asked = hypot(root.at(4), root.at(5)), hypot(vx, vz)
    disobeyed = ((asked < 0.1) & (speed > 0.25)) | ((asked > 0.25) & (speed < 0.1))
    rests = (asked < 0.1) & (speed < search.rest_speed) & (wrap_angle(goal - root.at(3)).abs() < 0.35)
    impatience = g.where(disobeyed & ~changed, state["impatience"] + dt, 0.0)
    eager = impatience > search.patience + HAIR
    timer = g.greater_of(state["timer"] - dt, 0.0)
    restless = ~rests if asks is None else (~rests | asks)
    due = (timer <= 1e-6) & restless
    seeks = changed | eager | due
    never = asked < 0.0
    if leave is not None:
        seeks = seeks | leave
    if bound is not None:
        free = ~bound if leave is None else (~bound | leave)
        seeks = seeks & free
        impatience = g.where(free, impatience, 0.0)
        eager = eager & free
    new_wish = g.where(seeks.wide(-1), g.stack(vx, vz, goal), wish)
    query = _query(g, s, root, vx, vz, goal, yv, yr, pose_features, schema)
    return PlanStep(
        timer=g.where(seeks, search.interval, timer),
        impatience=g.where(seeks & eager, 0.0, impatience),
        due=seeks,
        eager=seeks & eager,
        leave=never if leave is None else leave,
        wish=new_wish,
        moved=moved,
        query=query,
    )


def _query(
    g: Graph, s: list[Value], root: Value, vx: Value, vz: Value, goal: Value, yv: float, yr: float, features: Value,
    schema: FeatureSchema,
) -> Value:  # fmt: skip
    """The raw query: the pose's features, and the trajectory's from the prediction."""
    layout = query_layout(schema)
    times = layout.times.astype(np.float32)[None]
    column = [value.wide(-1) for value in s]
    dx, vel_x, _ = spring_velocity(column[3], column[5], vx.wide(-1), yv, times)
    dz, vel_z, _ = spring_velocity(column[4], column[6], vz.wide(-1), yv, times)
    heading, _ = spring_heading(column[7], column[8], goal.wide(-1), yr, times)
    off_x, off_z = (s[0] - root.at(0)).wide(-1), (s[2] - root.at(2)).wide(-1)
    sine, cosine = root.at(3).sin().wide(-1), root.at(3).cos().wide(-1)
    pairs = [(off_x + dx, off_z + dz), (heading.sin(), heading.cos()), (vel_x, vel_z)]
    # Six numbers a time: position, direction and velocity in the root's axes, left and ahead; and a height of nothing.
    known = [part for x, z in pairs for part in (cosine * x - sine * z, sine * x + cosine * z)]
    everything = g.join(features, *known, known[0] * 0.0, axis=1)
    width, count = schema.dimension_count, len(layout.times)
    block = {0: 0, 1: 1, 2: 2, 3: 3, 4: 6, 5: 4, 6: 5}
    places = np.arange(width)
    for dimension, k, component in layout.slots:
        places[dimension] = width + block[int(component)] * count + k
    return everything.pick(places, 1)


def follow(
    graph: Graph, way: tuple[Value, Value, Value], root: Value, moved: list[Value], settings: ControlSettings, dt: Value
) -> tuple[Value, Value, Value, list[Value]]:
    """Move the root by the animation's way (left, ahead, turn), draw it to the simulation object, clamp the two.

    Returns:
        The root after the step ``[N, 6]``; velocity ``[N, 3]`` and angular velocity ``[N, 3]`` of joint 0; columns of
        the simulation object.
    """
    g, own = graph, settings.simulation
    left, ahead, turn = way
    ratio, give = own.adjustment_ratio, own.clamping_yield
    sine, cosine = root.at(3).sin(), root.at(3).cos()
    step_x, step_z = cosine * left + sine * ahead, cosine * ahead - sine * left
    dx, dz = moved[0] - root.at(0) - step_x, moved[2] - root.at(2) - step_z
    distance = hypot(dx, dz)
    apart = distance > 1e-9
    safe = g.where(apart, distance, 1.0)
    wanted = g.lesser_of(damping(dt, own.adjustment_position_half_life) * distance, hypot(left, ahead) * ratio)
    excess = g.greater_of(distance - wanted - own.clamping_distance, 0.0)
    wanted = g.where(apart, wanted + (1.0 - give) * excess, 0.0)
    give_way = g.where(apart, give * excess, 0.0)
    step_x, step_z = step_x + dx / safe * wanted, step_z + dz / safe * wanted
    sim = list(moved)
    sim[0], sim[2] = moved[0] - dx / safe * give_way, moved[2] - dz / safe * give_way

    old = root.at(3)
    difference = wrap_angle(moved[7] - (old + turn))
    side = g.where(difference >= 0.0, 1.0, -1.0)
    angle = difference.abs()
    turned = g.lesser_of(damping(dt, own.adjustment_rotation_half_life) * angle, turn.abs() * ratio)
    excess = g.greater_of(angle - turned - own.clamping_angle, 0.0)
    turned = turned + (1.0 - give) * excess
    sim[7] = wrap_angle(moved[7] - side * give * excess)
    whole_turn = turn + side * turned

    part = 1.0 - (dt * (-1.0 / 0.1)).exp()
    vx, vz = step_x / dt, step_z / dt
    smooth_x = root.at(4) + part * (vx - root.at(4))
    smooth_z = root.at(5) + part * (vz - root.at(5))
    after = g.stack(
        root.at(0) + step_x, root.at(1), root.at(2) + step_z, wrap_angle(old + whole_turn), smooth_x, smooth_z
    )
    zero = vx * 0.0
    return after, g.stack(vx, zero, vz), g.stack(zero, wrap_angle(whole_turn) / dt, zero), sim

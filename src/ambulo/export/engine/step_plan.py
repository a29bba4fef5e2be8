"""The first half of a step as a graph: springs, prediction, who searches, the raw query.

As :mod:`ambulo.control.query_kernels` and :mod:`ambulo.control.simulation_kernels`, for all characters at once. Where a
kernel compares sums of double precision with a limit that they just meet at 60 steps a second, the limit here is moved
by a little, so that sums of single precision fall on the same side.

Single numbers are columns ``[N, 1]``. A spring's answer is linear in where it begins, so one small matrix, most of it
constant, gives the simulation object after the step and all predictions at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.control.query_layout import query_layout
from ambulo.control.settings import ControlSettings
from ambulo.export.engine.graph import Graph, Value
from ambulo.export.engine.graph_maths import atan2, damping, spring_exponent, wrap_angle
from ambulo.export.engine.slots import Slot, Slots
from ambulo.matching.schema import FeatureSchema

HAIR = 1e-4
"""Seconds by which limits are moved, see above."""

ANGLE_LAST = np.array([0.0, 0.0, 2.0 * np.pi])
"""For :func:`wrap_angle` of x, z and a heading side by side."""

_PLACE = np.array([[1, 0], [1, 0], [0, 1]], np.float32)

PLAN_SLOTS = Slots(
    (
        Slot("timer", (), "seconds until the next search"),
        Slot("wish", (3,), "desired velocity x, z (m/s) and heading (rad) of the last search"),
        Slot("impatience", (), "seconds for which the body has not done what it is asked"),
        Slot("root_place", (3,), "of the body: x, z (m), heading about +Y (rad)"),
        Slot("root_height", (), "its y (m)"),
        Slot("root_velocity", (2,), "its velocity x, z (m/s), smoothed"),
        Slot("simulation_place", (3,), "of the simulation object: x, z (m), heading (rad)"),
        Slot("simulation_height", (), "its y (m)"),
        Slot("simulation_motion", (2, 2), "its velocity x, z (m/s), and its acceleration x, z (m/s2)"),
        Slot("simulation_turning", (), "how fast it turns (rad/s)"),
        Slot("simulation_goal", (), "heading to which it turns (rad)"),
    )
)


@dataclass(frozen=True)
class PlanStep:
    """What the first half finds out, columns unless said.

    Attributes:
        timer, impatience: as they are after the step where nothing is searched for.
        due, eager: bool.
        wish: ``[N, 3]``, after the step.
        place: ``[N, 3]``, x, z and heading of the simulation object after the step.
        slots: all else of the simulation object after the step.
        query: raw ``[N, D]``; what the pose's features are, they remain.
    """

    timer: Value
    impatience: Value
    due: Value
    eager: Value
    wish: Value
    place: Value
    slots: dict[str, Value]
    query: Value


def desired_heading(velocity: Value, facing: Value, last: Value) -> tuple[Value, Value, Value]:
    """The heading that is asked for: the facing, else where the velocity goes, else what it was; and the velocity on
    the ground ``[N, 2]`` with its size."""
    g = velocity.graph
    points = g.join(facing, velocity, axis=1).reshape(0, 2, 3).pick(np.array([0, 2]), 2)
    sizes = points.norm().reshape(0, 2)
    clear = (sizes > np.array([[1e-4, 0.1]])).split(1, 1)
    angles = atan2(points.at(0), points.at(1), sizes).split(1, 1)
    heading = g.where(clear[0], angles[0], g.where(clear[1], angles[1], last))
    return heading, points.at(1, 1), sizes.part(1, 2)


def _spring_terms(y: float, t: NDArray[np.float64]) -> NDArray[np.float64]:
    """How way, speed and change of speed after ``t [K]`` follow from speed, its change and the goal: ``[3, K, 3]``."""
    e = np.exp(-y * t)
    of_gap, of_change = (
        np.stack([(1 - e) / y, e, -e * y]),
        np.stack([(1 - e) / y**2 - e * t / y, e * t, e * (1 - y * t)]),
    )
    goal = np.stack([t, np.ones_like(t), np.zeros_like(t)])
    return np.stack([of_gap + y * of_change, of_change, goal - of_gap - y * of_change], axis=-1)


class _Springs:
    """Matrices of the two springs of the simulation object: for ``dt``, and for the times of the prediction."""

    def __init__(self, dt: Value, velocity: float, rotation: float, times: NDArray[np.float64]) -> None:
        g, count = dt.graph, len(times)
        yv, yr = spring_exponent(velocity), spring_exponent(rotation)
        e = (dt * np.array([-yv, -yr])).exp()
        # What the terms of _spring_terms are made of: 1 - e apart, so that what nearly cancels is small from the start.
        basis = g.join(1.0 - e, e, e * dt, dt, np.ones(1))
        gone_v, _, e_v, e_r, edt_v, edt_r, way, one = np.eye(8)
        of_gap = [gone_v / yv, e_v, -yv * e_v]
        of_change = [gone_v / yv**2 - edt_v / yv, edt_v, e_v - yv * edt_v]
        goal = [way, one, 0.0 * one]
        rows = [
            term for a, b, c in zip(of_gap, of_change, goal, strict=True) for term in (a + yv * b, b, c - a - yv * b)
        ]
        # Heading less its goal and turning: what is left of the one, and the other.
        rows += [e_r + yr * edt_r, -(yr**2) * edt_r, edt_r, e_r - yr * edt_r]
        step = basis.dot(np.array(rows).T).split(9, 4, axis=0)
        later = _spring_terms(yv, times)[:2].reshape(2 * count, 3)
        self.velocity = g.join(step[0].reshape(3, 3), later, axis=0)
        """``[3 + 2 K, 3]`` of velocity, acceleration, goal: way, velocity, acceleration; ways and velocities later."""
        ahead = np.exp(-yr * times)
        self.heading = g.join(step[1].reshape(2, 2), np.stack([ahead * (1 + yr * times), ahead * times]), axis=1)
        """``[2, 2 + K]`` of heading less goal, and turning: the same after the step; and headings later."""


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
        pose_features: ``[N, D]`` of the moment that is shown.
        schema: D dimensions.
        settings: of the controller.
        leave: bool, the clip ends; None for never.
        asks: bool, something else is asked than before; None for never.
        bound: bool, must not search; None for never.
    """
    g, own, search = graph, settings.simulation, settings.search
    goal, asked_velocity, asked = desired_heading(velocity, facing, state["simulation_goal"])
    layout = query_layout(schema)
    count = len(layout.times)
    springs = _Springs(dt, own.velocity_half_life, own.rotation_half_life, layout.times)

    # How far the goal is from headings: of the simulation object, of the last wish, of the body.
    here, heading = state["simulation_place"].split(2, 1)
    root_here, root_heading = state["root_place"].split(2, 1)
    wish, wish_heading = state["wish"].split(2, 1)
    gaps = wrap_angle(g.join(heading, wish_heading, root_heading, axis=1) - goal)
    gap, from_wish, from_body = gaps.split(1, 1, 1)

    begins = g.join(state["simulation_motion"], asked_velocity.wide(1), axis=1)
    way, motion, later_ways, later_velocities = springs.velocity.dot(begins).split(1, 2, count, count)
    turned = g.join(gap, state["simulation_turning"], axis=1).dot(springs.heading) + (heading - gap) * np.concatenate(
        [[1.0, 0.0], np.ones(count)]
    )
    heading_after, turning, headings = turned.split(1, 1, count)
    moved = g.join(here + way.reshape(0, 2), heading_after, axis=1)

    changed = ((asked_velocity - wish).norm() > search.velocity_change) | (from_wish.abs() > search.facing_change)
    speed = state["root_velocity"].norm()
    rests = asked < 0.1
    disobeyed = (rests & (speed > 0.25)) | ((asked > 0.25) & (speed < 0.1))
    at_rest = rests & (speed < search.rest_speed) & (from_body.abs() < 0.35)
    impatience = g.where(disobeyed & ~changed, state["impatience"] + dt, 0.0)
    eager = impatience > search.patience + HAIR
    timer = g.greater_of(state["timer"] - dt, 0.0)
    restless = ~at_rest if asks is None else (~at_rest | asks)
    seeks = changed | eager | ((timer <= 1e-6) & restless)
    if leave is not None:
        seeks = seeks | leave
    if bound is not None:
        free = ~bound if leave is None else (~bound | leave)
        seeks = seeks & free
        impatience = g.where(free, impatience, 0.0)
        eager = eager & free
    points = g.join(later_ways + (here - root_here).wide(1), later_velocities, axis=1)
    seen = _seen(g, root_heading, points, headings, pose_features, schema)
    return PlanStep(
        timer=g.where(seeks, search.interval, timer),
        impatience=g.where(eager, 0.0, impatience),  # who is eager searches
        due=seeks,
        eager=eager,
        wish=g.where(seeks, g.join(asked_velocity, goal, axis=1), state["wish"]),
        place=moved,
        slots={
            "simulation_height": state["simulation_height"],
            "simulation_motion": motion,
            "simulation_turning": turning,
            "simulation_goal": goal,
        },
        query=seen,
    )


def root_axes(g: Graph, heading: Value, back: bool = False) -> Value:
    """``[N, 2, 2]``: by it rows x, z in the world's axes are such in the root's, left and ahead; or the way back."""
    both = g.join(heading.sin(), heading.cos(), axis=1)
    side = -1.0 if back else 1.0
    return both.dot(np.array([[0, side, -side, 0], [1, 0, 0, 1]], np.float32)).reshape(0, 2, 2)


def _seen(g: Graph, heading: Value, points: Value, headings: Value, features: Value, schema: FeatureSchema) -> Value:
    """The raw query: the pose's features, and the trajectory's from the prediction: ways from the root and velocities
    ``[N, 2 K, 2]`` and headings ``[N, K]`` in the world, of a body with that heading."""
    layout = query_layout(schema)
    # Left and ahead, number by number: of all times the positions, then the velocities; then directions.
    known = points.dot(root_axes(g, heading)).reshape(0, 4 * len(layout.times))
    aside = headings - heading
    everything = g.join(features, known, aside.sin(), aside.cos(), np.zeros((g.count, 1)), axis=1)
    width, count = schema.dimension_count, len(layout.times)
    first = {0: 0, 1: 1, 5: 2 * count, 6: 2 * count + 1, 2: 4 * count, 3: 5 * count, 4: 6 * count}
    stride = {0: 2, 1: 2, 5: 2, 6: 2, 2: 1, 3: 1, 4: 0}  # there is no height: nothing
    places = np.arange(width)
    for dimension, k, component in layout.slots:
        places[dimension] = width + first[int(component)] + stride[int(component)] * k
    return everything.pick(places, 1)


@dataclass(frozen=True)
class Followed:
    """The root after the step: place ``[N, 3]``, velocity and turning as rows of joint 0 ``[N, 1, 3]``, and slots."""

    position: Value
    heading: Value
    velocity: Value
    turning: Value
    slots: dict[str, Value]


def follow(
    graph: Graph, way: Value, state: dict[str, Value], plan: PlanStep, settings: ControlSettings, dt: Value
) -> Followed:
    """Move the root by the animation's way, draw it to the simulation object, clamp the two.

    Args:
        graph: that is written.
        way: ``[N, 3]``, left, ahead, turn.
        state: the slots.
        plan: of this step.
        settings: of the controller.
        dt: seconds, ``[1]``.
    """
    g, own = graph, settings.simulation
    ratio, give = own.adjustment_ratio, own.clamping_yield
    root, height = state["root_place"], state["root_height"]
    gone = way.part(0, 2).wide(1).dot(root_axes(g, root.part(2, 3), back=True)).reshape(0, 2)
    step = g.join(gone, way.part(2, 3), axis=1)
    # Distance on the ground beside distance of headings: the same rule for both.
    apart = wrap_angle(plan.place - root - step, ANGLE_LAST)
    far, long = ((v * v).dot(_PLACE).sqrt() for v in (apart, step))
    parts = damping(
        dt, (own.adjustment_position_half_life, own.adjustment_rotation_half_life, np.log(2.0) * 0.1 - 1e-5)
    ).split(2, 1, axis=0)
    wanted = g.lesser_of(parts[0] * far, long * ratio)
    excess = g.greater_of(far - wanted - np.array([own.clamping_distance, own.clamping_angle]), 0.0)
    nearer = apart / g.greater_of(far, 1e-9).pick(np.array([0, 0, 1]), 1)
    drawn = wanted if give == 1.0 else wanted + (1.0 - give) * excess
    step = step + nearer * drawn.pick(np.array([0, 0, 1]), 1)
    place = plan.place if give == 0.0 else plan.place - nearer * (give * excess).pick(np.array([0, 0, 1]), 1)

    rate = wrap_angle(step, ANGLE_LAST) / dt
    was = state["root_velocity"]
    rows = rate.dot(np.eye(6)[[0, 2, 4]]).reshape(0, 2, 3)
    velocity, turning = rows.split(1, 1)
    after = wrap_angle(root + step, ANGLE_LAST)
    slots = {
        **plan.slots,
        "timer": plan.timer,
        "wish": plan.wish,
        "impatience": plan.impatience,
        "root_place": after,
        "root_height": height,
        "root_velocity": was + parts[1] * (rate.part(0, 2) - was),
        "simulation_place": wrap_angle(place, ANGLE_LAST),
    }
    position = g.join(after, height, axis=1).pick(np.array([0, 3, 1]), 1)
    return Followed(position, after.part(2, 3), velocity, turning, slots)

"""Motion matching as a graph: exact search by a matrix product, with the database inside.

As :mod:`ambulo.control.motion_matching`. The product ``weights * |x - q|^2`` is rounded, so the best few dozen by it
are compared again number by number; the lower frame wins on equality, as everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.control.frame_sets import FrameSet
from ambulo.control.memory import SLOTS
from ambulo.control.motion_matching import MotionMatching
from ambulo.control.sampling_kernels import heading_of
from ambulo.errors import ControlError
from ambulo.export.engine.graph import Graph, Value
from ambulo.export.engine.graph_maths import heading_quaternion, quat_normalize, wrap_angle
from ambulo.export.engine.slots import Slot, Slots, merge
from ambulo.export.engine.step_learned import Advanced
from ambulo.export.engine.step_plan import HAIR, PLAN_SLOTS, follow, plan_step
from ambulo.export.engine.step_smooth import Joints

MOST_FRAMES = 100_000
"""Frames that a graph holds at most."""

LONG_AGO = 1e6
"""Seconds that stand for never."""

_SECOND_LOOK = 48
_CLOSED = 1e30

MATCHING_SLOTS = merge(
    [
        Slots(
            (
                Slot("frame", (), "database frame that is shown, a whole number"),
                Slot("fraction", (), "part of the way to the next one, 0 to 1"),
                Slot("tag_set", (), "which tag set was last searched"),
                Slot("landed", (), "the frame at which what is played began"),
                Slot("left", (SLOTS, 2), "ranges of frames that were left lately, the newest first"),
                Slot("left_ages", (SLOTS,), "seconds since then"),
            )
        ),
        PLAN_SLOTS,
    ]
)


@dataclass(frozen=True)
class Matching:
    """A controller and the tag sets that its graph can be asked for."""

    controller: MotionMatching
    sets: tuple[FrameSet, ...]

    @classmethod
    def of(cls, controller: MotionMatching, tag_sets: Sequence[tuple[str, ...]]) -> Matching:
        """Refuses what a graph cannot hold.

        Raises:
            ControlError: too many frames.
            QueryError: a tag is unknown, or no frame carries it.
        """
        frames = controller.database.frame_count
        if frames > MOST_FRAMES:
            raise ControlError(
                f"the database has {frames} frames; a graph holds {MOST_FRAMES} at most",
                key="frames",
                remedy="export learned motion matching (--controller lmm), or build with fewer takes",
            )
        return cls(controller, tuple(controller.frame_sets.of(tags, ()) for tags in tag_sets))


def matching_step(
    graph: Graph, matching: Matching, state: dict[str, Value], velocity: Value, facing: Value, tag_set: Value | None,
    dt: Value,
) -> Advanced:  # fmt: skip
    """One step, without its wrappers. ``tag_set`` is float ``[N]``, a place in the sets; None where there is one."""
    g, controller = graph, matching.controller
    settings, database, schema = controller.settings, controller.database, controller.schema
    search, last_frame = settings.search, float(database.frame_count - 1)
    frame, fraction = state["frame"], state["fraction"]
    chosen = frame * 0.0 if tag_set is None else tag_set
    tables = _Tables(g, matching)
    frame_step = dt * float(database.rate)

    stop_here = tables.of_set("run_stops", chosen, frame)
    leave = (frame - (stop_here - 1.0)) + fraction + frame_step > 1e-5
    features = tables.blend("features", frame, fraction, frame < stop_here - 1.0)
    asks = None if tag_set is None else ~chosen.equals(state["tag_set"])
    bound = None if database.transition_ok.all() else tables.rows("transition_ok", frame) < 0.5
    plan = plan_step(g, state, velocity, facing, dt, features, schema, settings, leave=leave, asks=asks, bound=bound)
    # The nearest frame to the playhead goes on, unless its clip ends.
    continuing = g.where(leave, -1.0, frame + (fraction + 0.5).floor())
    best, found_any, limit_open = _search(g, matching, tables, plan.query, plan.eager, continuing, chosen, state)
    jumps = plan.due & found_any & limit_open
    start = g.where(jumps, best, frame)
    fraction = g.where(jumps, 0.0, fraction)

    run_stop = tables.of_set("run_stops", chosen, start)
    total = fraction + frame_step
    nearest = (total + 0.5).floor()
    total = g.where((total - nearest).abs() < 1e-5, nearest, total)
    frame_after, fraction_after = start + total.floor(), total - total.floor()
    over = frame_after >= run_stop - 1.0
    frame_after, fraction_after = g.where(over, run_stop - 1.0, frame_after), g.where(over, 0.0, fraction_after)

    way = _way(g, tables, start, fraction, frame_after, fraction_after)
    root, root_velocity, root_turning, simulation = follow(g, way, state["root"], plan.moved, settings, dt)
    joints = _joints(g, tables, frame_after, fraction_after, root, root_velocity, root_turning)
    shown = g.lesser_of(frame_after + (fraction_after + 0.5).floor(), last_frame)
    contacts = tables.rows("contacts", shown)

    played = frame - state["landed"]
    brief = jumps & (played >= 0.0) & (played < float(controller._brief_frames))
    hasty = brief & (state["left_ages"].at(0) < 0.5 + HAIR)
    timer = g.where(hasty, g.greater_of(plan.timer, search.dwell), plan.timer)
    margin = float(controller._margin_frames)
    ages = state["left_ages"] + dt
    newest = g.stack(state["landed"] - margin, frame + margin + 1.0).wide(1)
    shifted = g.join(newest, state["left"].part(0, SLOTS - 1, 1), axis=1)
    shifted_ages = g.join((frame * 0.0).wide(1), ages.part(0, SLOTS - 1, 1), axis=1)
    slots = {
        "frame": frame_after, "fraction": fraction_after,
        "tag_set": g.where(plan.due, chosen, state["tag_set"]),
        "landed": g.where(jumps, start, state["landed"]),
        "left": g.where(brief.wide(1, 2), shifted, state["left"]),
        "left_ages": g.lesser_of(g.where(brief.wide(1), shifted_ages, ages), LONG_AGO),
        "timer": timer, "wish": plan.wish, "impatience": plan.impatience, "root": root,
        "simulation": g.stack(*simulation),
    }  # fmt: skip
    return Advanced(joints, jumps, contacts, slots)


class _Tables:
    """The database inside the graph: arrays ``[F, ...]`` as constants, read by rows."""

    def __init__(self, graph: Graph, matching: Matching) -> None:
        controller = matching.controller
        database = controller.database
        self.graph, self.frame_count = graph, database.frame_count
        rotations = np.asarray(database.rotations, np.float64)
        headings = np.array([heading_of(*row) for row in rotations[:, 0]])
        positions = np.asarray(database.positions)
        # One row a frame, so that one Gather reads a pose: positions, rotations, velocities of joints 1 to J-1.
        names = ("positions", "rotations", "velocities", "angular_velocities")
        poses = np.concatenate([np.asarray(getattr(database, name))[:, 1:] for name in names], axis=2)
        self.arrays: dict[str, NDArray[Any]] = {
            "poses": poses.astype(np.float32),
            "root": np.column_stack([positions[:, 0, 0], positions[:, 0, 2], headings]).astype(np.float32),
            "contacts": (np.asarray(database.contacts) != 0).astype(np.float32),
            "transition_ok": np.asarray(database.transition_ok).astype(np.float32),
            "features": np.asarray(controller.features, np.float32),
        }
        index = controller.index
        of_sets: dict[str, list[NDArray[Any]]] = {"run_stops": [], "candidates": [], "allowed": [], "penalty": []}
        for one in matching.sets:
            mask = index.whole if one.mask is None else one.mask
            candidates = np.zeros(self.frame_count, np.float32)
            candidates[mask.frames] = 1.0
            penalty = mask.penalty if len(mask.penalty) else np.zeros(self.frame_count)
            of_sets["run_stops"].append(one.run_stops)
            of_sets["candidates"].append(candidates)
            of_sets["allowed"].append(np.asarray(mask.allowed) != 0)
            of_sets["penalty"].append(penalty)
        self.sets = {name: np.stack(rows).astype(np.float32) for name, rows in of_sets.items()}

    def rows(self, name: str, frame: Value) -> Value:
        """Rows of a table by float frames of any shape."""
        return self.graph.constant(self.arrays[name]).rows(frame)

    def of_set(self, name: str, chosen: Value, frame: Value) -> Value:
        """Numbers ``[N]`` of each character's tag set at its frame."""
        table = self.sets[name]
        flat = self.graph.constant(table.reshape(-1))
        return flat.rows(frame if len(table) == 1 else chosen * float(self.frame_count) + frame)

    def whole_set(self, name: str, chosen: Value) -> Value:
        """Numbers ``[N, F]`` of each character's tag set, or ``[1, F]`` where there is but one."""
        table = self.graph.constant(self.sets[name])
        return table if len(self.sets[name]) == 1 else table.rows(chosen)

    def blend(self, name: str, frame: Value, fraction: Value, inside: Value) -> Value:
        """Rows between two frames; at the frame itself where the next is not of the clip."""
        g = self.graph
        part = g.where(inside, fraction, 0.0).wide(-1)
        later = self.rows(name, g.lesser_of(frame + 1.0, float(self.frame_count - 1)))
        return (1.0 - part) * self.rows(name, frame) + part * later


def _search(
    g: Graph, matching: Matching, tables: _Tables, query: Value, eager: Value, continuing: Value, chosen: Value,
    state: dict[str, Value],
) -> tuple[Value, Value, Value]:  # fmt: skip
    """The best candidate ``[N]`` of each query; whether there is one; whether it beats going on."""
    controller = matching.controller
    schema, features, search = controller.schema, controller.index.feature_set, controller.settings.search
    usual = controller.frame_search.weights_for(False, ())
    scale = np.asarray(features.scale, np.float64)
    mean = np.asarray(features.mean, np.float64)
    both = [
        (schema.weights if weights is None else weights).astype(np.float64)[schema.group_of_dimension]
        for weights in (usual, controller.frame_search.weights_for(True, ()))
    ]
    weights = g.where(eager.wide(-1), (both[1] ** 2).astype(np.float32), (both[0] ** 2).astype(np.float32))
    rows = ((np.asarray(features.raw, np.float64) - mean) / scale).astype(np.float32)
    normal = (query - mean.astype(np.float32)) / scale.astype(np.float32)
    asked = g.join(weights, normal * weights * -2.0, axis=1)
    penalty = matching.sets and bool(tables.sets["penalty"].any())
    scores = asked.dot(np.ascontiguousarray(np.concatenate([rows**2, rows], axis=1).T))
    if penalty:
        scores = scores + tables.whole_set("penalty", chosen)

    every = np.arange(tables.frame_count, dtype=np.float32)[None]
    goes_on = (continuing >= 0.0) & (tables.of_set("allowed", chosen, g.greater_of(continuing, 0.0)) > 0.5)
    clips = np.repeat(np.arange(len(controller.database.clips)), [c.stop - c.start for c in controller.database.clips])
    bounds = np.column_stack([controller.database.clip_starts, controller.database.clip_stops])[clips].astype(
        np.float32
    )
    own = g.constant(bounds).rows(g.greater_of(continuing, 0.0))
    around = float(controller.frame_search.surround_frames)
    start = g.greater_of(continuing - around + 1.0, own.at(0)).wide(-1)
    stop = g.lesser_of(continuing + around, own.at(1)).wide(-1)
    allowed = (tables.whole_set("candidates", chosen) > 0.5) & ~(
        goes_on.wide(-1) & (g.constant(every) >= start) & (g.constant(every) < stop)
    )
    skipped: Value | None = None
    for k in range(SLOTS if search.memory > 0.0 else 0):
        pair, recent = state["left"].at(k, 1), state["left_ages"].at(k, 1) < search.memory - HAIR
        here = recent.wide(-1) & (g.constant(every) >= pair.at(0).wide(-1)) & (g.constant(every) < pair.at(1).wide(-1))
        skipped = here if skipped is None else skipped | here
    if skipped is not None:
        kept = allowed & ~skipped
        any_kept = kept.number().most(1, keep=True) > 0.5
        # Where there is nothing but what was just left, and the clip ends: better that than nothing.
        allowed = allowed & (~skipped | ~(any_kept | goes_on.wide(-1)))
    few = min(_SECOND_LOOK, tables.frame_count)
    closed = g.where(allowed, scores, _CLOSED)
    _, places = g.ops("TopK", 2, closed, np.array([few], np.int64), axis=1, largest=0, sorted=1)
    frames = places.number()

    def cost(at: Value, rank: int) -> Value:
        """Costs of frames ``[N, ...]``, number by number."""
        value = tables.rows("features", at)
        difference = (value - (query.wide(1) if rank == 2 else query)) / scale.astype(np.float32)
        weight = weights.wide(1) if rank == 2 else weights
        total = (difference * difference * weight).sum()
        if penalty:
            total = total + tables.of_set("penalty", chosen.wide(1) if rank == 2 else chosen, at)
        return total

    open_few = _at_places(g, allowed, places)
    costs = g.where(open_few, cost(frames, 2), _CLOSED)
    least = costs.least(1, keep=True)
    best = g.where(costs <= least, frames, float(tables.frame_count)).least(1)
    found = least.reshape(-1) < 0.5 * _CLOSED
    best = g.where(found, best, 0.0)
    limit = cost(g.greater_of(continuing, 0.0), 1) - g.where(eager, 0.0, search.bias)
    beats = ~goes_on | (least.reshape(-1) < limit)
    return best, found, beats


def _at_places(g: Graph, table: Value, places: Value) -> Value:
    """bool ``[N, K]``: numbers of each row ``[N, F]`` at its places."""
    return g.op("GatherElements", table.number(), places, axis=1) > 0.5


def _way(
    g: Graph, tables: _Tables, start: Value, start_part: Value, stop: Value, stop_part: Value
) -> tuple[Value, Value, Value]:
    """How far the root goes between two moments of one clip: left, ahead, and how far it turns."""
    first, last = _root_at(g, tables, start, start_part), _root_at(g, tables, stop, stop_part)
    dx, dz = last[0] - first[0], last[1] - first[1]
    sine, cosine = first[2].sin(), first[2].cos()
    return cosine * dx - sine * dz, sine * dx + cosine * dz, wrap_angle(last[2] - first[2])


def _root_at(g: Graph, tables: _Tables, frame: Value, part: Value) -> tuple[Value, Value, Value]:
    here = tables.rows("root", frame)
    later = tables.rows("root", g.lesser_of(frame + 1.0, float(tables.frame_count - 1)))
    # At a whole frame the next one may be of another clip.
    moves = part > 0.0
    x = here.at(0) + g.where(moves, part * (later.at(0) - here.at(0)), 0.0)
    z = here.at(1) + g.where(moves, part * (later.at(1) - here.at(1)), 0.0)
    return x, z, here.at(2) + g.where(moves, part * wrap_angle(later.at(2) - here.at(2)), 0.0)


def _joints(
    g: Graph, tables: _Tables, frame: Value, part: Value, root: Value, velocity: Value, turning: Value
) -> Joints:
    here = tables.rows("poses", frame)
    later = tables.rows("poses", g.lesser_of(frame + 1.0, float(tables.frame_count - 1)))
    a = part.wide(1, 2)
    q, q_later = here.part(3, 7), later.part(3, 7)
    sign = g.where((q * q_later).sum(-1, keep=True) >= 0.0, 1.0, -1.0)
    rotations = quat_normalize((1.0 - a) * q + a * sign * q_later)
    rest = (1.0 - a) * here + a * later

    def with_root(first: Value, others: Value) -> Value:
        return g.join(first.wide(1), others, axis=1)

    return Joints(
        with_root(root.part(0, 3), rest.part(0, 3)),
        with_root(heading_quaternion(root.at(3)), rotations),
        with_root(velocity, rest.part(7, 10)),
        with_root(turning, rest.part(10, 13)),
    )

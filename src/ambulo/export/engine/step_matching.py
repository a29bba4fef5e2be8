"""Motion matching as a graph: exact search by a matrix product, with the database inside.

As :mod:`ambulo.control.motion_matching`. The product ``weights * |x - q|^2`` is rounded, so the best by it are compared
again number by number; the lower frame wins on equality, as everywhere. All that excludes frames in a step is asked of
these alone: of the whole database nothing is computed but one product and its smallest.
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
from ambulo.export.engine.step_plan import ANGLE_LAST, HAIR, PLAN_SLOTS, Followed, follow, plan_step, root_axes
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
        return cls(controller, tuple(controller.frame_sets.of(*asked_tags(tags)) for tags in tag_sets))


def asked_tags(tags: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Required and preferred tags of a set; the latter are written with a ``+`` before them."""
    preferred = tuple(tag[1:].strip() for tag in tags if tag.startswith("+"))
    return tuple(tag for tag in tags if not tag.startswith("+")), preferred


def matching_step(
    graph: Graph, matching: Matching, state: dict[str, Value], velocity: Value, facing: Value, tag_set: Value | None,
    dt: Value,
) -> Advanced:  # fmt: skip
    """One step, without its wrappers. ``tag_set`` is float ``[N, 1]``, a place in the sets; None where there is one."""
    g, controller = graph, matching.controller
    settings, database, schema = controller.settings, controller.database, controller.schema
    search, last_frame = settings.search, float(database.frame_count - 1)
    frame, fraction = state["frame"], state["fraction"]
    chosen = state["tag_set"] if tag_set is None else tag_set
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
    followed = follow(g, way, state, plan, settings, dt)
    joints = _joints(g, tables, frame_after, fraction_after, followed)
    shown = g.lesser_of(frame_after + (fraction_after + 0.5).floor(), last_frame)
    contacts = tables.rows("contacts", shown)

    landed = state["landed"]
    played = frame - landed
    brief = jumps & (played >= 0.0) & (played < float(controller.planner.brief_frames))
    hasty = brief & (state["left_ages"].part(0, 1) < 0.5 + HAIR)
    margin = float(controller.planner.margin_frames)
    ages = state["left_ages"] + dt
    left = state["left"].reshape(0, 2 * SLOTS)
    shifted = g.join(landed - margin, frame + margin + 1.0, left.part(0, 2 * SLOTS - 2, 1), axis=1)
    shifted_ages = g.join(np.zeros((g.count, 1)), ages.part(0, SLOTS - 1, 1), axis=1)
    slots = {
        **followed.slots,
        "frame": frame_after,
        "fraction": fraction_after,
        "tag_set": g.where(plan.due, chosen, state["tag_set"]),
        "landed": g.where(jumps, start, landed),
        "left": g.where(brief, shifted, left),
        "left_ages": g.lesser_of(g.where(brief, shifted_ages, ages), LONG_AGO),
        "timer": g.where(hasty, g.greater_of(plan.timer, search.dwell), plan.timer),
    }
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
        """Rows ``[N, ...]`` of a table by frames ``[N, 1]``, or columns ``[N, 1]`` of one with a number a frame."""
        table = self.arrays[name]
        return self.graph.constant(table).rows(frame if table.ndim == 1 else frame.reshape(-1))

    def later_rows(self, name: str, frame: Value) -> Value:
        """The same of the frames after them, as far as there are any."""
        return self.rows(name, self.graph.lesser_of(frame + 1.0, float(self.frame_count - 1)))

    def of_set(self, name: str, chosen: Value, frame: Value) -> Value:
        """Numbers of each character's tag set at its frames ``[N, ...]``."""
        table = self.sets[name]
        flat = self.graph.constant(table.reshape(-1))
        return flat.rows(frame if len(table) == 1 else chosen * float(self.frame_count) + frame)

    def blend(self, name: str, frame: Value, fraction: Value, inside: Value) -> Value:
        """Rows between two frames; at the frame itself where the next is not of the clip."""
        g = self.graph
        here = self.rows(name, frame)
        return here + g.where(inside, fraction, 0.0) * (self.later_rows(name, frame) - here)


def _search(
    g: Graph, matching: Matching, tables: _Tables, query: Value, eager: Value, continuing: Value, chosen: Value,
    state: dict[str, Value],
) -> tuple[Value, Value, Value]:  # fmt: skip
    """The best candidate of each query; whether there is one; whether it beats going on."""
    controller = matching.controller
    schema, features, search = controller.schema, controller.index.feature_set, controller.settings.search
    usual = controller.frame_search.weights_for(False, ())
    scale = np.asarray(features.scale, np.float64)
    mean = np.asarray(features.mean, np.float64)
    both = [
        (schema.weights if weights is None else weights).astype(np.float64)[schema.group_of_dimension]
        for weights in (usual, controller.frame_search.weights_for(True, ()))
    ]
    weights = g.where(eager, (both[1] ** 2).astype(np.float32), (both[0] ** 2).astype(np.float32))
    rows = ((np.asarray(features.raw, np.float64) - mean) / scale).astype(np.float32)
    normal = (query - mean.astype(np.float32)) / scale.astype(np.float32)
    asked = g.join(weights, normal * weights * -2.0, axis=1)
    # What tag sets close and what they prefer are rows of the same product, by which set is asked for.
    sets = tables.sets["penalty"] + _CLOSED * (tables.sets["candidates"] < 0.5)
    which = np.ones((g.count, 1)) if len(sets) == 1 else chosen.equals(np.arange(len(sets), dtype=np.float32)).number()
    # Of |x - q|^2 the part of x alone is a row of each kind of search.
    squares = np.stack([rows.astype(np.float64) ** 2 @ kind**2 for kind in both])
    kind = g.where(eager, np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]]))
    asked = g.join(normal * weights * -2.0, kind, which, axis=1)
    scores = asked.dot(np.ascontiguousarray(np.concatenate([rows.T, squares, sets]).astype(np.float32)))

    at = g.greater_of(continuing, 0.0)
    goes_on = (continuing >= 0.0) & (tables.of_set("allowed", chosen, at) > 0.5)
    clips = np.repeat(np.arange(len(controller.database.clips)), [c.stop - c.start for c in controller.database.clips])
    around = controller.frame_search.surround_frames
    bounds = np.column_stack([controller.database.clip_starts, controller.database.clip_stops])[clips]
    tables.arrays["bounds"] = bounds.astype(np.float32)
    first, last = tables.rows("bounds", at).split(1, 1)
    start = g.greater_of(continuing - float(around) + 1.0, first)
    stop = g.where(goes_on, g.lesser_of(continuing + float(around), last), 0.0)
    # The best of all frames, so many that a few dozen are left whatever was lately left, or lies around the playhead.
    planner, remembers = controller.planner, search.memory > 0.0
    brief = planner.brief_frames + 2 * planner.margin_frames + 2
    few = min(_SECOND_LOOK + 2 * around + (SLOTS * brief if remembers else 0), tables.frame_count)
    values, places = g.ops("TopK", 2, scores, np.array([few], np.int64), axis=1, largest=0, sorted=1)
    frames = places.number()
    allowed = (values < 0.5 * _CLOSED) & ((frames < start) | (frames >= stop))
    if remembers:
        recent = (state["left_ages"] < search.memory - HAIR).wide(2)
        from_here, to_here = g.where(recent, state["left"], -1.0).split(1, 1, axis=2)
        each = frames.wide(1)
        skipped = ((each >= from_here) & (each < to_here)).number().most(1) > 0.5
        kept = allowed & ~skipped
        any_kept = kept.number().most(1, keep=True) > 0.5
        # Where there is nothing but what was just left, and the clip ends: better that than nothing.
        allowed = kept | (allowed & ~(any_kept | goes_on))

    few = min(_SECOND_LOOK, few)
    values, places = g.ops(
        "TopK", 2, g.where(allowed, values, _CLOSED), np.array([few], np.int64), axis=1, largest=0, sorted=1
    )
    frames = g.op("GatherElements", frames, places, axis=1)

    table = g.constant(tables.arrays["features"])
    far = (table.rows(frames) - query.wide(1)) / scale.astype(np.float32)
    costs = (far * far * weights.wide(1)).sum()
    near = (tables.rows("features", at) - query) / scale.astype(np.float32)
    going_on = (near * near * weights).sum(keep=True)
    if tables.sets["penalty"].any():
        costs = costs + tables.of_set("penalty", chosen, frames)
        going_on = going_on + tables.of_set("penalty", chosen, at)
    costs = g.where(values < 0.5 * _CLOSED, costs, _CLOSED)
    least = costs.least(1, keep=True)
    best = g.where(costs <= least, frames, float(tables.frame_count)).least(1, keep=True)
    found = least < 0.5 * _CLOSED
    best = g.where(found, best, 0.0)
    beats = ~goes_on | (least < going_on - g.where(eager, 0.0, search.bias))
    return best, found, beats


def _way(g: Graph, tables: _Tables, start: Value, start_part: Value, stop: Value, stop_part: Value) -> Value:
    """How far the root goes between two moments of one clip ``[N, 3]``: left, ahead, and how far it turns."""
    first, last = _root_at(g, tables, start, start_part), _root_at(g, tables, stop, stop_part)
    gone = wrap_angle(last - first, ANGLE_LAST)
    return g.join(gone.part(0, 2).wide(1).dot(root_axes(g, first.part(2, 3))).reshape(0, 2), gone.part(2, 3), axis=1)


def _root_at(g: Graph, tables: _Tables, frame: Value, part: Value) -> Value:
    """x, z and heading ``[N, 3]``."""
    here, later = tables.rows("root", frame), tables.later_rows("root", frame)
    # At a whole frame the next one may be of another clip.
    return here + g.where(part > 0.0, part * wrap_angle(later - here, ANGLE_LAST), 0.0)


def _joints(g: Graph, tables: _Tables, frame: Value, part: Value, root: Followed) -> Joints:
    here, later = tables.rows("poses", frame), tables.later_rows("poses", frame)
    a = part.wide(1)
    rest = here + a * (later - here)
    q, q_later = here.part(3, 7), later.part(3, 7)
    sign = g.where((q * q_later).sum(-1, keep=True) >= 0.0, 1.0, -1.0)
    rotations = quat_normalize(q + a * (sign * q_later - q))
    positions, _, velocities, turning = rest.split(3, 4, 3, 3, axis=2)
    return Joints(
        g.join(root.position.wide(1), positions, axis=1),
        g.join(heading_quaternion(root.heading).wide(1), rotations, axis=1),
        g.join(root.velocity, velocities, axis=1),
        g.join(root.turning, turning, axis=1),
    )

"""A recording that an exported graph must replay: inputs, and what our own controller answers to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.control.intent import Intent
from ambulo.control.scripts import random_sticks
from ambulo.errors import AmbuloError
from ambulo.export.engine.axes import Axes
from ambulo.export.engine.controller_graph import Stack
from ambulo.export.engine.step_matching import asked_tags
from ambulo.export.engine.verify import distance

FRAMES = 300
STEP = 1.0 / 60.0
TOLERANCE = 1e-4
"""Metres and parts of a unit quaternion."""

FEW, MANY_TOLERANCE = 4, 1e-3
"""Of more characters than that, one stands on a leg so straight, or an ankle so low, at some time that the angle of a
knee follows the root of what is rounded: they may be off by more."""

_SEEDS = 6
_TAGS_FOR = 60
_DISTINCT = 32


@dataclass(frozen=True)
class Golden:
    """A recording in the axes of a target.

    Attributes:
        arrays: ``state``, ``in_*`` and ``out_*``, the frame first.
        tolerances: by output.
        differences: of the graph from our controller, the largest a output.
        seed: of the sticks.
        tried: how many recordings were made until one had no frame in which two choices were as good as equal.
    """

    arrays: dict[str, NDArray[Any]]
    tolerances: dict[str, float]
    differences: dict[str, float]
    seed: int
    tried: int


def tolerances_of(axes: Axes, count: int = 1) -> dict[str, float]:
    """How far each output of so many characters may be off. A contact is 0 or 1."""
    angle = TOLERANCE if count <= FEW else MANY_TOLERANCE
    length = angle * axes.per_metre
    return {
        "root_position": length, "root_rotation": angle, "local_positions": length,
        "local_rotations": angle, "contacts": 0.5, "transitioned": 0.5,
    }  # fmt: skip


def record_golden(
    stack: Stack, model: bytes, start: bytes, count: int, axes: Axes, tag_sets: Sequence[tuple[str, ...]]
) -> Golden:
    """Record our own controller along random sticks, and see that the graph does the same.

    Where there are several tag sets every character goes through them, a second each, one beginning with the first.

    Where two frames cost the same up to rounding, double and single precision choose differently, and both are right;
    such a recording proves nothing and another one is made.

    Raises:
        AmbuloError: the graph agrees in none of them.
    """
    from ambulo.export.engine.running import session_of

    session, first = session_of(model), session_of(start)
    worst: dict[str, float] = {}
    limits = tolerances_of(axes, count)
    for seed in range(_SEEDS):
        arrays = _record(stack, first, count, axes, seed, tag_sets or ((),))
        worst = _compare(session, arrays, limits)
        if all(worst[name] <= limit for name, limit in limits.items()):
            return Golden(arrays, limits, worst, seed, seed + 1)
    raise AmbuloError(
        "the exported graph does not do what the controller does: "
        + ", ".join(f"{name} is {value:.3g} off" for name, value in worst.items()),
        key="golden",
        remedy="this is a fault of ambulo: please report it, with the project file",
    )


def _names(session: Any) -> list[str]:
    return [tensor.name for tensor in session.get_inputs()]


def _record(
    stack: Stack, first: Any, count: int, axes: Axes, seed: int, tag_sets: Sequence[tuple[str, ...]]
) -> dict[str, NDArray[Any]]:
    same = np.arange(count) % _DISTINCT  # of a large crowd several do the same
    places = np.zeros((count, 3), np.float32)
    places[:, 0], places[:, 2] = 1.5 * same, 0.25
    ahead = np.tile(np.array([0.5, 0.0, 0.8660254], np.float32), (count, 1))
    state = stack.whole.start(count, 0, places, ahead)
    began = {"position": axes.vectors(places), "facing": axes.vectors(ahead, scaled=False)}
    script = random_sticks(seed, FRAMES * STEP, count=min(count, _DISTINCT))
    rows: dict[str, list[Any]] = {}
    sets = [asked_tags(tags) for tags in tag_sets]
    for step in range(FRAMES):
        velocity = script.intent(step * STEP, places[:_DISTINCT], ahead[:_DISTINCT]).velocity[same]
        # Half of the time the body is asked to face aside of its way.
        facing = np.zeros_like(velocity)
        if step // 75 % 2:
            facing[:] = velocity @ np.array([[0.6, 0, -0.8], [0, 0, 0], [0.8, 0, 0.6]], np.float32)
        chosen = (step // _TAGS_FOR + np.arange(count)) % len(tag_sets)
        required, preferred = zip(*(sets[place] for place in chosen), strict=True)
        intent = Intent(velocity, facing, required_tags=required, preferred_tags=preferred)
        state, pose = stack.whole.step(state, intent, STEP)
        places = pose.root_position
        shown = {
            "in_velocity": axes.vectors(velocity),
            "in_facing": axes.vectors(facing, scaled=False),
            "in_dt": np.array([STEP], np.float32),
            "out_root_position": axes.vectors(pose.root_position),
            "out_root_rotation": axes.quaternions(pose.root_rotation),
            "out_local_positions": axes.vectors(pose.positions),
            "out_local_rotations": axes.quaternions(pose.rotations),
            "out_contacts": np.asarray(pose.contacts, np.float32),
            "out_transitioned": np.asarray(pose.transitioned, np.float32),
        }
        if len(tag_sets) > 1:
            shown["in_tag_set"] = chosen.astype(np.float32)
        for name, value in shown.items():
            rows.setdefault(name, []).append(np.asarray(value, np.float32))
    arrays: dict[str, NDArray[Any]] = {name: np.stack(values) for name, values in rows.items()}
    return {"state": first.run(None, began)[0], **began, **arrays}


def _compare(session: Any, arrays: dict[str, NDArray[Any]], limits: dict[str, float]) -> dict[str, float]:
    worst = dict.fromkeys(limits, 0.0)
    state, outputs = arrays["state"], [tensor.name for tensor in session.get_outputs()]
    given = [name for name in _names(session) if name != "state"]
    for step in range(FRAMES):
        found = session.run(None, {"state": state, **{name: arrays[f"in_{name}"][step] for name in given}})
        answer = dict(zip(outputs, found, strict=True))
        state = answer["state_next"]
        for name in worst:
            worst[name] = max(worst[name], distance(name, answer[name], arrays[f"out_{name}"][step]))
    return worst

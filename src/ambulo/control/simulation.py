"""Simulation: any controller along any script, as fast as it goes, into a recording."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import perf_counter
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from ambulo.control.controller import Controller
from ambulo.control.intent import Intent
from ambulo.control.pose import Pose
from ambulo.control.recording import Recording
from ambulo.control.scripts import Script
from ambulo.errors import ControlError
from ambulo.maths import quaternions

# Recording's name of each array of a pose.
_CHANNELS = {
    "root_positions": "root_position",
    "root_rotations": "root_rotation",
    "positions": "positions",
    "rotations": "rotations",
    "global_positions": "global_positions",
    "global_rotations": "global_rotations",
    "contacts": "contacts",
    "transitioned": "transitioned",
    "frames": "frames",
    "simulation_positions": "simulation_position",
    "simulation_rotations": "simulation_rotation",
    "trajectory_positions": "trajectory_positions",
    "trajectory_directions": "trajectory_directions",
    "levels": "levels",
}
_AHEAD = np.array([0.0, 0.0, 1.0], np.float32)


def simulate(
    controller: Controller,
    script: Script,
    seconds: float,
    rate: float = 60.0,
    count: int = 1,
    seed: int = 0,
    *,
    name: str = "",
    position: ArrayLike | None = None,
    facing: ArrayLike | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Recording:
    """Drive N characters by a script.

    Everything but ``step_seconds`` is the same for the same arguments.

    Args:
        controller: what answers.
        script: what asks; it is told where the characters were after the step before.
        seconds: how long.
        rate: steps a second; need not be the database's.
        count: number of characters.
        seed: for :meth:`Controller.start`.
        name: the controller's name in the recording; its class's name by default.
        position, facing: where the characters start, see :meth:`Controller.start`.
        progress: called with (steps done, steps) about once a simulated second.

    Raises:
        ControlError: nothing to do (no seconds, no rate), more than fits into half of this machine's memory, or what
            the controller and script raise.
    """
    if not (np.isfinite(rate) and rate > 0):
        raise ControlError(f"a rate of {rate} steps a second is not possible", key="rate", remedy="60 is usual")
    asked = float(seconds) * rate
    if not (np.isfinite(seconds) and asked > 0.5):
        raise ControlError(
            f"{seconds:g} seconds at {rate:g} steps a second are no step",
            key="seconds",
            remedy=f"give more than 0, at least {1.0 / rate:.3g} s for one step",
        )
    _check_size(asked, count, controller.skeleton.joint_count)
    steps = round(asked)
    state = controller.start(count, seed, position, facing)
    start = np.zeros((count, 3), np.float32) if position is None else np.asarray(position, np.float32)
    ahead = _AHEAD if facing is None else np.asarray(facing, np.float32)
    positions = np.array(np.broadcast_to(start, (count, 3)))
    facings = np.array(np.broadcast_to(ahead / np.linalg.norm(ahead, axis=-1, keepdims=True), (count, 3)))
    channels: dict[str, Any] = {}
    velocity, look = np.empty((steps, count, 3), np.float32), np.empty((steps, count, 3), np.float32)
    intents: list[Intent] = []
    step_seconds = np.empty(steps)
    every = max(round(rate), 1)
    for step in range(steps):
        intent = script.intent(step / rate, positions, facings)
        began = perf_counter()
        state, pose = controller.step(state, intent, 1.0 / rate)
        step_seconds[step] = perf_counter() - began
        if not channels:
            channels = _allocate(pose, steps)
        for channel, attribute in _CHANNELS.items():
            channels[channel][step] = getattr(pose, attribute)
        velocity[step], look[step] = intent.velocity, intent.facing
        intents.append(intent)
        positions = pose.root_position
        facings = quaternions.rotate(pose.root_rotation, _AHEAD).astype(np.float32)
        if progress is not None and (step + 1) % every == 0:
            progress(step + 1, steps)
    desired_path = getattr(script, "desired_path", None)
    return Recording(
        skeleton=controller.skeleton,
        rate=float(rate),
        controller=name or type(controller).__name__,
        script=script.name,
        desired_velocity=velocity,
        desired_facing=look,
        step_seconds=step_seconds,
        desired_path=None if desired_path is None else desired_path(),
        tags=tuple(cast("Any", intent.required_tags) for intent in intents),
        preferred_tags=tuple(intent.preferred_tags for intent in intents),
        numbers=tuple(intent.numbers for intent in intents),
        events=tuple(intent.events() for intent in intents),
        **channels,
    )


def _check_size(steps: float, count: int, joint_count: int) -> None:
    """Refuse a recording that would not fit, before minutes of work: what it holds a step, and a character's state."""
    size = count * (steps * (56.0 * joint_count + 200.0) + 200.0 * joint_count)
    limit = 0.5 * _memory()
    if size > limit:
        raise ControlError(
            f"a recording of {steps:.3g} steps of {count} characters takes {size / 1e9:.3g} GB, "
            f"more than half of this machine's memory ({limit / 1e9:.3g} GB)",
            key="seconds",
            remedy="simulate fewer seconds, fewer characters or fewer steps a second",
        )


def _memory() -> float:
    """Bytes of memory of this machine; 16 GiB where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return 16.0 * 2**30


def _allocate(pose: Pose, steps: int) -> dict[str, Any]:
    shapes = {channel: np.asarray(getattr(pose, attribute)) for channel, attribute in _CHANNELS.items()}
    return {channel: np.empty((steps, *array.shape), array.dtype) for channel, array in shapes.items()}

"""The whole step as one graph, and another one that makes the state it begins with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ambulo.control.above_ground import AboveGround
from ambulo.control.controller import Controller
from ambulo.control.foot_lock import FootLock
from ambulo.control.inertialization import Inertialize
from ambulo.control.motion_matching import MotionMatching
from ambulo.errors import ControlError
from ambulo.export.engine.axes import Axes
from ambulo.export.engine.graph import Graph
from ambulo.export.engine.graph_maths import atan2
from ambulo.export.engine.slots import Slots, merge
from ambulo.export.engine.step_feet import FEET_SLOTS, lock_feet
from ambulo.export.engine.step_learned import Advanced, learned_slots, learned_step
from ambulo.export.engine.step_matching import LONG_AGO, MATCHING_SLOTS, Matching, matching_step
from ambulo.export.engine.step_smooth import smooth, smooth_slots
from ambulo.learning.lmm_controller import LearnedMotionMatching

if TYPE_CHECKING:
    import onnx

Float = NDArray[np.float32]


@dataclass(frozen=True)
class Stack:
    """A stack of controllers, taken apart.

    Attributes:
        whole: what is exported, and what the graph must agree with.
        smooth: its inertialization.
        bare: what that wraps.
        matching: the frames of motion matching; None for a learned one.
    """

    whole: Controller
    smooth: Inertialize
    bare: Any
    matching: Matching | None

    @classmethod
    def of(cls, controller: Controller, tag_sets: Sequence[tuple[str, ...]] = ((),)) -> Stack:
        """Take a stack apart.

        Raises:
            ControlError: it is none that a graph can be.
        """
        if isinstance(controller, AboveGround):
            controller = controller.inner  # the lift of four-legged bodies is left to the engine's own ground
        inner = controller.inner if isinstance(controller, FootLock) else controller
        if isinstance(inner, Inertialize):
            if isinstance(inner.inner, LearnedMotionMatching):
                return cls(controller, inner, inner.inner, None)
            if isinstance(inner.inner, MotionMatching):
                return cls(controller, inner, inner.inner, Matching.of(inner.inner, tag_sets))
        raise ControlError(
            f"a {type(inner).__name__} cannot be a graph", key="controller", remedy="export `mm` or `lmm`"
        )

    @property
    def has_foot_lock(self) -> bool:
        """Whether feet are locked in it."""
        return isinstance(self.whole, FootLock)

    @property
    def slots(self) -> Slots:
        """What the state holds."""
        joints = len(self.smooth.skeleton.parents)
        own = MATCHING_SLOTS if self.matching is not None else learned_slots(self.bare.model)
        feet = [FEET_SLOTS] if self.has_foot_lock else []
        return merge([own, smooth_slots(joints), *feet])

    def pack(self, state: Any) -> Float:
        """A state of :attr:`whole` as the graph's, float32 ``[N, S]``."""
        values: dict[str, Any] = {}
        if self.has_foot_lock:
            values, state = _pack_feet(state), state.inner
        inner = state.inner
        values |= {name: getattr(inner, name) for name in ("timer", "wish", "impatience", "root", "simulation")}
        if self.matching is not None:
            count = len(inner.playhead)
            values |= {
                "frame": np.floor(inner.playhead),
                "fraction": inner.playhead - np.floor(inner.playhead),
                "tag_set": np.zeros(count),
                "landed": inner.memory.landed,
                "left": inner.memory.ranges,
                "left_ages": np.minimum(inner.memory.ages, LONG_AGO),
            }
        else:
            values |= {"values": inner.values, "since": inner.since}
        offsets = state.offsets
        values |= {
            "fresh": state.fresh,
            "shown_positions": state.positions,
            "shown_rotations": state.rotations,
            "shown_velocities": state.velocities,
            "shown_angular_velocities": state.angular_velocities,
            "offset_positions": offsets[..., 0:3],
            "offset_velocities": offsets[..., 3:6],
            "offset_turns": offsets[..., 6:9],
            "offset_turnings": offsets[..., 9:12],
        }
        return self.slots.pack_arrays(values)


def _pack_feet(state: Any) -> dict[str, Any]:
    """Slots of a foot lock's state; what is not yet known stands at its rest."""
    flags, values = state.flags, state.values
    names = ("point", "offset", "offset_velocity", "toe", "toe_velocity", "animated")
    rotations = np.array(state.leg_rotations)
    rotations[state.fresh, ..., 3] = 1.0
    return {
        "feet_locked": flags[..., 0],
        "feet_stepping": flags[..., 2],
        "feet_pending": flags[..., 3],
        **{f"feet_{name}": values[..., 3 * k : 3 * k + 3] for k, name in enumerate(names)},
        "feet_step_time": values[..., 18],
        "feet_drop": state.drops,
        "feet_rotations": rotations,
    }


def controller_model(stack: Stack, count: int, axes: Axes) -> tuple[onnx.ModelProto, list[str]]:
    """The graph of one step of N characters, and the kinds of operators in it.

    Inputs: ``state [N, S]``, ``velocity [N, 3]``, ``facing [N, 3]``, ``tag_set [N]`` where there are several, ``dt
    [1]``. Outputs: ``state_next``, ``root_position [N, 3]``, ``root_rotation [N, 4]``, ``local_positions [N, J, 3]``,
    ``local_rotations [N, J, 4]``, ``contacts [N, 2]``, ``transitioned [N]``.
    """
    g = Graph("controller")
    slots = stack.slots
    state = slots.unpack(g.input("state", (count, slots.size)))
    velocity = axes.in_vectors(g.input("velocity", (count, 3)))
    facing = axes.in_vectors(g.input("facing", (count, 3)), scaled=False)
    several = stack.matching is not None and len(stack.matching.sets) > 1
    tag_set = g.input("tag_set", (count,)) if several else None
    dt = g.input("dt", (1,))
    advanced: Advanced
    if stack.matching is not None:
        advanced = matching_step(g, stack.matching, state, velocity, facing, tag_set, dt)
    else:
        bare = stack.bare
        advanced = learned_step(g, bare.model, bare.settings, bare.own, state, velocity, facing, dt)
    shown, remembered = smooth(
        g, state, advanced.joints, advanced.transitioned, stack.smooth.settings.half_life, dt.reshape(1, 1, 1)
    )
    joints, contacts = len(stack.smooth.skeleton.parents), advanced.contacts
    if isinstance(stack.whole, FootLock):
        shown, contacts, feet = lock_feet(
            g, state, shown, advanced.joints, contacts, advanced.transitioned, stack.whole.geometry,
            stack.whole.settings, np.asarray(stack.whole.skeleton.parents, np.int32), dt,
        )  # fmt: skip
        remembered |= feet
    g.output("state_next", slots.pack(g, {**advanced.slots, **remembered}), (count, slots.size))
    positions, rotations = axes.out_vectors(shown.positions), axes.out_quaternions(shown.rotations)
    g.output("root_position", positions.at(0, 1), (count, 3))
    g.output("root_rotation", rotations.at(0, 1), (count, 4))
    g.output("local_positions", positions, (count, joints, 3))
    g.output("local_rotations", rotations, (count, joints, 4))
    g.output("contacts", contacts, (count, 2))
    g.output("transitioned", advanced.transitioned.number(), (count,))
    return g.model(), g.operators


def start_model(stack: Stack, count: int, axes: Axes, seed: int = 0) -> onnx.ModelProto:
    """The graph that makes the first state: ``position [N, 3]`` and ``facing [N, 3]`` to ``state [N, S]``."""
    g = Graph("start")
    slots = stack.slots
    rest = stack.pack(stack.whole.start(count, seed))
    state = slots.unpack(g.constant(rest))
    position = axes.in_vectors(g.input("position", (count, 3)))
    facing = axes.in_vectors(g.input("facing", (count, 3)), scaled=False)
    heading = atan2(facing.at(0), facing.at(2)).wide(-1)
    zeros = np.zeros((count, 1), np.float32)
    state["root"] = g.join(position, heading, np.zeros((count, 2), np.float32), axis=1)
    state["simulation"] = g.join(position, np.zeros((count, 4), np.float32), heading, zeros, heading, axis=1)
    state["wish"] = g.join(np.zeros((count, 2), np.float32), heading, axis=1)
    g.output("state", slots.pack(g, state), (count, slots.size))
    return g.model()

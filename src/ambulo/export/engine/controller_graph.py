"""The whole step as one graph, and another one that makes the state it begins with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ambulo.control.above_ground import AboveGround, GroundFeet
from ambulo.control.controller import Controller
from ambulo.control.foot_lock import FootLock
from ambulo.control.inertialization import Inertialize
from ambulo.control.motion_matching import MotionMatching
from ambulo.errors import ControlError
from ambulo.export.engine.axes import Axes
from ambulo.export.engine.graph import Graph
from ambulo.export.engine.graph_maths import atan2, forward_kinematics
from ambulo.export.engine.slots import Slots, merge
from ambulo.export.engine.step_feet import FEET_SLOTS, lock_feet
from ambulo.export.engine.step_inputs import finite, held_dt, held_facing, held_tag_set, held_velocity
from ambulo.export.engine.step_learned import Advanced, learned_slots, learned_step
from ambulo.export.engine.step_matching import LONG_AGO, MATCHING_SLOTS, Matching, matching_step
from ambulo.export.engine.step_smooth import Joints, smooth, smooth_slots
from ambulo.learning.lmm_controller import LearnedMotionMatching

if TYPE_CHECKING:
    import onnx

Float = NDArray[np.float32]


@dataclass(frozen=True)
class Stack:
    """A stack of controllers, taken apart.

    Attributes:
        whole: what is exported, and what the graph must agree with.
        ground: what keeps its feet above ground; None where a foot lock does.
        lock: its foot lock; None where there is none.
        smooth: its inertialization.
        bare: what that wraps.
        matching: the frames of motion matching; None for a learned one.
    """

    whole: Controller
    ground: AboveGround | None
    lock: FootLock | None
    smooth: Inertialize
    bare: Any
    matching: Matching | None

    @classmethod
    def of(cls, controller: Controller, tag_sets: Sequence[tuple[str, ...]] = ((),)) -> Stack:
        """Take a stack apart.

        Raises:
            ControlError: it is none that a graph can be.
        """
        ground = controller if isinstance(controller, AboveGround) else None
        inner = ground.inner if ground is not None else controller
        lock = inner if isinstance(inner, FootLock) else None
        inner = lock.inner if lock is not None else inner
        if isinstance(inner, Inertialize):
            bare = inner.inner
            if isinstance(bare, LearnedMotionMatching):
                return cls(controller, ground, lock, inner, bare, None)
            if isinstance(bare, MotionMatching):
                return cls(controller, ground, lock, inner, bare, Matching.of(bare, tag_sets))
        bare = getattr(inner, "inner", inner)
        raise ControlError(
            f"a {type(bare).__name__} cannot be a graph", key="controller", remedy="export `mm` or `lmm`"
        )

    @property
    def has_foot_lock(self) -> bool:
        """Whether feet are locked in it."""
        return self.lock is not None

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
        state = state.inner if self.ground is not None else state
        if self.lock is not None:
            values, state = _pack_feet(state), state.inner
        inner = state.inner
        root, simulation = inner.root, inner.simulation
        values |= {
            "timer": inner.timer,
            "wish": inner.wish,
            "impatience": inner.impatience,
            "root_place": root[:, [0, 2, 3]],
            "root_height": root[:, 1],
            "root_velocity": root[:, 4:6],
            "simulation_place": simulation[:, [0, 2, 7]],
            "simulation_height": simulation[:, 1],
            "simulation_motion": simulation[:, 3:7],
            "simulation_turning": simulation[:, 8],
            "simulation_goal": simulation[:, 9],
        }
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
            names = ("values", "since", "dragged", "toes")
            values |= {name: getattr(inner, name) for name in names}
        count, joints = state.offsets.shape[:2]
        values |= {
            "fresh": state.fresh,
            "shown_positions": state.positions,
            "shown_rotations": state.rotations,
            "shown_velocities": state.velocities,
            "shown_angular_velocities": state.angular_velocities,
            # Ours are offset, velocity, turn, turning, joint by joint.
            "offsets": state.offsets.reshape(count, joints, 4, 3)[:, :, [0, 2, 1, 3]].transpose(0, 2, 1, 3),
        }
        return self.slots.pack_arrays(values)


def _pack_feet(state: Any) -> dict[str, Any]:
    """Slots of a foot lock's state; what is not yet known stands at its rest."""
    flags, values = state.flags, state.values
    count = len(flags)
    points = values[..., :18].reshape(count, 2, 6, 3)
    # Ours are point, offset, its velocity, toe, its velocity, the animation's; one foot after the other.
    return {
        "feet_flags": np.stack([flags[..., 0], flags[..., 2], flags[..., 3], values[..., 18]], axis=1),
        "feet_points": points[:, :, [1, 2, 4, 0, 3, 5]].transpose(0, 2, 1, 3),
        "feet_drop": state.drops,
    }


def controller_model(stack: Stack, count: int, axes: Axes) -> tuple[onnx.ModelProto, list[str]]:
    """The graph of one step of N characters, and the kinds of operators in it.

    Inputs: ``state [N, S]``, ``velocity [N, 3]``, ``facing [N, 3]``, ``tag_set [N]`` where there are several, ``dt
    [1]``, all but the state held within limits (:mod:`ambulo.export.engine.step_inputs`). Outputs: ``state_next``,
    ``root_position [N, 3]``, ``root_rotation [N, 4]``, ``local_positions [N, J, 3]``, ``local_rotations [N, J, 4]``,
    ``contacts [N, 2]``, ``transitioned [N]``.
    """
    g = Graph("controller", count)
    slots = stack.slots
    state = slots.unpack(g.input("state", (count, slots.size)))
    velocity = axes.in_vectors(held_velocity(g.input("velocity", (count, 3)), axes.per_metre))
    facing = axes.in_vectors(held_facing(g.input("facing", (count, 3))), scaled=False)
    sets = 1 if stack.matching is None else len(stack.matching.sets)
    tag_set = held_tag_set(g.input("tag_set", (count,)).wide(1), sets) if sets > 1 else None
    dt = held_dt(g.input("dt", (1,)))
    advanced: Advanced
    if stack.matching is not None:
        advanced = matching_step(g, stack.matching, state, velocity, facing, tag_set, dt)
    else:
        bare = stack.bare
        advanced = learned_step(g, bare.model, bare.settings, bare.own, state, velocity, facing, dt)
    skeleton, contacts = stack.smooth.skeleton, advanced.contacts
    joints, parents = skeleton.joint_count, np.asarray(skeleton.parents, np.int32)
    shown, remembered = smooth(
        g, state, advanced.joints, joints, advanced.transitioned, stack.smooth.settings.half_life, dt
    )
    if stack.lock is not None:
        shown, contacts, feet = lock_feet(
            g, state, shown, advanced.joints, contacts, advanced.transitioned, stack.lock.geometry,
            stack.lock.settings, parents, dt,
        )  # fmt: skip
        remembered |= feet
    if stack.ground is not None:
        shown = lift(g, shown, stack.ground.feet, parents)
    g.output("state_next", slots.pack(g, {**advanced.slots, **remembered}), (count, slots.size))
    positions, rotations = axes.out_vectors(shown.positions), axes.out_quaternions(shown.rotations)
    g.output("root_position", positions.at(0, 1), (count, 3))
    g.output("root_rotation", rotations.at(0, 1), (count, 4))
    g.output("local_positions", positions, (count, joints, 3))
    g.output("local_rotations", rotations, (count, joints, 4))
    g.output("contacts", contacts, (count, 2))
    g.output("transitioned", advanced.transitioned.number().reshape(-1), (count,))
    return g.model(), g.operators


def lift(g: Graph, joints: Joints, feet: GroundFeet, parents: NDArray[np.int32]) -> Joints:
    """As :class:`ambulo.control.above_ground.AboveGround`: no foot under the floor; velocities as they were."""
    places, _ = forward_kinematics(joints.positions, joints.rotations, parents, feet.joints)
    sunk = feet.heights.astype(np.float32)[None, :, None] - places.part(1, 2)
    carried = np.zeros((1, len(parents), 3), np.float32)
    carried[0, feet.carriers, 1] = 1.0
    positions = joints.positions + g.greater_of(sunk.most(1, keep=True), 0.0) * carried
    return Joints(positions, joints.rotations, joints.velocities, joints.angular_velocities)


def start_model(stack: Stack, count: int, axes: Axes, seed: int = 0) -> onnx.ModelProto:
    """The graph that makes the first state: ``position [N, 3]`` and ``facing [N, 3]`` to ``state [N, S]``."""
    g = Graph("start", count)
    slots = stack.slots
    rest = stack.pack(stack.whole.start(count, seed))
    state = slots.unpack(g.constant(rest))
    position = axes.in_vectors(finite(g.input("position", (count, 3))))
    facing = axes.in_vectors(held_facing(g.input("facing", (count, 3))), scaled=False)
    aside, height, ahead = facing.part(0, 1), position.part(1, 2), facing.part(2, 3)
    size = g.join(aside, ahead, axis=1).norm()
    heading = g.where(size > 0.0, atan2(aside, ahead, size), 0.0)
    place = g.join(position.part(0, 1), position.part(2, 3), heading, axis=1)
    state |= {"root_place": place, "root_height": height, "simulation_place": place, "simulation_height": height}
    state["simulation_goal"] = heading
    state["wish"] = g.join(np.zeros((count, 2)), heading, axis=1)
    g.output("state", slots.pack(g, state), (count, slots.size))
    return g.model()

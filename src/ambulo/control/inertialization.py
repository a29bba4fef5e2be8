"""Inertialization: a transition without a pop and without a cross-fade.

At a jump, the difference between where every joint was and where the new clip had it a step ago becomes an offset, and
the offset fades by a critically damped spring while the new clip plays (D. Bollo, "Inertialization: High-Performance
Animation Transitions in Gears of War", GDC 2018; the spring form as in D. Holden's public Motion-Matching code).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.control.controller import Controller
from ambulo.control.intent import Intent
from ambulo.control.kernel_arrays import empty_pose
from ambulo.control.pose import Pose
from ambulo.control.settings import InertializeSettings
from ambulo.control.step_checks import check_state
from ambulo.motion.skeleton import Skeleton

Float = NDArray[np.float32]


@dataclass(frozen=True)
class InertializeState:
    """The state of N characters.

    Attributes:
        inner: of the wrapped controller.
        fresh: bool ``[N]``, nothing was shown yet.
        positions, rotations, velocities, angular_velocities: ``[N, J, ...]``, the pose shown last.
        offsets: float32 ``[N, J, 12]``: position (m), its velocity, rotation vector (rad), its velocity.
    """

    inner: Any
    fresh: NDArray[np.bool_]
    positions: Float
    rotations: Float
    velocities: Float
    angular_velocities: Float
    offsets: Float


class Inertialize:
    """A controller around a controller: smooths its transitions, the root's velocity included."""

    def __init__(self, inner: Controller, settings: InertializeSettings | None = None) -> None:
        from ambulo.control import inertialization_kernels

        self.inner = inner
        self.settings = settings or InertializeSettings()
        self._kernels = inertialization_kernels
        self._parents = np.ascontiguousarray(inner.skeleton.parents, np.int32)

    @property
    def skeleton(self) -> Skeleton:
        """The wrapped controller's skeleton."""
        return self.inner.skeleton

    def start(
        self, count: int = 1, seed: int = 0, position: ArrayLike | None = None, facing: ArrayLike | None = None
    ) -> InertializeState:
        """See :meth:`Controller.start`."""
        inner = self.inner.start(count, seed, position, facing)
        joints = len(self._parents)
        vectors = np.zeros((count, joints, 3), np.float32)
        return InertializeState(
            inner,
            np.ones(count, np.bool_),
            vectors,
            np.tile(np.array([0, 0, 0, 1], np.float32), (count, joints, 1)),
            vectors,
            vectors,
            np.zeros((count, joints, 12), np.float32),
        )

    def step(self, state: InertializeState, intent: Intent, dt: float) -> tuple[InertializeState, Pose]:
        """See :meth:`Controller.step`."""
        check_state(state, InertializeState, len(self._parents), "offsets")
        inner, pose = self.inner.step(state.inner, intent, dt)
        count, joints = pose.positions.shape[:2]
        arrays = empty_pose(count, joints)
        offsets = np.empty_like(state.offsets)
        self._kernels.inertialize(
            pose.positions, pose.rotations, pose.velocities, pose.angular_velocities, pose.transitioned, state.fresh,
            state.positions, state.rotations, state.velocities, state.angular_velocities, state.offsets,
            self._parents, self.settings.half_life, dt, offsets, *arrays,
        )  # fmt: skip
        shown = InertializeState(
            inner,
            np.zeros(count, np.bool_),
            arrays.positions,
            arrays.rotations,
            arrays.velocities,
            arrays.angular_velocities,
            offsets,
        )
        return shown, pose.with_joints(arrays)

    def explain(self, state: InertializeState, character: int = 0) -> Any:
        """The wrapped controller's explanation."""
        check_state(state, InertializeState, len(self._parents), "offsets")
        return self.inner.explain(state.inner, character)

    def with_weights(self, weights: Mapping[str, float]) -> Inertialize:
        """The same wrapper around the controller with other weights."""
        return Inertialize(self.inner.with_weights(weights), self.settings)

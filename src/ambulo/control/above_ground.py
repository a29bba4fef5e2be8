"""No foot under the floor: a body of more than two legs is lifted by what its deepest foot would sink.

Between two poses of very different height (a crouch and a walk) the offsets of hips and legs fade each by itself, and
the feet come out below the floor in between. Two-legged bodies have a foot lock against that; here the whole body is
lifted, which never bends a leg. The lift follows the feet, so it is as smooth as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.control.controller import Controller
from ambulo.control.intent import Intent
from ambulo.control.kernel_arrays import PoseArrays
from ambulo.control.pose import Pose
from ambulo.errors import ControlError
from ambulo.motion import kinematics
from ambulo.motion.quadruped import FRONT_FEET
from ambulo.motion.skeleton import Skeleton

if TYPE_CHECKING:
    from ambulo.database.database import Database

_SAMPLES = 20_000
_LOWEST = 5.0


@dataclass(frozen=True)
class AboveGroundState:
    """The state of N characters: that of the wrapped controller; nothing else is remembered."""

    inner: Any


@dataclass(frozen=True)
class GroundFeet:
    """The feet of a body.

    Attributes:
        joints: int64 ``[L]``, the joint of each leg that stands on the ground.
        heights: float64 ``[L]``, metres of it over the ground at the least.
        carriers: int64, the joints below the root that carry them.
    """

    joints: NDArray[np.int64]
    heights: NDArray[np.float64]
    carriers: NDArray[np.int64]


def ground_feet(database: Database) -> GroundFeet:
    """The feet of a database's body; the least height is the 5th percentile in its own motion, never under the ground.

    Raises:
        SkeletonError: the skeleton has no legs.
    """
    skeleton = database.skeleton
    joints = [skeleton.roles.get(f"{side}_toe", skeleton.role(f"{side}_foot")) for side in ("left", "right")]
    joints += [skeleton.roles[role] for role in FRONT_FEET if role in skeleton.roles]
    frames = np.flatnonzero(np.asarray(database.valid) != 0)
    frames = frames[:: max(len(frames) // _SAMPLES, 1)]
    heights = np.zeros(len(joints))
    if len(frames):
        pose = kinematics.forward(database.positions[frames], database.rotations[frames], skeleton.parents)
        above = pose.positions[:, joints, 1] - pose.positions[:, :1, 1]
        heights = np.maximum(np.percentile(above, _LOWEST, axis=0), 0.0)
    carriers = set()
    for foot in joints:
        joint = int(foot)
        while skeleton.parents[joint] > 0:
            joint = int(skeleton.parents[joint])
        carriers.add(joint)
    return GroundFeet(np.array(joints, np.int64), heights, np.array(sorted(carriers), np.int64))


class AboveGround:
    """A controller around a controller: lifts the body where a foot would be under the floor.

    Args:
        inner: what is shown otherwise.
        feet: from :func:`ground_feet`.
    """

    def __init__(self, inner: Controller, feet: GroundFeet) -> None:
        self.inner = inner
        self.feet = feet
        below = [inner.skeleton.descendants(int(joint)) for joint in feet.carriers]
        self._lifted = np.unique(np.concatenate([np.asarray(joints, np.int64) for joints in below]))

    @property
    def skeleton(self) -> Skeleton:
        """The wrapped controller's skeleton."""
        return self.inner.skeleton

    def start(
        self, count: int = 1, seed: int = 0, position: ArrayLike | None = None, facing: ArrayLike | None = None
    ) -> AboveGroundState:
        """See :meth:`Controller.start`."""
        return AboveGroundState(self.inner.start(count, seed, position, facing))

    def step(self, state: AboveGroundState, intent: Intent, dt: float) -> tuple[AboveGroundState, Pose]:
        """See :meth:`Controller.step`."""
        inner, pose = self.inner.step(_checked(state), intent, dt)
        # Heights over the root, which goes along the ground.
        above = pose.global_positions[:, self.feet.joints, 1] - pose.root_position[:, None, 1]
        sunk = self.feet.heights - above
        lift = np.maximum(sunk.max(axis=1), 0.0).astype(np.float32)
        if not lift.any():
            return AboveGroundState(inner), pose
        _, speeds = kinematics.forward_velocities(
            pose.positions, pose.rotations, pose.velocities, pose.angular_velocities, self.skeleton.parents
        )
        deepest = self.feet.joints[sunk.argmax(axis=1)]
        everyone = np.arange(len(lift))
        rise = np.where(lift > 0.0, -speeds.linear[everyone, deepest, 1], 0.0).astype(np.float32)
        # The wrapped controller keeps its arrays in its state: change copies.
        positions, velocities = pose.positions.copy(), pose.velocities.copy()
        positions[:, self.feet.carriers, 1] += lift[:, None]
        velocities[:, self.feet.carriers, 1] += rise[:, None]
        everywhere = pose.global_positions.copy()
        everywhere[:, self._lifted, 1] += lift[:, None]
        arrays = PoseArrays(
            positions, pose.rotations, velocities, pose.angular_velocities, everywhere, pose.global_rotations
        )
        return AboveGroundState(inner), pose.with_joints(arrays)

    def explain(self, state: AboveGroundState, character: int = 0) -> Any:
        """The wrapped controller's explanation."""
        return self.inner.explain(_checked(state), character)

    def with_weights(self, weights: Mapping[str, float]) -> AboveGround:
        """The same wrapper around the controller with other weights."""
        return AboveGround(self.inner.with_weights(weights), self.feet)


def _checked(state: AboveGroundState) -> Any:
    if not isinstance(state, AboveGroundState):
        raise ControlError(
            f"a {type(state).__name__} is no state of this controller", key="state", remedy="start() makes one"
        )
    return state.inner

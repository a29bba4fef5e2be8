"""The skeleton: names, parents, offsets, and which joint plays which humanoid role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import SkeletonError, nearest_names
from ambulo.maths import quaternions


@dataclass(frozen=True)
class Skeleton:
    """A tree of joints in topological order: a parent always comes before its children.

    Attributes:
        names: one name a joint, exactly as the file spells it; unique.
        parents: int32 ``[J]``, index of the parent, -1 for a root.
        offsets: float32 ``[J, 3]``, metres, the joint in its parent's frame at rest.
        end_offsets: float32 ``[J, 3]``, metres, the tip of a leaf bone in the joint's own frame (BVH's End Site);
            NaN where there is none.
        roles: humanoid role (``"left_foot"``, ``"hips"``, ...) -> joint index, see :mod:`ambulo.motion.humanoid`.
        rest_rotations: float32 ``[J, 4]``, unit, each joint's local rotation at rest; the identity where a format has
            no such thing (BVH). A glTF's node transforms.
    """

    names: tuple[str, ...]
    parents: NDArray[np.int32]
    offsets: NDArray[np.float32]
    end_offsets: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 3), np.float32))
    roles: Mapping[str, int] = field(default_factory=dict)
    rest_rotations: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 4), np.float32))

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "parents", np.ascontiguousarray(self.parents, np.int32))
        object.__setattr__(self, "offsets", np.ascontiguousarray(self.offsets, np.float32))
        count = len(self.names)
        ends = np.ascontiguousarray(self.end_offsets, np.float32)
        if ends.shape == (0, 3) and count:
            ends = np.full((count, 3), np.nan, np.float32)
        object.__setattr__(self, "end_offsets", ends)
        turns = np.ascontiguousarray(self.rest_rotations, np.float32)
        if turns.shape == (0, 4) and count:
            turns = quaternions.identity(count)
        object.__setattr__(self, "rest_rotations", turns)
        if turns.shape != (count, 4):
            raise SkeletonError(f"a skeleton of {count} names needs rest_rotations [{count}, 4], got {turns.shape}")
        if self.parents.shape != (count,) or self.offsets.shape != (count, 3) or ends.shape != (count, 3):
            raise SkeletonError(
                f"a skeleton of {count} names needs parents [{count}], offsets [{count}, 3] and end_offsets "
                f"[{count}, 3], got {self.parents.shape}, {self.offsets.shape} and {ends.shape}"
            )
        if len(set(self.names)) != count:
            twice = next(name for i, name in enumerate(self.names) if name in self.names[:i])
            raise SkeletonError("two joints have the same name", joint=twice)
        for joint, parent in enumerate(self.parents):
            if not -1 <= parent < joint:
                raise SkeletonError(
                    f"the parent of joint {joint} is {parent}; parents come before children and a root has -1",
                    joint=self.names[joint],
                )
        for role, joint in self.roles.items():
            if not 0 <= joint < count:
                raise SkeletonError(f"role {role!r} points to joint {joint} of {count}", key=role)

    @property
    def joint_count(self) -> int:
        """Number of joints J."""
        return len(self.names)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: joint for joint, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """Index of the joint of that name.

        Raises:
            SkeletonError: no joint has that name; lists the nearest ones.
        """
        try:
            return self._index[name]
        except KeyError:
            raise SkeletonError(f"no joint {name!r}; {nearest_names(name, self.names)}", joint=name) from None

    def role(self, name: str) -> int:
        """Index of the joint that plays a humanoid role.

        Raises:
            SkeletonError: the role was not found on this skeleton.
        """
        try:
            return self.roles[name]
        except KeyError:
            raise SkeletonError(
                f"this skeleton has no joint for the role {name!r}; {nearest_names(name, self.roles)}",
                key=name,
                remedy="name the joint in the [roles] table of ambulo.toml",
            ) from None

    def children(self, joint: int) -> list[int]:
        """Indices of the direct children of a joint."""
        return [int(child) for child in np.nonzero(self.parents == joint)[0]]

    def descendants(self, joint: int) -> list[int]:
        """Indices of a joint and all below it, in order."""
        inside = {joint}
        for child in range(joint + 1, self.joint_count):
            if int(self.parents[child]) in inside:
                inside.add(child)
        return sorted(inside)

    def with_roles(self, roles: Mapping[str, int]) -> Skeleton:
        """The same skeleton with another role table."""
        return replace(self, roles=dict(roles))

    def rest_positions(self) -> NDArray[np.float32]:
        """Joint positions at rest, the root at its offset. Returns float32 ``[J, 3]``, metres."""
        return self.rest_pose()[0]

    def rest_pose(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Global positions ``[J, 3]`` in metres and rotations ``[J, 4]`` of the joints at rest."""
        from ambulo.motion.kinematics import forward

        pose = forward(self.offsets[None], self.rest_rotations[None], self.parents)
        return pose.positions[0], quaternions.normalize(pose.rotations[0])

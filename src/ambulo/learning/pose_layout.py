"""A pose as one row of numbers: which columns hold what, and how to write and read them.

Joints turn in the *root's* frame here, not in their parent's: an error then stays with its joint and does not add up
along a limb, and positions follow from rotations by one product. Joints whose offset never changes (all but the hips
in most capture) have no columns for position and velocity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.motion.skeleton import Skeleton

Float = NDArray[np.float32]

# Metres that a joint may move in its parent's frame and still count as fixed (an elastic spine, a rounding).
_FIXED = 0.01


@dataclass(frozen=True)
class PoseLayout:
    """Columns of a pose's row. J joints, M of them moving.

    Attributes:
        parents: int32 ``[J]``.
        offsets: float32 ``[J, 3]``, mean local positions: what fixed joints have.
        moving: int64 ``[M]``, joints (not the root) whose local position changes.
    """

    parents: NDArray[np.int32]
    offsets: Float
    moving: NDArray[np.int64]

    @classmethod
    def of(cls, skeleton: Skeleton, positions: Any, frames: NDArray[np.int64]) -> PoseLayout:
        """The layout of a database's frames: a joint moves where its local position leaves its mean by more than a
        centimetre for one frame in a thousand."""
        sample = frames[:: max(len(frames) // 20_000, 1)]
        local = np.asarray(positions[sample], np.float64)
        mean = local.mean(axis=0)
        mean[0] = 0.0
        away = np.quantile(np.abs(local - mean).max(axis=2), 0.999, axis=0)
        moving = np.flatnonzero(away > _FIXED)
        return cls(np.asarray(skeleton.parents, np.int32), mean.astype(np.float32), moving[moving > 0].astype(np.int64))

    @property
    def joint_count(self) -> int:
        """Number of joints J, the root included."""
        return len(self.parents)

    @property
    def columns(self) -> dict[str, slice]:
        """Columns by name: ``positions`` 3 M, ``rotations`` 6 (J - 1) (first two columns of the matrix), ``velocities``
        3 M, ``angular_velocities`` 3 (J - 1), ``root_velocity`` 3, ``root_turning`` 3, ``contacts`` 2."""
        moving, others = 3 * len(self.moving), self.joint_count - 1
        sizes = {
            "positions": moving,
            "rotations": 6 * others,
            "velocities": moving,
            "angular_velocities": 3 * others,
            "root_velocity": 3,
            "root_turning": 3,
            "contacts": 2,
        }
        columns, start = {}, 0
        for name, size in sizes.items():
            columns[name] = slice(start, start + size)
            start += size
        return columns

    @property
    def size(self) -> int:
        """Number of columns P."""
        return int(self.columns["contacts"].stop)

    def write(
        self,
        rows: Float,
        *,
        local_positions: Float,
        rotations: Float,
        velocities: Float,
        angular_velocities: Float,
        root_velocity: Float,
        root_turning: Float,
        contacts: NDArray[np.uint8],
    ) -> None:
        """Fill rows ``[T, P]``.

        Args:
            rows: to be filled.
            local_positions: ``[T, J, 3]``, metres.
            rotations: ``[T, J - 1, 4]``, in the root's frame.
            velocities: ``[T, J, 3]``, m/s, of the local positions.
            angular_velocities: ``[T, J, 3]``, rad/s, in the parent's frame.
            root_velocity: ``[T, 3]``, m/s, in the root's axes.
            root_turning: ``[T, 3]``, rad/s, in the root's axes.
            contacts: ``[T, 2]``.
        """
        columns, count = self.columns, len(rows)
        rows[:, columns["positions"]] = local_positions[:, self.moving].reshape(count, -1)
        rows[:, columns["rotations"]] = two_axes(rotations).reshape(count, -1)
        rows[:, columns["velocities"]] = velocities[:, self.moving].reshape(count, -1)
        rows[:, columns["angular_velocities"]] = angular_velocities[:, 1:].reshape(count, -1)
        rows[:, columns["root_velocity"]] = root_velocity
        rows[:, columns["root_turning"]] = root_turning
        rows[:, columns["contacts"]] = contacts


def two_axes(rotations: Float) -> Float:
    """First two columns of the rotation matrices of quaternions ``[..., 4]``: ``[..., 6]``, x axis then y axis."""
    x, y, z, w = np.moveaxis(np.asarray(rotations, np.float32), -1, 0)
    return np.stack(
        [
            1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w),
            2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w),
        ],
        axis=-1,
    )  # fmt: skip

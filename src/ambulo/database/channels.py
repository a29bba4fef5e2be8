"""The channels of a database: one array with a row a frame, in one file each. A new channel is one more entry here."""

from __future__ import annotations

import msgspec


class Channel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One array over all frames.

    Attributes:
        name: attribute of :class:`~ambulo.database.database.Database` and name of the tensor in its file.
        dtype: NumPy name of the element type.
        shape: shape of one frame's row; ``"joint"`` stands for the joint count J.
        unit: physical unit.
        description: what it holds.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    unit: str
    description: str

    @property
    def file(self) -> str:
        """Where it lies, relative to the database's folder."""
        return f"frames/{self.name}.safetensors"

    def row_shape(self, joint_count: int) -> tuple[int, ...]:
        """Shape of one frame's row for a skeleton of that many joints."""
        return tuple(joint_count if size == "joint" else int(size) for size in self.shape)


CHANNELS: tuple[Channel, ...] = (
    Channel("positions", "float32", ("joint", 3), "m", "local positions; the root's in the world"),
    Channel("rotations", "float32", ("joint", 4), "", "local rotations, unit quaternions (x, y, z, w)"),
    Channel("velocities", "float32", ("joint", 3), "m/s", "velocities of the local positions, in the parent's frame"),
    Channel("angular_velocities", "float32", ("joint", 3), "rad/s", "local angular velocities, in the parent's frame"),
    Channel("contacts", "uint8", (2,), "", "left and right foot on the ground"),
    Channel("valid", "uint8", (), "", "0 where the capture has a glitch"),
)

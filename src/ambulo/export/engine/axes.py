"""Axes, handedness and units of engines, and the layers that convert to and from them.

All are turned or mirrored by one matrix M with entries 0, 1 and -1: a vector becomes ``M v`` (times the unit), a
rotation ``M R M^T``, whose quaternion is ``(det(M) M u, w)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import AmbuloError, nearest_names
from ambulo.export.engine.graph import Value

Float = NDArray[np.float32]


@dataclass(frozen=True)
class Axes:
    """The coordinate system of an engine.

    Attributes:
        name: of the target.
        handedness: ``right`` or ``left``.
        up, forward, left: the character's, as signed axes of the engine.
        unit: of lengths.
        per_metre: how many of it make a metre.
        matrix: ``[3, 3]`` of rows that pick left, up, ahead.
    """

    name: str
    handedness: str
    up: str
    forward: str
    left: str
    unit: str
    per_metre: float
    matrix: Float

    @property
    def is_plain(self) -> bool:
        """Whether nothing is to be converted."""
        return bool(np.array_equal(self.matrix, np.eye(3))) and self.per_metre == 1.0

    @property
    def _vector(self) -> Float:
        return np.ascontiguousarray(self.matrix.T, np.float32)

    @property
    def _quaternion(self) -> Float:
        turned = np.eye(4, dtype=np.float32)
        turned[:3, :3] = np.rint(np.linalg.det(self.matrix)) * self.matrix
        return np.ascontiguousarray(turned.T)

    def vectors(self, v: Float, scaled: bool = True) -> Float:
        """Vectors of ours ``[..., 3]`` in the engine's axes."""
        return np.asarray(v @ self._vector * np.float32(self.per_metre if scaled else 1.0), np.float32)

    def quaternions(self, q: Float) -> Float:
        """Rotations of ours ``[..., 4]`` in the engine's axes."""
        return np.asarray(q @ self._quaternion, np.float32)

    def vectors_from(self, v: Float, scaled: bool = True) -> Float:
        """Vectors of the engine in our axes."""
        return np.asarray(v @ np.linalg.inv(self._vector) / (self.per_metre if scaled else 1.0), np.float32)

    def out_vectors(self, v: Value, scaled: bool = True) -> Value:
        """The same as graph: the last layer."""
        return v if self.is_plain else v.dot(self._vector * np.float32(self.per_metre if scaled else 1.0))

    def out_quaternions(self, q: Value) -> Value:
        """The same as graph: the last layer."""
        return q if self.is_plain else q.dot(self._quaternion)

    def in_vectors(self, v: Value, scaled: bool = True) -> Value:
        """The first layer."""
        inverse = np.linalg.inv(self._vector) / (self.per_metre if scaled else 1.0)
        return v if self.is_plain else v.dot(inverse.astype(np.float32))

    def describe(self) -> dict[str, object]:
        """What a manifest says of them."""
        return {
            "target": self.name,
            "handedness": self.handedness,
            "up": self.up,
            "character_forward": self.forward,
            "character_left": self.left,
            "length_unit": self.unit,
            "quaternion_order": "x, y, z, w",
        }


def _axes(name: str, hand: str, up: str, forward: str, left: str, unit: str = "m", per_metre: float = 1.0) -> Axes:
    matrix = np.zeros((3, 3), np.float32)
    for ours, theirs in enumerate((left, up, forward)):
        matrix["XYZ".index(theirs[1]), ours] = 1.0 if theirs[0] == "+" else -1.0
    return Axes(name, hand, up, forward, left, unit, per_metre, matrix)


AXES = {
    axes.name: axes
    for axes in (
        _axes("onnx", "right", "+Y", "+Z", "+X"),
        _axes("web", "right", "+Y", "+Z", "+X"),
        # Godot looks along -Z, but its assets, as glTF's, face +Z (Vector3.MODEL_FRONT).
        _axes("godot", "right", "+Y", "+Z", "+X"),
        _axes("unity", "left", "+Y", "+Z", "-X"),
        _axes("unreal", "left", "+Z", "+X", "-Y", "cm", 100.0),
    )
}
"""By target."""


def axes_of(target: str) -> Axes:
    """The axes of a target.

    Raises:
        AmbuloError: there is none; lists the nearest.
    """
    if target not in AXES:
        raise AmbuloError(f"no target {target!r}; {nearest_names(target, AXES)}", key="target")
    return AXES[target]

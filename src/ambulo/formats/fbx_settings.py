"""The global settings of an FBX file: unit, axes, frame rate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.formats import axes, units
from ambulo.formats.fbx_document import Document
from ambulo.formats.format import ReadOptions
from ambulo.motion.motion import Note

TIME_MODES: dict[int, float] = {
    **{1: 120.0, 2: 100.0, 3: 60.0, 4: 50.0, 5: 48.0, 6: 30.0, 7: 30.0, 10: 25.0, 11: 24.0, 12: 1000.0},
    **{8: 30000 / 1001, 9: 30000 / 1001, 13: 24000 / 1001, 15: 96.0, 16: 72.0, 17: 60000 / 1001, 18: 120000 / 1001},
}
"""Frames a second by FBX's TimeMode; 0 leaves it open, 14 is ``CustomFrameRate``."""

_CUSTOM = 14
_LONGEST_UNIT = 1e6  # centimetres


class Basis(NamedTuple):
    """The change from a file's axes to ours.

    Attributes:
        up: the file's up axis, ``"+Y"``.
        matrix: ``[3, 3]``, a rotation of whole quarter turns; ``ours = matrix @ file's``.
    """

    up: str
    matrix: NDArray[np.float64]

    def vectors(self, vectors: ArrayLike) -> NDArray[np.float32]:
        """Positions or offsets. ``[..., 3]``."""
        return np.ascontiguousarray(np.asarray(vectors) @ self.matrix.T, np.float32)

    def rotations(self, rotations: ArrayLike) -> NDArray[np.float32]:
        """Rotations: the vector part turns like any vector. ``[..., 4]``."""
        rotations = np.asarray(rotations)
        turned = np.concatenate([rotations[..., :3] @ self.matrix.T, rotations[..., 3:]], axis=-1)
        return np.ascontiguousarray(turned, np.float32)


def read_unit(document: Document, options: ReadOptions) -> tuple[str, float, list[Note]]:
    """Name and metres of the file's unit: given, or by ``UnitScaleFactor``, centimetres a unit."""
    if options.unit is not None:
        return *units.parse_unit(options.unit), []
    scale = document.setting("UnitScaleFactor", 1.0)
    if not 1e-6 < scale < _LONGEST_UNIT:
        note = Note("unit", f"the unit says {scale:g} cm; centimetre is taken, FBX's custom", warning=True)
        return "centimetre", 0.01, [note]
    return *units.parse_unit(0.01 * scale), []


def read_basis(document: Document, options: ReadOptions) -> tuple[Basis, list[Note]]:
    """The file's axes: given, or by ``UpAxis``, ``FrontAxis`` and their signs."""
    if options.up is not None:
        up = axes.parse_up(options.up)
        return Basis(up, np.asarray(axes.convert_vectors(np.eye(3), up), np.float64).T), []
    rows = []
    for name, default in (("CoordAxis", 0), ("UpAxis", 1), ("FrontAxis", 2)):
        axis = int(document.setting(name, default))
        sign = -1.0 if document.setting(f"{name}Sign", 1.0) < 0 else 1.0
        rows.append((axis, sign))
    up_axis, up_sign = rows[1]
    if up_axis not in (0, 1, 2):
        note = Note("up", f"there is no up axis {up_axis}; +Y is taken, FBX's custom", warning=True)
        return Basis("+Y", np.eye(3)), [note]
    up = ("+" if up_sign > 0 else "-") + "XYZ"[up_axis]
    if sorted(axis for axis, _ in rows) != [0, 1, 2]:
        matrix = np.asarray(axes.convert_vectors(np.eye(3), up), np.float64).T
        note = Note("axes", f"the axes {rows} are not three different ones; only {up} up is used", warning=True)
        return Basis(up, matrix), [note]
    matrix = np.zeros((3, 3))
    for row, (axis, sign) in enumerate(rows):
        matrix[row, axis] = sign
    notes = []
    if np.linalg.det(matrix) < 0.0:
        # A reflection would make left of right.
        matrix[0] = -matrix[0]
        notes.append(
            Note("axes", "the axes are left-handed; up and front are used, and nothing is mirrored", warning=True)
        )
    return Basis(up, matrix), notes


def read_rate(document: Document) -> float | None:
    """Frames a second that the file is meant for; None where it leaves it open."""
    mode = int(document.setting("TimeMode", 0.0))
    if mode == _CUSTOM:
        custom = document.setting("CustomFrameRate", -1.0)
        return custom if 0.0 < custom <= 10000.0 else None
    return TIME_MODES.get(mode)

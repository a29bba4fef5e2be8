"""How a file's units and axes map to metres and +Y up: given by the caller, or guessed and reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.formats import axes, units
from ambulo.formats.format import ReadOptions
from ambulo.motion.kinematics import forward
from ambulo.motion.motion import Note

# Enough poses to outvote a few spent lying down or upside down.
_SAMPLES = 32


@dataclass(frozen=True)
class Placement:
    """The file's unit and up axis, and what led to them."""

    unit: str
    metres_per_unit: float
    up: str
    notes: tuple[Note, ...] = ()

    def vectors(self, vectors: ArrayLike) -> NDArray[np.float32]:
        """Positions or offsets, already in metres, with +Y up. ``[..., 3]``."""
        if self.up == "+Y":
            return np.ascontiguousarray(vectors, np.float32)
        return axes.convert_vectors(vectors, self.up)

    def rotations(self, rotations: ArrayLike) -> NDArray[np.float32]:
        """Rotations with +Y up. ``[..., 4]``."""
        if self.up == "+Y":
            return np.ascontiguousarray(rotations, np.float32)
        return axes.convert_rotations(rotations, self.up)


def place(
    names: tuple[str, ...],
    parents: NDArray[np.int32],
    offsets: ArrayLike,
    end_offsets: ArrayLike,
    sample: Callable[[int], tuple[Any, Any]],
    frame_count: int,
    options: ReadOptions,
) -> Placement:
    """Decide a file's unit and up axis.

    Args:
        names: ``[J]``.
        parents: ``[J]``.
        offsets: ``[J, 3]``, file units and axes.
        end_offsets: ``[J, 3]``, NaN where there is none.
        sample: local positions and rotations of every n-th frame, file units and axes.
        frame_count: frames in all.
        options: the caller's unit and up axis, if given.
    """
    unit = units.parse_unit(options.unit) if options.unit is not None else None
    up = axes.parse_up(options.up) if options.up is not None else None
    if unit is not None and up is not None:
        return Placement(*unit, up)
    notes: list[Note] = []
    positions, rotations = sample(max(1, -(-frame_count // _SAMPLES)))
    rest = np.asarray(offsets, np.float64)
    bones = np.linalg.norm(rest, axis=1)
    if len(positions):
        # A position channel replaces the offset; a joint that travels (a root below a root) is no bone.
        squares = positions.astype(np.float64) ** 2
        lengths = np.sort(np.sqrt(squares[..., 0] + squares[..., 1] + squares[..., 2]), axis=0)
        middle = lengths[len(lengths) // 2]
        travels = lengths[-1] - lengths[0] > 0.5 * np.maximum(middle, 1e-9)
        bones = np.where(travels, 0.0, middle)
    ends = np.nan_to_num(np.linalg.norm(np.asarray(end_offsets, np.float64), axis=1))
    span = units.body_span(parents, bones, ends)
    poses = forward(positions, rotations, parents).positions if len(positions) else np.zeros((0, len(names), 3))
    if up is None:
        guess = axes.guess_up(names, _rest_positions(rest, parents), poses, span)
        up = guess.up
        doubt = "" if guess.sure else "; this is unsure, give up= to settle it"
        notes.append(Note("up_guess", f"up axis {up} (a guess): {guess.reason}{doubt}", warning=not guess.sure))
    if unit is None:
        axis, sign = "XYZ".index(up[1]), 1.0 if up[0] == "+" else -1.0
        height = float(np.sort(sign * poses[:, 0, axis])[len(poses) // 2]) if len(poses) else 0.0
        size = units.guess_unit(names, span, height)
        unit = (size.name, size.metres_per_unit)
        doubt = "" if size.sure else "; this is unsure, give unit= to settle it"
        notes.append(Note("unit_guess", f"unit {size.name} (a guess): {size.reason}{doubt}", warning=not size.sure))
    return Placement(*unit, up, tuple(notes))


def _rest_positions(offsets: NDArray[np.float64], parents: NDArray[np.int32]) -> NDArray[np.float64]:
    positions = offsets.copy()
    for joint, parent in enumerate(parents):
        if parent >= 0:
            positions[joint] += positions[parent]
    return positions

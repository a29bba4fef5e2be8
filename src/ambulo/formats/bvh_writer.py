"""Write BVH files that come back as the same motion.

- Roots have position channels; another joint has them only where its local position is not its offset in every frame.
- A joint without an End Site is written as a JOINT with channels and no End Site.
- Joints are written depth first, as the format demands: a skeleton in another order comes back in that one.
- Angles are smooth in time: of all equal sets the one nearest to the frame before.
- Positions keep 1e-8 m, angles 1e-6 degrees, the frame time all its digits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import FormatError, nearest_names
from ambulo.formats import axes, units
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton

ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
_STILL = 1e-7
_LARGEST = 1e8


def write(motions: Sequence[Motion], options: Mapping[str, Any] | None = None) -> bytes:
    """The bytes of a BVH file.

    Args:
        motions: the actors, one ROOT each; same rate and frame count.
        options: ``unit`` (name or metres a unit, ``"centimetre"`` by default), ``order`` of the rotation channels
            (``"ZXY"``), ``up`` (``"+Y"``).

    Raises:
        FormatError: an unknown option, a name that BVH cannot hold, values that are not finite, or actors that do not
            share one time axis.
    """
    given = dict(options or {})
    _, metres = units.parse_unit(given.pop("unit", "centimetre"))
    order = str(given.pop("order", "ZXY")).upper()
    up = axes.inverse_up(axes.parse_up(given.pop("up", "+Y")))
    if given:
        wrong = next(iter(given))
        raise FormatError(f"BVH has no option {wrong!r}; {nearest_names(wrong, ('unit', 'order', 'up'))}", key=wrong)
    if order not in ORDERS:
        raise FormatError(
            f"no rotation order is called {order!r}", key="order", remedy=f"use one of {', '.join(ORDERS)}"
        )
    _check(motions)
    places = min(9, max(0, math.ceil(8.0 + math.log10(metres))))
    lines = ["HIERARCHY"]
    blocks: list[NDArray[np.float64]] = []
    decimals: list[int] = []
    for motion in motions:
        actor = _Actor(motion, metres, order, up)
        lines += actor.hierarchy(places)
        blocks.append(actor.values())
        decimals += [places if kind == "position" else 6 for kind in actor.column_kinds()]
    values = np.concatenate(blocks, axis=1) if blocks else np.zeros((0, 0))
    lines += ["MOTION", f"Frames: {len(values)}", f"Frame Time: {_seconds(1.0 / motions[0].rate)}", ""]
    return "\n".join(lines).encode("utf-8") + _format(values, decimals)


class _Actor:
    """One motion in file units, file axes and depth-first order."""

    def __init__(self, motion: Motion, metres: float, order: str, up: str) -> None:
        skeleton = motion.skeleton
        self.names, self.parents = skeleton.names, skeleton.parents
        self.order = order
        self.joints = _depth_first(skeleton)
        self.moving = (self.parents < 0) | (
            np.abs(motion.positions - skeleton.offsets).max(axis=(0, 2), initial=0.0) > _STILL
        )
        self.offsets = axes.convert_vectors(skeleton.offsets, up).astype(np.float64) / metres
        self.end_offsets = axes.convert_vectors(skeleton.end_offsets, up).astype(np.float64) / metres
        self.positions = axes.convert_vectors(motion.positions, up).astype(np.float64) / metres
        self.rotations = axes.convert_rotations(motion.rotations, up)

    def hierarchy(self, places: int) -> list[str]:
        """The lines of this actor's ROOT block."""
        letters = " ".join(f"{axis}rotation" for axis in self.order)
        lines: list[str] = []
        depth_of: dict[int, int] = {}
        open_depth = 0
        for joint in self.joints:
            parent = int(self.parents[joint])
            depth = depth_of[joint] = 0 if parent < 0 else depth_of[parent] + 1
            while open_depth > depth:
                open_depth -= 1
                lines.append("\t" * open_depth + "}")
            indent = "\t" * depth
            lines.append(f"{indent}{'ROOT' if parent < 0 else 'JOINT'} {self.names[joint]}")
            lines.append(f"{indent}{{")
            lines.append(f"{indent}\tOFFSET {_vector(self.offsets[joint], places)}")
            if self.moving[joint]:
                lines.append(f"{indent}\tCHANNELS 6 Xposition Yposition Zposition {letters}")
            else:
                lines.append(f"{indent}\tCHANNELS 3 {letters}")
            if np.isfinite(self.end_offsets[joint]).all():
                end = _vector(self.end_offsets[joint], places)
                lines += [f"{indent}\tEnd Site", f"{indent}\t{{", f"{indent}\t\tOFFSET {end}", f"{indent}\t}}"]
            open_depth = depth + 1
        while open_depth > 0:
            open_depth -= 1
            lines.append("\t" * open_depth + "}")
        return lines

    def column_kinds(self) -> list[str]:
        """``"position"`` or ``"rotation"`` for each column."""
        kinds: list[str] = []
        for joint in self.joints:
            kinds += ["position"] * (3 if self.moving[joint] else 0) + ["rotation"] * 3
        return kinds

    def values(self) -> NDArray[np.float64]:
        """The number block ``[T, C]``."""
        from ambulo.formats import bvh_angles_kernels as kernels

        degrees = np.empty((*self.rotations.shape[:2], 3), np.float64)
        i, j, k = ("XYZ".index(axis) for axis in self.order)
        kernels.quaternions_to_euler(self.rotations, i, j, k, degrees)
        columns: list[NDArray[np.float64]] = []
        for joint in self.joints:
            if self.moving[joint]:
                columns.append(self.positions[:, joint])
            columns.append(degrees[:, joint])
        return np.concatenate(columns, axis=1)


def _depth_first(skeleton: Skeleton) -> list[int]:
    children: list[list[int]] = [[] for _ in skeleton.names]
    roots: list[int] = []
    for joint, parent in enumerate(skeleton.parents):
        (children[parent] if parent >= 0 else roots).append(joint)
    order: list[int] = []
    stack = roots[::-1]
    while stack:
        joint = stack.pop()
        order.append(joint)
        stack += children[joint][::-1]
    return order


def _check(motions: Sequence[Motion]) -> None:
    if not motions:
        raise FormatError("there is no motion to write")
    for motion in motions:
        roots = int((motion.skeleton.parents < 0).sum())
        if roots != 1:
            raise FormatError(
                f"a BVH actor has one root, this skeleton has {roots}", remedy="write one motion an actor"
            )
        for name in motion.skeleton.names:
            if (
                not name
                or name != name.strip()
                or any(c in "{" or not (c.isprintable() or c == "\u200d") for c in name)
            ):
                raise FormatError(
                    f"BVH cannot hold the joint name {name!r}",
                    joint=name,
                    remedy="rename the joint: no braces, no line ends",
                )
        if not motion.skeleton.names:
            raise FormatError("the skeleton has no joints")
        limit = np.abs(motion.positions) < _LARGEST
        bad = ~(limit.all(axis=2) & np.isfinite(motion.rotations).all(axis=2))
        if bad.any():
            frame, joint = (int(index) for index in np.argwhere(bad)[0])
            raise FormatError(
                "the pose is not finite",
                frame=frame,
                joint=motion.skeleton.names[joint],
                remedy="mend the motion first",
            )
        if not np.isfinite(motion.skeleton.offsets).all():
            raise FormatError("an offset of the skeleton is not finite")
    first = motions[0]
    for motion in motions[1:]:
        if motion.rate != first.rate or motion.frame_count != first.frame_count:
            raise FormatError(
                f"actors in one BVH file share one time axis, these have {first.frame_count} frames at {first.rate:g} "
                f"and {motion.frame_count} at {motion.rate:g} a second",
                remedy="resample and cut them to the same span first",
            )


def _format(values: NDArray[np.float64], decimals: list[int]) -> bytes:
    from ambulo.formats import bvh_numbers_kernels as kernels

    parts = []
    # In slices, so that the text buffer stays small whatever the take's length.
    step = max(1, 2_000_000 // max(1, values.shape[1]))
    places = np.array(decimals, np.int64)
    for start in range(0, len(values), step):
        rows = np.ascontiguousarray(values[start : start + step])
        text = np.empty(rows.size * 24 + len(rows) + 1, np.uint8)
        parts.append(text[: kernels.format_numbers(rows, places, text)].tobytes())
    return b"".join(parts)


def _vector(vector: NDArray[np.float64], places: int) -> str:
    return " ".join(f"{round(float(value), places) + 0.0:.{places}f}" for value in vector)


def _seconds(value: float) -> str:
    return np.format_float_positional(value, unique=True, trim="-")

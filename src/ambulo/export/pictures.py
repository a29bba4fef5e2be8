"""Pictures of figures without a display and without a GPU: a small software renderer on NumPy and Numba.

:func:`frame` renders one picture, :func:`contact_sheet` a sheet of many frames to look over a motion at a glance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import MotionError
from ambulo.export import mannequin
from ambulo.export.camera import Camera, view_camera
from ambulo.export.lettering import draw_text
from ambulo.export.png import write_png
from ambulo.motion.skeleton import Skeleton

Colour = tuple[float, float, float]
Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Trail:
    """A line through the scene.

    Attributes:
        points: ``[K, 3]``, metres.
        colour: red, green, blue, 0 to 1.
        radius: metres.
    """

    points: ArrayLike
    colour: Colour = (0.16, 0.45, 0.75)
    radius: float = 0.012

    def capsules(self) -> NDArray[np.float32]:
        """One capsule a piece, float32 ``[K - 1, 8]``."""
        p = np.asarray(self.points, np.float32).reshape(-1, 3)
        r = np.full((max(len(p) - 1, 0), 1), self.radius, np.float32)
        pieces: NDArray[np.float32] = np.concatenate([p[:-1], r, p[1:], r], axis=1)
        return pieces[np.isfinite(pieces).all(axis=1)]


def frame(
    skeleton: Skeleton,
    global_positions: ArrayLike,
    *,
    view: str = "three_quarter",
    camera: Camera | None = None,
    size: tuple[int, int] = (640, 360),
    forward: ArrayLike | None = None,
    global_rotations: ArrayLike | None = None,
    contacts: ArrayLike | None = None,
    trails: Iterable[Trail] = (),
    ground_height: float = 0.0,
    tint: Colour | None = None,
) -> Pixels:
    """Render one picture of one or several figures.

    Args:
        skeleton: J joints; with roles the figure has a body, without it has even bones.
        global_positions: ``[J, 3]`` or ``[N, J, 3]``, metres, +Y up.
        view: ``"side"`` (from the figure's left), ``"front"``, ``"three_quarter"``, ``"back"`` or ``"top"``.
        camera: a camera of your own instead of a view.
        size: width and height, pixels.
        forward: ``[3]``, the figure's front for the view; by default where the first figure faces.
        global_rotations: ``[J, 4]`` or ``[N, J, 4]``; they tell where feet without toes point.
        contacts: ``[2]`` or ``[N, 2]``, left and right; feet in contact are drawn red.
        trails: lines through the scene, for example desired and taken path.
        ground_height: metres.
        tint: one colour for the whole body instead of left blue, right orange.

    Returns:
        uint8 ``[height, width, 3]``, RGB.
    """
    from ambulo.export import rendering_kernels

    figures = np.asarray(global_positions, np.float64)
    figures = figures[None] if figures.ndim == 2 else figures
    if figures.ndim != 3 or figures.shape[1:] != (skeleton.joint_count, 3):
        raise MotionError(f"figures of this skeleton are [N, {skeleton.joint_count}, 3], got {figures.shape}")
    if not np.isfinite(figures).all():
        raise MotionError("a pose with positions that are not finite cannot be drawn")
    down = None if contacts is None else np.asarray(contacts, bool).reshape(len(figures), 2)
    turns = None if global_rotations is None else np.asarray(global_rotations).reshape(*figures.shape[:2], 4)
    parts = [
        mannequin.pose_capsules(
            skeleton,
            pose,
            global_rotations=None if turns is None else turns[i],
            contacts=None if down is None else down[i],
            tint=tint,
        )
        for i, pose in enumerate(figures)
    ]
    lines = list(trails)
    bodies = np.concatenate([capsules for capsules, _ in parts])
    strokes = [trail.capsules() for trail in lines]
    capsules = np.concatenate([bodies, *strokes]).astype(np.float64)
    colours = np.concatenate(
        [
            *(colour for _, colour in parts),
            *(np.tile(np.array(t.colour, np.float32), (len(s), 1)) for t, s in zip(lines, strokes, strict=True)),
        ]
    )
    flat = np.arange(len(capsules)) >= len(bodies)
    width, height = size
    if camera is None:
        camera = _figure_camera(skeleton, figures, view, width / height, forward, ground_height)
    eye = np.ascontiguousarray(camera.eye, np.float64)
    axes = np.ascontiguousarray(camera.axes())
    tangent = math.tan(0.5 * camera.vertical_angle)
    image = np.empty((height, width, 3), np.float32)
    rendering_kernels.draw_ground(capsules, ~flat, eye, axes, tangent, float(ground_height), image)
    figure_image = np.empty((2 * height, 2 * width, 3), np.float32)
    depth = np.full((2 * height, 2 * width), np.inf, np.float32)
    rendering_kernels.draw_capsules(
        capsules, colours.astype(np.float32), flat, eye, axes, tangent, float(ground_height), depth, figure_image
    )
    pixels = np.empty((height, width, 3), np.uint8)
    rendering_kernels.compose(image, figure_image, depth, pixels)
    return pixels


def _figure_camera(
    skeleton: Skeleton,
    figures: NDArray[np.float64],
    view: str,
    aspect: float,
    forward: ArrayLike | None,
    ground_height: float,
) -> Camera:
    """A camera that holds all figures, steady in height so that bob and jumps show."""
    facing = mannequin.figure_forward(skeleton, figures[0]) if forward is None else np.asarray(forward, np.float64)
    flesh = mannequin.build_flesh(skeleton)
    body, figures = flesh.height, figures[:, flesh.body]
    middle = 0.5 * (figures.min(axis=(0, 1)) + figures.max(axis=(0, 1)))
    feet = min(float(figures[..., 1].min()), ground_height + 0.5 * body)
    middle[1] = max(ground_height, feet - 0.25 * body) + 0.50 * body
    span = figures.max(axis=(0, 1)) - figures.min(axis=(0, 1))
    wide = float(np.hypot(span[0], span[2])) + 0.2 * body if len(figures) > 1 else 0.75 * body
    return view_camera(middle, facing, view, height=1.30 * body, aspect=aspect, width=wide)


def contact_sheet(
    skeleton: Skeleton,
    global_positions: ArrayLike,
    path: str | Path,
    *,
    frames: Sequence[int] | None = None,
    columns: int = 8,
    rows: int = 4,
    view: str = "side",
    cell: tuple[int, int] = (160, 240),
    rate: float | None = None,
    global_rotations: ArrayLike | None = None,
    contacts: ArrayLike | None = None,
    trails: Iterable[Trail] = (),
    follow: bool = True,
    ground_height: float = 0.0,
) -> Path:
    """Write a PNG with many frames of a motion side by side, in reading order, each labelled.

    Args:
        skeleton: J joints.
        global_positions: ``[T, J, 3]``, metres.
        path: the PNG file.
        frames: which frames; by default ``columns * rows`` of them, evenly spread over the motion.
        columns: pictures a row.
        rows: rows where ``frames`` is not given.
        view: see :func:`frame`.
        cell: width and height of one picture, pixels.
        rate: frames a second; labels show seconds too.
        global_rotations: ``[T, J, 4]``; they tell where feet without toes point.
        contacts: ``[T, 2]``, left and right; feet in contact are drawn red.
        trails: lines through the scene, shown in every picture.
        follow: each picture is seen from the figure's own side (its facing, averaged over about a second); otherwise
            all are seen from the side of the first frame's facing.
        ground_height: metres.

    Returns:
        The path.
    """
    p = np.asarray(global_positions, np.float64)
    if p.ndim != 3 or p.shape[1:] != (skeleton.joint_count, 3) or not len(p):
        raise MotionError(f"a contact sheet needs positions [T, {skeleton.joint_count}, 3], got {p.shape}")
    total = len(p)
    if frames is None:
        count = min(columns * rows, total)
        frames = np.unique(np.linspace(0, total - 1, count).round().astype(int)).tolist()
    for index in frames:
        if not 0 <= index < total:
            raise MotionError(f"frame {index} of a motion of {total} frames cannot be shown", frame=index)
    facing = mannequin.figure_forward(skeleton, p)
    facing = _moving_average(facing, 61) if follow else np.tile(facing[frames[0]], (total, 1))
    width, height = cell
    columns = min(columns, len(frames))
    row_count = -(-len(frames) // columns)
    sheet = np.full((row_count * (height + 2) - 2, columns * (width + 2) - 2, 3), 255, np.uint8)
    lines = list(trails)
    down = None if contacts is None else np.asarray(contacts, bool)
    turns = None if global_rotations is None else np.asarray(global_rotations)
    for place, index in enumerate(frames):
        picture = frame(
            skeleton,
            p[index],
            view=view,
            size=cell,
            forward=facing[index],
            global_rotations=None if turns is None else turns[index],
            contacts=None if down is None else down[index],
            trails=lines,
            ground_height=ground_height,
        )
        label = str(index) if rate is None else f"{index}  {index / rate:.2f}s"
        draw_text(picture, label, 5, 5)
        y, x = place // columns * (height + 2), place % columns * (width + 2)
        sheet[y : y + height, x : x + width] = picture
    return write_png(path, sheet)


def _moving_average(vectors: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    half = min(window // 2, (len(vectors) - 1) // 2)
    if half < 1:
        return vectors
    padded = np.pad(vectors, ((half + 1, half), (0, 0)), mode="edge")
    sums = np.cumsum(padded, axis=0)
    mean: NDArray[np.float64] = (sums[2 * half + 1 :] - sums[: -2 * half - 1]) / (2 * half + 1)
    return mean

"""A picture to check a mapping by: source and target side by side, lines between the joints that are mapped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ambulo.export import mannequin
from ambulo.export.camera import Camera, view_camera
from ambulo.export.lettering import draw_text
from ambulo.export.pictures import frame
from ambulo.export.png import write_png
from ambulo.motion.joint_mapping import JointMapping
from ambulo.motion.kinematics import GlobalPose, forward_motion
from ambulo.motion.motion import Motion
from ambulo.motion.standing import standing_toes

_LEFT, _RIGHT, _MIDDLE = (64, 128, 190), (214, 112, 44), (120, 124, 130)
_STANDING = 0.035


def retarget_picture(
    source: Motion,
    target: Motion,
    mapping: JointMapping,
    path: str | Path,
    *,
    frames: Sequence[int] | None = None,
    columns: int = 3,
    rows: int = 2,
    view: str = "three_quarter",
    cell: tuple[int, int] = (210, 300),
    lines: bool = True,
) -> Path:
    """Write a PNG of pairs of figures, the source on the left of each.

    Args:
        source: T frames, any skeleton.
        target: the same frames retargeted.
        mapping: whose lines are drawn.
        path: the PNG file.
        frames: which frames; by default ``columns * rows`` of them, evenly spread.
        columns: pairs a row.
        rows: rows, where ``frames`` is not given.
        view: see :func:`ambulo.export.pictures.frame`.
        cell: width and height of one figure's picture, pixels.
        lines: draw the lines.
    """
    total = min(source.frame_count, target.frame_count)
    if frames is None:
        frames = np.unique(np.linspace(0, total - 1, min(columns * rows, total)).round().astype(int)).tolist()
    source = source.with_roles(dict(mapping.source.roles))
    poses = (forward_motion(source), forward_motion(target))
    floors = [
        standing_toes(m.skeleton, m.rate, p).level - _STANDING for m, p in zip((source, target), poses, strict=True)
    ]
    columns = min(columns, len(frames))
    width, height = cell
    across, down = 2 * width + 6, height + 6
    sheet = np.full((-(-len(frames) // columns) * down - 6, columns * across - 6, 3), 255, np.uint8)
    for place, index in enumerate(frames):
        pair = np.full((height, 2 * width, 3), 255, np.uint8)
        seen: list[NDArray[np.float64]] = []
        for side, (motion, pose) in enumerate(zip((source, target), poses, strict=True)):
            camera = _camera(motion, pose, index, view, width / height, floors[side])
            picture = frame(
                motion.skeleton,
                pose.positions[index],
                camera=camera,
                size=cell,
                global_rotations=pose.rotations[index],
                ground_height=floors[side],
            )
            pair[:, side * width : (side + 1) * width] = picture
            points = camera.project(pose.positions[index], cell)
            points[:, 0] += side * width
            seen.append(points)
        if lines:
            _draw_links(pair, seen[0], seen[1], mapping)
        draw_text(pair, f"{index}  {index / source.rate:.2f}s", 5, 5)
        y, x = place // columns * down, place % columns * across
        sheet[y : y + height, x : x + 2 * width] = pair
    return write_png(path, sheet)


def _camera(motion: Motion, pose: GlobalPose, index: int, view: str, aspect: float, floor: float) -> Camera:
    figure = pose.positions[index].astype(np.float64)
    facing = mannequin.figure_forward(motion.skeleton, figure)
    flesh = mannequin.build_flesh(motion.skeleton)
    tall, figure = flesh.height, figure[flesh.body]
    middle = 0.5 * (figure.min(axis=0) + figure.max(axis=0))
    middle[1] = floor + 0.5 * tall
    return view_camera(middle, facing, view, height=1.3 * tall, aspect=aspect, width=0.9 * tall)


def _draw_links(
    pixels: NDArray[np.uint8], there: NDArray[np.float64], here: NDArray[np.float64], mapping: JointMapping
) -> None:
    by_joint = {joint: role for role, joint in mapping.target.roles.items()}
    for joint, (a, b, share) in mapping.follows.items():
        role = by_joint.get(joint)
        if role is None:
            continue
        start = (1.0 - share) * there[a, :2] + share * there[b, :2]
        colour = _LEFT if role.startswith("left") else _RIGHT if role.startswith("right") else _MIDDLE
        _draw_line(pixels, start, here[joint, :2], colour)


def _draw_line(
    pixels: NDArray[np.uint8], start: NDArray[np.float64], stop: NDArray[np.float64], colour: tuple[int, int, int]
) -> None:
    """A thin translucent line with a dot at each end."""
    count = int(np.ceil(np.abs(stop - start).max())) + 1
    points = np.linspace(start, stop, count)
    ends = [end + np.array([dx, dy]) for end in (start, stop) for dx in (-1, 0, 1) for dy in (-1, 0, 1)]
    for where, strength in ((points, 0.45), (np.array(ends), 0.95)):
        x, y = np.rint(where[:, 0]).astype(int), np.rint(where[:, 1]).astype(int)
        inside = (x >= 0) & (x < pixels.shape[1]) & (y >= 0) & (y < pixels.shape[0])
        x, y = x[inside], y[inside]
        pixels[y, x] = (1.0 - strength) * pixels[y, x] + strength * np.array(colour)

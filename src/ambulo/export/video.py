"""MP4 without a display: frames from the software renderer, encoded by the ffmpeg that ``imageio-ffmpeg`` brings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import AmbuloError, MotionError, install_remedy
from ambulo.export import mannequin
from ambulo.export.camera import view_camera
from ambulo.export.pictures import Trail, frame
from ambulo.motion.skeleton import Skeleton

if TYPE_CHECKING:
    from ambulo.control.recording import Recording

Progress = Callable[[int, int], None]
_BEHIND = 64  # frames rendered ahead of the encoder at most, so that memory stays small

ASKED = (0.90, 0.55, 0.20)
MADE = (0.20, 0.50, 0.82)


def write_video(
    path: str | Path,
    skeleton: Skeleton,
    global_positions: ArrayLike,
    rate: float,
    *,
    size: tuple[int, int] = (960, 540),
    video_rate: float = 30.0,
    view: str = "three_quarter",
    global_rotations: ArrayLike | None = None,
    contacts: ArrayLike | None = None,
    trails: Callable[[int], Sequence[Trail]] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write an MP4 (H.264). Returns its path; an interrupted call leaves no file.

    Args:
        path: the file; its folder is made.
        skeleton: J joints.
        global_positions: ``[T, J, 3]`` or ``[T, N, J, 3]``, metres. The camera follows the first figure.
        rate: frames a second of the motion.
        size: width and height in pixels, both even.
        video_rate: frames a second of the film; motion frames are picked, not blended.
        view: see :func:`ambulo.export.pictures.frame`; from the first frame's facing, and kept.
        global_rotations: ``[T, J, 4]`` or ``[T, N, J, 4]``.
        contacts: ``[T, 2]`` or ``[T, N, 2]``; feet in contact are drawn red.
        trails: lines of the scene in a motion frame.
        progress: called with (frames done, frames).

    Raises:
        AmbuloError: the ``video`` extra is not installed, the path is no MP4, or ffmpeg fails.
        MotionError: arrays of other shapes.
    """
    encoder = _encoder()
    target = Path(path)
    if target.suffix.lower() != ".mp4":
        raise AmbuloError("a film is written as MP4", path=target, remedy="let the name end in .mp4")
    if size[0] % 2 or size[1] % 2:
        raise AmbuloError(f"H.264 needs an even width and height, got {size[0]} x {size[1]}", key="size")
    p = np.asarray(global_positions, np.float64)
    p = p[:, None] if p.ndim == 3 else p
    if p.ndim != 4 or p.shape[2:] != (skeleton.joint_count, 3) or not len(p):
        raise MotionError(f"a film needs positions [T, N, {skeleton.joint_count}, 3], got {p.shape}")
    turns = None if global_rotations is None else np.asarray(global_rotations).reshape(*p.shape[:3], 4)
    down = None if contacts is None else np.asarray(contacts, bool).reshape(len(p), p.shape[1], 2)
    picked = np.minimum(np.arange(0.0, len(p), rate / video_rate).astype(int), len(p) - 1)
    targets = _followed(skeleton, p[:, 0], rate)
    height = mannequin.build_flesh(skeleton).height
    facing = mannequin.figure_forward(skeleton, p[0, 0])

    def render(index: int) -> NDArray[np.uint8]:
        camera = view_camera(targets[index], facing, view, height=1.6 * height, aspect=size[0] / size[1])
        return frame(
            skeleton,
            p[index],
            camera=camera,
            size=size,
            global_rotations=None if turns is None else turns[index],
            contacts=None if down is None else down[index],
            trails=() if trails is None else trails(index),
        )

    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.stem}.{os.getpid()}.part.mp4")
    try:
        writer = encoder.write_frames(
            str(part), size, fps=video_rate, codec="libx264", quality=7, macro_block_size=2, ffmpeg_log_level="error"
        )
        writer.send(None)
        try:
            for done, pixels in enumerate(_render_all(render, picked.tolist()), start=1):
                writer.send(pixels)
                if progress is not None:
                    progress(done, len(picked))
        finally:
            writer.close()
        part.replace(target)
    except (OSError, RuntimeError) as error:
        raise AmbuloError(f"the film cannot be written: {error}", path=target) from None
    finally:
        part.unlink(missing_ok=True)
    return target


def write_recording_video(
    recording: Recording,
    path: str | Path,
    *,
    desired_path: ArrayLike | None = None,
    size: tuple[int, int] = (960, 540),
    video_rate: float = 30.0,
    progress: Progress | None = None,
) -> Path:
    """Write a recording as MP4: figures, asked path, the asked trajectory and the way taken.

    Args:
        recording: what :func:`ambulo.control.simulation.simulate` returned.
        path: the file.
        desired_path: ``[M, 3]``, metres; the recording's own where None.
        size: width and height in pixels.
        video_rate: frames a second of the film.
        progress: called with (frames done, frames).
    """
    asked = recording.desired_path if desired_path is None else np.asarray(desired_path, np.float32)
    lift = np.array([0.0, 0.006, 0.0], np.float32)
    back = round(2.0 * recording.rate)

    def trails(index: int) -> list[Trail]:
        lines = []
        here = recording.root_positions[index, 0]
        if asked is not None:
            lines += [Trail(piece + lift, (0.62, 0.64, 0.68), 0.010) for piece in _near(asked, here, 8.0)]
        for n in range(recording.count):
            root = recording.root_positions[index, n]
            lines.append(Trail(recording.root_positions[max(index - back, 0) : index + 1 : 4, n] + lift, MADE, 0.012))
            ahead = np.concatenate([root[None], recording.trajectory_positions[index, n]])
            lines.append(Trail(ahead * [1.0, 0.0, 1.0] + lift, ASKED, 0.014))
        return lines

    return write_video(
        path,
        recording.skeleton,
        recording.global_positions,
        recording.rate,
        size=size,
        video_rate=video_rate,
        global_rotations=recording.global_rotations,
        trails=trails,
        progress=progress,
    )


def check_encoder() -> None:
    """Refuse a film where there is nothing to write it with.

    Raises:
        AmbuloError: the extra ``video`` is not installed.
    """
    _encoder()


def _encoder() -> Any:
    try:
        import imageio_ffmpeg

        imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        raise AmbuloError(
            "films need ffmpeg, which the extra `video` brings and which is not installed",
            remedy=install_remedy("video"),
        ) from None
    return imageio_ffmpeg


def _followed(skeleton: Skeleton, positions: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """What the camera looks at: the body over the ground, smoothed over a second, at half its height. ``[T, 3]``."""
    flesh = mannequin.build_flesh(skeleton)
    middle: NDArray[np.float64] = positions[:, flesh.body].mean(axis=1)
    half = min(round(0.5 * rate), (len(middle) - 1) // 2)
    if half > 0:
        padded = np.pad(middle, ((half + 1, half), (0, 0)), mode="edge")
        sums = np.cumsum(padded, axis=0)
        middle = (sums[2 * half + 1 :] - sums[: -2 * half - 1]) / (2 * half + 1)
    middle[:, 1] = 0.52 * flesh.height
    return middle


def _near(path: NDArray[np.float32], place: NDArray[np.float32], reach: float) -> list[NDArray[np.float32]]:
    """The stretches of a path within reach of a place."""
    close = np.hypot(path[:, 0] - place[0], path[:, 2] - place[2]) < reach
    edges = np.flatnonzero(np.diff(close.astype(np.int8))) + 1
    pieces = zip(np.split(path, edges), np.split(close, edges), strict=True)
    return [piece for piece, keep in pieces if keep[0] and len(piece) > 1]


def _render_all(render: Callable[[int], NDArray[np.uint8]], frames: Sequence[int]) -> Iterator[NDArray[np.uint8]]:
    """Render in order on all cores; the kernels let go of the interpreter's lock."""
    first = render(frames[0])  # compiles, or loads the compiled kernels, once
    yield first
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        waiting = [pool.submit(render, index) for index in frames[1 : 1 + _BEHIND]]
        for place in range(1, len(frames)):
            yield waiting.pop(0).result()
            if place + _BEHIND < len(frames):
                waiting.append(pool.submit(render, frames[place + _BEHIND]))

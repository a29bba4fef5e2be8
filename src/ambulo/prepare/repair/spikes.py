"""Take spikes out of a take: joints that leave their course and come back to it.

A spike is told by the steps that lead out of it and back in. What lies between them is thrown away and laid anew, along
a cubic that leaves the last good frame and reaches the next one as fast as the joint moves there. All other frames, and
all other joints, keep every bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.prepare.glitches import FLIP_ANGLE, FLIP_SPEED, POP_ANGLE, POP_SPEED, Glitch, find_glitches
from ambulo.prepare.quality.examination import runs

Bool = NDArray[np.bool_]

LONGEST = 0.25
"""Seconds: what is away longer has moved, and is no spike."""
RETURN = 0.5
"""A joint has come back where it is nearer to where it left than this part of its widest excursion."""
ROUNDS = 3
"""How often what is left is looked for again; a filter's ringing may surround a spike by a frame or two."""


@dataclass(frozen=True)
class MendedSpan:
    """Frames of one joint that were laid anew.

    Attributes:
        joint: its name.
        start_frame: first frame.
        stop_frame: one past the last.
    """

    joint: str
    start_frame: int
    stop_frame: int


@dataclass(frozen=True)
class SpikeRepair:
    """The outcome.

    Attributes:
        motion: the take without spikes.
        mended: what was laid anew.
        before: glitches that were found.
        after: glitches that are left: jumps that stay, most often, which are no spikes.
    """

    motion: Motion
    mended: tuple[MendedSpan, ...]
    before: tuple[Glitch, ...]
    after: tuple[Glitch, ...]


def remove_spikes(motion: Motion, *, speed: float = 20.0, longest: float = LONGEST) -> SpikeRepair:
    """Remove spikes from a take.

    Args:
        motion: any skeleton; at the rate that is true.
        speed: m/s above which a joint's movement is a fault, as in :func:`ambulo.prepare.glitches.find_glitches`.
        longest: seconds that a spike lasts at most.
    """
    before = find_glitches(motion, speed=speed)
    mended: list[MendedSpan] = []
    left = before
    for margin in range(ROUNDS):
        if not left:
            break
        tried, spans = _mend(motion, left, speed, longest, margin)
        if not spans:
            continue
        rest = find_glitches(tried, speed=speed)
        if _extent(rest) < _extent(left):  # else nothing was gained, and good frames may have been lost
            motion, left = tried, rest
            mended += spans
    return SpikeRepair(motion, tuple(mended), tuple(before), tuple(left))


def _extent(glitches: list[Glitch]) -> int:
    return sum(glitch.stop_frame - glitch.start_frame for glitch in glitches)


def _mend(
    motion: Motion, glitches: list[Glitch], speed: float, longest: float, margin: int
) -> tuple[Motion, list[MendedSpan]]:
    count = motion.frame_count
    wanted = np.zeros(max(count - 1, 0), bool)  # steps, t to t + 1
    for glitch in glitches:
        wanted[max(glitch.start_frame - 1, 0) : glitch.stop_frame] = True
    turns, moves = _jump_steps(motion, speed)
    turns &= wanted[:, None]
    moves &= wanted[:, None]
    rotations, positions = motion.rotations.copy(), motion.positions.copy()
    reaches = _reaches(motion)
    spans: list[MendedSpan] = []
    reach = max(1, round(longest * motion.rate))
    for joint in np.flatnonzero((turns | moves).any(axis=0)):
        done = np.zeros(count, bool)
        for first, last in _excursions(turns[:, joint], reach, margin, count):
            away = quaternions.angle_between(rotations[first : first + 1, joint], rotations[first : last + 1, joint])
            laid = _laid_rotations(rotations[:, joint], first, last)
            steps = _turn_steps(
                np.concatenate([rotations[first : first + 1, joint], laid, rotations[last : last + 1, joint]])
            )
            if _comes_back(away) and not _too_quick(steps, reaches[joint], motion.rate, speed).any():
                rotations[first + 1 : last, joint] = laid
                done[first + 1 : last] = True
        for first, last in _excursions(moves[:, joint], reach, margin, count):
            away = np.linalg.norm(positions[first : last + 1, joint] - positions[first, joint], axis=-1)
            if _comes_back(away):
                positions[first + 1 : last, joint] = _laid_positions(positions[:, joint], first, last)
                done[first + 1 : last] = True
        spans += [MendedSpan(motion.skeleton.names[joint], start, stop) for start, stop in runs(done)]
    return replace(motion, rotations=rotations, positions=positions), spans


def _jump_steps(motion: Motion, speed: float) -> tuple[Bool, Bool]:
    """Which joint turns, and which moves in its parent's frame, as no body does, from each frame to the next."""
    turns = _too_quick(_turn_steps(motion.rotations), _reaches(motion), motion.rate, speed)
    moved = np.linalg.norm(np.diff(motion.positions, axis=0), axis=-1)
    return turns, np.asarray(moved * motion.rate > speed, bool)


def _turn_steps(q: NDArray[np.floating]) -> NDArray[np.floating]:
    """Angles from each row to the next, radians. ``[T, ..., 4] -> [T - 1, ...]``"""
    return np.asarray(2.0 * np.arccos(np.minimum(np.abs(np.sum(q[:-1] * q[1:], axis=-1)), 1.0)))


def _too_quick(steps: NDArray[np.floating], reaches: ArrayLike, rate: float, speed: float) -> Bool:
    """Turns that pop, flip, or throw what hangs on the joint faster than ``speed``."""
    quick = (steps > POP_ANGLE) & (steps * rate > POP_SPEED)
    quick |= (steps > FLIP_ANGLE) & (steps * rate > FLIP_SPEED)
    quick |= 2.0 * np.sin(0.5 * np.minimum(steps, np.pi)) * np.asarray(reaches) * rate > speed
    return np.asarray(quick, bool)


def _reaches(motion: Motion) -> NDArray[np.float64]:
    """Metres from each joint to the farthest point below it, ``[J]``."""
    skeleton = motion.skeleton
    lengths = np.linalg.norm(np.median(motion.positions, axis=0), axis=-1)
    reaches: NDArray[np.float64] = np.linalg.norm(np.nan_to_num(skeleton.end_offsets), axis=-1).astype(np.float64)
    for joint in range(skeleton.joint_count - 1, 0, -1):
        parent = int(skeleton.parents[joint])
        if parent >= 0:
            reaches[parent] = max(reaches[parent], lengths[joint] + reaches[joint])
    return reaches


def _excursions(steps: Bool, reach: int, margin: int, count: int) -> list[tuple[int, int]]:
    """Pairs of good frames ``(last before, first after)`` around jump steps that are at most ``reach`` apart."""
    found = []
    at = np.flatnonzero(steps)
    while at.size:
        last = at[at - at[0] <= reach][-1]
        if last > at[0]:  # one step alone leads away and never back
            first, stop = int(at[0]) - margin, int(last) + 1 + margin
            if first >= 0 and stop < count:
                found.append((first, stop))
        at = at[at > last]
    return found


def _comes_back(away: NDArray[np.floating]) -> bool:
    return bool(away[-1] < RETURN * away.max())


def _slopes(before: NDArray[np.float64], after: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Hermite weights of the slopes at both ends for the frames between: ``[width - 1, 3]``."""
    s = (np.arange(1, width) / width)[:, None]
    rise = s * s * (3.0 - 2.0 * s)
    out = s * (1.0 - s) ** 2 * before + s * s * (s - 1.0) * after
    return np.asarray(np.concatenate([rise, out], axis=1))


def _laid_rotations(q: NDArray[np.float32], first: int, last: int) -> NDArray[np.float32]:
    """Rotations ``[last - first - 1, 4]`` between two good frames, along a cubic in the rotation vector."""
    start = q[first].astype(np.float64)
    across = _vector(start, q[last])
    width = last - first
    into = _vector(q[first - 1], start) * width if first > 0 else across
    out = _vector(q[last], q[last + 1]) * width if last + 1 < len(q) else across
    limit = 2.0 * float(np.linalg.norm(across)) + np.radians(10.0)
    laid = _slopes(_limited(into, limit), _limited(out, limit), width)
    path = laid[:, :1] * across + laid[:, 1:]
    new = quaternions.multiply(start, quaternions.from_scaled_angle_axis(path))
    # The sign of the first good frame is kept; all signs after the spike are as they were.
    return np.asarray(np.where(new @ start >= 0.0, 1.0, -1.0)[:, None] * new, np.float32)


def _laid_positions(p: NDArray[np.float32], first: int, last: int) -> NDArray[np.float32]:
    """Positions between two good frames, along a cubic. ``[last - first - 1, 3]``"""
    start, width = p[first].astype(np.float64), last - first
    across = p[last] - start
    into = (start - p[first - 1]) * width if first > 0 else across
    out = (p[last + 1].astype(np.float64) - p[last]) * width if last + 1 < len(p) else across
    limit = 2.0 * float(np.linalg.norm(across)) + 0.05
    laid = _slopes(_limited(into, limit), _limited(out, limit), width)
    return np.asarray(start + laid[:, :1] * across + laid[:, 1:], np.float32)


def _vector(a: NDArray[np.floating], b: NDArray[np.floating]) -> NDArray[np.float64]:
    """Rotation vector from ``a`` to ``b`` in ``a``'s frame, the short way."""
    turn = quaternions.inverse_multiply(np.asarray(a, np.float64), np.asarray(b, np.float64))
    return np.asarray(quaternions.to_scaled_angle_axis(quaternions.absolute(turn)), np.float64)


def _limited(slope: NDArray[np.float64], limit: float) -> NDArray[np.float64]:
    length = float(np.linalg.norm(slope))
    return slope if length <= limit else slope * (limit / length)

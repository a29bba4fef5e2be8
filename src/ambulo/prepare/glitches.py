"""Faults of the capture inside a take: joints that jump, spin or pop."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.maths import quaternions
from ambulo.motion.kinematics import GlobalPose, forward_motion
from ambulo.motion.motion import Motion

POP_ANGLE = np.radians(20.0)
"""A pop turns a joint by at least this away from both neighbours in time."""
POP_SPEED = np.radians(1000.0)
"""... and by at least this much a second."""
POP_RETURN = 0.3
"""... while the neighbours differ by at most this part of it."""
LONG_POP_ANGLE = np.radians(40.0)
"""A pop of several frames turns a joint by at least this on the way out and on the way back ..."""
LONG_POP_SPEED = np.radians(2000.0)
"""... and by at least this much a second ..."""
LONG_POP_FRAMES = 4
"""... and is over after so many frames."""
FLIP_ANGLE = np.radians(60.0)
"""A flip turns a joint by at least this from one frame to the next ..."""
FLIP_SPEED = np.radians(5000.0)
"""... and by at least this much a second. (The fastest human joint, a pitcher's shoulder, reaches 7,000 degrees a
second about its long axis; in locomotion nothing comes near.)"""


SERIOUS = 0.1
"""Metres: a pop or flip that throws no part of the body this far (a thumb, a toe tip) is reported but stays usable."""


SKIN = {"head": 0.2, **{f"{side}_{part}": 0.15 for side in ("left", "right") for part in ("hand", "foot")}}
"""Metres that a part of the body reaches beyond its joint at least, whether a bone is drawn there or not."""


@dataclass(frozen=True)
class Glitch:
    """A stretch of frames that the body cannot have moved through.

    Attributes:
        start_frame: first frame concerned.
        stop_frame: one past the last.
        joint: name of the joint that shows it most.
        reason: ``"speed"`` (m/s over the limit), ``"pop"`` (one frame off) or ``"flip"`` (turned over at once).
        value: the largest value met: m/s, or degrees a second.
        displacement: metres by which the fault throws the farthest point below the joint (infinite for ``"speed"``).
    """

    start_frame: int
    stop_frame: int
    joint: str
    reason: str
    value: float
    displacement: float = float("inf")


def find_glitches(motion: Motion, *, speed: float = 20.0, pose: GlobalPose | None = None) -> list[Glitch]:
    """Find what no body does.

    * ``speed``: a joint moves faster than ``speed`` in the world between two frames; both frames count.
    * ``pop``: a joint's local rotation leaves and comes back after one frame, or with larger steps after up to four.
    * ``flip``: a joint's local rotation turns over between two frames and stays.

    Args:
        motion: any skeleton; no roles are needed.
        speed: m/s.
        pose: the motion's global pose where the caller has it already.

    Returns:
        Stretches in order of time; those of the same reason with fewer than four good frames between are one.
    """
    count = motion.frame_count
    if count < 2:
        return []
    names = motion.skeleton.names
    pose = pose or forward_motion(motion)
    moved = np.diff(pose.positions, axis=0)
    speeds = np.sqrt(np.einsum("tjk,tjk->tj", moved, moved)) * motion.rate
    found = _runs(speeds > speed, speeds, 2, "speed", names)

    q = motion.rotations
    steps = _angles(q[:-1], q[1:])
    flips = (steps > FLIP_ANGLE) & (steps * motion.rate > FLIP_SPEED)
    if count > 2:
        least = np.minimum(steps[:-1], steps[1:])
        suspects = (least > POP_ANGLE) & (least * motion.rate > POP_SPEED)
        pops = np.zeros_like(suspects)
        at = np.nonzero(suspects)
        if at[0].size:
            across = quaternions.angle_between(q[:-2][at], q[2:][at])
            pops[at] = across < POP_RETURN * least[at]
        flags = np.concatenate([np.zeros_like(pops[:1]), pops])
        values = np.concatenate([np.zeros_like(least[:1]), least])
        _long_pops(q, steps, motion.rate, flags, values, flips)
        found += _runs(flags, np.degrees(values) * motion.rate, 1, "pop", names, (motion, values))
        # A pop is also two turns; it is told once.
        flips[:-1] &= ~pops
        flips[1:] &= ~pops
    found += _runs(flips, np.degrees(steps) * motion.rate, 2, "flip", names, (motion, steps))
    return sorted(found, key=lambda glitch: (glitch.start_frame, glitch.reason))


def _long_pops(
    q: NDArray[np.float32],
    steps: NDArray[np.float32],
    rate: float,
    flags: NDArray[np.bool_],
    values: NDArray[np.float32],
    flips: NDArray[np.bool_],
) -> None:
    """Add pops of two frames and more to ``flags`` and ``values`` ``[T - 1, J]``; what they explain is no flip."""
    large = (steps > LONG_POP_ANGLE) & (steps * rate > LONG_POP_SPEED)
    for joint in np.flatnonzero(np.count_nonzero(large, axis=0) > 1):
        at = np.flatnonzero(large[:, joint])
        for out, back in itertools.pairwise(at.tolist()):
            if not 2 <= back - out <= LONG_POP_FRAMES:
                continue
            least = min(steps[out, joint], steps[back, joint])
            if quaternions.angle_between(q[out, joint], q[back + 1, joint]) < POP_RETURN * least:
                flags[out + 1 : back + 1, joint] = True
                values[out + 1 : back + 1, joint] = least
                flips[out : back + 1, joint] = False


def _angles(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    # 2 acos|dot| is imprecise for small angles and quick; only large ones matter here.
    return np.asarray(2.0 * np.arccos(np.minimum(np.abs(np.einsum("tjk,tjk->tj", a, b)), 1.0)))


def _displacements(motion: Motion, angles: NDArray[np.floating]) -> NDArray[np.floating]:
    """Metres by which the farthest point below each joint moves when it turns by the angles ``[T, J]``."""
    skeleton = motion.skeleton
    lengths = np.linalg.norm(motion.positions[0], axis=-1)
    reaches = np.linalg.norm(np.nan_to_num(skeleton.end_offsets), axis=-1)
    for role, reach in SKIN.items():
        if role in skeleton.roles:
            reaches[skeleton.roles[role]] = max(reaches[skeleton.roles[role]], reach)
    for joint in range(skeleton.joint_count - 1, 0, -1):
        parent = skeleton.parents[joint]
        if parent >= 0:
            reaches[parent] = max(reaches[parent], lengths[joint] + reaches[joint])
    return np.asarray(2.0 * np.sin(0.5 * np.minimum(angles, np.pi)) * reaches)


def _runs(
    flags: NDArray[np.bool_],
    values: NDArray[np.floating],
    reach: int,
    reason: str,
    names: tuple[str, ...],
    turned: tuple[Motion, NDArray[np.floating]] | None = None,
) -> list[Glitch]:
    """Join flagged rows into stretches; a flag at row t concerns the frames ``[t, t + reach)``.

    ``turned``: the motion and the angles, where the displacement is to be told.
    """
    rows = np.flatnonzero(flags.any(axis=1))
    if rows.size == 0:
        return []
    displacements = None if turned is None else _displacements(*turned)
    glitches = []
    for group in np.split(rows, np.flatnonzero(np.diff(rows) > 4 + reach) + 1):
        inside = np.where(flags[group], values[group], -np.inf)
        worst = int(np.argmax(inside.max(axis=0)))
        start, stop = int(group[0]), int(group[-1]) + reach
        thrown = np.inf if displacements is None else np.where(flags[group], displacements[group], 0.0).max()
        glitches.append(Glitch(start, stop, names[worst], reason, float(inside.max()), float(thrown)))
    return glitches


def glitch_mask(glitches: list[Glitch], frame_count: int, margin_frames: float = 0.0) -> NDArray[np.bool_]:
    """True in the frames of a glitch and ``margin_frames`` around it. Returns bool ``[frame_count]``."""
    mask = np.zeros(frame_count, bool)
    margin = int(np.ceil(margin_frames))
    for glitch in glitches:
        mask[max(0, glitch.start_frame - margin) : glitch.stop_frame + margin] = True
    return mask

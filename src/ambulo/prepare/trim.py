"""What to cut off a take's ends: T-poses, the jump after them, and the ringing of a converter's filter."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ambulo.motion.kinematics import GlobalPose, forward_motion
from ambulo.motion.motion import Motion

JUMP_SPEED = 20.0
"""m/s: a joint that is faster between two frames has jumped."""
HEAD_TIME = 0.25
"""Seconds at either end within which a jump cuts what lies outside it."""
RINGING_TIME = 0.2
"""Seconds after such a jump within which ringing is looked for."""
RINGING_START = 10.0
"""Ringing begins with an acceleration of this many times the take's median ..."""
RINGING_RATIO = 4.0
"""... and lasts until it stays under this many times."""
STILL_SPEED = 0.3
"""m/s: in a held T-pose no joint is faster ..."""
HELD_TIME = 0.1
"""... for at least this many seconds."""


@dataclass(frozen=True)
class Cut:
    """One reason to cut frames off an end.

    Attributes:
        kind: ``"t_pose"``, ``"jump"`` or ``"ringing"``.
        start_frame: first frame concerned.
        stop_frame: one past the last.
        value: seconds that a T-pose is held, m/s of a jump, frames of ringing.
        joint: the joint that jumps farthest.
        reason: one sentence.
    """

    kind: str
    start_frame: int
    stop_frame: int
    value: float
    reason: str
    joint: str | None = None


@dataclass(frozen=True)
class TrimReport:
    """The usable part of a take.

    Attributes:
        start_frame: first usable frame.
        stop_frame: one past the last.
        reasons: one sentence for each cut; empty where the whole take is usable.
        cuts: the same with frames and numbers.
    """

    start_frame: int
    stop_frame: int
    reasons: tuple[str, ...] = ()
    cuts: tuple[Cut, ...] = ()


def usable_range(motion: Motion, *, pose: GlobalPose | None = None) -> TrimReport:
    """Find the part of a take between calibration at its start and at its end.

    Cut are: frames before a jump in the first quarter of a second and after one in the last; the frames after such a
    jump in which the data still rings (the Daz-friendly release of CMU has about five to eight); a T-pose held at an
    end, with or without a jump after it. What lies inside is never cut here: see :mod:`ambulo.prepare.glitches`.

    Args:
        motion: roles are needed for the T-pose only; without them jumps alone are looked for.
        pose: the motion's global pose where the caller has it already.
    """
    count = motion.frame_count
    if count < 3:
        return TrimReport(0, count)
    positions = (pose or forward_motion(motion)).positions
    moved = np.diff(positions, axis=0)
    speeds = np.sqrt(np.einsum("tjk,tjk->tj", moved, moved)).max(axis=1) * motion.rate
    cuts: list[Cut] = []
    start = _cut(motion, positions, moved, speeds, "first", cuts)
    tail: list[Cut] = []
    back = _cut(motion, positions[::-1], -moved[::-1], speeds[::-1], "last", tail)
    stop = count - back
    if stop - start < 3:
        # Nothing but calibration: leave the take whole and say so.
        return TrimReport(0, count, ("the whole take looks like a calibration pose; nothing was cut",))
    cuts += [replace(cut, start_frame=count - cut.stop_frame, stop_frame=count - cut.start_frame) for cut in tail]
    return TrimReport(start, stop, tuple(cut.reason for cut in cuts), tuple(cuts))


def _cut(
    motion: Motion,
    positions: NDArray[np.float32],
    moved: NDArray[np.float32],
    speeds: NDArray[np.floating],
    end: str,
    cuts: list[Cut],
) -> int:
    """Frames to cut at the start of (possibly reversed) arrays."""
    rate = motion.rate
    cut = _t_pose_frames(motion, positions, speeds)
    if cut:
        cuts.append(Cut("t_pose", 0, cut, cut / rate, f"the {end} {_frames(cut)} a held T-pose"))
    # A jump that the head (or the T-pose) ends with.
    within = min(len(speeds) // 2, max(1, cut + int(HEAD_TIME * rate)))
    jumps = np.flatnonzero(speeds[:within] > JUMP_SPEED)
    if jumps.size:
        after = int(jumps[-1]) + 1
        distances = np.linalg.norm(moved[jumps[-1]], axis=-1)
        distance, joint = float(distances.max()), motion.skeleton.names[int(distances.argmax())]
        reason = f"a jump of {distance:.2f} m in one frame cuts off the {end} {_frames(after, verb=False)}"
        cuts.append(Cut("jump", 0, after, distance * rate, reason, joint))
        # A converter's filter runs forward in time, so it rings after a jump and never before one.
        ringing = _ringing_frames(moved[after:], rate) if end == "first" else 0
        if ringing:
            reason = f"the data rings for {_frames(ringing, verb=False)} after that jump"
            cuts.append(Cut("ringing", after, after + ringing, float(ringing), reason))
        cut = max(cut, after + ringing)
    return cut


def _frames(count: int, *, verb: bool = True) -> str:
    words = ("frame", " is") if count == 1 else ("frames", " are")
    return f"{count} {words[0]}{words[1] if verb else ''}"


def _ringing_frames(moved: NDArray[np.float32], rate: float) -> int:
    """Frames after a jump until accelerations settle; 0 where they are normal at once."""
    change = np.diff(moved, axis=0)
    acceleration = np.sqrt(np.einsum("tjk,tjk->tj", change, change)).max(axis=1)
    limit = int(RINGING_TIME * rate)
    if len(acceleration) < 2 * limit:
        return 0
    usual = float(np.median(acceleration))
    if acceleration[:2].max() <= RINGING_START * usual:
        return 0
    loud = acceleration[: limit + 2] > RINGING_RATIO * usual
    count = 0
    # Entry i belongs to frame i + 1. Two quiet frames in a row end the ringing.
    while count < limit and (loud[count] or loud[count + 1]):
        count += 1
    return count + 1 if count else 0


def _t_pose_frames(motion: Motion, positions: NDArray[np.float32], speeds: NDArray[np.floating]) -> int:
    """How many frames at the start are a T-pose that is held still."""
    roles = motion.skeleton.roles
    needed = [f"{side}_{part}" for side in ("left", "right") for part in ("upper_arm", "hand", "upper_leg", "foot")]
    if any(role not in roles for role in needed):
        return 0
    fast = np.flatnonzero(speeds > STILL_SPEED)
    still = int(fast[0]) + 1 if fast.size else len(positions)
    p = positions[:still]
    arms = [p[:, roles[f"{side}_hand"]] - p[:, roles[f"{side}_upper_arm"]] for side in ("left", "right")]
    legs = [p[:, roles[f"{side}_foot"]] - p[:, roles[f"{side}_upper_leg"]] for side in ("left", "right")]
    arms = [v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-6) for v in arms]
    legs = [v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-6) for v in legs]
    pose = (
        (np.sum(arms[0] * arms[1], axis=-1) < -0.85) & (np.abs(arms[0][:, 1]) < 0.35) & (np.abs(arms[1][:, 1]) < 0.35)
    )
    pose &= (legs[0][:, 1] < -0.95) & (legs[1][:, 1] < -0.95)
    other = np.flatnonzero(~pose)
    held = int(other[0]) if other.size else still
    return held if held >= HELD_TIME * motion.rate else 0

"""Whether a take can have been captured at the rate its file says: legs swing and bodies fall at their own pace.

Nothing in a file of poses tells the time but the motion itself. Two clocks are built into it.

*Legs.* A leg that takes a step swings for about 0.4 s. It cannot do it in much less: even sprinters at top speed
need some 0.35 s (P. Weyand et al., "Faster top running speeds are achieved with greater ground forces not more rapid
leg movements", J. Appl. Physiol. 89, 2000), and only very slow walkers take more than 0.7 s.

*Gravity.* Nothing pulls a body down but its weight: its centre falls with 9.81 m/s² at most, however it moves. Twice
the rate makes that four times as much.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.prepare.quality.bones import LARGEST, SMALLEST
from ambulo.prepare.quality.examination import Examination
from ambulo.prepare.quality.finding import Finding, Proposal

SHORTEST_SWING = 0.27
"""Seconds: steps of at least half a leg's length whose median swing is shorter are no steps of a person. (The time is
that in which the ankle moves faster than a quarter of its fastest, somewhat less than the time in the air.)"""
LONGEST_SWING = 0.85
"""Seconds: the same for steps in slow motion."""
USUAL_SWING = 0.45
"""Seconds, of walking and of running alike; what a better rate is chosen by."""
STEP_LENGTH = 0.5
"""Leg lengths that a foot travels at least in what counts as a step."""
LEAST_STEPS = 4
"""Steps that a judgement needs."""
GRAVITY = 9.81
FALL_WINDOW = 0.3
"""Seconds over which the acceleration of the body's centre is measured, by fitting a parabola."""
FASTEST_FALL = 1.5
"""Times gravity: more is impossible. (The centre is a rough one, of some joints; 1.0 to 1.4 occur.)"""
SLOWEST_RATE = 1.0
"""Frames a second."""
REPEATED = 0.4
"""Part of all frames that repeat the one before, evenly spread, where a take was captured at a lower rate."""

STILL_STEP = 5e-5
"""Metres that no joint moves farther between a frame and its repetition."""
KEYED = frozenset({"gltf", "glb", "usda", "usdc", "usdz", "fbx"})
"""Formats that write times in seconds, and that mostly hold motion made by hand, which obeys neither clock."""

_MASSES = {
    "hips": 0.30,
    "chest": 0.35,
    "head": 0.10,
    **{f"{side}_{part}": mass for side in ("left", "right") for part, mass in (("lower_leg", 0.075), ("foot", 0.05))},
}
_FACTORS = (0.25, 0.5, 2.0, 4.0)


def find_rate(exam: Examination) -> list[Finding]:
    """Rates that cannot be true: a frame time of seconds, repeated frames, steps or falls too quick or too slow."""
    motion = exam.motion
    if motion.rate < SLOWEST_RATE:
        written = motion.source.frame_time
        said = f"{written:g} s a frame" if written else f"{motion.rate:g} frames a second"
        meant = written if written is not None and 10.0 <= written <= 1000.0 else None
        hint = f"; somebody may have written the rate ({meant:g}) for the time" if meant else ""
        return [
            exam.finding(
                "rate",
                "warning",
                (0, motion.frame_count),
                f"the file says {said}, which is no motion{hint}",
                value=motion.rate,
                unit="frames/s",
                remedy=f"give the true rate, probably {meant:g}" if meant else "give the true rate",
                proposal=Proposal(rate=meant),
            )
        ]
    found = _repeats(exam)
    if found or not exam.has_legs or not SMALLEST <= exam.human_size <= LARGEST:
        return found
    swing, steps = swing_time(exam)
    if steps >= LEAST_STEPS and swing < SHORTEST_SWING:
        said = f"{steps} steps swing for {swing:.2f} s in the median, no leg is so quick (about {USUAL_SWING:g} s)"
        return [_wrong(exam, said, swing, "s a swing", swing / USUAL_SWING)]
    fall, frame = fastest_fall(exam)
    if fall > FASTEST_FALL:
        said = f"the body falls with {fall:.1f} times gravity at {frame / exam.file_rate:.2f} s, 1 is the most there is"
        return [_wrong(exam, said, fall, "g", 1.0 / np.sqrt(fall))]
    if steps >= LEAST_STEPS and swing > LONGEST_SWING:
        said = f"{steps} steps swing for {swing:.2f} s in the median, as in slow motion (about {USUAL_SWING:g} s)"
        return [_wrong(exam, said, swing, "s a swing", swing / USUAL_SWING)]
    return []


def _wrong(exam: Examination, said: str, value: float, unit: str, factor: float) -> Finding:
    """A finding that proposes the rate nearest to ``factor`` times the file's, in steps of two."""
    allowed = [f for f in _FACTORS if (f < 1.0) == (factor < 1.0)]
    chosen = min(allowed, key=lambda f: abs(np.log(f / factor)))
    rate = exam.motion.rate * chosen
    keyed = exam.motion.source.format in KEYED
    return exam.finding(
        "rate",
        "note" if keyed else "warning",
        (0, exam.motion.frame_count),
        f"at {exam.motion.rate:g} frames a second {said}" + ("; keyed by hand, perhaps" if keyed else ""),
        value=value,
        unit=unit,
        remedy="" if keyed else f"give the true rate: {rate:g} fits",
        proposal=None if keyed else Proposal(rate=float(rate)),
    )


def _repeats(exam: Examination) -> list[Finding]:
    steps = exam.longest_steps
    if steps.size < 12 or np.count_nonzero(steps < STILL_STEP) < REPEATED * steps.size:
        return []
    moving = np.percentile(steps, 90)
    if moving < 1e-4:
        return []
    still = steps < 1e-3 * moving
    moves = np.flatnonzero(~still)
    if moves.size < 6 or not REPEATED < still.mean() < 0.95:
        return []
    gaps = np.diff(moves)
    period = int(np.median(gaps))
    if period < 2 or np.mean(gaps == period) < 0.8:
        return []
    rate = exam.motion.rate / period
    return [
        exam.finding(
            "repeats",
            "warning",
            (0, exam.motion.frame_count),
            f"the pose changes every {period} frames only: captured at {rate:g} frames a second and repeated",
            value=period,
            unit="frames",
            remedy=f"keep every {period}th frame and give the rate {rate:g}",
        )
    ]


def swing_time(exam: Examination) -> tuple[float, int]:
    """Median seconds that a foot is on its way in a step, and how many steps that is of; NaN and 0 without any.

    A step is a stretch in which the ankle is faster (over the ground) than a quarter of its usual top speed, reaches
    half of that, and comes :data:`STEP_LENGTH` leg lengths further. All of it is counted in frames, so that the rate
    changes nothing but the seconds.
    """
    part = exam.usable
    roles = exam.motion.skeleton.roles
    lengths: list[int] = []
    for side in ("left", "right"):
        path = exam.pose.positions[part, roles[f"{side}_foot"]][:, [0, 2]].astype(np.float64)
        if len(path) < 8:
            continue
        speed = np.hypot(*_gradient(path).T)
        place = int(0.95 * (len(speed) - 1))
        top = float(np.partition(speed, place)[place])
        moving = np.flatnonzero(np.diff(np.concatenate([[False], speed > 0.25 * top, [False]]).astype(np.int8)))
        starts, stops = moving[::2], moving[1::2]
        if not len(starts):
            continue
        whole = (starts > 0) & (stops < len(speed))
        far = np.hypot(*(path[stops - 1] - path[starts]).T) > STEP_LENGTH * exam.leg_length
        quick = np.maximum.reduceat(np.append(speed, 0.0), moving)[::2] > 0.5 * top
        lengths += (stops - starts)[whole & far & quick].tolist()
    if not lengths:
        return float("nan"), 0
    return float(np.median(lengths)) / exam.motion.rate, len(lengths)


def fastest_fall(exam: Examination) -> tuple[float, int]:
    """Greatest downward acceleration of the body's centre, in g, and the frame; 0 where the take is too short."""
    part = exam.usable
    roles = exam.motion.skeleton.roles
    joints = [role for role in _MASSES if role in roles]
    masses = np.array([_MASSES[role] for role in joints])
    height = exam.pose.positions[part, [roles[role] for role in joints], 1].astype(np.float64) @ (masses / masses.sum())
    half = max(2, round(0.5 * FALL_WINDOW * exam.motion.rate))
    if len(height) < 2 * half + 3:
        return 0.0, 0
    weights = np.arange(-half, half + 1.0) ** 2
    weights -= weights.mean()
    weights *= 2.0 / np.sum(weights**2)
    down = -np.convolve(height, weights, "valid") * exam.motion.rate**2 / GRAVITY
    frame = int(np.argmax(down))
    return float(down[frame]), frame + half + part.start


def _gradient(path: NDArray[np.float64]) -> NDArray[np.float64]:
    steps = np.diff(path, axis=0)
    return np.concatenate([steps[:1], 0.5 * (steps[1:] + steps[:-1]), steps[-1:]])

"""How soon a change of the stick shows: response times to turns of 90 and 180 degrees.

A *change* is a frame in which the asked direction differs from the frame before by the angle, give or take 15 degrees,
with a wish to move before and after, and after which the wish stays within 5 degrees for at least
:data:`SETTLED` seconds. The *response* ends at the first frame in which the root's velocity is within 5 degrees of the
wish (MVAE's tolerance) and at least half as fast. A change that is never answered counts with the whole time until the
next one: a lower bound, never a gain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.evaluation.measure import Measure
from ambulo.evaluation.travel import Travel, horizontal_velocities, wrap

TOLERANCE = math.radians(5.0)
ANGLE_SPREAD = math.radians(15.0)
SETTLED = 1.0  # seconds that a wish must last to be judged
SPEED_SHARE = 0.5  # of the asked speed that must be reached
MOVING = 0.1  # m/s above which a wish is one to move
RAW_LIMIT = 2.0  # seconds: slower turns in the capture are not looked for


@dataclass(frozen=True)
class Change:
    """A change of the wish: the new wish holds in the frames ``[start, stop)``; ``angle`` in radians, >= 0."""

    start: int
    stop: int
    angle: float


def find_changes(headings: NDArray[np.float64], speeds: NDArray[np.float64], rate: float) -> list[Change]:
    """Sudden turns of a wish.

    Args:
        headings: asked direction ``[T]``, radians.
        speeds: asked speed ``[T]``, m/s.
        rate: frames a second.
    """
    turn = np.abs(wrap(np.diff(headings)))
    moving = speeds > MOVING
    starts = np.flatnonzero((turn > ANGLE_SPREAD) & moving[1:] & moving[:-1]) + 1
    changes = []
    for start in starts:
        same = (np.abs(wrap(headings[start:] - headings[start])) < TOLERANCE) & moving[start:]
        stop = start + (int(np.argmin(same)) if not same.all() else len(same))
        if stop - start >= SETTLED * rate:
            changes.append(Change(int(start), int(stop), float(turn[start - 1])))
    return changes


def response_time(travel: Travel, change: Change) -> float:
    """Seconds from a change until the root goes where it is asked."""
    velocity = travel.velocities()[change.start : change.stop]
    wish = travel.desired_velocity[change.start : change.stop]
    off = np.abs(wrap(np.arctan2(velocity[:, 0], velocity[:, 1]) - np.arctan2(wish[:, 0], wish[:, 2])))
    speed = np.hypot(velocity[:, 0], velocity[:, 1])
    done = (off < TOLERANCE) & (speed >= SPEED_SHARE * np.hypot(wish[:, 0], wish[:, 2]))
    return float(np.argmax(done) if done.any() else len(done)) / travel.rate


def facing_response_time(travel: Travel, change: Change) -> float:
    """Seconds from a change until the root faces within 5 degrees of where it is asked to face."""
    off = np.abs(wrap(travel.headings - travel.desired_headings()))[change.start : change.stop]
    done = off < TOLERANCE
    return float(np.argmax(done) if done.any() else len(done)) / travel.rate


def fastest_turn(stretches: Sequence[NDArray[np.float64]], rate: float, angle: float) -> float:
    """The shortest time in which captured roots turn their velocity by an angle (less the tolerance), seconds.

    Both ends must move at 0.5 m/s or more. No controller that plays the capture unchanged turns faster.

    Args:
        stretches: root positions ``[T, 3]`` a stretch, metres.
        rate: frames a second.
        angle: radians.
    """
    velocities = [horizontal_velocities(positions, rate) for positions in stretches if len(positions) > 2]
    for steps in range(1, int(RAW_LIMIT * rate) + 1):
        for velocity in velocities:
            if len(velocity) <= steps:
                continue
            a, b = velocity[:-steps], velocity[steps:]
            lengths = np.hypot(a[:, 0], a[:, 1]), np.hypot(b[:, 0], b[:, 1])
            fast = (lengths[0] >= 0.5) & (lengths[1] >= 0.5)
            cosine = np.sum(a * b, axis=1) / np.where(fast, lengths[0] * lengths[1], 1.0)
            if bool((fast & (cosine <= math.cos(angle - TOLERANCE))).any()):
                return steps / rate
    return float("nan")


def measure_response(
    travels: Sequence[Travel], raw_stretches: Sequence[NDArray[np.float64]], raw_rate: float
) -> dict[str, Measure]:
    """Response times to the changes of 90 and 180 degrees that a recording holds; none where it holds none."""
    measures: dict[str, Measure] = {}
    for degrees in (90, 180):
        going: list[float] = []
        facing: list[float] = []
        angle = math.radians(degrees)
        for travel in travels:
            wish = travel.desired_velocity
            speeds = travel.desired_speeds()
            for change in find_changes(np.arctan2(wish[:, 0], wish[:, 2]), speeds, travel.rate):
                if abs(change.angle - angle) <= ANGLE_SPREAD:
                    going.append(response_time(travel, change))
            desired = travel.desired_headings()
            asked = np.where(np.isfinite(desired), desired, 0.0)
            for change in find_changes(asked, np.where(np.isfinite(desired), 1.0, 0.0), travel.rate):
                if abs(change.angle - angle) <= ANGLE_SPREAD:
                    facing.append(facing_response_time(travel, change))
        if going:
            measures[f"response_{degrees}"] = Measure(
                float(np.mean(going)),
                fastest_turn(raw_stretches, raw_rate, angle),
                "s",
                False,
                f"Time from a {degrees} degree change of the asked direction until the root's velocity (over 0.1 s) is "
                "within 5 degrees of it and half as fast as asked, mean of all such changes; raw: the fastest such "
                "turn of a root in the capture, moving at 0.5 m/s or more before and after.",
            )
        if facing:
            measures[f"response_{degrees}_facing"] = Measure(
                float(np.mean(facing)),
                None,
                "s",
                False,
                f"Time from a {degrees} degree change of the asked facing until the root faces within 5 degrees of it.",
            )
    return measures

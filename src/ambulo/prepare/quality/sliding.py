"""Feet that carry the body and move all the same.

The foot that carries is told without its speed, else a foot that glides would never count as standing: it is the slower
one of those that are down, as long as the body does not fall freely. (In the flight of a run both feet may pass within
4 cm of the height of a standing one; the body's centre then falls with nearly the whole of gravity.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.prepare.quality.examination import Examination, runs
from ambulo.prepare.quality.finding import Finding
from ambulo.prepare.quality.rate import GRAVITY
from ambulo.prepare.travel import feet_travel

DOWN = 0.04
"""Metres above the height of a standing foot up to which a foot is down."""
SLIDE_SPEED = 0.4
"""m/s from which a carrying foot slides ..."""
SLIDE_TIME = 0.1
"""... for at least so many seconds ..."""
SLIDE_DISTANCE = 0.1
"""... and metres."""
FLIGHT = 0.4
"""Times gravity at which the body falls while no foot carries it."""
CREEP = 0.05
"""m/s: the median speed of feet in the middle of their contacts beyond which all contacts slide. Bandai-Namco's and
PFNN's capture has 0.01 to 0.03, a body that was forced onto another's proportions 0.05 to 0.11."""
CREEP_CONTACT = 0.2
"""Seconds of a contact that counts for it ..."""
CREEP_MARGIN = 0.05
"""... without so many at either end, where the foot rolls."""


def find_sliding(exam: Examination) -> list[Finding]:
    """Stretches in which the carrying foot glides, and contacts that creep; or that the take walks in place."""
    part = exam.usable
    if not exam.has_feet or part.stop - part.start < 3:
        return []
    found = _glides(exam)
    creep, count = contact_creep(exam)
    if creep > CREEP:
        found.append(
            exam.finding(
                "sliding",
                "warning",
                (part.start, part.stop),
                f"feet creep at {100 * creep:.1f} cm/s while they stand ({count} frames of contact)",
                value=creep,
                unit="m/s",
                remedy="repair the feet (ambulo repair --feet)",
            )
        )
    if found and exam.has_legs:
        travel = feet_travel(exam.motion, exam.pose)
        if travel.in_place:  # feet must glide then: nothing is wrong with them
            return [
                exam.finding(
                    "in_place",
                    "warning",
                    (0, exam.motion.frame_count),
                    f"it walks in place: its feet walk at {travel.speed:.2f} m/s, the body stays",
                    value=travel.speed,
                    unit="m/s",
                    remedy='travel = "from_feet" in its [[sources]] table moves it on',
                )
            ]
    return found


def _glides(exam: Examination) -> list[Finding]:
    part, rate = exam.usable, exam.motion.rate
    joints = list(exam.toes)
    toes = exam.pose.positions[part][:, joints]
    moved = np.diff(toes[..., [0, 2]], axis=0)
    steps = np.sqrt(np.einsum("tfk,tfk->tf", moved, moved))
    if exam.floor.uneven:  # nobody knows where the floor is: only what stands still stands
        return []
    level = exam.floor.foot_height + DOWN
    down = (toes[1:, :, 1] < level) & (toes[:-1, :, 1] < level)
    carrying = np.where(down, steps, np.inf)
    slide = carrying.min(axis=1)
    sliding = np.isfinite(slide) & (slide * rate > SLIDE_SPEED)
    if not sliding.any():
        return []
    sliding &= ~_flight(exam)[1:]
    found = []
    for first, last in runs(sliding, max(2, round(SLIDE_TIME * rate))):
        distance = float(slide[first:last].sum())
        if distance < SLIDE_DISTANCE:
            continue
        side = int(np.argmin(np.where(down[first:last], steps[first:last], np.inf).sum(axis=0)))
        joint = exam.motion.skeleton.names[joints[side]]
        found.append(
            exam.finding(
                "sliding",
                "warning",
                (first + part.start, last + part.start + 1),
                f"the foot that carries the body ({joint!r}) slides {100 * distance:.0f} cm at "
                f"{100 * distance * rate / (last - first):.0f} cm/s",
                value=distance,
                unit="m",
                joint=joint,
                remedy="repair the feet (ambulo repair --feet)",
            )
        )
    return found


def _flight(exam: Examination) -> NDArray[np.bool_]:
    """Frames of the usable part in which the body falls. ``[usable]``"""
    part, rate = exam.usable, exam.motion.rate
    hips = exam.motion.skeleton.roles.get("hips", 0)
    height = exam.pose.positions[part, hips, 1].astype(np.float64)
    half = max(1, round(0.035 * rate))
    flags = np.zeros(len(height), bool)
    if len(height) > 2 * half:
        weights = np.arange(-half, half + 1.0) ** 2
        weights -= weights.mean()
        weights *= 2.0 / np.sum(weights**2)
        falling = -np.convolve(height, weights, "valid") * rate**2 > FLIGHT * GRAVITY
        flags[half:-half] = falling
        flags[:half], flags[-half:] = falling[0], falling[-1]
    return flags


def contact_creep(exam: Examination) -> tuple[float, int]:
    """Median horizontal speed in m/s of feet in the middle of their contacts, and of how many frames; 0 for none."""
    part, rate = exam.usable, exam.motion.rate
    toes = exam.pose.positions[part][:, list(exam.toes)][..., [0, 2]]
    moved = toes[2:] - toes[:-2]
    speeds = np.sqrt(np.einsum("tfk,tfk->tf", moved, moved)) * (0.5 * rate)
    margin = int(np.ceil(CREEP_MARGIN * rate))
    inside = []
    for foot in range(2):
        for start, stop in runs(exam.contacts[:, foot], int(CREEP_CONTACT * rate)):
            inside.append(speeds[max(start + margin - 1, 0) : max(stop - margin - 1, 0), foot])
    values = np.concatenate(inside) if inside else np.zeros(0)
    return (float(np.median(values)), len(values)) if len(values) > 10 else (0.0, len(values))

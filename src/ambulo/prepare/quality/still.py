"""Bodies that do not move at all: a frozen stream, tracking lost, an empty take."""

from __future__ import annotations

import numpy as np

from ambulo.prepare.quality.examination import Bool, Examination, runs
from ambulo.prepare.quality.finding import Finding, Proposal

FROZEN_SPEED = 2e-4
"""m/s: no joint of a living body stays below, not even standing; capture adds noise of its own."""
FROZEN_TIME = 0.2
"""Seconds from which it is told."""
ZERO_ANGLE = 1e-4
"""Radians: rotations below are zero."""
LEAST_JOINTS = 4
"""Joints below the root that make it a body, whose rest pose nobody takes by chance."""


def find_all_zero(exam: Examination) -> list[Finding]:
    """Frames in which every rotation is zero (a root's may stand for the up axis) and the root does not move.

    Frames of a T-pose at an end are told by :mod:`ambulo.prepare.quality.ends`.
    """
    motion = exam.motion
    inner = motion.skeleton.parents >= 0
    if inner.sum() < LEAST_JOINTS or motion.frame_count < 2:
        return []
    # |sin(angle / 2)| of every joint but the roots; one of them rules nearly every frame out.
    zero: Bool = np.all(np.abs(motion.rotations[:, int(np.argmax(inner)), :3]) < 0.5 * ZERO_ANGLE, axis=1)
    candidates = np.flatnonzero(zero)
    zero[candidates] = (np.abs(motion.rotations[candidates][:, inner, :3]) < 0.5 * ZERO_ANGLE).all(axis=(1, 2))
    if zero.any():
        roots = motion.positions[:, ~inner]
        still = np.ones(motion.frame_count, bool)
        moved = np.abs(np.diff(roots, axis=0)).max(axis=(1, 2)) > 1e-6
        still[1:] &= ~moved
        still[:-1] |= ~moved
        zero &= still
    found = []
    for start, stop in runs(zero, 2):
        part = exam.usable
        if exam.trim.cuts and (stop <= part.start or start >= part.stop):
            continue
        whole = stop - start == motion.frame_count
        found.append(
            exam.finding(
                "all_zero",
                "error" if whole else "warning",
                (start, stop),
                "every rotation is zero and the root stands still"
                + (" in the whole take" if whole else ": the body was lost"),
                value=stop - start,
                unit="frames",
                remedy="leave the take out" if whole else "skip these frames",
                proposal=None if whole else Proposal(skip_frames=((start, stop),)),
            )
        )
    return found


def find_frozen(exam: Examination) -> list[Finding]:
    """Stretches in which not one joint moves."""
    motion, part = exam.motion, exam.usable
    steps = exam.longest_steps[part.start : max(part.stop - 1, part.start)]
    still: Bool = np.less(steps, FROZEN_SPEED / motion.rate)
    at = np.flatnonzero(still)
    if at.size:  # a turn about its own axis moves no joint, but is a movement
        q = motion.rotations[part]
        still[at] = (np.abs(q[at + 1] - q[at]) < 0.5 * ZERO_ANGLE).all(axis=(1, 2))
    found = []
    for first, last in runs(still, max(4, round(FROZEN_TIME * motion.rate))):
        start, stop = first + part.start, last + part.start + 1
        seconds = (stop - 1 - start) / motion.rate
        found.append(
            exam.finding(
                "frozen",
                "warning",
                (start, stop),
                f"nothing moves for {seconds:.2f} s",
                value=seconds,
                unit="s",
                remedy="skip these frames",
                proposal=None if stop - start == motion.frame_count else Proposal(skip_frames=((start, stop),)),
            )
        )
    return found

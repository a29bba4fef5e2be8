"""The body itself: bones that change length, joints without a bone, a body of no human size."""

from __future__ import annotations

import numpy as np

from ambulo.formats.units import HUMAN_SPAN, guess_unit
from ambulo.prepare.quality.examination import Examination, runs
from ambulo.prepare.quality.finding import Finding, Proposal

STRETCH = 0.005
"""Metres by which a bone's length differs from its median at least to be told ..."""
STRETCH_PART = 0.02
"""... and part of its length."""
BAD_STRETCH = 0.01
"""Metres from which it is a warning ..."""
BAD_STRETCH_PART = 0.1
"""... if it is also so much of the bone: rigs that let a spine glide a little are common."""
NO_LENGTH = 1e-5
"""Metres: bones below have no length."""
SMALLEST, LARGEST = 0.45, 1.35
"""Size of a person over an adult's, from a child of two years to a giant of 2.25 m."""
LISTED = 5


def find_bones(exam: Examination) -> list[Finding]:
    """Bones whose length is not constant, and joints at the place of the joint above."""
    motion = exam.motion
    skeleton = motion.skeleton
    moves = np.ptp(motion.positions, axis=0).max(axis=-1) > STRETCH
    moves &= skeleton.parents >= 0
    for joint in _carriers(exam):
        moves[joint] = False
    found: list[Finding] = []
    for joint in np.flatnonzero(moves)[: 4 * LISTED]:
        lengths = np.linalg.norm(motion.positions[:, joint], axis=-1)
        usual = float(np.median(lengths))
        off = np.abs(lengths - usual)
        flags = off > max(STRETCH, STRETCH_PART * usual)
        spans = list(runs(flags))
        if not spans or len(found) == LISTED:
            continue
        worst = float(off.max())
        low, high = float(lengths.min()), float(lengths.max())
        bad = worst > max(BAD_STRETCH, BAD_STRETCH_PART * usual)
        name = skeleton.names[joint]
        found.append(
            exam.finding(
                "bone_length",
                "warning" if bad else "note",
                (spans[0][0], spans[-1][1]),
                f"{name!r} translates: its bone is {100 * low:.1f} to {100 * high:.1f} cm long "
                f"({int(flags.sum())} frames off its usual {100 * usual:.1f} cm)",
                value=high - low,
                unit="m",
                joint=name,
                remedy="retarget the take onto a skeleton of fixed bones, if this is not meant",
            )
        )
    bones = np.linalg.norm(skeleton.offsets, axis=-1)
    actual = np.linalg.norm(motion.positions[0], axis=-1) if motion.frame_count else bones
    empty = [
        skeleton.names[j]
        for j in range(skeleton.joint_count)
        if skeleton.parents[j] >= 0 and max(bones[j], actual[j]) < NO_LENGTH
    ]
    if empty:
        shown = ", ".join(empty[:LISTED]) + (f" and {len(empty) - LISTED} more" if len(empty) > LISTED else "")
        found.append(
            exam.finding(
                "zero_length",
                "note",
                (0, motion.frame_count),
                f"{len(empty)} joint{'s lie' if len(empty) > 1 else ' lies'} at the place of the joint above: {shown}",
                value=len(empty),
                unit="joints",
                joint=empty[0],
            )
        )
    return found


def _carriers(exam: Examination) -> set[int]:
    """Joints that carry the body through the world: the hips and all above; without hips, the children of roots."""
    skeleton = exam.motion.skeleton
    hips = skeleton.roles.get("hips")
    if hips is None:
        return {j for j, parent in enumerate(skeleton.parents) if parent >= 0 and skeleton.parents[parent] < 0}
    carriers, joint = set(), int(hips)
    while joint >= 0:
        carriers.add(joint)
        joint = int(skeleton.parents[joint])
    return carriers


def find_size(exam: Examination) -> list[Finding]:
    """A body with a person's joints, but not of a person's size."""
    motion = exam.motion
    skeleton = motion.skeleton
    size = exam.human_size
    if size == 0.0 or SMALLEST <= size <= LARGEST:
        return []
    span = size * HUMAN_SPAN
    source = motion.source
    guess = guess_unit(skeleton.names, span / source.metres_per_unit)
    better = guess.sure and guess.name != source.unit
    return [
        exam.finding(
            "unit",
            "warning",
            (0, motion.frame_count),
            f"the body measures {span:.2f} m along its bones, {size:.2g} times an adult's {HUMAN_SPAN} "
            f"(read as {source.unit})",
            value=span,
            unit="m",
            remedy=f"give the unit: {guess.name} fits" if better else "give the unit",
            proposal=Proposal(unit=guess.name) if better else None,
        )
    ]

"""At the end of a stylisation: hips sink as far as legs need, and feet go to their places."""

from __future__ import annotations

import msgspec
import numpy as np

from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion
from ambulo.prepare.contacts import contact_joints
from ambulo.prepare.repair.feet import held_speed, move_feet
from ambulo.prepare.stylise.draft import Bool, Double, Draft, moving_average

REACH = 0.992
"""Of a leg's length: how far a foot may be from the hip before the hips sink (or as far as the take itself reaches)."""
DEEPEST = 0.35
"""Leg lengths that the hips sink at most."""
WINDOW = 0.25
"""Seconds over which sinking is smoothed."""


class StyleReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a stylisation did.

    Attributes:
        frames: of the result.
        seconds: of the take, before and after.
        slide: m/s of toes in contact, mean, before and after.
        missed: metres, the farthest that a standing foot stayed away from its place.
        sunk: metres, the most that the hips sank so that legs reach.
        contact_share: share of feet's frames in contact, before and after.
    """

    frames: int
    seconds: tuple[float, float]
    slide: tuple[float, float]
    missed: float
    sunk: float
    contact_share: tuple[float, float]


def replant(base: Motion, base_down: Bool, draft: Draft) -> tuple[Motion, StyleReport]:
    """Put the feet of a draft where they should be.

    Args:
        base: the take that was begun with.
        base_down: its contacts, ``[T, 2]``.
        draft: what the operators made.

    Returns:
        The motion and what was measured. A draft whose feet are where they should be keeps every bit.
    """
    joints = list(contact_joints(draft.motion.skeleton))
    wishes = draft.feet - forward_motion(draft.motion).positions[:, joints]
    sinking = _sinking(draft, wishes, base)
    if sinking.any():
        shift = np.zeros_like(draft.path)
        shift[:, 1] = -sinking
        draft = draft.shifted(shift)
        wishes = wishes - shift[:, None]
    pose = forward_motion(draft.motion)
    motion = move_feet(draft.motion, wishes, pose) if np.abs(wishes).max(initial=0.0) > 1e-6 else draft.motion
    toes = forward_motion(motion).positions[:, joints].astype(np.float64)
    first = forward_motion(base).positions[:, joints].astype(np.float64)
    away = np.linalg.norm(toes - draft.feet, axis=-1) * draft.down
    report = StyleReport(
        frames=motion.frame_count,
        seconds=(base.duration, motion.duration),
        slide=(held_speed(first, base_down, base.rate), held_speed(toes, draft.down, motion.rate)),
        missed=float(away.max(initial=0.0)),
        sunk=float(sinking.max(initial=0.0)),
        contact_share=(float(base_down.mean()), float(draft.down.mean())),
    )
    return motion, report


def _sinking(draft: Draft, wishes: Double, base: Motion) -> Double:
    """Metres ``[T]`` that the hips must sink so that both feet reach their places; smooth, and enough everywhere."""
    skeleton, pose = draft.motion.skeleton, forward_motion(draft.motion)
    need = np.zeros(draft.motion.frame_count)
    for side, name in enumerate(("left", "right")):
        upper, lower, foot = (skeleton.role(f"{name}_{part}") for part in ("upper_leg", "lower_leg", "foot"))
        hip, knee, ankle = (pose.positions[:, joint].astype(np.float64) for joint in (upper, lower, foot))
        length = np.linalg.norm(knee - hip, axis=-1) + np.linalg.norm(ankle - knee, axis=-1)
        reach = np.maximum(REACH * length, np.linalg.norm(ankle - hip, axis=-1))  # as far as the take itself reaches
        line = hip - (ankle + wishes[:, side])
        across = np.hypot(line[:, 0], line[:, 2])
        allowed = np.sqrt(np.maximum(reach**2 - across**2, 0.0))
        need = np.maximum(need, np.clip(line[:, 1] - allowed, 0.0, DEEPEST * length))
    need[need < 1e-6] = 0.0
    if not need.any():
        return need
    half = max(round(0.5 * WINDOW * draft.motion.rate), 1)
    padded = np.pad(need, half, mode="edge")
    highest = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1).max(axis=-1)
    return moving_average(highest, 2 * half)

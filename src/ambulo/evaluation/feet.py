"""What feet do wrong: skating, sliding in contact, going through the ground.

All heights are of a joint above where it lies when the foot is planted, which the capture tells
(:func:`clearances`): a toe joint is inside the foot, 1 to 4 cm above the sole, and each skeleton has it elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.evaluation.footage import Footage
from ambulo.evaluation.measure import Measure

SKATE_HEIGHT = 0.025  # metres: H of Zhang et al. 2018 (mode-adaptive networks), section 8
PENETRATION_THRESHOLD = 0.005  # metres


@dataclass(frozen=True)
class Clearances:
    """Heights of the foot joints, left and right, when planted. ``[2]`` each, metres."""

    toes: NDArray[np.float64]
    ankles: NDArray[np.float64]


def clearances(raw: Footage) -> Clearances:
    """The capture's own heights of planted feet: the median of the toe's, and of the ankle's lowest tenth.

    The ankle rises while the toe is planted (push-off), so that only its low end tells how it stands.
    """
    toes, ankles = np.zeros(2), np.zeros(2)
    for side in (0, 1):
        planted = raw.contacts[:, side] & (raw.stretch >= 0)
        if not planted.any():
            planted = raw.stretch >= 0
        if raw.toes[side] >= 0 and planted.any():
            toes[side] = np.median(raw.global_positions[planted, raw.toes[side], 1])
        if raw.ankles[side] >= 0 and planted.any():
            ankles[side] = np.percentile(raw.global_positions[planted, raw.ankles[side], 1], 5.0)
    return Clearances(toes, ankles)


def toe_speeds(footage: Footage) -> NDArray[np.float64]:
    """Horizontal speed of both toes from each frame to the next, float64 ``[F, 2]``, m/s; NaN where there is none."""
    speeds = np.full((footage.frame_count, 2), np.nan)
    usable = footage.unbroken(1)[:-1]
    for side in (0, 1):
        p = footage.global_positions[:, footage.toes[side]].astype(np.float64)
        step = np.hypot(p[1:, 0] - p[:-1, 0], p[1:, 2] - p[:-1, 2]) * footage.rate
        speeds[:-1, side] = np.where(usable, step, np.nan)
    return speeds


def foot_skate(footage: Footage, height: Clearances, limit: float = SKATE_HEIGHT) -> float:
    """Mean over frames and feet of ``v (2 - 2^(h/H))``, the exponent clamped to [0, 1]; m/s.

    ``v`` is the toe's horizontal speed to the next frame and ``h`` its height in the frame: a foot on the ground counts
    in full, one at ``H`` or above not at all (Zhang et al. 2018).
    """
    speeds = toe_speeds(footage)
    total = np.zeros(footage.frame_count)
    for side in (0, 1):
        h = footage.global_positions[:, footage.toes[side], 1].astype(np.float64) - height.toes[side]
        total += 0.5 * np.nan_to_num(speeds[:, side]) * (2.0 - 2.0 ** np.clip(h / limit, 0.0, 1.0))
    return footage.mean(total, footage.unbroken(1))


def contact_slide(footage: Footage, height: Clearances) -> float:
    """Mean horizontal speed of planted toes, over steps that begin and end planted; m/s. See :func:`planted_steps`."""
    speeds = toe_speeds(footage)
    slid, counted = 0.0, 0.0
    for side in (0, 1):
        both = planted_steps(footage, height, side)
        slid += float(np.sum(speeds[both, side] * footage.weights[both]))
        counted += float(footage.weights[both].sum())
    return slid / counted if counted else float("nan")


def contact_slide_distance(footage: Footage, height: Clearances) -> float:
    """Mean length of the way that a toe slides from the beginning to the end of a contact; metres.

    Contacts of which no frame counts are left out.
    """
    speeds = toe_speeds(footage)
    ways: list[float] = []
    for side in (0, 1):
        both = planted_steps(footage, height, side)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], both, [False]]).astype(np.int8)))
        for start, stop in zip(edges[::2], edges[1::2], strict=True):
            if footage.weights[start:stop].any():
                ways.append(float(speeds[start:stop, side].sum()) / footage.rate)
    return float(np.mean(ways)) if ways else float("nan")


def planted_steps(footage: Footage, height: Clearances, side: int) -> NDArray[np.bool_]:
    """Frames that are planted and whose next frame is, bool ``[F]``.

    Planted: the capture says so for the frame that is shown, and the toe is on the ground, less than 2.5 cm above where
    it lies when planted. A foot that a blend still carries through the air does not slide.
    """
    low = footage.global_positions[:, footage.toes[side], 1] < height.toes[side] + SKATE_HEIGHT
    planted = footage.contacts[:, side] & low
    both = footage.unbroken(1)
    both[:-1] &= planted[:-1] & planted[1:]
    return both


def penetration_depths(footage: Footage, height: Clearances) -> NDArray[np.float64]:
    """How far the deepest of toes and ankles is below where it lies when planted, float64 ``[F]``, metres, >= 0."""
    deepest = np.zeros(footage.frame_count)
    for joints, level in ((footage.toes, height.toes), (footage.ankles, height.ankles)):
        for side in (0, 1):
            if joints[side] >= 0:
                y = footage.global_positions[:, joints[side], 1].astype(np.float64)
                deepest = np.maximum(deepest, level[side] - y)
    return deepest


def hover(footage: Footage, height: Clearances) -> float:
    """Mean height of the lowest toe above where it lies, in frames in which the capture has a foot planted; metres.

    The counterpart of the slide: a planted foot that is lifted to where it shall stand does not slide, but the body
    hovers meanwhile.
    """
    planted = footage.contacts.any(axis=1)
    lift = np.full(footage.frame_count, np.inf)
    for side in (0, 1):
        y = footage.global_positions[:, footage.toes[side], 1].astype(np.float64)
        lift = np.minimum(lift, np.maximum(y - height.toes[side], 0.0))
    return footage.mean(lift, planted & (footage.stretch >= 0))


def measure_feet(made: Footage, raw: Footage) -> dict[str, Measure]:
    """All measures of feet: made motion beside raw capture."""
    height = clearances(raw)
    skate = foot_skate(made, height), foot_skate(raw, height)
    slide = contact_slide(made, height), contact_slide(raw, height)
    way = contact_slide_distance(made, height), contact_slide_distance(raw, height)
    lift = hover(made, height), hover(raw, height)
    made_depth, raw_depth = penetration_depths(made, height), penetration_depths(raw, height)
    made_counts, raw_counts = made.weights > 0.0, raw.weights > 0.0
    skate_text = (
        "Mean over frames and feet of v (2 - 2^(h/H)), exponent clamped to 0..1, H = 2.5 cm; v: horizontal toe speed; "
        "h: toe height above where it lies when planted (MANN)."
    )
    deep_text = "Toe and ankle joints below where they lie when the foot is planted in the capture"
    return {
        "foot_skate": Measure(skate[0] * 100.0, skate[1] * 100.0, "cm/s", False, skate_text),
        "foot_skate_per_frame": Measure(
            skate[0] * 100.0 / 60.0,
            skate[1] * 100.0 / 60.0,
            "cm/frame",
            False,
            f"{skate_text} In cm a frame at 60 fps.",
        ),
        "contact_slide": Measure(
            slide[0] * 100.0,
            slide[1] * 100.0,
            "cm/s",
            False,
            "Mean horizontal speed of a toe while the capture says, for the frame shown, that it is planted, and it is "
            "less than 2.5 cm above where it lies then.",
        ),
        "contact_slide_distance": Measure(
            way[0] * 100.0,
            way[1] * 100.0,
            "cm",
            False,
            "Mean length of the way that a planted toe slides from the beginning to the end of one contact.",
        ),
        "hover": Measure(
            lift[0] * 100.0,
            lift[1] * 100.0,
            "cm",
            False,
            "Mean height of the lowest toe above where it lies, in frames in which the capture has a foot planted.",
        ),
        "penetration": Measure(
            float(made_depth[made_counts].max(initial=0.0)) * 100.0,
            float(raw_depth[raw_counts].max(initial=0.0)) * 100.0,
            "cm",
            False,
            f"{deep_text}: the deepest of all frames.",
        ),
        "penetration_frames": Measure(
            made.mean(made_depth > PENETRATION_THRESHOLD) * 100.0,
            raw.mean(raw_depth > PENETRATION_THRESHOLD) * 100.0,
            "%",
            False,
            f"{deep_text}: share of frames in which one is more than 0.5 cm below.",
        ),
    }

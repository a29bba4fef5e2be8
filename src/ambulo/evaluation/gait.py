"""Whether the legs take turns: a body that goes puts one foot before the other, and then the other before the one.

A search that always comes back to the same half of a stride makes a body glide with one leg in front. Nothing slides
then, for the rear foot hangs in the air, and nothing jerks: only this shows it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ambulo.evaluation.feet import SKATE_HEIGHT, Clearances, clearances, toe_speeds
from ambulo.evaluation.footage import Footage
from ambulo.evaluation.measure import Measure

LONGEST_STRIDE = 1.0
"""Seconds for which one foot may be ahead of the other: half a stride of a slow walk."""

_GOES = 0.3  # m/s, above which a body goes
_AROUND = 0.15  # seconds before and after, over which the direction of travel is taken
_PLANTED = 0.15  # m/s, below which a toe near the ground is planted


def travel_directions(footage: Footage) -> NDArray[np.float64]:
    """Unit horizontal directions in which the root goes, float64 ``[F, 2]``, x and z; NaN where it does not go."""
    around = max(round(_AROUND * footage.rate), 1)
    directions = np.full((footage.frame_count, 2), np.nan)
    root = footage.global_positions[:, 0][:, [0, 2]].astype(np.float64)
    whole = np.flatnonzero(footage.unbroken(2 * around))
    way = root[whole + 2 * around] - root[whole]
    length = np.linalg.norm(way, axis=1)
    goes = length > _GOES * 2 * around / footage.rate
    directions[whole[goes] + around] = way[goes] / length[goes, None]
    return directions


def ahead_seconds(footage: Footage) -> NDArray[np.float64]:
    """For how long the same toe is ahead of the other one, in the direction of travel, float64 ``[F]``, seconds.

    Of the whole stretch of frames that a frame is in: both its past and its future. NaN where the body does not go.
    """
    directions = travel_directions(footage)
    left, right = (footage.global_positions[:, toe][:, [0, 2]].astype(np.float64) for toe in footage.toes)
    ahead = np.sign(((left - right) * directions).sum(axis=1))
    goes = np.isfinite(ahead)
    kinds = np.where(goes, ahead, 2.0)
    breaks = np.ones(footage.frame_count, bool)
    breaks[1:] = (kinds[1:] != kinds[:-1]) | (footage.stretch[1:] != footage.stretch[:-1])
    lengths = np.diff(np.append(np.flatnonzero(breaks), footage.frame_count))
    return np.where(goes, np.repeat(lengths, lengths) / footage.rate, np.nan)


def same_foot_ahead(footage: Footage) -> float:
    """Part of the going in which one foot is ahead for longer than :data:`LONGEST_STRIDE`, weighted; NaN for none."""
    seconds = ahead_seconds(footage)
    return footage.mean(np.nan_to_num(seconds) > LONGEST_STRIDE, np.isfinite(seconds))


def planted_shares(footage: Footage, height: Clearances) -> tuple[float, float]:
    """Part of the going in which the left and the right toe are planted: slow, and less than 2.5 cm above where they
    lie then. NaN where the body does not go."""
    goes = np.isfinite(travel_directions(footage)[:, 0])
    speeds = toe_speeds(footage)
    shares = []
    for side in (0, 1):
        low = footage.global_positions[:, footage.toes[side], 1] < height.toes[side] + SKATE_HEIGHT
        shares.append(footage.mean(low & (np.nan_to_num(speeds[:, side], nan=np.inf) < _PLANTED), goes))
    return shares[0], shares[1]


def planted_imbalance(footage: Footage, height: Clearances) -> float:
    """How unequally the two toes share being planted, 0 to 1: the difference over the sum. NaN where none is."""
    left, right = planted_shares(footage, height)
    return abs(left - right) / (left + right) if left + right > 0.0 else float("nan")


def measure_gait(made: Footage, raw: Footage) -> dict[str, Measure]:
    """Whether the legs take turns: made motion beside raw capture.

    A body that shows the same half of every stride shows frames that are as one-sided as itself: the raw imbalance is
    therefore of the clips that were drawn on as wholes.
    """
    height = clearances(raw)
    whole = replace(raw, weights=(raw.stretch >= 0).astype(np.float64))
    return {
        "same_foot_ahead": Measure(
            same_foot_ahead(made) * 100.0,
            same_foot_ahead(raw) * 100.0,
            "%",
            False,
            "Share of the frames in which the body goes (faster than 0.3 m/s) that lie in more than 1 s in a row with "
            "one toe ahead of the other in the direction of travel.",
        ),
        "planted_imbalance": Measure(
            planted_imbalance(made, height) * 100.0,
            planted_imbalance(whole, height) * 100.0,
            "%",
            False,
            "Of the frames in which the body goes, the difference between the shares in which the left and the right "
            "toe are planted (slower than 0.15 m/s, less than 2.5 cm above where they lie), over their sum. Raw: the "
            "whole clips that were drawn on.",
        ),
    }

"""Standing on both feet, for poses that say nothing about them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ambulo.posing.canonical_body import CanonicalBody
from ambulo.posing.observations import Observations, observe_points
from ambulo.posing.points import point_indices
from ambulo.posing.poser import Poser

Double = NDArray[np.float64]

SOLES = point_indices([f"{side}_{part}" for side in ("left", "right") for part in ("heel", "toe", "toe_tip")])
"""The points that rest on the floor."""
_LEGS = point_indices(
    f"{side}_{part}" for side in ("left", "right") for part in ("knee", "ankle", "heel", "toe", "toe_tip", "foot_outer")
)
_HIPS = point_indices(["hips"])
_TOLERANCE, _HIPS_TOLERANCE, _ROUNDS = 0.01, 0.08, 3


def feet_are_free(chosen: NDArray[np.int64]) -> bool:
    """Whether none of the points that are set tells where a foot is."""
    return not np.isin(chosen, _LEGS).any()


def stand(
    poser: Poser, parts: Sequence[Observations], points: Double, body: CanonicalBody, floor: float = 0.0
) -> Double:
    """Complete again, with both feet wished flat on the floor below where they were predicted, and the hips loosely as
    high as straight legs carry them.

    A hand held high looks to a model of takes like a jump as much as like a stretch; this says which it is.

    Args:
        poser: the model.
        parts: wishes of N poses.
        points: ``[N, 43, 3]``, metres, the model's answer to these.
        body: that stands.
        floor: metres, its height.

    Returns:
        float64 ``[N, 43, 3]``, metres.
    """
    scale, reference = body.body.scale, body.body.reference
    wished = np.concatenate([SOLES, _HIPS])
    tolerances = scale * np.where(wished == _HIPS, _HIPS_TOLERANCE, _TOLERANCE)
    heights = body.clearances[wished]
    heights[-1] = reference.hips_over_toes + reference.toe_height
    for _ in range(_ROUNDS):
        places = points[:, wished].copy()
        places[..., 1] = floor + heights
        points = poser.complete([*parts, observe_points(wished, places, tolerances)], body.body)
    return points

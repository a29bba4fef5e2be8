"""Random wishes for known poses: what the posing model is asked in training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.posing.observations import RIGID, Observations, join_observations, observe_near, observe_points
from ambulo.posing.points import POINT_COUNT, SCHEMES, point_indices

_ROLES = tuple(RIGID)
_LARGER = (15, 20, 28)
_TRACKED = point_indices(["head", "left_wrist", "right_wrist", "hips", "left_ankle", "right_ankle"])
_TRACKED_ROLES = ("head", "left_hand", "right_hand", "hips", "left_foot", "right_foot")


@dataclass(frozen=True)
class WishShares:
    """How often what is asked; the rest are random sets of points.

    Attributes:
        six: the six points.
        sixteen: the 16 points.
        larger: the 15, 20 or 28 points.
        trackers: position and orientation of head and hands, and maybe of hips and feet.
        points: fewest and most points of a random set.
        loose: part of the sets whose points have tolerances, up to 5 cm.
        oriented: part of the sets with one to three joints' orientations beside points, up to 0.2 rad loose.
        near: part of the sets that shall also be near an earlier pose.
    """

    six: float = 0.25
    sixteen: float = 0.125
    larger: float = 0.06
    trackers: float = 0.08
    points: tuple[int, int] = (3, 13)
    loose: float = 0.15
    oriented: float = 0.12
    near: float = 0.06


def draw_wishes(random: np.random.Generator, poses: NDArray[np.floating], shares: WishShares) -> Observations:
    """One random kind of wishes, asked of all poses ``[N, 43, 3]``: where their own points are, up to tolerances."""
    kind = random.random()
    roles: list[str] = []
    marks = np.cumsum([shares.six, shares.sixteen, shares.larger, shares.trackers])
    if kind < marks[0]:
        chosen = point_indices(SCHEMES[6])
    elif kind < marks[1]:
        chosen = point_indices(SCHEMES[16])
    elif kind < marks[2]:
        chosen = point_indices(SCHEMES[int(random.choice(_LARGER))])
    elif kind < marks[3]:
        count = int(random.choice([3, 4, 6]))
        chosen, roles = _TRACKED[:count], list(_TRACKED_ROLES[:count])
    else:
        chosen = random.choice(POINT_COUNT, random.integers(shares.points[0], shares.points[1] + 1), replace=False)
    if not roles and random.random() < shares.oriented:
        roles = [_ROLES[i] for i in random.choice(len(_ROLES), random.integers(1, 4), replace=False)]
    loose = random.random() < shares.loose
    tolerances = random.uniform(0.0, 0.05, len(chosen)) if loose else np.zeros(len(chosen))
    noise = random.standard_normal((len(poses), len(chosen), 3)) * tolerances[:, None]
    parts = [observe_points(chosen, poses[:, chosen] + noise, tolerances)]
    for role in roles:
        first, *others = RIGID[role]
        apart = poses[:, others] - poses[:, [first]]
        spread = random.uniform(0.01, 0.2) * float(np.linalg.norm(apart, axis=-1).mean())
        values = apart + spread * random.standard_normal(apart.shape)
        rows = np.eye(POINT_COUNT)[others] - np.eye(POINT_COUNT)[first]
        parts.append(Observations(rows, values, np.full(len(others), spread**2), np.zeros(0, np.int64)))
    if random.random() < shares.near:
        spread = random.uniform(0.02, 0.15)
        parts.append(observe_near(poses + spread * random.standard_normal(poses.shape), spread))
    return join_observations(parts)

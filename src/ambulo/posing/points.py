"""The 43 points that a body is posed by, and the schemes of 6, 15, 16, 20 and 28 of them.

Each point is fixed to a rigid part of the body: two or more on each hand and foot, five on the head, so that positions
carry orientation too (S1.3, S1.19). They belong to no rig: :mod:`~ambulo.posing.body_points` places them on
any humanoid.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import PosingError, nearest_names


@dataclass(frozen=True)
class PointSite:
    """Where a point sits on a body in the reference pose (facing +Z, arms out, palms down).

    Attributes:
        name: of the point.
        role: the humanoid joint that carries it.
        offset: metres from the joint to the point along (left, up, ahead), for a body of :data:`LEG_LENGTH`.
    """

    name: str
    role: str
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)


LEG_LENGTH = 0.86
"""Metres from hip to knee to ankle of the body that the offsets are given for; other bodies scale them."""

_TRUNK = (
    PointSite("hips", "hips"),
    PointSite("pelvis_front", "hips", (0.0, 0.0, 0.10)),
    PointSite("pelvis_back", "hips", (0.0, 0.0, -0.10)),
    PointSite("spine", "spine"),
    PointSite("chest", "chest"),
    PointSite("chest_front", "chest", (0.0, 0.05, 0.12)),
    PointSite("chest_back", "chest", (0.0, 0.05, -0.10)),
    PointSite("neck", "neck"),
    PointSite("head", "head"),
    PointSite("head_top", "head", (0.0, 0.18, 0.02)),
    PointSite("head_front", "head", (0.0, 0.06, 0.12)),
    PointSite("head_left", "head", (0.08, 0.07, 0.0)),
    PointSite("head_right", "head", (-0.08, 0.07, 0.0)),
)


def _sided(side: str, sign: float) -> tuple[PointSite, ...]:
    def at(x: float, y: float, z: float) -> tuple[float, float, float]:
        return (sign * x, y, z)

    return (
        PointSite(f"{side}_shoulder", f"{side}_shoulder"),
        PointSite(f"{side}_upper_arm", f"{side}_upper_arm"),
        PointSite(f"{side}_elbow", f"{side}_forearm"),
        PointSite(f"{side}_elbow_back", f"{side}_forearm", at(0.0, 0.0, -0.06)),
        PointSite(f"{side}_wrist", f"{side}_hand"),
        PointSite(f"{side}_hand_tip", f"{side}_hand", at(0.16, 0.0, 0.0)),
        PointSite(f"{side}_hand_thumb", f"{side}_hand", at(0.07, 0.0, 0.05)),
        PointSite(f"{side}_hand_outer", f"{side}_hand", at(0.07, 0.0, -0.05)),
        PointSite(f"{side}_hip", f"{side}_upper_leg"),
        PointSite(f"{side}_knee", f"{side}_lower_leg"),
        PointSite(f"{side}_ankle", f"{side}_foot"),
        PointSite(f"{side}_heel", f"{side}_foot", at(0.0, -0.05, -0.06)),
        PointSite(f"{side}_toe", f"{side}_toe"),
        PointSite(f"{side}_toe_tip", f"{side}_toe", at(0.0, -0.01, 0.07)),
        PointSite(f"{side}_foot_outer", f"{side}_toe", at(0.05, 0.0, 0.0)),
    )


SITES: tuple[PointSite, ...] = (*_TRUNK, *_sided("left", 1.0), *_sided("right", -1.0))
POINTS: tuple[str, ...] = tuple(site.name for site in SITES)
POINT_COUNT = len(POINTS)
assert POINT_COUNT == 43

_BOTH = ("left", "right")
_SIX = ("left_wrist", "right_wrist", "left_ankle", "right_ankle", "hips", "neck")
_FIFTEEN = (*_SIX, *(f"{s}_{p}" for p in ("elbow", "knee", "toe", "hand_tip") for s in _BOTH), "head_top")
_SIXTEEN = (*_FIFTEEN, "head_front")
_TWENTY = (*_SIXTEEN, *(f"{s}_{p}" for p in ("heel", "hand_thumb") for s in _BOTH))
_TWENTY_EIGHT = (
    *_TWENTY,
    *(f"{s}_{p}" for p in ("upper_arm", "hip") for s in _BOTH),
    "spine",
    "chest",
    "chest_front",
    "pelvis_front",
)

STAND_INS: dict[str, tuple[str, tuple[float, float, float]]] = {
    "spine": ("hips", (0.0, 0.08, 0.0)),
    "chest": ("spine", (0.0, 0.20, 0.0)),
    "neck": ("chest", (0.0, 0.20, 0.0)),
    "head": ("neck", (0.0, 0.10, 0.02)),
    "left_shoulder": ("chest", (0.03, 0.15, 0.02)),
    "right_shoulder": ("chest", (-0.03, 0.15, 0.02)),
    "left_toe": ("left_foot", (0.0, -0.05, 0.13)),
    "right_toe": ("right_foot", (0.0, -0.05, 0.13)),
}
"""What carries a role's points on a skeleton that lacks it: another role, and where the missing joint is from it."""

SCHEMES: dict[int, tuple[str, ...]] = {6: _SIX, 15: _FIFTEEN, 16: _SIXTEEN, 20: _TWENTY, 28: _TWENTY_EIGHT}
"""Points set in each scheme; each holds the smaller ones (S1.3, S1.19, S1.25). The six are the published ones; which
points the larger schemes add is told by kind only (hands', feet's and head's orientation, knees, elbows)."""

MIRRORED: NDArray[np.int64] = np.array(
    [
        POINTS.index(
            name.replace("left", "\0").replace("right", "left").replace("\0", "right")
        )
        for name in POINTS
    ]
)  # fmt: skip
"""int64 ``[43]``, for each point its partner on the other side; itself in the middle."""


def point_indices(names: Iterable[str]) -> NDArray[np.int64]:
    """Indices of points by name.

    Raises:
        PosingError: a name is not one of :data:`POINTS`; lists the nearest ones.
    """
    indices = []
    for name in names:
        if name not in _INDEX:
            raise PosingError(f"no point {name!r}; {nearest_names(name, POINTS)}", key=name)
        indices.append(_INDEX[name])
    return np.array(indices, np.int64)


_INDEX = {name: index for index, name in enumerate(POINTS)}


def mirror_points(points: NDArray[np.floating]) -> NDArray[np.floating]:
    """Points ``[..., 43, 3]`` of the mirrored body (x turned over, sides swapped)."""
    return points[..., MIRRORED, :] * np.array([-1.0, 1.0, 1.0], points.dtype)

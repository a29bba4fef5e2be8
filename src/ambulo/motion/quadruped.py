"""Four-legged bodies: told from two-legged ones by their rest pose, and their legs read from geometry alone.

A quadruped plays the humanoid roles as far as they mean the same: hips, spine, chest, neck, head, and the hind legs are
the legs (hip, stifle, hock as the foot, and the paw or hoof on the ground as the toe). Its fore legs are the arms, and
end in two roles more: ``left_front_foot`` and ``right_front_foot``, the joints that stand on the ground.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ambulo.motion.skeleton import Skeleton

FRONT_FEET: tuple[str, ...] = ("left_front_foot", "right_front_foot")
"""Roles that only quadrupeds have."""

_LEVEL = 0.6
_GROUND = 0.06
_HOCK = 0.25
Double = NDArray[np.float64]


def is_quadruped(skeleton: Skeleton) -> bool:
    """Whether the roles of a skeleton are a quadruped's."""
    return FRONT_FEET[0] in skeleton.roles


def quadruped_roles(skeleton: Skeleton, roles: Mapping[str, int]) -> tuple[dict[str, int], dict[str, str]] | None:
    """Roles of a four-legged body, and why.

    A body stands on four legs where at rest its trunk is level (less than 37 degrees from it), and fore and hind limbs
    both end near the lowest point, well below the trunk.

    Args:
        skeleton: with any rest pose.
        roles: what was found by looking for a humanoid: the hind limbs as legs, the fore limbs as arms.

    Returns:
        None where the body is not four-legged.
    """
    rest = skeleton.rest_positions().astype(np.float64)
    needed = ("hips", "chest", *(f"{s}_{p}" for s in ("left", "right") for p in ("foot", "hand")))
    if any(role not in roles for role in needed):
        return None
    hips, chest = roles["hips"], roles["chest"]
    trunk = rest[chest] - rest[hips]
    limbs = {(side, end): _limb(skeleton, roles, side, end) for side in ("left", "right") for end in ("hind", "front")}
    if any(len(limb) < 3 for limb in limbs.values()):
        return None
    lowest = [min(rest[joint, 1] for joint in limb) for limb in limbs.values()]
    ground = min(lowest)
    tall = min(rest[hips, 1], rest[chest, 1]) - ground
    level = np.linalg.norm(trunk) > 1e-6 and abs(trunk[1]) < _LEVEL * np.linalg.norm(trunk)
    reach = float(np.linalg.norm(trunk))
    if not level or tall < 0.3 * reach or max(lowest) - ground > 0.2 * tall:
        return None
    found, why = dict(roles), {}
    for side in ("left", "right"):
        limb = limbs[side, "hind"]
        paw = _paw(rest, limb, ground, tall)
        hock = next((k for k in range(paw - 1, 1, -1) if rest[limb[k], 1] - ground > _HOCK * tall), max(paw - 1, 2))
        for part, place, text in (
            ("toe", paw, "of a hind leg, the first joint on the ground"),
            ("foot", hock, "the hock"),
            ("lower_leg", hock - 1, "the stifle, above the hock"),
            ("upper_leg", hock - 2, "the hip joint of a hind leg"),
        ):
            found[f"{side}_{part}"], why[f"{side}_{part}"] = limb[max(place, 0)], text
        limb = limbs[side, "front"]
        found[f"{side}_front_foot"] = limb[_paw(rest, limb, ground, tall)]
        why[f"{side}_front_foot"] = "of a fore leg, the first joint on the ground"
    return found, why


def _limb(skeleton: Skeleton, roles: Mapping[str, int], side: str, end: str) -> list[int]:
    """The joints of a limb from the trunk to its tip."""
    joint = roles[f"{side}_foot"] if end == "hind" else roles[f"{side}_hand"]
    column = {roles["hips"], roles["chest"]}
    above = int(skeleton.parents[roles["hips"]])
    while above >= 0:
        column.add(above)
        above = int(skeleton.parents[above])
    below = roles["chest"]
    while below >= 0 and below != roles["hips"]:
        column.add(below)
        below = int(skeleton.parents[below])
    chain = []
    while joint >= 0 and joint not in column:
        chain.append(joint)
        joint = int(skeleton.parents[joint])
    chain.reverse()
    while chain and (children := skeleton.children(chain[-1])):
        chain.append(max(children, key=lambda child: len(skeleton.descendants(child))))
    return chain


def _paw(rest: Double, limb: list[int], ground: float, tall: float) -> int:
    """The place in a limb of its first joint near the ground; the last one where none is."""
    return next((k for k, joint in enumerate(limb) if rest[joint, 1] - ground < _GROUND * tall), len(limb) - 1)

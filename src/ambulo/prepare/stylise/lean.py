"""Lean the trunk: forward or back, to a side."""

from __future__ import annotations

import msgspec
import numpy as np

from ambulo.errors import SkeletonError
from ambulo.prepare.stylise.draft import Double, Draft, about

SPINE = ("spine", "chest", "upper_chest")
NECK_SHARE = 0.6
"""How much of the lean neck and head take back: whoever leans still looks ahead."""
COUNTER = 0.16
"""Leg lengths that the hips go back for the sine of the lean: the weight stays over the feet."""


class Lean(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Lean the trunk over the hips.

    Attributes:
        forward: radians; negative leans back.
        left: radians; negative leans to the right.
    """

    forward: float = 0.0
    left: float = 0.0

    def fault(self) -> str | None:
        """What is wrong with the numbers."""
        return None if max(abs(self.forward), abs(self.left)) <= 1.0 else "a lean of more than 1 radian falls over"

    def apply(self, draft: Draft) -> Draft:
        """Lean.

        Raises:
            SkeletonError: no joint of the spine is among the roles.
        """
        if not (self.forward or self.left):
            return draft
        ones = np.ones(draft.motion.frame_count)
        return lean(draft, self.forward * ones, self.left * ones)


def lean(draft: Draft, forward: Double, left: Double) -> Draft:
    """Lean by angles that change over time, ``[T]``, radians: spread over the spine, neck and head upright again."""
    roles = draft.motion.skeleton.roles
    spine = sorted(roles[name] for name in SPINE if name in roles)
    if not spine:
        raise SkeletonError(
            "no joint of the spine is known, so nothing can lean",
            key="spine",
            remedy="name spine or chest in the [roles] table of ambulo.toml",
        )
    axes = draft.left * forward[:, None] - draft.forward * left[:, None]  # turns about both add up while they are small
    angles = np.linalg.norm(axes, axis=-1)
    axes = axes / np.maximum(angles, 1e-12)[:, None]
    turns: dict[int, Double] = {
        joint: about(axes, angles * (place + 1) / len(spine)) for place, joint in enumerate(spine)
    }
    neck = roles.get("neck", roles.get("head"))
    if neck is not None and neck > spine[-1]:
        turns[neck] = about(axes, angles * (1.0 - NECK_SHARE))
    back = -COUNTER * draft.leg * (draft.forward * np.sin(forward)[:, None] + draft.left * np.sin(left)[:, None])
    return draft.turned(turns).shifted(back)

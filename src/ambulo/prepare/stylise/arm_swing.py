"""Swing the arms more, or less."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np

from ambulo.maths import quaternions
from ambulo.prepare.stylise.draft import Draft, moving_average

ARMS = tuple(f"{side}_{part}" for side in ("left", "right") for part in ("upper_arm", "forearm"))
WINDOW = 2.0
"""Seconds over which the middle of the swing is found: longer than a stride."""
LARGEST = 0.9
"""Radians: what is swung up to this far from the middle is not made larger than it; a wave stays a wave."""


class ArmSwing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Swing the arms about the middle of their swing.

    Attributes:
        amount: 0.5 for half as much again, -1 for arms that hang still.
    """

    amount: float

    def fault(self) -> str | None:
        """What is wrong with the numbers."""
        return None if -1.0 <= self.amount <= 2.0 else "the amount goes from -1 (still) to 2"

    def apply(self, draft: Draft) -> Draft:
        """Swing."""
        if not self.amount:
            return draft
        motion = draft.motion
        rotations = motion.rotations.copy()
        for role in ARMS:
            joint = motion.skeleton.roles.get(role)
            if joint is None:
                continue
            q = motion.rotations[:, joint].astype(np.float64)
            middle = quaternions.normalize(moving_average(q, WINDOW * motion.rate))
            away = quaternions.to_scaled_angle_axis(quaternions.inverse_multiply(middle, q))
            size = np.linalg.norm(away, axis=-1, keepdims=True)
            wanted = np.minimum(size * (1.0 + self.amount), np.maximum(size, LARGEST))
            away = away * wanted / np.maximum(size, 1e-9)
            made = quaternions.multiply(middle, quaternions.from_scaled_angle_axis(away))
            flip = np.sum(made * q, axis=-1, keepdims=True) < 0.0
            rotations[:, joint] = quaternions.normalize(np.where(flip, -made, made))
        return replace(draft, motion=replace(motion, rotations=rotations))

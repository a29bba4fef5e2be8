"""Put a take's feet on the floor at y = 0."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ambulo.motion.motion import Motion
from ambulo.prepare.floor import FloorReport, floor_height


@dataclass(frozen=True)
class FloorRepair:
    """The outcome: the lifted take, metres it was lifted by, and the floor that was found in it before."""

    motion: Motion
    lift: float
    before: FloorReport


def align_floor(motion: Motion, *, lift: float | None = None) -> FloorRepair:
    """Lift a take so that its standing feet are where feet stand over a floor at y = 0. Only roots move, only in y.

    Args:
        motion: with roles.
        lift: metres; what :func:`ambulo.prepare.floor.floor_height` finds where None.

    Raises:
        SkeletonError: no feet among the roles.
    """
    before = floor_height(motion)
    amount = before.offset if lift is None else lift
    if amount == 0.0:
        return FloorRepair(motion, 0.0, before)
    positions = motion.positions.copy()
    positions[:, motion.skeleton.parents < 0, 1] += np.float32(amount)
    return FloorRepair(replace(motion, positions=positions), float(amount), before)

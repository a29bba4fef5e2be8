"""What is compared when motion is matched, as the project file says it: one entry a feature group."""

from __future__ import annotations

from typing import Literal

import msgspec

FeatureKind = Literal["position", "velocity", "trajectory_position", "trajectory_direction"]

JOINT_KINDS = frozenset({"position", "velocity"})
TRAJECTORY_KINDS = frozenset({"trajectory_position", "trajectory_direction"})


class FeatureSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One feature group: a quantity in the space of the character's root, and how much it counts.

    Attributes:
        kind: ``position`` and ``velocity`` of a joint (3 numbers each), ``trajectory_position`` and
            ``trajectory_direction`` of the root in the future (2 numbers a time, on the ground).
        joint: humanoid role (``left_foot``) or joint name; for the joint kinds only.
        weight: how much the group counts against the others once all are normalised.
        times: seconds ahead, for the trajectory kinds only.
    """

    kind: FeatureKind
    joint: str = ""
    weight: float = 1.0
    times: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        """A name for tables and sliders: ``left_foot_position``, ``trajectory_direction``."""
        return f"{self.joint}_{self.kind}" if self.joint else self.kind


TRAJECTORY_TIMES = (20 / 60, 40 / 60, 60 / 60)
"""20, 40 and 60 frames at 60 frames a second (S4.12)."""

DEFAULT_FEATURES: tuple[FeatureSpec, ...] = (
    FeatureSpec("position", "left_foot", 0.75),
    FeatureSpec("position", "right_foot", 0.75),
    FeatureSpec("velocity", "left_foot", 1.0),
    FeatureSpec("velocity", "right_foot", 1.0),
    FeatureSpec("velocity", "hips", 1.0),
    FeatureSpec("trajectory_position", weight=1.0, times=TRAJECTORY_TIMES),
    FeatureSpec("trajectory_direction", weight=1.5, times=TRAJECTORY_TIMES),
)
"""The 27 dimensions of S4.12 to S4.14, with the weights of Holden et al., "Learned Motion Matching", SIGGRAPH 2020."""

"""What a project file says about one feature that is compared in a search, and the default set."""

from __future__ import annotations

import msgspec

JOINT_KINDS = ("position", "velocity")
"""Kinds of feature that speak of a joint now."""

TRAJECTORY_KINDS = ("trajectory_position", "trajectory_velocity", "trajectory_direction", "trajectory_height")
"""Kinds that speak of the root at times ahead."""

FEATURE_KINDS = (*JOINT_KINDS, *TRAJECTORY_KINDS, "number")


class FeatureSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One feature group as written in ``ambulo.toml``.

    Attributes:
        kind: one of :data:`FEATURE_KINDS`.
        joint: humanoid role (``left_foot``) or joint name; empty for the trajectory kinds, which speak of the root.
        weight: how much a deviation of one standard deviation counts, relative to the other groups.
        times: seconds ahead of the frame, for the trajectory kinds.
        channel: name of a numeric channel, for the kind ``number``.
    """

    kind: str
    joint: str = ""
    weight: float = 1.0
    times: tuple[float, ...] = ()
    channel: str = ""


# 27 dimensions: S4.12 (20, 40 and 60 frames at 60 fps, here in seconds) and S4.14; weights of Holden et al. 2020.
DEFAULT_FEATURES: tuple[FeatureSpec, ...] = (
    FeatureSpec("position", "left_foot", 0.75),
    FeatureSpec("position", "right_foot", 0.75),
    FeatureSpec("velocity", "left_foot", 1.0),
    FeatureSpec("velocity", "right_foot", 1.0),
    FeatureSpec("velocity", "hips", 1.0),
    FeatureSpec("trajectory_position", "", 1.0, (1.0 / 3.0, 2.0 / 3.0, 1.0)),
    FeatureSpec("trajectory_direction", "", 1.5, (1.0 / 3.0, 2.0 / 3.0, 1.0)),
)

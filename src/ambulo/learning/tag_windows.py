"""What a classifier sees of motion: windows of poses in root space, described by numbers that any body has."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import LearningError
from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward
from ambulo.motion.skeleton import Skeleton

Float = NDArray[np.float32]

WINDOW = 1.6
"""Seconds that a window spans: more than a stride of a walk."""
HOP = 0.1
"""Seconds from one window to the next."""
ROLES = (
    ("hips", ("hips",)),
    ("chest", ("upper_chest", "chest", "spine")),
    ("head", ("head", "neck")),
    *((f"{side}_{part}", (f"{side}_{part}",)) for side in ("left", "right") for part in ("forearm", "hand")),
    *((f"{side}_{part}", (f"{side}_{part}",)) for side in ("left", "right") for part in ("lower_leg", "foot")),
)
"""Joints that are looked at; of several roles the first that a skeleton has."""
BANDS = 5
"""Frequencies, from one a window upward, whose strength is looked at."""


class Windows(NamedTuple):
    """Windows of one clip.

    Attributes:
        features: ``[W, D]``, lengths in leg lengths, so that bodies of other sizes compare.
        starts, stops: frames ``[W]`` for which each window speaks, half-open, end to end.
    """

    features: Float
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]


def describe(skeleton: Skeleton, positions: ArrayLike, rotations: ArrayLike, rate: float) -> Windows:
    """The windows of a prepared clip.

    Of joints in root space: mean, spread, least and greatest place, mean speed and its spread; of the root: speed along
    and across, and turning; and how strongly the hands and feet go up and down and to and fro at a few frequencies.

    Args:
        skeleton: with roles and the root as joint 0.
        positions: local ``[T, J, 3]``, metres.
        rotations: local ``[T, J, 4]``.
        rate: frames a second.

    Raises:
        LearningError: a joint that is looked at is missing.
    """
    joints = [_joint(skeleton, name, roles) for name, roles in ROLES]
    local, turns = np.array(positions, np.float32), np.array(rotations, np.float32)
    root, heading = local[:, 0].copy(), turns[:, 0].copy()
    local[:, 0], turns[:, 0] = 0.0, (0.0, 0.0, 0.0, 1.0)
    leg = sum(float(np.linalg.norm(skeleton.offsets[skeleton.role(f"left_{p}")])) for p in ("lower_leg", "foot"))
    placed = forward(local, turns, skeleton.parents).positions[:, joints] / max(leg, 1e-6)
    frames = len(placed)
    speeds = np.linalg.norm(np.gradient(placed, axis=0), axis=-1) * rate if frames > 1 else np.zeros(placed.shape[:2])
    ways = np.gradient(root, axis=0) * rate / max(leg, 1e-6) if frames > 1 else np.zeros_like(root)
    along = quaternions.inverse_rotate(heading, ways.astype(np.float32))[:, [0, 2]]
    yaw = np.unwrap(2.0 * np.arctan2(heading[:, 1], heading[:, 3]))
    turning = (np.gradient(yaw) * rate if frames > 1 else np.zeros(frames))[:, None]
    series = np.concatenate([placed.reshape(frames, -1), speeds, along, turning, np.abs(turning)], axis=1)
    hop = max(round(HOP * rate), 1)
    starts = np.arange(0, frames, hop)
    stops = np.minimum(starts + hop, frames)
    half = max(round(0.5 * WINDOW * rate), 1)
    padded = np.pad(series, ((half, half), (0, 0)), mode="edge")
    seen = np.lib.stride_tricks.sliding_window_view(padded, 2 * half, axis=0)[(starts + stops) // 2]
    ends_of_limbs = [place for place, (name, _) in enumerate(ROLES) if name.endswith(("hand", "foot"))]
    swinging = [3 * place + axis for place in ends_of_limbs for axis in (1, 2)]
    waves = seen[:, swinging] - seen[:, swinging].mean(axis=-1, keepdims=True)
    strength = np.abs(np.fft.rfft(waves * np.hanning(2 * half), axis=-1))[..., 1 : BANDS + 1] / half
    ends = np.quantile(seen, (0.05, 0.95), axis=-1)
    parts = [seen.mean(axis=-1), seen.std(axis=-1), ends[0], ends[1], strength.reshape(len(starts), -1)]
    return Windows(np.concatenate(parts, axis=1).astype(np.float32), starts, stops)


def _joint(skeleton: Skeleton, name: str, roles: tuple[str, ...]) -> int:
    for role in roles:
        if role in skeleton.roles:
            return int(skeleton.roles[role])
    raise LearningError(
        f"no joint is known as {name}, which tagging looks at",
        key=name,
        remedy="name it in the [roles] table of ambulo.toml",
    )

"""A body for any skeleton: tapered capsules that stand for flesh, sized by what is known of the joints' roles.

Radii are fractions of the standing height, chosen by eye until the figure reads well at a hundred pixels. The height
itself follows from the legs by D. A. Winter, *Biomechanics and Motor Control of Human Movement*, figure 4.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import MotionError
from ambulo.maths import quaternions
from ambulo.motion.skeleton import Skeleton

# Start and end radius of the flesh that hangs on a role's joint, as fractions of the body's height.
_RADII: dict[str, tuple[float, float]] = {
    "hips": (0.052, 0.052),
    "spine": (0.053, 0.056),
    "chest": (0.056, 0.030),
    "neck": (0.030, 0.028),
    "head": (0.050, 0.050),
    "shoulder": (0.034, 0.036),
    "upper_arm": (0.032, 0.023),
    "forearm": (0.024, 0.016),
    "hand": (0.017, 0.010),
    "upper_leg": (0.050, 0.032),
    "lower_leg": (0.033, 0.022),
    "foot": (0.023, 0.020),
    "toe": (0.019, 0.013),
}

NEUTRAL = (0.80, 0.79, 0.77)
LEFT = (0.36, 0.62, 0.78)
RIGHT = (0.90, 0.56, 0.36)
CONTACT = (0.86, 0.16, 0.20)


@dataclass(frozen=True)
class Flesh:
    """The capsules of a skeleton, before they have a pose.

    Attributes:
        weights: float64 ``[K, 2, J]``: both ends of each capsule as weighted sums of joint positions.
        radii: float64 ``[K, 2]``, metres.
        colours: float32 ``[K, 3]``, 0 to 1.
        extents: float64 ``[K, 2]``: -1 where the capsule starts at its second point and goes on along the bone, else 0;
            and metres that the end is pushed along the bone.
        feet: int64 ``[K]``: 0 for a capsule of the left foot, 1 of the right, -1 for others.
        height: metres that the body is tall.
        facing: pairs of joints (left, right) whose span gives the side axis; empty without roles.
        head: index of the head's capsule, -1 where there is none.
        bare_feet: joints (left, right) of feet that end at the ankle, for want of toes in the skeleton.
        body: joints that belong to the body: all but those above the hips, such as a root on the ground.
    """

    weights: NDArray[np.float64]
    radii: NDArray[np.float64]
    colours: NDArray[np.float32]
    extents: NDArray[np.float64]
    feet: NDArray[np.int64]
    height: float
    facing: tuple[tuple[int, int], ...]
    head: int
    bare_feet: tuple[tuple[int, int], ...]
    body: NDArray[np.int64]


def body_height(skeleton: Skeleton) -> float:
    """Standing height in metres, from the longest chains up and down from the hips; at least 1 cm."""
    rest = skeleton.rest_positions()
    span = np.ptp(rest, axis=0)
    roles = skeleton.roles
    legs = [("left_upper_leg", "left_foot"), ("right_upper_leg", "right_foot")]
    lengths = [_chain_length(skeleton, roles[a], roles[b]) for a, b in legs if a in roles and b in roles]
    if lengths and max(lengths) > 0.0:
        # Hip joint to ankle is 0.491 of the standing height (Winter, figure 4.1: 0.530 - 0.039).
        return max(max(lengths) / 0.491, 0.01)
    return max(float(span.max()), 0.01)


def _chain_length(skeleton: Skeleton, top: int, bottom: int) -> float:
    length, joint = 0.0, bottom
    while joint not in (top, -1):
        length += float(np.linalg.norm(skeleton.offsets[joint]))
        joint = int(skeleton.parents[joint])
    return length if joint == top else 0.0


def build_flesh(skeleton: Skeleton) -> Flesh:
    """The body of a skeleton; kept for the next call with the same skeleton object."""
    return _build_flesh(_Key(skeleton))


class _Key:
    """Skeletons hold arrays and cannot be hashed by value; the same object gives the same body."""

    def __init__(self, skeleton: Skeleton) -> None:
        self.skeleton = skeleton

    def __hash__(self) -> int:
        return id(self.skeleton)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.skeleton is self.skeleton


@lru_cache(maxsize=32)
def _build_flesh(key: _Key) -> Flesh:
    skeleton = key.skeleton
    count = skeleton.joint_count
    roles = dict(skeleton.roles)
    of_joint: dict[int, str] = {}
    for role, joint in roles.items():
        of_joint.setdefault(joint, role)
    height = body_height(skeleton)
    builder = _Builder(count, height)

    above_hips: set[int] = set()
    if "hips" in roles:
        joint = int(skeleton.parents[roles["hips"]])
        while joint >= 0:
            above_hips.add(joint)
            joint = int(skeleton.parents[joint])

    for joint in range(count):
        parent = int(skeleton.parents[joint])
        if parent < 0 or parent in above_hips:
            continue
        region = _region(skeleton, parent, of_joint)
        if not roles:
            length = float(np.linalg.norm(skeleton.offsets[joint]))
            radius = min(0.14 * length, 0.03 * height)
            builder.add({parent: 1.0}, {joint: 1.0}, radius, 0.8 * radius, "", scale=1.0)
            continue
        if region is None:
            continue
        part = region.removeprefix("left_").removeprefix("right_")
        child_region = of_joint.get(joint, "")
        if part == "hips" and "upper_leg" in child_region:
            continue  # the pelvis below is wider than a bone from the hips to the leg
        if part in ("chest", "spine", "hips") and ("shoulder" in child_region or "upper_arm" in child_region):
            continue  # likewise the shoulder girdle
        if part == "hand" and joint not in roles.values() and len(skeleton.children(parent)) > 1:
            builder.add({parent: 1.0}, {joint: 1.0}, 0.010 * height, 0.008 * height, region, scale=1.0)
            continue
        if part == "head":
            continue
        start, end = _RADII.get(part, (0.02, 0.016))
        middle = 0.5 * (start + end)
        builder.add(
            {parent: 1.0},
            {joint: 1.0},
            start if parent in of_joint else middle,
            end if joint in of_joint else middle,
            region,
        )

    _add_torso(builder, roles)
    for role, joint in roles.items():
        _add_tip(builder, skeleton, role, joint)
    head = _add_head(builder, skeleton, roles)
    facing = tuple(
        (roles[f"left_{part}"], roles[f"right_{part}"])
        for part in ("upper_leg", "upper_arm")
        if f"left_{part}" in roles and f"right_{part}" in roles
    )
    bare_feet = tuple(
        (foot, roles[f"{side}_foot"])
        for foot, side in enumerate(("left", "right"))
        if f"{side}_foot" in roles and not skeleton.children(roles[f"{side}_foot"])
    )
    body = np.array([joint for joint in range(count) if joint not in above_hips], np.int64)
    return builder.finish(facing, head, bare_feet, body)


def _region(skeleton: Skeleton, joint: int, of_joint: dict[int, str]) -> str | None:
    while joint >= 0:
        if joint in of_joint:
            return of_joint[joint]
        joint = int(skeleton.parents[joint])
    return None


def _add_torso(builder: _Builder, roles: dict[str, int]) -> None:
    hips, chest = roles.get("hips"), roles.get("chest")
    left_leg, right_leg = roles.get("left_upper_leg"), roles.get("right_upper_leg")
    left_arm, right_arm = roles.get("left_upper_arm"), roles.get("right_upper_arm")
    if hips is not None and left_leg is not None and right_leg is not None:
        for leg, other in ((left_leg, right_leg), (right_leg, left_leg)):
            builder.add({leg: 0.86, other: 0.14}, {hips: 0.70, leg: 0.26, other: 0.04}, 0.055, 0.053, "")
    if hips is None or chest is None or left_arm is None or right_arm is None:
        return
    for arm, other in ((left_arm, right_arm), (right_arm, left_arm)):
        # Flank, ribs and shoulder of one side.
        builder.add({hips: 0.78, arm: 0.22}, {chest: 0.64, arm: 0.36}, 0.052, 0.057, "")
        builder.add({chest: 0.64, arm: 0.36}, {arm: 0.76, other: 0.24}, 0.057, 0.040, "")
        builder.add({arm: 0.70, other: 0.30}, {arm: 1.0}, 0.038, 0.034, "")
    builder.add({left_arm: 0.65, right_arm: 0.35}, {left_arm: 0.35, right_arm: 0.65}, 0.040, 0.040, "")


def _add_tip(builder: _Builder, skeleton: Skeleton, role: str, joint: int) -> None:
    """Flesh past the last joint of a hand or a foot, along the bone that leads there."""
    part = role.removeprefix("left_").removeprefix("right_")
    parent = int(skeleton.parents[joint])
    if parent < 0 or skeleton.children(joint):
        if part == "foot":
            # The heel: a little behind and below the ankle, against the direction of the toes.
            toe = skeleton.roles.get(role.replace("foot", "toe"))
            if toe is not None:
                builder.add({joint: 1.05, toe: -0.05}, {joint: 0.6, toe: 0.4}, 0.024, 0.021, role)
        return
    lengths = {"hand": 0.085, "toe": 0.034}
    if part not in lengths:
        return
    start, end = _RADII[part]
    builder.add({parent: 1.0}, {joint: 1.0}, start, end, role, push=lengths[part], keep="tip")


def _add_head(builder: _Builder, skeleton: Skeleton, roles: dict[str, int]) -> int:
    head = roles.get("head")
    if head is None:
        return -1
    below = roles.get("neck", int(skeleton.parents[head]))
    if below < 0 or below == head:
        return -1
    return builder.add({below: 1.0}, {head: 1.0}, 0.041, 0.053, "head", push=0.052, keep="tip")


class _Builder:
    def __init__(self, joint_count: int, height: float) -> None:
        self.joint_count = joint_count
        self.height = height
        self.weights: list[NDArray[np.float64]] = []
        self.radii: list[tuple[float, float]] = []
        self.colours: list[tuple[float, float, float]] = []
        self.extents: list[tuple[float, float]] = []
        self.feet: list[int] = []

    def add(
        self,
        start: dict[int, float],
        end: dict[int, float],
        start_radius: float,
        end_radius: float,
        role: str,
        *,
        scale: float | None = None,
        push: float = 0.0,
        keep: str = "",
    ) -> int:
        size = self.height if scale is None else scale
        weights = np.zeros((2, self.joint_count))
        for side, ends in enumerate((start, end)):
            for joint, weight in ends.items():
                weights[side, joint] += weight
        self.weights.append(weights)
        self.radii.append((start_radius * size, end_radius * size))
        # A "tip" starts at its second joint and is pushed on along the bone; pose_capsules does it.
        self.extents.append((-1.0 if keep == "tip" else 0.0, push * size))
        self.colours.append(LEFT if role.startswith("left_") else RIGHT if role.startswith("right_") else NEUTRAL)
        is_foot = role.endswith(("_foot", "_toe"))
        self.feet.append((0 if role.startswith("left") else 1) if is_foot else -1)
        return len(self.weights) - 1

    def finish(
        self,
        facing: tuple[tuple[int, int], ...],
        head: int,
        bare_feet: tuple[tuple[int, int], ...],
        body: NDArray[np.int64],
    ) -> Flesh:
        count = len(self.weights)
        return Flesh(
            np.array(self.weights, np.float64).reshape(count, 2, self.joint_count),
            np.array(self.radii, np.float64).reshape(count, 2),
            np.array(self.colours, np.float32).reshape(count, 3),
            np.array(self.extents, np.float64).reshape(count, 2),
            np.array(self.feet, np.int64).reshape(count),
            self.height,
            facing,
            head,
            bare_feet,
            body,
        )


def figure_forward(skeleton: Skeleton, global_positions: ArrayLike) -> NDArray[np.float64]:
    """Where a pose faces, on the ground: square to the spans of its hips and shoulders.

    Args:
        skeleton: with roles; without, +Z is returned.
        global_positions: ``[..., J, 3]``, metres.

    Returns:
        Unit vectors ``[..., 3]``.
    """
    p = np.asarray(global_positions, np.float64)
    side = np.zeros((*p.shape[:-2], 3))
    for left, right in build_flesh(skeleton).facing:
        span = p[..., left, :] - p[..., right, :]
        span = span * np.array([1.0, 0.0, 1.0])
        length = np.linalg.norm(span, axis=-1, keepdims=True)
        side += span / np.where(length < 1e-9, 1.0, length)
    forward = np.cross(side, np.array([0.0, 1.0, 0.0]))
    length = np.linalg.norm(forward, axis=-1, keepdims=True)
    fallback = np.array([0.0, 0.0, 1.0])
    return np.where(length < 1e-6, fallback, forward / np.where(length < 1e-6, 1.0, length))


def pose_capsules(
    skeleton: Skeleton,
    global_positions: ArrayLike,
    *,
    global_rotations: ArrayLike | None = None,
    contacts: ArrayLike | None = None,
    tint: tuple[float, float, float] | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The body in one pose, ready to draw.

    Args:
        skeleton: with roles for a body, without for bones of even look.
        global_positions: ``[J, 3]``, metres.
        global_rotations: ``[J, 4]``; they tell where feet without toes point.
        contacts: ``[2]``, left and right; a foot in contact is drawn red.
        tint: a colour for the whole body instead of left blue, right orange.

    Returns:
        Capsules float32 ``[K, 8]`` (start, start radius, end, end radius; metres) and colours float32 ``[K, 3]``.
    """
    flesh = build_flesh(skeleton)
    p = np.asarray(global_positions, np.float64)
    if p.shape != (skeleton.joint_count, 3):
        raise MotionError(f"a pose of this skeleton is [{skeleton.joint_count}, 3], got {p.shape}")
    ends = flesh.weights @ p
    tips = flesh.extents[:, 0] < 0.0
    along = ends[:, 1] - ends[:, 0]
    length = np.linalg.norm(along, axis=1, keepdims=True)
    along = along / np.where(length < 1e-9, 1.0, length)
    ends[tips, 0] = ends[tips, 1]
    ends[:, 1] += along * flesh.extents[:, 1:2]
    forward = figure_forward(skeleton, p)
    capsules = np.concatenate([ends[:, 0], flesh.radii[:, 0:1], ends[:, 1], flesh.radii[:, 1:2]], axis=1)
    colours, feet = flesh.colours, flesh.feet
    for foot, joint in flesh.bare_feet:
        reach = _foot_reach(skeleton, joint, forward, flesh.height, global_rotations)
        radii = np.array(_RADII["foot"]) * flesh.height
        capsules = np.vstack([capsules, [*p[joint], radii[0], *(p[joint] + reach), 0.8 * radii[1]]])
        colours = np.vstack([colours, np.array((LEFT, RIGHT)[foot], np.float32)])
        feet = np.append(feet, foot)
    if flesh.head >= 0 and flesh.facing:
        # A nose, so that one sees which way the figure looks.
        middle = 0.4 * ends[flesh.head, 0] + 0.6 * ends[flesh.head, 1]
        tip = middle + forward * 0.058 * flesh.height
        radius = 0.014 * flesh.height
        capsules = np.vstack([capsules, [*middle, radius, *tip, 0.8 * radius]])
        colours = np.vstack([colours, colours[flesh.head]])
        feet = np.append(feet, -1)
    colours = colours.copy() if tint is None else np.tile(np.array(tint, np.float32), (len(colours), 1))
    if contacts is not None:
        for foot, down in enumerate(np.asarray(contacts, bool)):
            if down:
                colours[feet == foot] = CONTACT
    return capsules.astype(np.float32), colours.astype(np.float32)


def _foot_reach(
    skeleton: Skeleton, joint: int, forward: NDArray[np.float64], height: float, global_rotations: ArrayLike | None
) -> NDArray[np.float64]:
    """From an ankle to the toes: the skeleton's own end where rotations tell how it lies, else ahead and a bit down."""
    tip = skeleton.end_offsets[joint].astype(np.float64)
    if global_rotations is not None and np.isfinite(tip).all() and np.any(tip):
        return np.asarray(quaternions.rotate(np.asarray(global_rotations, np.float64)[joint], tip), np.float64)
    reach: NDArray[np.float64] = 0.075 * height * forward - np.array([0.0, 0.018 * height, 0.0])
    return reach

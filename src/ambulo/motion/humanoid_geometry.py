"""The shape of a humanoid, read without any names: two pairs of like limbs, a spine between them, a head on top.

Lengths of bones do not depend on the pose; which pair is the legs and which side is left do, so these are read from
frames of the motion where there are any, since rest frames differ too much between skeletons (in Bandai-Namco's all
bones lie along X). Body proportions are those of R. Drillis and R. Contini, "Body segment parameters" (1966).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.maths import quaternions
from ambulo.motion.humanoid_names import SIDE_WORDS, name_parts
from ambulo.motion.kinematics import forward
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.symmetry import Subtrees

# Fractions of stature (Drillis and Contini 1966).
LEG = 0.245 + 0.246
UPPER_ARM = 0.186
FOREARM = 0.146
SHOULDERS_APART = 0.22

SAMPLE_COUNT = 24


@dataclass(frozen=True)
class Body:
    """What geometry needs of a skeleton: bone lengths, longest chains, and sampled poses.

    Attributes:
        skeleton: J joints.
        lengths: ``[J]`` mean distance of a joint from its parent, metres.
        tips: ``[J]`` length of the end site, 0 where there is none.
        reaches: ``[J]`` longest way down from a joint, metres.
        next_joints: ``[J]`` the child on that way, -1 at a leaf.
        poses: ``[S, J, 3]`` sampled global positions, or the rest pose.
        tip_poses: ``[S, J, 3]`` the same of the end sites; equal to the joint's where there is none.
        sampled: the poses are from a motion.
    """

    skeleton: Skeleton
    lengths: NDArray[np.float64]
    tips: NDArray[np.float64]
    reaches: NDArray[np.float64]
    next_joints: NDArray[np.int64]
    poses: NDArray[np.float64]
    tip_poses: NDArray[np.float64]
    sampled: bool

    @property
    def tolerance(self) -> float:
        """Below this length (metres) two joints are at one place: 0.4 % of the longest chain."""
        return 0.004 * float(self.reaches.max())

    def chain(self, joint: int) -> list[int]:
        """The joint and those below it on its longest way down."""
        found = [joint]
        while self.next_joints[found[-1]] >= 0:
            found.append(int(self.next_joints[found[-1]]))
        return found

    def path(self, above: int, below: int) -> list[int]:
        """The joints from just below ``above`` down to ``below``, or an empty list if it is not above."""
        found = []
        joint = below
        while joint != above:
            if joint < 0:
                return []
            found.append(joint)
            joint = int(self.skeleton.parents[joint])
        return found[::-1]


@dataclass
class Shape:
    """What geometry found: role -> joint, and why."""

    roles: dict[str, int] = field(default_factory=dict)
    evidence: dict[str, str] = field(default_factory=dict)
    sides_known: bool = False

    def put(self, role: str, joint: int, why: str) -> None:
        """Note a role."""
        self.roles[role] = joint
        self.evidence[role] = why


def read_body(skeleton: Skeleton, motion: Motion | None) -> Body:
    """Measure a skeleton, and sample poses of a motion on it."""
    if motion is not None and motion.frame_count:
        count = min(SAMPLE_COUNT, motion.frame_count)
        frames = np.unique(np.linspace(0, motion.frame_count - 1, count).astype(int))
        local, rotations = motion.positions[frames], motion.rotations[frames]
    else:
        local, rotations = skeleton.offsets[None], skeleton.rest_rotations[None]
    pose = forward(local, rotations, skeleton.parents)
    lengths = np.linalg.norm(local.astype(np.float64), axis=-1).mean(axis=0)
    lengths[skeleton.parents < 0] = 0.0
    ends = np.nan_to_num(skeleton.end_offsets).astype(np.float64)
    tips = np.linalg.norm(ends, axis=-1)
    tip_poses = pose.positions + quaternions.rotate(pose.rotations, ends)
    reaches = tips.copy()
    following = np.full(skeleton.joint_count, -1, np.int64)
    for joint in range(skeleton.joint_count - 1, 0, -1):
        parent = int(skeleton.parents[joint])
        # ">=" while going upwards prefers the child listed first.
        if parent >= 0 and lengths[joint] + reaches[joint] >= reaches[parent]:
            reaches[parent] = lengths[joint] + reaches[joint]
            following[parent] = joint
    positions = pose.positions.astype(np.float64)
    sampled = motion is not None and motion.frame_count > 0
    return Body(skeleton, lengths, tips, reaches, following, positions, tip_poses.astype(np.float64), sampled)


@dataclass(frozen=True)
class LimbPair:
    """Two like chains below one joint."""

    base: int
    first: int
    second: int
    length: float
    difference: float


def limb_pairs(body: Body) -> list[LimbPair]:
    """All pairs of like chains that hang from one joint, longest first.

    Fingers and eyes are too short to count; a pair of single joints (IK targets below a scene root) is no limb.
    """
    subtrees = Subtrees(body.skeleton, body.lengths)
    pairs = []
    for base in range(body.skeleton.joint_count):
        candidates = []
        for first, second in itertools.combinations(body.skeleton.children(base), 2):
            if min(_bone_count(body, first), _bone_count(body, second)) < 2:
                continue
            difference = subtrees.difference(first, second)
            if difference < 0.25:
                reach = min(body.lengths[joint] + body.reaches[joint] for joint in (first, second))
                candidates.append(LimbPair(base, first, second, float(reach), difference))
        taken: set[int] = set()
        for pair in sorted(candidates, key=lambda pair: pair.difference):
            if taken.isdisjoint((pair.first, pair.second)):
                taken |= {pair.first, pair.second}
                pairs.append(pair)
    longest = max((pair.length for pair in pairs), default=0.0)
    return sorted((p for p in pairs if p.length > 0.35 * longest), key=lambda p: (-p.length, p.base))


def _bone_count(body: Body, joint: int) -> int:
    return sum(float(body.lengths[j]) > body.tolerance for j in body.chain(joint))


def read_shape(body: Body) -> Shape:
    """Find the humanoid roles by geometry. Sides are set to left and right only where ``sides_known``; otherwise the
    first chain in the file is called left."""
    shape = Shape()
    pairs = limb_pairs(body)
    chosen = _choose_legs_and_arms(body, pairs)
    if chosen is None:
        return shape
    legs, arms = chosen
    shape.put("hips", legs.base, "two like chains, the legs, hang from it")
    leg_joints = [_leg(body, joint) for joint in (legs.first, legs.second)]
    stature = float(np.mean([leg.length for leg in leg_joints])) / LEG
    swap = False
    if all(len(leg.roles) >= 3 for leg in leg_joints):
        sign = _side_sign(body, [leg.roles for leg in leg_joints])
        shape.sides_known = sign != 0
        swap = sign < 0
    sides = ("right", "left") if swap else ("left", "right")
    for side, leg in zip(sides, leg_joints, strict=True):
        for role, (joint, why) in leg.roles.items():
            shape.put(f"{side}_{role}", joint, why)
    if arms is None:
        return shape
    swap_arms = swap if not shape.sides_known else _arm_is_right(body, shape, arms)
    arm_sides = ("right", "left") if swap_arms else ("left", "right")
    for side, arm in zip(arm_sides, _arms(body, arms, stature), strict=True):
        for role, (joint, why) in arm.items():
            shape.put(f"{side}_{role}", joint, why)
    _trunk(body, shape, legs, arms)
    return shape


def _choose_legs_and_arms(body: Body, pairs: list[LimbPair]) -> tuple[LimbPair, LimbPair | None] | None:
    """Which pair is the legs: what names say, else the one lower throughout, else the one nearer to the root."""
    if len(pairs) < 2:
        return (pairs[0], None) if pairs else None
    chosen = pairs[:2]
    votes = [_leg_words(body, pair) for pair in chosen]
    if votes[0] == votes[1]:
        ends = [[body.chain(joint)[-1] for joint in (pair.first, pair.second)] for pair in chosen]
        heights = [body.poses[:, joints, 1].mean(axis=1) for joints in ends]
        # Who crawls or falls has hands as low as feet at times; who stands and walks never.
        clear = (
            np.mean(heights[1] - heights[0] > 0.3 * chosen[0].length),
            np.mean(heights[0] - heights[1] > 0.3 * chosen[0].length),
        )
        if _upright(body) and max(clear) > 0.8:
            votes = [int(clear[0] > clear[1]), int(clear[1] > clear[0])]
        else:
            votes = [-chosen[0].base, -chosen[1].base]
    first = 0 if votes[0] >= votes[1] else 1
    return chosen[first], chosen[1 - first]


def _leg_words(body: Body, pair: LimbPair) -> int:
    """How many joints of a pair have names of legs, less those with names of arms."""
    names = (name_parts(body.skeleton.names[j]) for top in (pair.first, pair.second) for j in body.chain(top))
    words = [parts.word for parts in names if parts.side]
    legs = {word for role in ("lower_leg", "foot", "toe") for word in SIDE_WORDS[role]} | {"thigh", "upleg", "upperleg"}
    arms = {word for role in ("upper_arm", "forearm", "hand") for word in SIDE_WORDS[role]}
    return sum(word in legs for word in words) - sum(word in arms for word in words)


def _upright(body: Body) -> bool:
    """The poses say something about up: they come from a motion, or the rest pose stands rather than lies."""
    if body.sampled:
        return True
    extent = np.ptp(body.poses[0], axis=0)
    return bool(extent[1] >= 0.6 * extent.max())


def _clusters(body: Body, chain: list[int]) -> tuple[list[list[int]], list[float]]:
    """Joints of a chain, those at one place together, and the lengths of the bones between.

    A joint that its name calls a twist or roll helper is part of the bone that it lies in.
    """
    clusters: list[list[int]] = []
    bones: list[float] = []
    passed = 0.0
    for joint in chain:
        length = float(body.lengths[joint]) + passed
        if clusters and name_parts(body.skeleton.names[joint]).helper:
            passed = length
            continue
        passed = 0.0
        if clusters and length <= body.tolerance:
            clusters[-1].append(joint)
        else:
            if clusters:
                bones.append(length)
            clusters.append([joint])
    return clusters, bones


class _Leg(NamedTuple):
    roles: dict[str, tuple[int, str]]
    length: float


def _leg(body: Body, joint: int) -> _Leg:
    clusters, bones = _clusters(body, body.chain(joint))
    if len(bones) < 2:
        return _Leg({}, float(body.reaches[joint]))
    top = max(range(len(bones) - 1), key=lambda k: bones[k] + bones[k + 1])
    found = {
        "upper_leg": (clusters[top][-1], "starts the two longest bones of its leg"),
        "lower_leg": (clusters[top + 1][0], "between the two longest bones of its leg"),
        "foot": (clusters[top + 2][0], "ends the two longest bones of its leg"),
    }
    if len(clusters) > top + 3:
        found["toe"] = (clusters[top + 3][0], "the joint below the foot")
    return _Leg(found, bones[top] + bones[top + 1])


def _arms(body: Body, pair: LimbPair, stature: float) -> list[dict[str, tuple[int, str]]]:
    chains = [_clusters(body, body.chain(joint)) for joint in (pair.first, pair.second)]
    found: list[dict[str, tuple[int, str]]] = []
    for (chain, bones), (other, _) in (chains, chains[::-1]):
        scores = []
        for k in range(len(bones) - 1):
            twin = other[k][-1] if k < len(other) else other[-1][0]
            apart = np.linalg.norm(body.poses[:, chain[k][-1]] - body.poses[:, twin], axis=-1).mean()
            expected = ((bones[k], UPPER_ARM), (bones[k + 1], FOREARM), (float(apart), SHOULDERS_APART))
            scores.append(sum(abs(np.log(max(length, 1e-3 * stature) / (stature * part))) for length, part in expected))
        if not scores:
            found.append({})
            continue
        top = int(np.argmin(scores))
        upper = chain[top][-1]
        arm = {
            "upper_arm": (upper, "starts the upper arm: bone lengths and distance to its twin fit a shoulder"),
            "forearm": (chain[top + 1][0], "between upper arm and forearm"),
            "hand": (chain[top + 2][0], "ends the forearm"),
        }
        above = int(body.skeleton.parents[upper])
        if above != pair.base:
            arm["shoulder"] = (above, "between the chest and the upper arm")
        found.append(arm)
    return found


def _side_sign(body: Body, legs: list[dict[str, tuple[int, str]]]) -> int:
    """+1 where the first leg is the left one, -1 where it is the right one, 0 where the poses do not tell."""
    if not _upright(body):
        return 0
    ahead = np.zeros_like(body.poses[:, 0])
    for leg in legs:
        hip, knee, foot = (body.poses[:, leg[role][0]] for role in ("upper_leg", "lower_leg", "foot"))
        end = leg["foot"][0]
        toe = body.poses[:, leg["toe"][0]] if "toe" in leg else body.tip_poses[:, end]
        # Toes point forward, and knees bend forward.
        ahead += (toe - foot) + (knee - 0.5 * (hip + foot))
    across = body.poses[:, legs[0]["upper_leg"][0]] - body.poses[:, legs[1]["upper_leg"][0]]
    # Left is up x forward: (uz fx - ux fz) with up = +Y.
    votes = ahead[:, 2] * across[:, 0] - ahead[:, 0] * across[:, 2]
    total = float(votes.sum())
    certain = abs(total) > 0.2 * float(np.abs(votes).sum()) and abs(total) > 1e-9
    return int(np.sign(total)) if certain else 0


def _arm_is_right(body: Body, shape: Shape, arms: LimbPair) -> bool:
    """Whether the first arm is on the right, by where the left hip is."""
    across = body.poses[:, shape.roles["left_upper_leg"]] - body.poses[:, shape.roles["right_upper_leg"]]
    ends = [body.chain(joint)[min(2, len(body.chain(joint)) - 1)] for joint in (arms.first, arms.second)]
    between = body.poses[:, ends[0]] - body.poses[:, ends[1]]
    return float((across * between).sum()) < 0


def _trunk(body: Body, shape: Shape, legs: LimbPair, arms: LimbPair) -> None:
    shape.put("chest", arms.base, "two like chains, the arms, hang from it")
    between = body.path(legs.base, arms.base)
    if between:
        way = np.cumsum([body.lengths[joint] for joint in between])
        first = next((k for k, length in enumerate(way) if length > body.tolerance), len(between) - 1)
        # With nothing else between hips and chest a helper at the hips' own place is the spine after all.
        joint = between[first] if between[first] != arms.base or first == 0 else between[first - 1]
        shape.put("spine", joint, "first joint above the hips towards the chest")
    others = [c for c in body.skeleton.children(arms.base) if c not in (arms.first, arms.second) and c not in between]
    others = [c for c in others if c not in (legs.first, legs.second)]
    if not others:
        return
    top = max(others, key=lambda joint: body.lengths[joint] + body.reaches[joint])
    column = [top]
    while len(children := body.skeleton.children(column[-1])) == 1:
        column.append(children[0])
    way = np.cumsum([body.lengths[joint] for joint in column])
    clear = [joint for joint, length in zip(column, way, strict=True) if length > body.tolerance]
    head = clear[-1] if clear else column[-1]
    shape.put("head", head, "last joint of the column above the chest")
    below = [joint for joint in clear if joint != head] or [joint for joint in column if joint != head]
    if below:
        shape.put("neck", below[0], "first joint of the column above the chest")

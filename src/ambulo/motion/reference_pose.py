"""One pose that all humanoids share: standing straight, arms out to the sides, palms down, facing +Z, feet flat.

Two skeletons differ in which way their local axes point and in the pose in which all rotations are zero. What their
joints have in common is how they are turned *away from this reference pose*; so each skeleton is brought into it once,
and retargeting compares against it. Where the rest pose is a standing one (T, A, arms down), its limbs are swung
straight. Where it is none (Bandai-Namco's bones all lie along X), the pose is read from a take: which way bones point,
about which axis knees and elbows bend, which way is up in the pelvis, the chest, and a foot that stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import SkeletonError
from ambulo.maths import quaternions
from ambulo.motion.kinematics import GlobalPose, forward, forward_motion
from ambulo.motion.motion import Motion
from ambulo.motion.reference_from_take import reference_from_take
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.standing import Standing, standing_toes, toe_points

Double = NDArray[np.float64]

NEEDED: tuple[str, ...] = (
    "hips",
    *(f"{side}_{part}" for part in ("upper_leg", "lower_leg", "foot") for side in ("left", "right")),
    *(f"{side}_{part}" for part in ("upper_arm", "forearm") for side in ("left", "right")),
)
"""Roles without which no pose can be carried over."""

TOE_HEIGHT = 0.035
TIP_HEIGHT = 0.015
"""Metres over the floor of a standing toe joint, and of the tip of a foot without one, where nothing else tells; the
same as :mod:`ambulo.prepare.floor` puts them at."""
_TRUSTED = 0.06
_LEVEL = float(np.cos(np.radians(12.0)))
_SPREAD = float(np.sin(np.radians(12.0)))
_DOWN = np.array([0.0, -1.0, 0.0])
_AHEAD = np.array([0.0, 0.0, 1.0])
_UP = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True)
class ReferencePose:
    """A humanoid skeleton in the reference pose.

    Attributes:
        skeleton: with roles.
        offsets: float64 ``[J, 3]``, metres, joints in their parents' frames; constant.
        rotations: float64 ``[J, 4]``, global, in the reference pose.
        from_rest: the rest pose was a standing one; else the pose was read from a take.
        toe_joints: of the left and the right foot the joint that carries the point by which it is placed.
        toe_points: float64 ``[2, 3]``, that point in the joint's frame: the toe joint itself, else the foot's tip.
        toe_height: metres of that point over the floor when the foot is flat.
    """

    skeleton: Skeleton
    offsets: Double
    rotations: Double
    from_rest: bool
    toe_joints: tuple[int, int]
    toe_points: Double
    toe_height: float

    @cached_property
    def local_rotations(self) -> Double:
        """float64 ``[J, 4]``, the reference pose in local rotations."""
        above = self.rotations[np.maximum(self.skeleton.parents, 0)].copy()
        above[self.skeleton.parents < 0] = quaternions.IDENTITY
        return np.asarray(quaternions.inverse_multiply(above, self.rotations), np.float64)

    @cached_property
    def positions(self) -> Double:
        """float64 ``[J, 3]``, metres, the reference pose with the hips at the origin."""
        pose = forward(self.offsets[None], self.local_rotations[None], self.skeleton.parents)
        p = pose.positions[0].astype(np.float64)
        return np.asarray(p - p[self.skeleton.role("hips")])

    @cached_property
    def hips_over_toes(self) -> float:
        """Metres of the hips over the toe points in the reference pose."""
        joints = list(self.toe_joints)
        points = self.positions[joints] + quaternions.rotate(self.rotations[joints], self.toe_points)
        return float(-points[:, 1].mean())

    @cached_property
    def leg_length(self) -> float:
        """Metres from hip to knee to ankle, mean of both legs."""
        p, role = self.positions, self.skeleton.role
        total = 0.0
        for side in ("left", "right"):
            hip, knee, foot = (p[role(f"{side}_{part}")] for part in ("upper_leg", "lower_leg", "foot"))
            total += float(np.linalg.norm(knee - hip) + np.linalg.norm(foot - knee))
        return 0.5 * total


def reference_pose(skeleton: Skeleton, motion: Motion | None = None, pose: GlobalPose | None = None) -> ReferencePose:
    """Bring a skeleton into the reference pose.

    Args:
        skeleton: with roles.
        motion: a take on it; needed where the rest pose is no standing one.
        pose: the take's global pose where the caller has it already.

    Raises:
        SkeletonError: a role of :data:`NEEDED` is missing, or nothing tells how the skeleton stands.
    """
    lacking = [role for role in NEEDED if role not in skeleton.roles]
    if lacking:
        raise SkeletonError(
            f"no joint plays {', '.join(lacking)}",
            key=lacking[0],
            remedy="name the joints in a mapping file or in the [roles] table",
        )
    taken = motion is not None and motion.frame_count > 0
    offsets = skeleton.offsets.astype(np.float64)
    if taken and motion is not None:
        # Position channels replace offsets; a bone's length is what the take says it is.
        moved = np.median(motion.positions, axis=0).astype(np.float64)
        offsets = np.where((skeleton.parents >= 0)[:, None], moved, offsets)
        offsets[skeleton.role("hips")] = skeleton.offsets[skeleton.role("hips")]
    if _stands(skeleton):
        rotations = _from_rest(skeleton)
        from_rest = True
        if motion is not None and taken:
            now = pose or forward_motion(motion)
            _level_feet(
                rotations, skeleton, standing_toes(skeleton, motion.rate, now), now.rotations.astype(np.float64)
            )
    elif taken and motion is not None:
        rotations = reference_from_take(skeleton, motion, pose or forward_motion(motion))
        from_rest = False
    else:
        raise SkeletonError(
            "with all rotations at zero this skeleton does not stand, so nothing tells how its joints are turned",
            remedy="give a take on this skeleton instead of the skeleton alone",
        )
    joints, points, has_toe = toe_points(skeleton)
    expected = TOE_HEIGHT if has_toe else TIP_HEIGHT
    height = expected
    if from_rest:
        known = rest_toe_height(skeleton)
        height = expected if known is None else known
    return ReferencePose(skeleton, offsets, rotations, from_rest, joints, points, height)


def rest_toe_height(skeleton: Skeleton) -> float | None:
    """Metres of the toe points over the floor, of a skeleton whose rest pose stands on y = 0 as skinned characters do.

    None where the rest pose does not stand there.
    """
    kept = skeleton.__dict__
    if "_rest_toe_height" not in kept:  # thousands of takes share one skeleton; it never changes
        kept["_rest_toe_height"] = _rest_toe_height(skeleton)
    height: float | None = kept["_rest_toe_height"]
    return height


def _rest_toe_height(skeleton: Skeleton) -> float | None:
    if any(role not in skeleton.roles for role in NEEDED) or not _stands(skeleton):
        return None
    joints, points, _ = toe_points(skeleton)
    rest, turns = _rest(skeleton)
    index = list(joints)
    toe = float((rest[index] + quaternions.rotate(turns[index], points))[:, 1].mean())
    ends = rest + quaternions.rotate(turns, np.nan_to_num(skeleton.end_offsets).astype(np.float64))
    lowest = float(min(rest[:, 1].min(), ends[:, 1].min()))
    return toe if lowest > -0.02 and 0.0 <= toe < _TRUSTED else None


def _stands(skeleton: Skeleton) -> bool:
    """Whether the rest pose is one of somebody who stands, whichever way the whole body lies."""
    rest, turns = _rest(skeleton)
    frame = _body_frame(skeleton, rest)
    if frame is None:
        return False
    role = skeleton.role
    for side, sign in (("left", 1.0), ("right", -1.0)):
        hip, knee, foot = (rest[role(f"{side}_{part}")] for part in ("upper_leg", "lower_leg", "foot"))
        for above, below in ((hip, knee), (knee, foot)):
            bone = quaternions.inverse_rotate(frame, _unit(below - above))
            if bone[1] > -0.7:
                return False
        shoulder, elbow = rest[role(f"{side}_upper_arm")], rest[role(f"{side}_forearm")]
        arm = quaternions.inverse_rotate(frame, _unit(elbow - shoulder))
        if sign * arm[0] < -0.3 or arm[1] > 0.6:
            return False
        ahead = _toe_direction(skeleton, rest, turns, side)
        if np.linalg.norm(ahead) > 1e-4 and quaternions.inverse_rotate(frame, _unit(ahead))[2] < 0.3:
            return False
    return True


def _body_frame(skeleton: Skeleton, p: Double) -> Double | None:
    """The rotation from the canonical axes (left, up, ahead) to those of a body; None where it has none."""
    role = skeleton.role
    left = p[role("left_upper_leg")] - p[role("right_upper_leg")]
    left = left + (p[role("left_upper_arm")] - p[role("right_upper_arm")])
    hips = 0.5 * (p[role("left_upper_leg")] + p[role("right_upper_leg")])
    up = 0.5 * (p[role("left_upper_arm")] + p[role("right_upper_arm")]) - hips
    if min(np.linalg.norm(left), np.linalg.norm(up)) < 1e-6:
        return None
    up = _unit(up)
    if up[1] > 0.94:
        up = _UP
    left = _unit(left - (left @ up) * up)
    return np.asarray(quaternions.from_matrix(np.stack([left, up, np.cross(left, up)], axis=-1)), np.float64)


def _from_rest(skeleton: Skeleton) -> Double:
    rest, turns = _rest(skeleton)
    frame = _body_frame(skeleton, rest)
    assert frame is not None, "it stands"
    away = np.tile(np.asarray(quaternions.inverse(frame), np.float64), (skeleton.joint_count, 1))
    start = away.copy()
    role = skeleton.role

    def swing(joint: int, direction: Double, wanted: Double) -> None:
        if np.linalg.norm(direction) > 1e-6:
            q = quaternions.between(quaternions.rotate(away[joint], direction), wanted)
            below = skeleton.descendants(joint)
            away[below] = quaternions.multiply(q, away[below])

    for side, sign in (("left", 1.0), ("right", -1.0)):
        hip, knee, foot = (role(f"{side}_{part}") for part in ("upper_leg", "lower_leg", "foot"))
        shin = quaternions.rotate(start[knee], _unit(rest[foot] - rest[knee]))
        swing(hip, rest[knee] - rest[hip], _DOWN)
        swing(knee, rest[foot] - rest[knee], _DOWN)
        feet = skeleton.descendants(foot)
        if abs(shin[0]) < _SPREAD:
            away[feet] = start[feet]  # the sole was flat; legs that are spread far (CMU) carry their feet along
        ahead = _toe_direction(skeleton, rest, turns, side)
        if np.linalg.norm(ahead) > 1e-6:
            flat = quaternions.rotate(away[foot], ahead) * (1.0, 0.0, 1.0)
            away[feet] = quaternions.multiply(quaternions.between(flat, _AHEAD), away[feet])
        upper, elbow = role(f"{side}_upper_arm"), role(f"{side}_forearm")
        out = np.array([sign, 0.0, 0.0])
        swing(upper, rest[elbow] - rest[upper], out)
        hand = skeleton.roles.get(f"{side}_hand")
        if hand is not None:
            swing(elbow, rest[hand] - rest[elbow], out)
            swing(hand, _hand_direction(skeleton, rest, turns, hand), out)
    return np.asarray(quaternions.multiply(away, turns), np.float64)


def _rest(skeleton: Skeleton) -> tuple[Double, Double]:
    p, q = skeleton.rest_pose()
    return p.astype(np.float64), q.astype(np.float64)


def _toe_direction(skeleton: Skeleton, rest: Double, turns: Double, side: str) -> Double:
    """From ankle to toes at rest; zero where nothing tells."""
    foot, toe = skeleton.role(f"{side}_foot"), skeleton.roles.get(f"{side}_toe")
    if toe is not None:
        return np.asarray(rest[toe] - rest[foot])
    tip = skeleton.end_offsets[foot].astype(np.float64)
    return np.asarray(quaternions.rotate(turns[foot], tip)) if np.isfinite(tip).all() else np.zeros(3)


def _level_feet(rotations: Double, skeleton: Skeleton, standing: Standing, q: Double) -> None:
    """Where feet of a take stand with soles that the rest pose would call tilted, believe the take."""
    for index, side in enumerate(("left", "right")):
        still = standing.down[:, index]
        if still.sum() < 10:
            continue
        foot = skeleton.role(f"{side}_foot")
        up = np.median(quaternions.inverse_rotate(q[still, foot], _UP), axis=0)
        shown = quaternions.rotate(rotations[foot], _unit(up))
        if shown[1] < _LEVEL:
            below = skeleton.descendants(foot)
            rotations[below] = quaternions.multiply(quaternions.between(shown, _UP), rotations[below])


def _hand_direction(skeleton: Skeleton, rest: Double, turns: Double, hand: int) -> Double:
    """From the wrist to the knuckles: the mean of what hangs from the hand, thumbs apart; zero where nothing does."""
    from ambulo.motion.humanoid_names import name_parts

    fingers = []
    for child in skeleton.children(hand):
        if "thumb" in name_parts(skeleton.names[child]).word:
            continue
        end = child
        if np.linalg.norm(rest[child] - rest[hand]) < 1e-3:
            end = next(iter(skeleton.children(child)), child)
        fingers.append(rest[end] - rest[hand])
    fingers = [finger for finger in fingers if np.linalg.norm(finger) > 0.02]
    if fingers:
        return np.asarray(np.mean([_unit(finger) for finger in fingers], axis=0))
    tip = skeleton.end_offsets[hand].astype(np.float64)
    return np.asarray(quaternions.rotate(turns[hand], tip)) if np.isfinite(tip).all() else np.zeros(3)


def _unit(v: NDArray[np.floating]) -> Double:
    v = np.asarray(v, np.float64)
    return np.asarray(v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12))

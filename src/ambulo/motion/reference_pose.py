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
from ambulo.motion.skeleton import Skeleton

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
        rotations = _from_take(skeleton, motion, pose or forward_motion(motion))
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


def toe_points(skeleton: Skeleton) -> tuple[tuple[int, int], Double, bool]:
    """The joints and the points in their frames by which the feet are placed, and whether these are toe joints."""
    joints, points, has_toe = [], np.zeros((2, 3)), True
    for side, name in enumerate(("left", "right")):
        toe = skeleton.roles.get(f"{name}_toe")
        joint = skeleton.role(f"{name}_foot") if toe is None else toe
        if toe is None:
            has_toe = False
            tip = skeleton.end_offsets[joint]
            if np.isfinite(tip).all():
                points[side] = tip
        joints.append(joint)
    return (joints[0], joints[1]), points, has_toe


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


def _from_take(skeleton: Skeleton, motion: Motion, pose: GlobalPose) -> Double:
    """The reference pose of a skeleton whose rest says nothing, from how a take moves it."""
    step = max(1, motion.frame_count // 2000)
    p = pose.positions[::step].astype(np.float64)
    q = pose.rotations[::step].astype(np.float64)
    role = skeleton.role
    body = _body_frames(skeleton, p)
    frames: dict[int, Double] = {}
    near = 60.0 if _lies_along_axes(skeleton) else 30.0

    def put(joint: int, canonical: NDArray[np.floating], weights: Double | None = None, snap: bool = True) -> None:
        """The mean rotation from canonical axes to a joint's own, over time."""
        relative = quaternions.to_matrix(quaternions.inverse_multiply(q[:, joint], canonical))
        mean = np.einsum("tij,t->ij", relative, np.ones(len(p)) if weights is None else weights)
        u, _, v = np.linalg.svd(mean)
        turn = u @ np.diag([1.0, 1.0, np.linalg.det(u @ v)]) @ v
        frames[joint] = np.asarray(quaternions.from_matrix(_snapped(turn, near) if snap else turn), np.float64)

    hips = role("hips")
    chest = skeleton.roles.get("chest", skeleton.roles.get("spine", hips))
    # Upright frames tell which way is up in the trunk; lying and bending ones do not.
    trunk = _unit(p[:, chest] - p[:, hips]) if chest != hips else np.tile(_UP, (len(p), 1))
    upright = np.maximum(trunk[:, 1] - 0.8, 1e-3)
    put(hips, body, upright)
    for name in ("spine", "chest", "neck", "head"):
        if name in skeleton.roles and skeleton.roles[name] != hips:
            put(skeleton.roles[name], body, upright)
    chest_now = np.asarray(quaternions.multiply(q[:, chest], frames[chest]), np.float64)
    hips_now = quaternions.multiply(q[:, hips], frames[hips])
    standing = standing_toes(skeleton, motion.rate / step, GlobalPose(p.astype(np.float32), q.astype(np.float32)))
    for index, (side, sign) in enumerate((("left", 1.0), ("right", -1.0))):
        out = np.array([sign, 0.0, 0.0])
        if f"{side}_shoulder" in skeleton.roles:
            put(role(f"{side}_shoulder"), chest_now)
        upper, elbow = role(f"{side}_upper_arm"), role(f"{side}_forearm")
        hand = skeleton.roles.get(f"{side}_hand")
        elbow_axis = np.array([0.0, -sign, 0.0])
        upper_bone = _bone(p, q, upper, elbow)
        bends = None if hand is None else np.cross(p[:, elbow] - p[:, upper], p[:, hand] - p[:, elbow])
        # An arm that hangs straight says nothing; its elbow's crease faces ahead then.
        straight = np.cross(p[:, elbow] - p[:, upper], quaternions.rotate(chest_now, _AHEAD))
        side_hint = straight if bends is None else bends + 0.01 * np.linalg.norm(upper_bone) * straight
        frames[upper] = _limb_frame(q[:, upper], upper_bone, out, side_hint, elbow_axis)
        if hand is not None:
            lower_bone = _bone(p, q, elbow, hand)
            # To bend an elbow leaves its hinge where the upper arm has it; forearms twist as well, and in a take of
            # gestures more than they bend, so the upper arm's hinge is the better witness.
            turned = quaternions.multiply(q[:, upper], frames[upper])
            hinge = np.asarray(quaternions.rotate(turned, elbow_axis), np.float64)
            frames[elbow] = _limb_frame(q[:, elbow], lower_bone, out, hinge, elbow_axis)
            put(hand, quaternions.multiply(q[:, elbow], frames[elbow]))
        else:
            put(elbow, quaternions.multiply(q[:, upper], frames[upper]))
        hip, knee, foot = (role(f"{side}_{part}") for part in ("upper_leg", "lower_leg", "foot"))
        bends = np.cross(p[:, knee] - p[:, hip], p[:, foot] - p[:, knee])
        across = quaternions.rotate(hips_now, np.array([1.0, 0.0, 0.0]))
        size = float(np.linalg.norm(p[:, knee] - p[:, hip], axis=-1).mean())
        hint = bends + 0.02 * size * size * across
        knee_axis = np.array([1.0, 0.0, 0.0])
        frames[hip] = _limb_frame(q[:, hip], _bone(p, q, hip, knee), _DOWN, hint, knee_axis)
        frames[knee] = _limb_frame(q[:, knee], _bone(p, q, knee, foot), _DOWN, hint, knee_axis)
        still = standing.down[:, index].astype(np.float64)
        if still.sum() < 3:
            still = np.full(len(p), 1.0)
        toe = skeleton.roles.get(f"{side}_toe")
        _, points, _ = toe_points(skeleton)
        ahead = _bone(p, q, foot, toe) if toe is not None else points[index]
        up = np.einsum("tk,t->k", quaternions.inverse_rotate(q[:, foot], np.tile(_UP, (len(p), 1))), still)
        frames[foot] = _two_axes(up, _UP, ahead, _AHEAD)
        if toe is not None:
            put(toe, quaternions.multiply(q[:, foot], frames[foot]), still, snap=False)
    local = _mean_rotations(motion.rotations[::step])
    rotations = np.empty((skeleton.joint_count, 4))
    for j, parent in enumerate(skeleton.parents):
        above = quaternions.IDENTITY if parent < 0 else rotations[parent]
        rotations[j] = quaternions.inverse(frames[j]) if j in frames else quaternions.multiply(above, local[j])
    return rotations


@dataclass(frozen=True)
class Standing:
    """Which toes stand when, and where.

    Attributes:
        points: float64 ``[T, 2, 3]``, the toe points, metres.
        down: bool ``[T, 2]``, slower than 0.15 m/s.
        level: metres, median height of standing toe points: the floor as far as toes tell it.
    """

    points: Double
    down: NDArray[np.bool_]
    level: float


def standing_toes(skeleton: Skeleton, rate: float, pose: GlobalPose, speed: float = 0.15) -> Standing:
    """Where the toes of a take stand (S4.11: slower than 0.15 m/s)."""
    joints, local, _ = toe_points(skeleton)
    index = list(joints)
    points = pose.positions[:, index].astype(np.float64)
    if local.any():
        points = points + quaternions.rotate(pose.rotations[:, index].astype(np.float64), local)
    down = toe_contacts(points, rate, speed)
    heights = points[..., 1]
    standing = heights[down]
    if standing.size < max(5, 0.01 * heights.size):
        lowest = np.sort(heights.min(axis=1))
        standing = lowest[: max(1, len(lowest) // 20)]
    return Standing(points, down, float(np.median(standing)))


def toe_contacts(points: Double, rate: float, speed: float) -> NDArray[np.bool_]:
    """Which points ``[T, 2, 3]`` are slower than ``speed`` m/s, by central differences. ``[T, 2]``."""
    if len(points) < 2:
        return np.ones(points.shape[:2], bool)
    velocity = np.gradient(points, axis=0) * rate
    return np.asarray(np.einsum("tfk,tfk->tf", velocity, velocity) < speed * speed)


def _body_frames(skeleton: Skeleton, p: Double) -> Double:
    """The upright heading frame of a body over time, ``[T, 4]``: canonical axes to the world's."""
    role = skeleton.role
    across = p[:, role("left_upper_leg")] - p[:, role("right_upper_leg")]
    across = across + p[:, role("left_upper_arm")] - p[:, role("right_upper_arm")]
    return np.asarray(quaternions.from_yaw(np.arctan2(-across[:, 2], across[:, 0])), np.float64)


def _bone(p: Double, q: Double, joint: int, child: int) -> Double:
    """The direction of a bone in its joint's frame, mean over time."""
    return np.asarray(quaternions.inverse_rotate(q[:, joint], p[:, child] - p[:, joint]).mean(axis=0), np.float64)


def _limb_frame(q: Double, bone: Double, wanted: Double, hinge: Double, wanted_hinge: Double) -> Double:
    """Canonical axes to a limb joint's own: the bone exactly, the hinge as well as it can."""
    axis = quaternions.inverse_rotate(q, hinge).sum(axis=0)
    return _two_axes(bone, wanted, _snapped_axis(axis, bone), wanted_hinge)


def _two_axes(first: Double, wanted_first: Double, second: Double, wanted_second: Double) -> Double:
    """The rotation that takes two canonical directions to two local ones, the first exactly."""

    def basis(a: Double, b: Double) -> Double:
        a = _unit(a)
        c = np.cross(a, b)
        if np.linalg.norm(c) < 1e-9:
            c = np.cross(a, [0.0, 0.0, 1.0] if abs(a[2]) < 0.9 else [1.0, 0.0, 0.0])
        c = _unit(c)
        return np.stack([a, np.cross(c, a), c], axis=-1)

    turn = basis(first, second) @ basis(wanted_first, wanted_second).T
    return np.asarray(quaternions.from_matrix(turn), np.float64)


def _snapped_axis(axis: Double, bone: Double) -> Double:
    """An axis square to a bone; the coordinate axis near it, so that all takes of a skeleton agree.

    Near is within 30 degrees; where the bone itself lies along a coordinate axis, the nearest one: such rigs put the
    hinge on an axis too.
    """
    bone = _unit(bone)
    axis = _unit(axis - (axis @ bone) * bone)
    best = int(np.argmax(np.abs(axis)))
    straight = np.zeros(3)
    straight[best] = np.sign(axis[best])
    near = np.cos(np.radians(46.0 if np.abs(bone).max() > 0.999 else 30.0))
    return straight if abs(axis[best]) > near and abs(straight @ bone) < 0.2 else axis


def _lies_along_axes(skeleton: Skeleton) -> bool:
    """Whether the bones of the limbs lie along coordinate axes: such rigs turn all their frames by right angles."""
    parts = ("lower_leg", "foot", "forearm", "hand")
    joints = [j for s in ("left", "right") for p in parts if (j := skeleton.roles.get(f"{s}_{p}")) is not None]
    bones = _unit(skeleton.offsets[joints])
    return bool((np.abs(bones).max(axis=1) > 0.999).mean() > 0.9)


def _snapped(turn: Double, degrees: float) -> Double:
    """The turn of a cube within some degrees, else the turn itself."""
    best, nearest = turn, np.cos(np.radians(degrees))
    for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
        cube = np.zeros((3, 3))
        for row, column in enumerate(order):
            cube[row, column] = 1.0 if turn[row, column] >= 0.0 else -1.0
        angle = 0.5 * (np.trace(cube.T @ turn) - 1.0)
        if np.linalg.det(cube) > 0.0 and angle > nearest:
            best, nearest = cube, angle
    return best


def _mean_rotations(q: NDArray[np.floating]) -> Double:
    """Mean rotation over time of ``[T, J, 4]``: the first eigenvector of the sum of outer products. ``[J, 4]``."""
    outer = np.einsum("tji,tjk->jik", q.astype(np.float64), q.astype(np.float64))
    return np.ascontiguousarray(np.linalg.eigh(outer)[1][:, :, -1])


def _unit(v: NDArray[np.floating]) -> Double:
    v = np.asarray(v, np.float64)
    return np.asarray(v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12))

"""The reference pose of a skeleton whose rest pose is no standing one, read from how a take moves it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.maths import quaternions
from ambulo.motion.kinematics import GlobalPose
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.standing import standing_toes, toe_points

Double = NDArray[np.float64]

_DOWN = np.array([0.0, -1.0, 0.0])
_AHEAD = np.array([0.0, 0.0, 1.0])
_UP = np.array([0.0, 1.0, 0.0])


def reference_from_take(skeleton: Skeleton, motion: Motion, pose: GlobalPose) -> Double:
    """The reference pose of a skeleton whose rest says nothing: global rotations ``[J, 4]``.

    Args:
        skeleton: with roles.
        motion: a take on it.
        pose: its global pose.
    """
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

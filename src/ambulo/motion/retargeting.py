"""Any humanoid's motion on any other humanoid (S3.28).

Three stages, each judged by :mod:`ambulo.motion.retarget_report`:

1. **Turns.** Both skeletons are brought into one reference pose (:mod:`ambulo.motion.reference_pose`); each joint of
   the target turns away from it as the source's does. This carries the pose over whatever the rest poses and the local
   axes are, bone by bone in the source's directions: the template scaled to the target, frame by frame.
2. **Fit.** The way and the places of the feet are the source's scaled by the ratio of leg lengths, so that a foot that
   stands goes on standing; where legs are too short for that the hips come down a little, slowly. The legs are brought
   there by damped least squares with damping 2.0 in at most 20 iterations
   (:mod:`ambulo.motion.damped_least_squares`); the soles keep the source's angle to the ground.
3. **Heights.** Toes come as high over the target's standing height as the source's over theirs, scaled: contacts stay
   on the ground although toe joints of the two skeletons lie differently high in the foot.

The target's bones keep their lengths exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import MotionError
from ambulo.maths import quaternions
from ambulo.motion.damped_least_squares import DAMPING, ITERATIONS
from ambulo.motion.joint_mapping import JointMapping, check_legs, map_joints
from ambulo.motion.kinematics import GlobalPose, forward, forward_motion
from ambulo.motion.motion import Motion, Note
from ambulo.motion.reference_pose import ReferencePose, reference_pose
from ambulo.motion.retarget_report import RetargetReport, contact_f1, stage_numbers
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.standing import Standing, standing_toes

Double = NDArray[np.float64]

_UNREACHED = 0.002  # Metres that feet may lack to their places before the hips come down.


@dataclass(frozen=True)
class RetargetSettings:
    """Constants of retargeting.

    Attributes:
        fit: bring the feet to their places (stage 2); without, the legs keep the source's angles.
        heights: correct the height of feet (stage 3).
        damping: centimetres a radian of the least squares (S3.28: 2.0).
        iterations: of it, at most (S3.28: 20).
        reach_buffer: part of the leg's length before full stretch in which the reach is softened.
    """

    fit: bool = True
    heights: bool = True
    damping: float = DAMPING
    iterations: int = ITERATIONS
    reach_buffer: float = 0.01

    def __post_init__(self) -> None:
        if not (np.isfinite(self.damping) and self.damping > 0.0):
            raise MotionError(f"a damping of {self.damping:g} is not possible", key="damping", remedy="2.0 is usual")
        if not 1 <= self.iterations <= 10_000:
            raise MotionError(f"{self.iterations} iterations are not possible", key="iterations", remedy="20 is usual")
        if not 0.0 <= self.reach_buffer <= 0.5:
            raise MotionError(f"a reach buffer of {self.reach_buffer:g} is not possible", key="reach_buffer")


@dataclass(frozen=True)
class RetargetTarget:
    """A target made ready once, for many takes.

    Attributes:
        skeleton: with roles.
        reference: the skeleton in the reference pose.
    """

    skeleton: Skeleton
    reference: ReferencePose


@dataclass(frozen=True)
class Retargeted:
    """A retargeted take.

    Attributes:
        motion: on the target's skeleton, its floor at y = 0.
        report: measures before and after.
        mapping: which joint followed which.
    """

    motion: Motion
    report: RetargetReport
    mapping: JointMapping


def retarget_target(target: Skeleton | Motion, roles: Mapping[str, str] | None = None) -> RetargetTarget:
    """Make a target ready.

    Args:
        target: a skeleton whose rest pose stands, or a take on one.
        roles: role -> joint name, corrections.

    Raises:
        SkeletonError: it cannot be mapped (:func:`~ambulo.motion.joint_mapping.map_joints`), or nothing tells how it
            stands (:func:`~ambulo.motion.reference_pose.reference_pose`).
    """
    skeleton = map_joints(target, target, source_roles=roles, target_roles=roles).target
    motion = target.with_roles(dict(skeleton.roles)) if isinstance(target, Motion) else None
    return RetargetTarget(skeleton, reference_pose(skeleton, motion))


def retarget(
    motion: Motion,
    target: Skeleton | Motion | RetargetTarget,
    *,
    mapping: Mapping[str, str] | None = None,
    roles: Mapping[str, str] | None = None,
    settings: RetargetSettings | None = None,
) -> Retargeted:
    """Put a humanoid's motion on another humanoid.

    Args:
        motion: in metres, +Y up. Its floor need not lie at y = 0: it is read from the feet that stand.
        target: a skeleton whose rest pose stands, a take on the target's skeleton, or a target made ready.
        mapping: target joint -> source joint or role, see :func:`~ambulo.motion.joint_mapping.map_joints`.
        roles: role -> joint name of the source, corrections.
        settings: constants.

    Raises:
        SkeletonError: one of the two cannot be mapped, or stands on four legs and the other is no such body.
        MotionError: the motion has no frames.
    """
    from ambulo.motion import retargeting_kernels as kernels

    settings = settings or RetargetSettings()
    if motion.frame_count == 0:
        raise MotionError("a motion without frames cannot be retargeted", path=motion.source.path)
    ready = target if isinstance(target, RetargetTarget) else None
    if ready is None and not isinstance(target, RetargetTarget):
        # Wishes may settle roles, and the reference pose rests on roles.
        first = map_joints(motion, target, mapping, source_roles=roles)
        check_legs(first.source, first.target)
        body = target.with_roles(dict(first.target.roles)) if isinstance(target, Motion) else first.target
        ready = retarget_target(body)
    assert ready is not None
    links = map_joints(motion, ready.skeleton, mapping, source_roles=roles)
    check_legs(links.source, links.target)
    source = motion.with_roles(dict(links.source.roles))
    pose = forward_motion(source)
    there = _source_reference(source, pose, ready)
    here = ready.reference if links.target.roles == ready.skeleton.roles else reference_pose(links.target)
    standing = standing_toes(source.skeleton, source.rate, pose)
    scale = here.leg_length / there.leg_length
    lift = here.toe_height + here.hips_over_toes - scale * (standing.level + there.hips_over_toes)
    goals = scale * standing.points
    if settings.heights:
        goals[..., 1] += here.toe_height - scale * standing.level
    else:
        goals[..., 1] += lift
    follow, shares, firsts, seconds = _links(links, there, here)
    legs, parts, knee_axes, foot_points = _legs(here)
    skeleton = links.target
    frames, joints = motion.frame_count, skeleton.joint_count
    hips = skeleton.role("hips")
    hips_positions, rotations = np.empty((frames, 3), np.float32), np.empty((frames, joints, 4), np.float32)
    gaps, drops, steps = np.zeros((frames, 2)), np.zeros((frames, 2)), np.zeros((frames, 2), np.int64)
    lifts = np.full(frames, lift)

    def run() -> None:
        kernels.retarget_frames(
            pose.positions, pose.rotations, skeleton.parents, here.offsets, here.local_rotations, follow, shares,
            firsts, seconds, hips, source.skeleton.role("hips"), scale, lifts, legs, parts, knee_axes, foot_points,
            goals, settings.fit or settings.heights, not settings.fit, float(settings.damping),
            int(settings.iterations), settings.reach_buffer * here.leg_length, hips_positions, rotations, gaps, drops,
            steps,
        )  # fmt: skip

    run()
    if settings.fit and float(drops.max(initial=0.0)) > _UNREACHED:
        lifts -= _smooth_drop(drops.max(axis=1), source.rate)
        run()
    positions = np.tile(here.offsets.astype(np.float32), (frames, 1, 1))
    positions[:, hips] = hips_positions
    report = _report(source, standing, links, here, scale, positions, rotations, gaps, steps)
    resting = f"; at rest: {', '.join(report.resting)}" if report.resting else ""
    note = Note("retargeted", f"from {motion.skeleton.joint_count} joints, {100 * scale:.1f} % of its size{resting}")
    origin = replace(motion.source, notes=(*motion.source.notes, note))
    return Retargeted(Motion(skeleton, positions, rotations, motion.rate, motion.name, origin), report, links)


def _smooth_drop(drops: Double, rate: float) -> Double:
    """A slow curve that is never less than what is needed: how far the hips come down so that feet reach their places.

    The greatest drop within 0.1 s on either side, averaged over the same: no less anywhere, and as smooth as a walk.
    """
    half = max(1, round(0.1 * rate))
    padded = np.pad(np.maximum(drops, 0.0), 2 * half)
    highest = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1).max(axis=1)
    window = np.hanning(2 * half + 3)[1:-1]
    return np.convolve(highest, window / window.sum(), mode="valid")


def _source_reference(source: Motion, pose: GlobalPose, ready: RetargetTarget) -> ReferencePose:
    same = source.skeleton
    other = ready.skeleton
    if (
        same.names == other.names
        and same.roles == other.roles
        and np.array_equal(same.parents, other.parents)
        and np.array_equal(same.offsets, other.offsets)
        and np.array_equal(same.rest_rotations, other.rest_rotations)
    ):
        return ready.reference  # a skeleton onto itself changes nothing
    return reference_pose(source.skeleton, source, pose)


def _links(
    links: JointMapping, there: ReferencePose, here: ReferencePose
) -> tuple[NDArray[np.int64], Double, Double, Double]:
    """Source joints of each target joint, shares, and what their global rotations are multiplied by."""
    joints = links.target.joint_count
    follow, shares = np.full((joints, 2), -1, np.int64), np.zeros(joints)
    firsts, seconds = np.tile(quaternions.IDENTITY, (2, joints, 1)).astype(np.float64)
    above_hips = _above(links.target, links.target.role("hips"))
    for joint, (a, b, share) in links.follows.items():
        if joint in above_hips:
            continue  # what carries the hips stays where it is: their way is theirs alone
        follow[joint], shares[joint] = (a, b), share
        firsts[joint] = quaternions.inverse_multiply(there.rotations[a], here.rotations[joint])
        seconds[joint] = quaternions.inverse_multiply(there.rotations[b], here.rotations[joint])
    return follow, shares, firsts, seconds


def _above(skeleton: Skeleton, joint: int) -> set[int]:
    found = set()
    while (joint := int(skeleton.parents[joint])) >= 0:
        found.add(joint)
    return found


def _legs(here: ReferencePose) -> tuple[NDArray[np.int64], NDArray[np.int64], Double, Double]:
    skeleton = here.skeleton
    legs, parts = np.zeros((2, 3), np.int64), np.full((skeleton.joint_count, 2), -1, np.int64)
    knee_axes, foot_points = np.zeros((2, 3)), np.zeros((2, 3))
    for f, side in enumerate(("left", "right")):
        legs[f] = [skeleton.role(f"{side}_{part}") for part in ("upper_leg", "lower_leg", "foot")]
        for part, joint in enumerate(legs[f], start=1):
            parts[skeleton.descendants(int(joint))] = (f, part)
        upper, foot = legs[f, 0], legs[f, 2]
        knee_axes[f] = quaternions.inverse_rotate(here.rotations[upper], np.array([1.0, 0.0, 0.0]))
        toe = here.toe_joints[f]
        point = here.positions[toe] + quaternions.rotate(here.rotations[toe], here.toe_points[f])
        foot_points[f] = quaternions.inverse_rotate(here.rotations[foot], point - here.positions[foot])
    return legs, parts, knee_axes, foot_points


def _report(
    source: Motion,
    standing: Standing,
    links: JointMapping,
    here: ReferencePose,
    scale: float,
    positions: NDArray[np.float32],
    rotations: NDArray[np.float32],
    gaps: Double,
    steps: NDArray[np.int64],
) -> RetargetReport:
    skeleton = links.target
    chain = sorted({j for toe in here.toe_joints for j in (toe, *_above(skeleton, toe))})
    local = {joint: k for k, joint in enumerate(chain)}
    parents = np.array([local.get(int(skeleton.parents[j]), -1) for j in chain], np.int32)
    pose = forward(positions[:, chain], rotations[:, chain], parents)
    toes = [local[toe] for toe in here.toe_joints]
    points = pose.positions[:, toes].astype(np.float64)
    if here.toe_points.any():
        points += quaternions.rotate(pose.rotations[:, toes].astype(np.float64), here.toe_points)
    main = sorted(set(skeleton.roles.values()))
    before = stage_numbers(
        standing.points,
        standing.down,
        standing.level,
        source.rotations[:, sorted(set(links.source.roles.values()))],
        source.rate,
    )
    after = stage_numbers(points, standing.down, here.toe_height, rotations[:, main], source.rate)
    resting = tuple(name for j, name in enumerate(skeleton.names) if j not in links.follows)
    return RetargetReport(
        before,
        after,
        contact_f1(standing, points, source.rate, 0.15 * scale),
        scale,
        float(gaps.mean()),
        float(steps.mean()),
        len(links.follows),
        resting,
        source.frame_count,
    )

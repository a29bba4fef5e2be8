"""The 43 points: their schemes, their mirror, and where they sit on different skeletons."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from ambulo.errors import PosingError
from ambulo.maths import quaternions
from ambulo.motion.humanoid import with_detected_roles
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion
from ambulo.motion.reference_pose import reference_pose
from ambulo.motion.skeleton import Skeleton
from ambulo.posing.body_points import BodyPoints, body_points
from ambulo.posing.points import LEG_LENGTH, MIRRORED, POINTS, SCHEMES, SITES, mirror_points, point_indices
from ambulo.synthesis.performance import synthesize


def test_schemes_are_nested_and_symmetric() -> None:
    sizes = sorted(SCHEMES)
    assert sizes == [6, 15, 16, 20, 28] and len(POINTS) == len(set(POINTS)) == 43
    for size, names in SCHEMES.items():
        assert len(set(names)) == size
        indices = point_indices(names)
        assert set(MIRRORED[indices]) == set(indices)
    for small, large in pairwise(sizes):
        assert set(SCHEMES[small]) < set(SCHEMES[large])
    assert set(SCHEMES[6]) == {"left_wrist", "right_wrist", "left_ankle", "right_ankle", "hips", "neck"}


def test_mirroring_twice_changes_nothing() -> None:
    points = np.random.default_rng(0).normal(size=(3, 43, 3))
    assert np.array_equal(MIRRORED[MIRRORED], np.arange(43))
    assert np.array_equal(mirror_points(mirror_points(points)), points)
    sites = np.array([site.offset for site in SITES])
    assert np.allclose(mirror_points(sites), sites)


def test_hands_feet_and_head_carry_orientation() -> None:
    for role, least in (("left_hand", 2), ("right_hand", 2), ("left_foot", 2), ("right_foot", 2), ("head", 5)):
        offsets = np.array([site.offset for site in SITES if site.role == role])
        assert len(offsets) >= least
        assert np.linalg.matrix_rank(offsets - offsets[0]) >= least - 1 or role == "head"


@pytest.fixture(scope="module")
def motion() -> Motion:
    return with_detected_roles(synthesize(seed=3, minutes=0.5)[0].motion).slice(0, 60)


def _body(motion: Motion) -> BodyPoints:
    return body_points(reference_pose(motion.skeleton, motion))


def _points(motion: Motion) -> np.ndarray:
    pose = forward_motion(motion)
    return _body(motion).of_pose(pose.positions, pose.rotations)


def test_points_of_a_rigid_part_keep_their_distances(motion: Motion) -> None:
    points = _points(motion)
    for role in ("head", "left_hand", "right_foot", "hips"):
        part = [i for i, site in enumerate(SITES) if site.role == role]
        apart = np.linalg.norm(points[:, part, None] - points[:, None, part], axis=-1)
        assert np.abs(apart - apart[0]).max() < 1e-5


def test_points_in_the_reference_pose_are_where_the_sites_say(motion: Motion) -> None:
    body = _body(motion)
    reference = body.reference
    for name in ("head_front", "left_hand_tip", "right_hand_thumb", "left_heel", "pelvis_front"):
        index = POINTS.index(name)
        turned = quaternions.rotate(reference.rotations[body.joints[index]], body.offsets[index])
        expected = np.array(SITES[index].offset) * reference.leg_length / LEG_LENGTH
        assert np.abs(turned - expected).max() < 1e-6


def _other_rig(motion: Motion, twists: np.ndarray, scale: float) -> Motion:
    """The same poses on a rig whose joints' frames are turned by ``twists`` and whose bones are ``scale`` as long."""
    parents = np.asarray(motion.skeleton.parents)
    above = np.where((parents >= 0)[:, None], twists[np.maximum(parents, 0)], quaternions.IDENTITY)
    # Global rotations become R twist, so local ones are above^-1 L twist.
    inverse = quaternions.inverse(above)
    local = quaternions.multiply(quaternions.multiply(inverse[None], motion.rotations), twists[None])
    positions = quaternions.rotate(inverse[None], motion.positions) * scale
    offsets = quaternions.rotate(inverse, motion.skeleton.offsets) * scale
    return replace(
        motion,
        skeleton=replace(motion.skeleton, offsets=offsets.astype(np.float32)),
        rotations=local.astype(np.float32),
        positions=positions.astype(np.float32),
    )


@pytest.mark.parametrize("scale", [1.0, 1.25])
def test_a_rig_with_another_rest_pose_has_the_same_points(motion: Motion, scale: float) -> None:
    twists = np.tile(quaternions.IDENTITY.astype(np.float64), (motion.skeleton.joint_count, 1))
    for side, sign in (("left", -1.0), ("right", 1.0)):  # its rest pose has arms that hang
        for part in ("upper_arm", "forearm", "hand"):
            angle = 0.5 * sign * np.radians(-70.0)
            twists[motion.skeleton.role(f"{side}_{part}")] = [0.0, 0.0, np.sin(angle), np.cos(angle)]
    other = _points(_other_rig(motion, twists, scale))
    assert np.linalg.norm(other / scale - _points(motion), axis=-1).max() < 0.01


def test_a_rig_with_any_axes_has_the_same_joints(motion: Motion) -> None:
    twists = quaternions.normalize(np.random.default_rng(4).normal(size=(motion.skeleton.joint_count, 4)))
    twists[0] = quaternions.IDENTITY
    apart = np.linalg.norm(_points(_other_rig(motion, twists, 1.0)) - _points(motion), axis=-1).max(axis=0)
    joints = np.array([not np.any(site.offset) for site in SITES])
    assert apart[joints].max() < 1e-4
    # Without a rest pose that stands, how hands are turned is read from the take, to about twenty degrees.
    assert apart.max() < 0.08


def test_what_a_skeleton_lacks_is_stood_in_for(motion: Motion) -> None:
    full = motion.skeleton
    assert isinstance(full, Skeleton)
    roles = {role: joint for role, joint in full.roles.items() if role not in ("left_toe", "neck", "left_shoulder")}
    reference = reference_pose(full, motion)
    plain = body_points(reference)
    poor = body_points(replace(reference, skeleton=replace(full, roles=roles)))
    changed = [POINTS[i] for i in np.flatnonzero(plain.joints != poor.joints)]
    assert set(changed) == {"left_toe", "left_toe_tip", "left_foot_outer", "neck", "left_shoulder"}
    pose = forward_motion(motion)
    apart = plain.of_pose(pose.positions, pose.rotations) - poor.of_pose(pose.positions, pose.rotations)
    assert np.linalg.norm(apart, axis=-1).max() < 0.15
    assert np.isfinite(apart).all()


def test_a_skeleton_without_hands_is_refused(motion: Motion) -> None:
    reference = reference_pose(motion.skeleton, motion)
    roles = {role: joint for role, joint in motion.skeleton.roles.items() if role != "left_hand"}
    with pytest.raises(PosingError, match="left_hand") as caught:
        body_points(replace(reference, skeleton=replace(motion.skeleton, roles=roles)))
    assert caught.value.key == "left_hand"

"""Joints above the hips ride on the root, so that no blend swings the body about a far-away origin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton
from ambulo.prepare.root import with_root

NAMES = ("Armature", "Prop", "Hips", "Chest", "LeftLeg", "RightLeg")
PARENTS = (-1, 0, 0, 2, 2, 2)
ROLES = {"hips": 2, "chest": 3, "left_upper_leg": 4, "right_upper_leg": 5}


def walk_far_from_the_origin() -> Motion:
    rng = np.random.default_rng(3)
    offsets = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0.4, 0], [0.1, -0.1, 0], [-0.1, -0.1, 0]]
    skeleton = Skeleton(NAMES, PARENTS, offsets, roles=ROLES)  # type: ignore[arg-type]
    positions = np.tile(np.asarray(offsets, np.float32), (120, 1, 1))
    positions[:, 2, 2] = 40.0 + np.arange(120) / 60.0
    rotations = quaternions.normalize(quaternions.identity((120, 6)) + 0.05 * rng.normal(size=(1, 6, 4)))
    rotations[:, 0] = quaternions.from_yaw(0.7)
    return Motion(skeleton, positions, rotations, 60.0)


def test_carriers_lie_on_the_root_and_the_body_stays_where_it_was() -> None:
    motion = walk_far_from_the_origin()
    before, after = forward_motion(motion), forward_motion(with_root(motion))
    np.testing.assert_allclose(after.positions[:, 1], after.positions[:, 0], atol=1e-6)
    np.testing.assert_allclose(after.positions[:, 2:], before.positions[:, 1:], atol=2e-5)
    assert np.max(quaternions.angle_between(after.rotations[:, 2:], before.rotations[:, 1:])) < 1e-3


def test_the_lever_of_the_hips_is_as_short_as_the_body() -> None:
    rooted = with_root(walk_far_from_the_origin())
    assert np.max(np.linalg.norm(rooted.positions[:, 3], axis=-1)) < 1.5


def test_without_carriers_every_global_pose_is_kept() -> None:
    motion = walk_far_from_the_origin()
    kept = [2, 3, 4, 5]
    skeleton = Skeleton(
        tuple(NAMES[i] for i in kept),
        np.array([-1, 0, 0, 0], np.int32),
        motion.skeleton.offsets[kept],
        roles={role: joint - 2 for role, joint in ROLES.items()},
    )
    alone = replace(motion, skeleton=skeleton, positions=motion.positions[:, kept], rotations=motion.rotations[:, kept])
    np.testing.assert_allclose(
        forward_motion(with_root(alone)).positions[:, 1:], forward_motion(alone).positions, atol=2e-5
    )

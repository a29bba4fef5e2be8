"""The synthetic actor's skeleton."""

import numpy as np

from ambulo.motion.kinematics import forward
from ambulo.synthesis import body


def test_skeleton_has_24_joints_in_t_pose():
    skeleton = body.default_skeleton()
    assert skeleton.joint_count == 24
    rest = skeleton.rest_positions()
    left, right = rest[skeleton.index("LeftHand")], rest[skeleton.index("RightHand")]
    assert np.allclose(left * [-1, 1, 1], right)
    # Arms level, straight out to the sides; +X is the left.
    assert left[0] > 0.7
    assert abs(left[1] - rest[skeleton.index("LeftArm")][1]) < 1e-6


def test_segment_lengths_are_the_published_fractions_of_stature():
    skeleton = body.default_skeleton()
    length = np.linalg.norm(skeleton.offsets, axis=-1)
    for joint, fraction in (("LeftLeg", 0.245), ("LeftFoot", 0.246), ("LeftForeArm", 0.186), ("LeftHand", 0.146)):
        assert np.isclose(length[skeleton.index(joint)] / body.STATURE, fraction, atol=1e-6)
    rest = skeleton.rest_positions()
    assert np.isclose(rest[skeleton.index("LeftUpLeg"), 1] / body.STATURE, 0.530, atol=1e-6)
    assert np.isclose(rest[skeleton.index("LeftArm"), 1] / body.STATURE, 0.818, atol=1e-6)
    tip = rest[skeleton.index("Head")] + skeleton.end_offsets[skeleton.index("Head")]
    assert np.isclose(tip[1], body.STATURE, atol=1e-6)


def test_every_leaf_has_an_end_site_and_no_other_joint_has():
    skeleton = body.default_skeleton()
    for joint in range(skeleton.joint_count):
        assert np.isfinite(skeleton.end_offsets[joint]).all() == (not skeleton.children(joint))


def test_feet_stand_on_the_ground_at_rest():
    skeleton = body.default_skeleton()
    rotations = np.zeros((1, 24, 4), np.float32)
    rotations[..., 3] = 1.0
    pose = forward(skeleton.offsets[None], rotations, skeleton.parents)
    for side in ("Left", "Right"):
        foot = skeleton.index(f"{side}Foot")
        assert abs(pose.positions[0, foot, 1] + body.HEEL_SOLE[1]) < 1e-6
        assert np.isclose(pose.positions[0, skeleton.index(f"{side}ToeBase"), 1], body.BALL_HEIGHT, atol=1e-6)


def test_roles_cover_a_humanoid():
    roles = body.default_skeleton().roles
    assert {"hips", "spine", "chest", "neck", "head"} <= set(roles)
    for side in ("left", "right"):
        for part in ("shoulder", "upper_arm", "forearm", "hand", "upper_leg", "lower_leg", "foot", "toe"):
            assert f"{side}_{part}" in roles

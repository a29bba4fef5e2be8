"""Where a body faces: by geometry, whatever the rest frames."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.errors import SkeletonError
from ambulo.maths import quaternions
from ambulo.motion.facing import facing, hips_forward_axis
from ambulo.motion.kinematics import forward
from ambulo.synthesis.body import default_skeleton

BODY = default_skeleton()
yaws = st.floats(-3.1, 3.1)


def turned(yaw: float, frame=None):
    """The T-pose turned about up; ``frame`` turns the hips' own frame without moving any joint."""
    rotations = quaternions.identity((1, BODY.joint_count), float)
    rotations[:, 0] = quaternions.from_yaw(np.array(yaw))
    pose = forward(BODY.offsets[None], rotations, BODY.parents)
    hips = pose.rotations.copy()
    if frame is not None:
        hips[:, 0] = quaternions.multiply(hips[:, 0], frame)
    return pose.positions, hips


@given(yaws)
def test_a_t_pose_faces_where_it_is_turned(yaw):
    positions, _ = turned(yaw)
    assert np.allclose(facing(positions, BODY)[0], [np.sin(yaw), 0.0, np.cos(yaw)], atol=1e-5)


@given(yaws, st.integers(0, 10_000))
def test_the_hips_axis_points_forward_whatever_the_hips_own_frame(yaw, seed):
    frame = quaternions.normalize(np.random.default_rng(seed).normal(size=4))
    positions, rotations = turned(yaw, frame)
    axis = hips_forward_axis(positions, rotations, BODY)
    ahead = quaternions.rotate(rotations[:, BODY.role("hips")], axis)[0]
    # The synthetic spine leans back by 4 degrees, and forward is square to it.
    flat = ahead[[0, 2]] / np.linalg.norm(ahead[[0, 2]])
    assert np.allclose(flat, [np.sin(yaw), np.cos(yaw)], atol=1e-4)
    assert abs(ahead[1]) < 0.1


def test_the_chest_does_not_move_the_hips_axis():
    rotations = np.repeat(quaternions.identity((1, BODY.joint_count), float), 50, axis=0)
    twist = np.linspace(0.0, 1.2, 50)
    rotations[:, BODY.role("spine")] = quaternions.from_yaw(twist)
    pose = forward(np.repeat(BODY.offsets[None], 50, axis=0), rotations, BODY.parents)
    still = forward(BODY.offsets[None], quaternions.identity((1, BODY.joint_count)), BODY.parents)
    assert np.allclose(hips_forward_axis(*pose, BODY), hips_forward_axis(*still, BODY), atol=1e-5)
    # The facing of hips and shoulders together does follow, half-way.
    assert facing(pose.positions, BODY)[-1, 0] > 0.3


def test_a_skeleton_without_sides_says_what_to_do():
    bare = BODY.with_roles({"hips": 0})
    positions, rotations = turned(0.0)
    with pytest.raises(SkeletonError, match=r"\[roles\]"):
        facing(positions, bare)
    with pytest.raises(SkeletonError, match=r"\[roles\]"):
        hips_forward_axis(positions, rotations, bare)


def test_a_body_on_its_side_still_gets_unit_vectors():
    rotations = quaternions.identity((1, BODY.joint_count), float)
    rotations[:, 0] = quaternions.from_angle_axis(np.array([np.pi / 2]), np.array([[0.0, 0.0, 1.0]]))
    pose = forward(BODY.offsets[None], rotations, BODY.parents)
    assert np.isclose(np.linalg.norm(facing(pose.positions, BODY)), 1.0)

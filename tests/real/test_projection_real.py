"""Posing on the skeletons of real captures and characters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ambulo.errors import AmbuloError
from ambulo.formats.registry import load, load_all
from ambulo.maths import quaternions
from ambulo.motion.humanoid import with_detected_roles
from ambulo.motion.kinematics import forward, forward_motion
from ambulo.motion.reference_pose import reference_pose
from ambulo.posing.body_points import BodyPoints, body_points
from ambulo.posing.observations import observe_points
from ambulo.posing.points import POINT_COUNT, POINTS, SCHEMES, point_indices
from ambulo.posing.pose_from_points import pose_from_points, posing_body
from ambulo.posing.poser import Poser
from ambulo.posing.projection import Projector

TAKES = [
    ("free/cmu_karate/135_08.bvh", 0.003),
    ("free/cmu_bollywood/94_08.bvh", 0.003),
    ("free/cmu_salsa_pairs/60_03.bvh", 0.01),
    ("free/cmu_loco/test_jumping_01.bvh", 0.012),
    ("noncommercial/bandai1/dataset-1_punch_normal_001.bvh", 0.02),
]
CHARACTERS = ("humanoid_50clips.glb", "human_male_66.glb", "human_lowpoly_42.glb")


def true_poses(path: Path) -> tuple[BodyPoints, np.ndarray]:
    motion = with_detected_roles(load(path))
    motion = motion.slice(10, motion.frame_count)
    pose = forward_motion(motion)
    body = body_points(reference_pose(motion.skeleton, motion, pose))
    step = max(1, motion.frame_count // 60)
    return body, body.of_pose(pose.positions[::step], pose.rotations[::step]).astype(np.float64)


@pytest.mark.parametrize(("name", "within"), TAKES)
def test_captured_poses_come_back_and_six_points_do_as_well(real_data: Path, name: str, within: float) -> None:
    body, points = true_poses(real_data / name)
    projector = Projector(body)
    exact = projector.project(points, spreads=0.004)
    assert np.quantile(exact.errors, 0.99) < within
    six = point_indices(SCHEMES[6])
    unknown = np.setdiff1d(np.arange(POINT_COUNT), six)
    asked = exact.points
    rough = Poser.default().complete(observe_points(six, asked[:, six]), body)
    done = projector.project(rough, pinned=six)
    assert np.quantile(done.errors[:, six].max(axis=1), 0.97) < 0.001
    before = np.linalg.norm(rough - asked, axis=-1)[:, unknown].mean()
    assert np.linalg.norm(done.points - asked, axis=-1)[:, unknown].mean() < before
    pose = forward(done.positions, done.rotations, body.reference.skeleton.parents)
    turns = projector.body.canonical(pose.rotations)
    for side in ("left", "right"):
        thigh, shank = projector.body.index(f"{side}_upper_leg"), projector.body.index(f"{side}_lower_leg")
        bend = quaternions.to_scaled_angle_axis(quaternions.inverse_multiply(turns[:, thigh], turns[:, shank]))
        assert bend[:, 0].min() > np.radians(-12.0)


@pytest.mark.parametrize("name", CHARACTERS)
def test_characters_are_posed(real_data: Path, name: str) -> None:
    motions = load_all(real_data / "free/characters" / name)
    body = posing_body(max(motions, key=lambda motion: motion.frame_count))
    s = body.scale
    asked = {
        "left_wrist": [0.4 * s, 1.3 * s, 0.3 * s],
        "hips": [0, 0.9 * s, 0],
        "right_ankle": [-0.1 * s, 0.1 * s, 0.1 * s],
    }
    done = pose_from_points(asked, body, floor=0.0)
    assert done.unreachable == ()
    pose = forward_motion(done.motion())
    hand = body.joints[POINTS.index("left_wrist")]
    assert np.abs(pose.positions[0, hand] - asked["left_wrist"]).max() < 0.002
    assert done.points[0, POINTS.index("head"), 1] > done.points[0, POINTS.index("hips"), 1] + 0.3 * s


def test_a_character_without_hands_is_refused(real_data: Path) -> None:
    motions = load_all(real_data / "free/characters/robot_14clips.glb")
    with pytest.raises(AmbuloError, match=r"hand|plays"):
        posing_body(motions[0])

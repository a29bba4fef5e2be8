"""Limbs moved at random: whole, attached, bent the way that limbs bend."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.posing.completion import facing_yaws, standing_places, to_facing
from ambulo.posing.limbering import limber_poses
from ambulo.posing.points import POINTS, point_indices
from ambulo.posing.pose_set import PoseSet

SIDES = ("left", "right")


@pytest.fixture(scope="module")
def facing(poses: PoseSet) -> np.ndarray:
    points = poses.points.astype(np.float64)
    return to_facing(points, facing_yaws(points), standing_places(points)).astype(np.float32)


def between(points: np.ndarray, first: str, second: str) -> np.ndarray:
    return points[:, POINTS.index(second)] - points[:, POINTS.index(first)]


def test_limbs_stay_whole_and_attached(facing: np.ndarray) -> None:
    moved = limber_poses(facing, np.random.default_rng(0), arms=1.0, legs=1.0)
    for side in SIDES:
        for first, second in (
            ("upper_arm", "elbow"), ("elbow", "wrist"), ("wrist", "hand_tip"), ("hand_tip", "hand_thumb"),
            ("elbow", "elbow_back"), ("hip", "knee"), ("knee", "ankle"), ("ankle", "toe"), ("ankle", "heel"),
        ):  # fmt: skip
            pair = f"{side}_{first}", f"{side}_{second}"
            lengths = [np.linalg.norm(between(points, *pair), axis=-1) for points in (facing, moved)]
            assert np.abs(lengths[0] - lengths[1]).max() < 1e-4, pair
    trunk = point_indices(["hips", "chest", "head", "left_shoulder", "right_hip"])
    apart = moved[:, trunk] - facing[:, trunk]
    assert np.abs(apart - apart[:, :1]).max() < 1e-5  # the body is only let down or lifted
    assert np.abs(apart[..., [0, 2]]).max() < 1e-5


def test_the_lowest_foot_stays_on_its_height(facing: np.ndarray) -> None:
    moved = limber_poses(facing, np.random.default_rng(0), arms=0.0, legs=1.0)
    feet = point_indices([f"{side}_{part}" for side in SIDES for part in ("toe", "heel")])
    assert np.abs(moved[:, feet, 1].min(axis=1) - facing[:, feet, 1].min(axis=1)).max() < 1e-4


def test_knees_bend_backward_and_arms_reach_up(facing: np.ndarray) -> None:
    moved = limber_poses(facing, np.random.default_rng(0), arms=1.0, legs=1.0)
    for side in SIDES:
        thigh, shank = between(moved, f"{side}_hip", f"{side}_knee"), between(moved, f"{side}_knee", f"{side}_ankle")
        # Toes are ahead of a leg, and a knee's bend takes the shank away from there.
        toes = between(moved, f"{side}_ankle", f"{side}_toe")
        bent = np.degrees(
            np.arccos((thigh * shank).sum(-1) / np.linalg.norm(thigh, axis=-1) / np.linalg.norm(shank, axis=-1))
        )
        side_of_bend = (
            toes
            * (
                shank / np.linalg.norm(shank, axis=-1, keepdims=True)
                - thigh / np.linalg.norm(thigh, axis=-1, keepdims=True)
            )
        ).sum(-1)
        assert (side_of_bend[bent > 30.0] < 0.0).mean() > 0.9
        arm = between(moved, f"{side}_upper_arm", f"{side}_wrist")
        assert (arm[:, 1] > 0.3).mean() > 0.1 and (arm[:, 1] < -0.3).mean() > 0.1


def test_nothing_is_moved_where_nothing_shall_be(facing: np.ndarray) -> None:
    assert np.array_equal(limber_poses(facing, np.random.default_rng(0), arms=0.0, legs=0.0), facing)

"""Posing on real capture: points on several rigs, and linear against facing Gaussians on takes held out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ambulo.posing.completion import Completion, facing_yaws, standing_places, to_facing
from ambulo.posing.gaussian import fit_facing, fit_turned
from ambulo.posing.observations import observe_points
from ambulo.posing.points import POINTS, SCHEMES, SITES, point_indices
from ambulo.posing.pose_set import PoseSet, gather_poses

SETS = {
    "karate": "free/cmu_karate/135_0[78]*.bvh",
    "loco": "free/cmu_loco/*walking_01*.bvh",
    "bandai1": "noncommercial/bandai1/**/*walk_normal_001*.bvh",
    "pfnn": "noncommercial/pfnn/**/*.bvh",
}


def gathered(data: Path, name: str) -> PoseSet:
    pattern = SETS[name]
    files = sorted(data.glob(pattern))
    if not files:
        pytest.skip(f"no take fits {pattern}")
    return gather_poses(files[:2], rate=3.0)


@pytest.mark.parametrize("name", SETS)
def test_points_of_real_rigs_are_a_body(real_data: Path, name: str) -> None:
    poses = gathered(real_data, name)
    points = poses.points[:100].astype(np.float64)
    yaws, places = facing_yaws(points), standing_places(points)
    facing = to_facing(points, yaws, places)
    mean = dict(zip(POINTS, facing.mean(axis=0), strict=True))
    # Karate is fought with bent knees, and captured floors are some centimetres off.
    assert 0.5 < mean["hips"][1] < 1.2 and 0.3 < mean["head"][1] - mean["hips"][1] < 0.75
    assert mean["left_hip"][0] > 0.05 > -0.05 > mean["right_hip"][0]
    # Toes, heels and faces are where feet and heads point on any rig.
    for side in ("left", "right"):
        assert mean[f"{side}_toe"][2] > mean[f"{side}_heel"][2] + 0.1
    assert mean["head_front"][2] > mean["head"][2] + 0.05
    assert mean["head_top"][1] > mean["head"][1] + 0.1
    # Hands are as long as the sites say.
    tip, wrist = POINTS.index("left_hand_tip"), POINTS.index("left_wrist")
    length = np.linalg.norm(SITES[tip].offset)
    assert np.abs(np.linalg.norm(points[:, tip] - points[:, wrist], axis=-1) - length).max() < 1e-3


def test_who_knows_the_facing_completes_better_than_linear_regression(real_data: Path) -> None:
    poses = gather_poses(sorted((real_data / "free" / "cmu_karate").rglob("*.bvh")), rate=4.0)
    held = np.arange(len(poses.names)) == len(poses.names) - 1
    training, held_out = poses.of_takes(~held), poses.of_takes(held).points.astype(np.float64)
    points = training.points.astype(np.float64)
    places = standing_places(points)
    completion = Completion(
        fit_turned(points - places[:, None]), fit_facing(to_facing(points, facing_yaws(points), places)), passes=1
    )
    six = point_indices(SCHEMES[6])
    unknown = np.setdiff1d(np.arange(len(POINTS)), six)
    middle = held_out[:, six].mean(axis=1, keepdims=True) * [1.0, 0.0, 1.0]
    linear = completion.turned.condition(observe_points(six, held_out[:, six] - middle))[0] + middle
    ours = replace(completion).complete(observe_points(six, held_out[:, six]))

    def error(points: np.ndarray) -> float:
        return float(np.linalg.norm(points - held_out, axis=-1)[:, unknown].mean())

    assert error(ours) < 0.95 * error(linear) < 0.08

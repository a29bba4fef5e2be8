"""Poses that stand although nothing was said about their feet."""

from __future__ import annotations

import numpy as np

from ambulo.posing.footing import SOLES, feet_are_free
from ambulo.posing.points import point_indices
from ambulo.posing.pose_from_points import pose_from_points, posing_body, projector_of
from ambulo.posing.poser import Poser


def test_a_body_that_reaches_up_stands() -> None:
    poser, body = Poser.default(), posing_body()
    flat = projector_of(body).body.clearances[SOLES]
    for height in (0.3, 1.0, 1.6, 1.9):
        pose = pose_from_points({"left_wrist": [0.3, height, 0.2]}, body, stand=True, poser=poser)
        assert not pose.unreachable
        assert np.abs(pose.points[0, SOLES, 1] - flat).max() < 0.03
    high = pose_from_points({"left_wrist": [0.3, 1.9, 0.2]}, body, poser=poser)
    assert high.points[0, SOLES, 1].min() > 0.05  # what the option is for


def test_a_foot_that_is_set_is_left_alone() -> None:
    asked = {"left_wrist": [0.3, 1.9, 0.2], "right_ankle": [-0.1, 0.4, 0.2]}
    plain, standing = pose_from_points(asked, floor=0.0), pose_from_points(asked, stand=True)
    assert np.array_equal(plain.points, standing.points)
    assert feet_are_free(point_indices(["hips", "left_hip", "head"]))
    assert not feet_are_free(point_indices(["hips", "left_knee"]))


def test_standing_bodies_turn_and_move_with_the_question() -> None:
    # On a raised floor, turned by a right angle: the same pose there.
    wrist, hips = np.array([0.3, 1.7, 0.2]), np.array([0.1, 1.0, 0.0])

    def turned(at: np.ndarray) -> np.ndarray:
        return np.stack([at[..., 2], at[..., 1], -at[..., 0]], axis=-1)

    a = pose_from_points({"left_wrist": wrist, "hips": hips}, stand=True)
    b = pose_from_points({"left_wrist": turned(wrist), "hips": turned(hips)}, stand=True)
    assert np.allclose(turned(a.points), b.points, atol=2e-3)

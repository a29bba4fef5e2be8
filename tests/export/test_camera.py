"""The camera's projection: the target in the middle, left is left, distances by similar triangles."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.errors import AmbuloError
from ambulo.export.camera import Camera, view_camera

SIZE = (640, 360)


@pytest.mark.parametrize("view", ["side", "front", "three_quarter", "top", "back"])
def test_target_is_the_middle(view: str) -> None:
    camera = view_camera((1.0, 0.9, -2.0), (0.3, 0.0, 0.7), view)
    x, y, depth = camera.project((1.0, 0.9, -2.0), SIZE)
    np.testing.assert_allclose([x, y], [320.0, 180.0], atol=1e-6)
    assert depth == pytest.approx(np.linalg.norm(camera.eye - camera.target))
    np.testing.assert_allclose(camera.axes() @ camera.axes().T, np.eye(3), atol=1e-12)


def test_seen_from_the_front_the_left_hand_is_on_the_right() -> None:
    camera = view_camera((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), "front")
    left, up = camera.project([(0.5, 1.0, 0.0), (0.0, 1.5, 0.0)], SIZE)
    assert left[0] > 330.0
    assert up[1] < 170.0


def test_seen_from_its_left_a_figure_that_looks_ahead_looks_to_the_left() -> None:
    camera = view_camera((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), "side")
    assert camera.eye[0] > 1.0
    assert camera.project((0.0, 1.0, 0.5), SIZE)[0] < 310.0


def test_the_height_asked_for_fills_the_picture() -> None:
    camera = view_camera((0.0, 1.0, 0.0), view="front", height=2.0)
    axes = camera.axes()
    top = camera.project(camera.target + axes[1], SIZE)
    np.testing.assert_allclose(top[:2], [320.0, 0.0], atol=1e-6)


def test_straight_down_has_axes() -> None:
    camera = Camera(np.array([0.0, 5.0, 0.0]), np.zeros(3))
    np.testing.assert_allclose(np.linalg.det(np.stack([*camera.axes()[:2], -camera.axes()[2]])), 1.0, atol=1e-12)


def test_unknown_view_lists_the_valid_ones() -> None:
    with pytest.raises(AmbuloError, match="'side'"):
        view_camera((0, 0, 0), view="sid")

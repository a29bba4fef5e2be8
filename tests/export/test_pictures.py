"""The figure is drawn where the projection says, with its size, its colours and its order in depth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ambulo.errors import MotionError
from ambulo.export import mannequin, rendering_kernels
from ambulo.export.camera import view_camera
from ambulo.export.pictures import Trail, contact_sheet, frame
from ambulo.motion.skeleton import Skeleton


def draw(capsules: list[list[float]], camera, size=(200, 200)) -> tuple[np.ndarray, np.ndarray]:
    width, height = size
    depth = np.full((height, width), np.inf, np.float32)
    image = np.zeros((height, width, 3), np.float32)
    colours = np.eye(3, dtype=np.float32)[np.arange(len(capsules)) % 3]
    rendering_kernels.draw_capsules(
        np.array(capsules, np.float64),
        colours,
        np.zeros(len(capsules), bool),
        np.asarray(camera.eye, np.float64),
        np.ascontiguousarray(camera.axes()),
        float(np.tan(0.5 * camera.vertical_angle)),
        0.0,
        depth,
        image,
    )
    return depth, image


def test_a_ball_is_a_disc_of_the_right_size_and_depth() -> None:
    camera = view_camera((0, 1, 0), view="front", height=2.0)
    depth, _ = draw([[0, 1, 0, 0.3, 0, 1, 0, 0.3]], camera)
    distance = float(np.linalg.norm(camera.eye - camera.target))
    assert depth.min() == pytest.approx(distance - 0.3, abs=1e-3)
    # Half angle of a ball: asin(r / d); its outline on the picture is at focal * tan of that.
    focal = 100.0 / np.tan(0.5 * camera.vertical_angle)
    radius = focal * np.tan(np.arcsin(0.3 / distance))
    assert np.isfinite(depth).sum() == pytest.approx(np.pi * radius**2, rel=0.01)


def test_a_tapered_capsule_is_the_hull_of_its_balls() -> None:
    camera = view_camera((0, 1, 0), (0.2, 0, 1), view="three_quarter", height=2.0)
    a, b = np.array([-0.4, 0.8, 0.2]), np.array([0.4, 1.3, -0.3])
    hull, _ = draw([[*a, 0.25, *b, 0.08]], camera)
    steps = np.linspace(0.0, 1.0, 400)
    balls = [[*(a + s * (b - a)), 0.25 + s * (0.08 - 0.25)] * 2 for s in steps]
    many, _ = draw(balls, camera)
    assert (np.isfinite(hull) != np.isfinite(many)).sum() <= 3
    both = np.isfinite(hull) & np.isfinite(many)
    np.testing.assert_allclose(hull[both], many[both], atol=2e-3)


def test_the_nearer_thing_hides_the_farther() -> None:
    camera = view_camera((0, 1, 0), (0, 0, 1), view="front", height=2.0)
    near, far = [0, 1, 0.5, 0.2, 0, 1, 0.5, 0.2], [0, 1, -0.5, 0.2, 0, 1, -0.5, 0.2]
    for order in ([near, far], [far, near]):
        _, image = draw(order, camera)
        assert int(image[100, 100].argmax()) == order.index(near)


@pytest.mark.parametrize("view", ["side", "front", "three_quarter"])
def test_every_joint_of_the_figure_is_covered_where_it_projects(humanoid: Skeleton, view: str) -> None:
    pose = humanoid.rest_positions()
    camera = view_camera((0, 0.9, 0), (0, 0, 1), view, height=2.2, aspect=640 / 360)
    with_figure = frame(humanoid, pose, camera=camera)
    # The same scene with the figure far away: sky and ground alone.
    without = frame(humanoid, pose + np.float32([0, 0, 500]), camera=camera)
    changed = np.abs(with_figure.astype(int) - without.astype(int)).max(axis=2) > 10
    for joint in range(1, humanoid.joint_count):
        x, y, _ = camera.project(pose[joint], (640, 360)).round().astype(int)
        assert changed[y, x], humanoid.names[joint]
    assert not changed[:20].any()
    assert 0.02 < changed.mean() < 0.3


def test_left_is_blue_right_is_orange_and_contact_is_red(humanoid: Skeleton) -> None:
    pose = humanoid.rest_positions()
    camera = view_camera((0, 0.9, 0), (0, 0, 1), "front", height=2.2)
    pixels = frame(humanoid, pose, camera=camera, size=(400, 400), contacts=(True, False)).astype(int)

    def colour(role: str) -> np.ndarray:
        x, y, _ = camera.project(pose[humanoid.role(role)], (400, 400)).round().astype(int)
        return pixels[y, x]

    assert colour("left_lower_leg")[2] > colour("left_lower_leg")[0] + 40
    assert colour("right_lower_leg")[0] > colour("right_lower_leg")[2] + 40
    assert colour("left_toe")[0] > colour("left_toe")[2] + 60
    assert colour("left_toe")[1] < colour("right_toe")[1]


def test_the_body_faces_where_its_hips_and_shoulders_say(humanoid: Skeleton) -> None:
    pose = humanoid.rest_positions()
    np.testing.assert_allclose(mannequin.figure_forward(humanoid, pose), [0, 0, 1], atol=1e-6)
    turned = pose[:, [2, 1, 0]] * np.float32([1, 1, -1])
    np.testing.assert_allclose(mannequin.figure_forward(humanoid, turned), [1, 0, 0], atol=1e-6)


def test_bones_show_without_roles() -> None:
    chain = Skeleton(("a", "b", "c"), np.array([-1, 0, 1]), np.array([[0, 1, 0], [0.5, 0, 0], [0, 0.5, 0]]))
    camera = view_camera((0.3, 1.2, 0), view="front", height=2.0)
    pose = chain.rest_positions()
    pixels = frame(chain, pose, camera=camera, size=(200, 200))
    empty = frame(chain, pose + np.float32([0, 0, 500]), camera=camera, size=(200, 200))
    x, y, _ = camera.project((0.25, 1.0, 0.0), (200, 200)).round().astype(int)
    assert np.abs(pixels[y, x].astype(int) - empty[y, x]).max() > 10


def test_trails_and_crowds_are_drawn(humanoid: Skeleton) -> None:
    pose = humanoid.rest_positions()
    pair = np.stack([pose, pose + np.float32([1.5, 0, 0])])
    camera = view_camera((0.75, 0.9, 0), (0, 0, 1), "front", height=2.4, aspect=2.0)
    trail = Trail(np.array([(-1.0, 0.01, 0.5), (2.0, 0.01, 0.5)]), (1.0, 0.0, 1.0), 0.03)
    pixels = frame(humanoid, pair, camera=camera, size=(400, 200), trails=[trail])
    x, y, _ = camera.project((0.75, 0.01, 0.5), (400, 200)).round().astype(int)
    assert tuple(pixels[y, x]) == (255, 0, 255)
    for figure in pair:
        x, y, _ = camera.project(figure[humanoid.role("chest")], (400, 200)).round().astype(int)
        assert pixels[y, x].max() < 200


def test_rendering_is_deterministic(humanoid: Skeleton) -> None:
    pose = humanoid.rest_positions()
    np.testing.assert_array_equal(frame(humanoid, pose), frame(humanoid, pose))


def test_a_contact_sheet_has_its_cells(
    humanoid: Skeleton, tmp_path: Path, decode: Callable[[bytes], np.ndarray]
) -> None:
    motion = np.tile(humanoid.rest_positions(), (50, 1, 1))
    path = contact_sheet(humanoid, motion, tmp_path / "s.png", columns=4, rows=2, cell=(80, 120), rate=60.0)
    sheet = decode(path.read_bytes())
    assert sheet.shape == (2 * 122 - 2, 4 * 82 - 2, 3)
    # The cells differ by their labels alone.
    np.testing.assert_array_equal(sheet[20:120, :80], sheet[20:120, 82:162])
    assert (sheet[:20, :80] != sheet[:20, 82:162]).any()
    path = contact_sheet(humanoid, motion, tmp_path / "t.png", frames=[3, 9, 27], cell=(80, 120))
    assert decode(path.read_bytes()).shape == (120, 3 * 82 - 2, 3)


def test_wrong_input_is_refused(humanoid: Skeleton, tmp_path: Path) -> None:
    pose = humanoid.rest_positions()
    with pytest.raises(MotionError, match="figures of this skeleton"):
        frame(humanoid, pose[:5])
    with pytest.raises(MotionError, match="not finite"):
        frame(humanoid, pose * np.nan)
    with pytest.raises(MotionError, match="frame 7"):
        contact_sheet(humanoid, pose[None], tmp_path / "x.png", frames=[7])
    assert not (tmp_path / "x.png").exists()

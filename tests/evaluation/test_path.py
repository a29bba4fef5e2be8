"""Paths with a known offset give exactly that error."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.errors import ControlError
from ambulo.evaluation.path import direction_errors, measure_path, path_distances, speed_errors
from ambulo.evaluation.travel import Travel, horizontal_velocities, wrap

ANGLES = np.linspace(0.0, 2.0 * np.pi, 721)


def circle(radius: float, angles: np.ndarray = ANGLES) -> np.ndarray:
    return np.stack([radius * np.sin(angles), np.zeros_like(angles), radius * np.cos(angles)], axis=1)


def travel(positions: np.ndarray, headings: np.ndarray, velocity: object, facing: object = (0, 0, 0)) -> Travel:
    count = len(positions)
    return Travel(
        60.0,
        positions,
        headings,
        np.broadcast_to(np.asarray(velocity, float), (count, 3)),
        np.broadcast_to(np.asarray(facing, float), (count, 3)),
    )


def test_a_circle_with_an_offset() -> None:
    np.testing.assert_allclose(path_distances(circle(2.13), circle(2.0)), 0.13, atol=2e-5)
    np.testing.assert_allclose(path_distances(circle(2.0), circle(2.0)), 0.0, atol=1e-9)


def test_distance_is_to_segments_and_not_to_corners_alone() -> None:
    line = np.array([[0, 0, 0], [10, 0, 0], [10, 5, 4]])
    points = np.array([[5, 0.7, 0.3], [-3, 0, 4], [12, 0, 2], [10, 9, 0]])
    np.testing.assert_allclose(path_distances(points, line), [0.3, 5.0, 2.0, 0.0], atol=1e-12)


def test_a_point_twice_in_the_path_is_no_harm() -> None:
    assert path_distances([[0, 0, 2]], [[0, 0, 0], [0, 0, 0], [1, 0, 0]]) == pytest.approx(2.0)


def test_one_point_is_no_path() -> None:
    with pytest.raises(ControlError, match="two points"):
        path_distances([[0, 0, 0]], [[0, 0, 0]])


def test_directions_wrap_and_do_not_cancel() -> None:
    # Asked to face -Z; half the frames are 10 degrees to one side of it, half to the other, across the wrap at pi.
    off = np.radians(10.0)
    headings = np.where(np.arange(100) % 2 == 0, np.pi - off, -np.pi + off)
    way = travel(np.zeros((100, 3)), headings, (0, 0, 0), (0, 0, -1))
    np.testing.assert_allclose(direction_errors(way), off)
    assert measure_path([way], None)["direction_error"].value == pytest.approx(10.0)


def test_facing_follows_the_way_where_none_is_asked() -> None:
    way = travel(np.zeros((5, 3)), np.full(5, np.pi / 2), (1.0, 0.0, 0.0))
    np.testing.assert_allclose(direction_errors(way), 0.0, atol=1e-12)
    still = travel(np.zeros((5, 3)), np.zeros(5), (0.0, 0.0, 0.0))
    assert np.isnan(direction_errors(still)).all()
    assert np.isnan(measure_path([still], None)["direction_error"].value)


def test_speed_error_is_the_difference_of_speeds() -> None:
    positions = np.stack([np.zeros(60), np.zeros(60), np.arange(60) / 60.0 * 1.5], axis=1)
    np.testing.assert_allclose(speed_errors(travel(positions, np.zeros(60), (0.0, 0.0, 1.2))), 0.3)


def test_velocity_is_exact_on_lines_up_to_the_ends() -> None:
    positions = np.outer(np.arange(30) / 60.0, [0.6, 9.0, -0.8])
    np.testing.assert_allclose(horizontal_velocities(positions, 60.0), np.tile([0.6, -0.8], (30, 1)), atol=1e-9)


def test_wrap() -> None:
    np.testing.assert_allclose(wrap([0.0, 3.5, -3.5, 7.0]), [0.0, 3.5 - 2 * np.pi, 2 * np.pi - 3.5, 7.0 - 2 * np.pi])


def test_measures_over_several_characters() -> None:
    ways = [travel(circle(2.0 + d), ANGLES + np.pi / 2, (0, 0, 1)) for d in (0.05, 0.15)]
    measures = measure_path(ways, circle(2.0))
    assert measures["path_error"].value == pytest.approx(10.0, abs=0.01)
    assert measures["path_error_max"].value == pytest.approx(15.0, abs=0.01)
    assert measures["path_error"].raw is None

"""Scripts are pure functions; path scripts stay on their path whatever follows them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ambulo.control import paths
from ambulo.control.scripts import SCRIPTS, PathScript, create_script, random_sticks, sticks, turn
from ambulo.errors import ControlError

STILL = np.zeros((1, 3), np.float32)
AHEAD = np.array([[0.0, 0.0, 1.0]], np.float32)


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_asks_the_same_again(name: str) -> None:
    a, b = create_script(name), create_script(name)
    assert a.name == name
    for time in (0.0, 0.5, 1.7, 9.3, 31.0):
        first, second = a.intent(time, STILL, AHEAD), b.intent(time, STILL, AHEAD)
        assert_array_equal(first.velocity, second.velocity)
        assert_array_equal(first.facing, second.facing)
        assert np.isfinite(first.velocity).all()
        assert_array_equal(first.velocity[:, 1], 0.0)


@pytest.mark.parametrize("name", ["circle", "square", "star", "wave"])
def test_a_perfect_follower_stays_on_the_path(name: str) -> None:
    script = create_script(name)
    assert isinstance(script, PathScript)
    position, facing = STILL.copy(), AHEAD
    worst = 0.0
    for step in range(1200):
        velocity = script.intent(step / 60, position, facing).velocity
        speed = np.linalg.norm(velocity)
        assert 0.2 < speed <= script.speed + 1e-5
        facing = velocity / speed
        position = position + velocity / 60
        worst = max(worst, float(script.path.nearest(position)[1][0]))
    # Only corners are cut, by a part of the way that is looked ahead.
    assert worst < 0.45
    arc = float(script.path.nearest(position)[0][0])
    assert arc > 0.1


def test_paths_start_at_the_origin_along_z() -> None:
    for path in (paths.circle(2.0), paths.square(4.0), paths.wave(1.5, 6.0)):
        assert_allclose(path.points[0], 0.0, atol=1e-12)
    for path in (paths.circle(2.0), paths.square(4.0)):
        way = path.at(0.1)
        assert way[1] > 0.09
        assert abs(way[0]) < 0.01


def test_lengths_and_samples() -> None:
    assert paths.square(4.0).length == pytest.approx(16.0)
    assert paths.circle(2.0).length == pytest.approx(4.0 * np.pi, rel=1e-3)
    points = paths.square(4.0).sample(161)
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    assert steps.max() == pytest.approx(16.0 / 161, rel=1e-4)
    star = paths.star(4.0).points
    assert len(star) == 10
    centre = star.mean(axis=0)
    assert_allclose(np.linalg.norm(star[1::2] - centre, axis=1), 4.0)
    assert_allclose(np.linalg.norm(star[::2] - centre, axis=1), 2.0)


def test_nearest_and_ahead_go_round_a_closed_path() -> None:
    path = paths.square(2.0)
    arc, distance = path.nearest([[0.3, 5.0, -0.5], [-1.0, 0.0, 0.25]])
    assert_allclose(arc, [path.length - 0.5, 0.25], atol=1e-9)
    assert_allclose(distance, [0.3, 1.0])
    target = path.ahead(np.array([[0.0, 0.0, -0.5]], np.float32), 1.0)
    assert_allclose(target, [[0.0, 0.0, 0.5]], atol=1e-6)
    open_path = paths.Path(np.array([[0.0, 0.0], [0.0, 2.0]]), closed=False)
    assert_allclose(open_path.at(3.0), [0.0, 3.0])


def test_wrong_paths_are_refused() -> None:
    for points in (np.zeros((1, 2)), np.zeros((3, 3)), np.array([[0, 0], [np.nan, 1]])):
        with pytest.raises(ControlError, match="at least two"):
            paths.Path(points)
    with pytest.raises(ControlError, match="twice"):
        paths.Path(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]]))


def test_sticks_hold_from_their_time_on() -> None:
    script = sticks("two", [(0.0, (0, 0, 1)), (1.0, (1, 0, 0), (0, 0, -1))], tags=("walk",))
    assert_array_equal(script.intent(0.99, STILL, AHEAD).velocity, [[0, 0, 1]])
    later = script.intent(1.0, np.zeros((3, 3), np.float32), AHEAD)
    assert_array_equal(later.velocity, [[1, 0, 0]] * 3)
    assert_array_equal(later.facing, [[0, 0, -1]] * 3)
    assert later.required_tags == ("walk",)
    with pytest.raises(ControlError, match="rise from 0"):
        sticks("late", [(1.0, (0, 0, 0))])


def test_turns_turn_by_their_angle() -> None:
    script = turn(90.0)
    before, after = script.velocities[1], script.velocities[2]
    assert_allclose(np.linalg.norm(after), np.linalg.norm(before), rtol=1e-6)
    assert float(before @ after) == pytest.approx(0.0, abs=1e-6)


def test_random_sticks_are_one_a_character_and_stand_sometimes() -> None:
    script = random_sticks(1, 600.0, count=4)
    assert script.times[-1] >= 600.0
    assert (np.diff(script.times) >= 0.5).all() and (np.diff(script.times) <= 3.0).all()
    speed = np.linalg.norm(script.velocities, axis=-1)
    assert 0.1 < (speed == 0).mean() < 0.3
    assert speed.max() <= 4.0
    assert (speed[:, 0] != speed[:, 1]).any()
    facing = np.linalg.norm(script.facings, axis=-1)
    assert set(np.round(facing, 5).ravel().tolist()) == {0.0, 1.0}
    with pytest.raises(ControlError, match="4 characters"):
        script.intent(0.0, STILL, AHEAD)


def test_unknown_scripts_and_options_are_refused() -> None:
    with pytest.raises(ControlError, match="square"):
        create_script("sqare")
    with pytest.raises(ControlError, match="radius"):
        create_script("idle", radius=3.0)
    with pytest.raises(ControlError, match="seed"):
        create_script("random_sticks", seed=-1)
    for seconds in (-1.0, 1e10, np.nan, np.inf):
        with pytest.raises(ControlError, match="last 0 to"):
            create_script("random_sticks", seconds=seconds)

"""The footstep plan."""

import itertools

import numpy as np
import pytest

from ambulo.synthesis.footsteps import plan
from ambulo.synthesis.path import Wish, follow
from ambulo.synthesis.programme import direct, takes
from ambulo.synthesis.styles import style_named
from ambulo.synthesis.terrain import stairs

RATE = 60.0


@pytest.fixture(scope="module")
def plans():
    result = []
    for index, (turn, take) in enumerate(takes(20.0)):
        rng = np.random.default_rng([0, index])
        directions = direct(take, turn + 1, rng, RATE)
        path = follow(directions.wish, RATE)
        result.append((take, path, plan(path, directions.style, rng, directions.jumps, directions.terrain)))
    return result


def test_each_foot_lifts_before_it_lands_again(plans):
    for _, _, footsteps in plans:
        for steps in footsteps.steps:
            for before, after in itertools.pairwise(steps):
                assert before.land < before.lift < after.land


def test_walking_feet_alternate(plans):
    for take, _, footsteps in plans:
        if take.name != "walk_circles":
            continue
        feet = [step.foot for step in footsteps.ordered() if 1.5 < step.land < take.seconds - 4.0]
        assert len(feet) > 60
        assert all(a != b for a, b in itertools.pairwise(feet))


def test_no_leg_is_asked_to_reach_too_far(plans):
    for _, path, footsteps in plans:
        for steps in footsteps.steps:
            for step in steps[1:-1]:
                for time, limit in ((step.land, 0.50), (step.lift, 0.72)):
                    at = path.position[min(round(time * RATE), path.frame_count - 1)]
                    assert np.hypot(*(at - step.place)) < limit


def test_feet_stay_down_in_rest():
    frames = 600
    still = Wish(np.zeros((frames, 2)), np.zeros(frames), np.full(frames, 0.2), np.full(frames, 0.2))
    footsteps = plan(follow(still, RATE), style_named("neutral"), np.random.default_rng(0))
    assert [len(steps) for steps in footsteps.steps] == [1, 1]


@pytest.mark.parametrize("angle", [0.8, -0.8, 1.6, -3.0])
def test_a_turn_in_place_steps_with_the_foot_of_that_side_first(angle):
    frames = 300
    facing = np.where(np.arange(frames) < 60, 0.0, angle)
    wish = Wish(np.zeros((frames, 2)), facing, np.full(frames, 0.2), np.full(frames, 0.2))
    footsteps = plan(follow(wish, RATE), style_named("neutral"), np.random.default_rng(0))
    ordered = [step for step in footsteps.ordered() if step.land > 0.0]
    assert ordered[0].foot == (0 if angle > 0.0 else 1)
    for steps in footsteps.steps:
        assert abs(steps[-1].yaw - angle) < 0.45, "both feet end up facing where the body does"


def test_stairs_are_taken_one_tread_a_step():
    terrain = stairs(1.2, 6, 0.32, 0.16, 1.5)
    frames = 900
    velocity = np.zeros((frames, 2))
    velocity[60:800, 1] = 0.5
    wish = Wish(velocity, np.zeros(frames), np.full(frames, 0.2), np.full(frames, 0.2))
    footsteps = plan(follow(wish, RATE), style_named("neutral"), np.random.default_rng(0), (), terrain)
    heights = [float(terrain.height(step.place[1])) for step in footsteps.ordered() if step.land > 0.0]
    assert max(heights) > 0.9
    assert max(abs(b - a) for a, b in itertools.pairwise(heights)) < 0.17

"""A root that answers after a known time has exactly that response time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ambulo.evaluation.response import (
    Change,
    facing_response_time,
    fastest_turn,
    find_changes,
    measure_response,
    response_time,
)
from ambulo.evaluation.travel import Travel

RATE = 60.0


def directed(angles: np.ndarray, speed: float = 1.0) -> np.ndarray:
    return np.stack([speed * np.sin(angles), np.zeros_like(angles), speed * np.cos(angles)], axis=1)


def turning(degrees: float, delay: int, frames: int = 240, change: int = 60, ramp: int = 1) -> Travel:
    """Walks at 1 m/s; the wish turns at ``change``, the root turns evenly over ``ramp`` frames, ``delay`` later."""
    angle = math.radians(degrees)
    wish = np.where(np.arange(frames) < change, 0.0, angle)
    root = angle * np.clip((np.arange(frames) - change - delay) / ramp, 0.0, 1.0)
    positions = np.cumsum(directed(root) / RATE, axis=0)
    return Travel(RATE, positions, root, directed(wish), np.zeros((frames, 3)))


@pytest.mark.parametrize("degrees", [90.0, -90.0, 180.0])
@pytest.mark.parametrize("delay", [12, 40])
def test_response_is_the_delay(degrees: float, delay: int) -> None:
    way = turning(degrees, delay)
    wish = way.desired_velocity
    changes = find_changes(np.arctan2(wish[:, 0], wish[:, 2]), way.desired_speeds(), RATE)
    assert [(c.start, c.stop) for c in changes] == [(60, 240)]
    assert math.degrees(changes[0].angle) == pytest.approx(abs(degrees))
    # Velocity is taken over 6 frames: it is wholly the new one 3 frames after the turn.
    assert response_time(way, changes[0]) == pytest.approx((delay + 3) / RATE, abs=1.01 / RATE)
    assert facing_response_time(way, changes[0]) == pytest.approx((delay + 1) / RATE)


def test_right_direction_but_too_slow_is_no_answer() -> None:
    way = turning(90.0, 12)
    slow = way.positions.copy()
    slow[66:] = slow[66] + (slow[66:] - slow[66]) * 0.4
    slow_way = Travel(RATE, slow, way.headings, way.desired_velocity, way.desired_facing)
    assert response_time(slow_way, Change(60, 240, math.pi / 2)) == pytest.approx(3.0)


def test_an_answer_that_never_comes_counts_with_the_whole_time() -> None:
    way = turning(180.0, 1000)
    measures = measure_response([way], [], RATE)
    assert measures["response_180"].value == pytest.approx(3.0)
    assert "response_90" not in measures


def test_wishes_that_do_not_last_or_turn_slowly_are_not_judged() -> None:
    speeds = np.ones(200)
    short = np.zeros(200)
    short[100:130] = np.pi / 2
    assert [c.start for c in find_changes(short, speeds, RATE)] == [130]
    assert find_changes(np.linspace(0.0, np.pi, 200), speeds, RATE) == []
    # A wish to stand is no change of direction.
    standing = speeds.copy()
    standing[100:] = 0.0
    assert find_changes(np.where(np.arange(200) < 100, 0.0, np.pi), standing, RATE) == []


def test_angles_are_sorted_by_size() -> None:
    measures = measure_response([turning(90.0, 12), turning(180.0, 30), turning(45.0, 30)], [], RATE)
    assert measures["response_90"].value < measures["response_180"].value
    assert set(measures) == {"response_90", "response_90_facing", "response_180", "response_180_facing"}


def test_facing_is_judged_on_its_own() -> None:
    way = turning(90.0, 12)
    facing = directed(np.where(np.arange(240) < 120, 0.0, np.pi))
    headings = np.where(np.arange(240) < 150, 0.0, np.pi)
    strafing = Travel(RATE, way.positions, headings, way.desired_velocity, facing)
    measures = measure_response([strafing], [], RATE)
    assert measures["response_180_facing"].value == pytest.approx(0.5)
    assert "response_90_facing" not in measures
    assert measures["response_90"].value < 0.3


def test_the_fastest_turn_of_the_capture() -> None:
    slow, quick = turning(180.0, 0, ramp=90), turning(180.0, 0, ramp=45)
    found = fastest_turn([slow.positions, quick.positions], RATE, math.pi)
    # 175 of 180 degrees in 45 frames, velocities taken over 6 frames.
    assert found == pytest.approx(45 / RATE, abs=8 / RATE)
    assert math.isnan(fastest_turn([turning(30.0, 0).positions], RATE, math.pi))

"""Legs that take turns, and legs that do not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ambulo.evaluation import gait
from ambulo.evaluation.footage import Footage

Make = Callable[..., Footage]


def walk(
    make_footage: Make, ahead: np.ndarray, velocity: tuple[float, float] = (0.0, 1.2), **options: object
) -> Footage:
    """A body that goes at a constant velocity, the left toe ``ahead`` metres before the right one in that direction."""
    time = np.arange(len(ahead))[:, None] / 60.0
    way = np.array([velocity[0], 0.0, velocity[1]])
    root = time * way
    reach = 0.5 * ahead[:, None] * way / max(float(np.linalg.norm(way)), 1e-9)
    return make_footage(len(ahead), root=root, left_toe=root + reach, right_toe=root - reach, **options)


def test_legs_that_take_turns_are_fine(make_footage: Make) -> None:
    swing = 0.3 * np.sin(2.0 * np.pi * 0.9 * np.arange(600) / 60.0 + 0.1)
    for velocity in ((0.0, 1.2), (-0.8, 0.5)):
        assert gait.same_foot_ahead(walk(make_footage, swing, velocity)) == 0.0


def test_a_body_that_glides_with_one_leg_in_front_is_found(make_footage: Make) -> None:
    swing = 0.3 * np.sin(2.0 * np.pi * 0.9 * np.arange(600) / 60.0 + 0.1)
    assert gait.same_foot_ahead(walk(make_footage, swing + 0.4)) == 1.0
    assert gait.same_foot_ahead(walk(make_footage, swing - 0.4)) == 1.0
    # Half of the time: from the last passing on.
    half = np.where(np.arange(600) < 300, swing, np.abs(swing) + 0.1)
    assert gait.same_foot_ahead(walk(make_footage, half)) == pytest.approx(0.5, abs=0.06)


def test_a_second_is_allowed(make_footage: Make) -> None:
    def square(frames: int) -> np.ndarray:
        return 0.2 * np.where(np.arange(600) // frames % 2, 1.0, -1.0)

    assert gait.same_foot_ahead(walk(make_footage, square(58))) == 0.0
    assert gait.same_foot_ahead(walk(make_footage, square(75))) == pytest.approx(1.0, abs=0.15)


def test_who_stands_need_not_step(make_footage: Make) -> None:
    still = walk(make_footage, np.full(600, 0.2), (0.0, 0.1))
    assert np.isnan(gait.ahead_seconds(still)).all()
    assert np.isnan(gait.same_foot_ahead(still))


def test_a_stretch_ends_where_the_film_is_cut_and_weights_count(make_footage: Make) -> None:
    ahead = np.full(600, 0.2)
    cut = walk(make_footage, ahead, stretch=np.arange(600) // 50)
    assert gait.same_foot_ahead(cut) == 0.0
    weights = np.where(np.arange(600) < 300, 3.0, 1.0)
    half = np.where(np.arange(600) < 300, ahead, 0.2 * np.sign(np.sin(np.arange(600) / 6.0) + 1e-3))
    assert gait.same_foot_ahead(walk(make_footage, half, weights=weights)) == pytest.approx(0.75, abs=0.05)


def test_the_measure_stands_beside_the_capture(make_footage: Make) -> None:
    swing = 0.3 * np.sin(2.0 * np.pi * 0.9 * np.arange(600) / 60.0 + 0.1)
    measure = gait.measure_gait(walk(make_footage, swing + 0.4), walk(make_footage, swing))["same_foot_ahead"]
    assert (measure.value, measure.raw, measure.unit, measure.higher_is_better) == (100.0, 0.0, "%", False)

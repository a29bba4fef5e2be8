"""Legs that take turns, and legs that do not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ambulo.evaluation import feet, gait
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


def test_toes_share_being_planted(make_footage: Make) -> None:
    """A toe that is carried along all the time, and one that stands every other half second."""
    time = np.arange(600) / 60.0
    root = np.stack([0.0 * time, 0.0 * time, 1.2 * time], axis=1)

    def steps(late: float) -> np.ndarray:
        phase = time + late
        stands = phase % 1.0 < 0.5
        way = np.where(stands, np.floor(phase), np.floor(phase) + 2.0 * (phase % 1.0 - 0.5))
        return np.stack([0.0 * time, 0.02 + 0.0 * time, 1.2 * way], axis=1)

    height = feet.Clearances(np.full(2, 0.02), np.full(2, 0.09))
    both = make_footage(600, root=root, left_toe=steps(0.0), right_toe=steps(0.5))
    assert gait.planted_shares(both, height) == pytest.approx((0.5, 0.5), abs=0.04)
    assert gait.planted_imbalance(both, height) < 0.06
    one = make_footage(600, root=root, left_toe=steps(0.0), right_toe=root + np.array([0.0, 0.02, 0.3]))
    assert gait.planted_imbalance(one, height) == 1.0
    lifted = make_footage(600, root=root, left_toe=steps(0.0), right_toe=steps(0.5) + np.array([0.0, 0.1, 0.0]))
    assert gait.planted_imbalance(lifted, height) == 1.0
    # Raw is of whole clips, whichever of their frames were shown.
    shown = np.where(time % 1.0 < 0.5, 1.0, 0.0)
    raw = make_footage(600, root=root, left_toe=steps(0.0), right_toe=steps(0.5), contacts=True, weights=shown)
    measured = gait.measure_gait(one, raw)["planted_imbalance"]
    assert measured.value == 100.0 and measured.raw is not None and measured.raw < 6.0


def test_the_measure_stands_beside_the_capture(make_footage: Make) -> None:
    swing = 0.3 * np.sin(2.0 * np.pi * 0.9 * np.arange(600) / 60.0 + 0.1)
    measure = gait.measure_gait(walk(make_footage, swing + 0.4), walk(make_footage, swing))["same_foot_ahead"]
    assert (measure.value, measure.raw, measure.unit, measure.higher_is_better) == (100.0, 0.0, "%", False)

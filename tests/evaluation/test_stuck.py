"""Standing when asked to go and going when asked to stand, to the frame."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.evaluation.stuck import disobeying, measure_stuck, run_lengths, stuck
from ambulo.evaluation.travel import Travel

RATE = 60.0


def going(speed: np.ndarray, wish: np.ndarray) -> Travel:
    count = len(speed)
    z = np.concatenate([[0.0], np.cumsum(speed[:-1] / RATE)])
    zero = np.zeros(count)
    return Travel(
        RATE,
        np.stack([zero, zero, z], axis=1),
        zero,
        np.stack([zero, zero, wish], axis=1),
        np.zeros((count, 3)),
    )


def test_standing_though_asked_to_go() -> None:
    way = going(np.zeros(120), np.ones(120))
    assert disobeying(way).all()
    # 120 frames, of which the first 30 (0.5 s) are forgiven.
    assert int(stuck(way).sum()) == 90
    measures = measure_stuck([way])
    assert measures["stuck"].value == pytest.approx(1.5)
    assert measures["longest_disobedience"].value == pytest.approx(2.0)


def test_a_prompt_start_is_not_stuck() -> None:
    speed = np.where(np.arange(120) < 25, 0.0, 1.0)
    way = going(speed, np.ones(120))
    assert not stuck(way).any()
    assert 0.3 < measure_stuck([way])["longest_disobedience"].value < 0.5


def test_braking_is_an_answer_but_wandering_on_is_not() -> None:
    t = np.arange(180) / RATE
    wish = np.zeros(180)
    braking = going(np.maximum(4.0 - 2.5 * t, 0.0), wish)
    assert not stuck(braking).any()
    assert measure_stuck([braking])["longest_disobedience"].value > 1.0
    wandering = going(np.full(180, 1.0), wish)
    assert int(stuck(wandering).sum()) == 150


def test_obeying_is_not_stuck() -> None:
    assert not stuck(going(np.ones(100), np.ones(100))).any()
    assert not stuck(going(np.zeros(100), np.zeros(100))).any()


def test_a_change_of_the_wish_begins_a_new_run() -> None:
    mask = np.array([1, 1, 1, 1, 0, 1, 1], bool)
    kind = np.array([0, 0, 1, 1, 1, 1, 1], bool)
    np.testing.assert_array_equal(run_lengths(mask, kind), [1, 2, 1, 2, 0, 1, 2])
    np.testing.assert_array_equal(run_lengths(np.zeros(0, bool), np.zeros(0, bool)), [])

"""The compiled springs against the closed forms of ambulo.maths.springs, and the tie between body and object."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.control import simulation_kernels as kernels
from ambulo.control.settings import SimulationSettings
from ambulo.control.simulation_object import SIMULATION_COLUMNS
from ambulo.errors import ControlError
from ambulo.maths import springs

numbers = st.floats(-5.0, 5.0)
times = st.floats(0.001, 1.5)
half_lives = st.floats(0.02, 1.0)


@settings(max_examples=60, deadline=None)
@given(numbers, numbers, numbers, half_lives, times)
def test_velocity_spring(v: float, a: float, goal: float, half_life: float, t: float) -> None:
    way, velocity, acceleration = kernels.spring_velocity(v, a, goal, kernels.spring_exponent(half_life), t)
    expected = springs.spring_velocity(0.0, v, a, goal, half_life, t)
    assert (way, velocity, acceleration) == pytest.approx(expected, abs=1e-6, rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.floats(-3.0, 3.0), numbers, st.floats(-3.0, 3.0), half_lives, times)
def test_heading_spring_takes_the_shorter_way(h: float, w: float, goal: float, half_life: float, t: float) -> None:
    heading, turning = kernels.spring_heading(h, w, goal, kernels.spring_exponent(half_life), t)
    near = goal + 2.0 * math.pi * round((h - goal) / (2.0 * math.pi))
    assert (heading, turning) == pytest.approx(springs.spring(h, w, near, half_life, t), abs=1e-6, rel=1e-6)


@given(st.floats(-50.0, 50.0))
def test_wrap_angle(angle: float) -> None:
    wrapped = kernels.wrap_angle(angle)
    assert -math.pi < wrapped <= math.pi + 1e-12
    assert math.cos(wrapped) == pytest.approx(math.cos(angle), abs=1e-9)
    assert math.sin(wrapped) == pytest.approx(math.sin(angle), abs=1e-9)


def test_prediction_is_where_the_object_goes() -> None:
    constants = SimulationSettings().constants()
    row = np.zeros((1, kernels.SIZE))
    row[0, kernels.VELOCITY], row[0, kernels.HEADING] = 1.0, 0.4
    ahead = np.array([0.3, 1.0])
    positions, directions = np.empty((1, 2, 3), np.float32), np.empty((1, 2, 3), np.float32)
    kernels.predict(0, row, 0.5, -2.0, 2.0, constants, ahead, positions, directions)
    for step in range(60):
        after = np.empty_like(row)
        kernels.move(0, row, 0.5, -2.0, 2.0, constants, 1 / 60, after)
        row = after
        for k, time in enumerate(ahead):
            if step + 1 == round(time * 60):
                np.testing.assert_allclose(row[0, :3], positions[0, k], atol=1e-5)
                heading = row[0, kernels.HEADING]
                expected = [math.sin(heading), 0.0, math.cos(heading)]
                np.testing.assert_allclose(directions[0, k], expected, atol=1e-5)


@pytest.mark.parametrize("give", [0.0, 0.4, 1.0])
def test_clamping_holds_the_two_together(give: float) -> None:
    s = SimulationSettings(clamping_yield=give, clamping_distance=0.15)
    row = np.zeros(kernels.SIZE)
    row[0], row[2], row[kernels.HEADING] = 3.0, 4.0, 3.0
    x, z, heading = kernels.follow(0.0, 0.0, 0.0, 1.0, 1.0, row, s.constants(), 1 / 60)
    assert math.hypot(row[0] - x, row[2] - z) == pytest.approx(0.15, abs=1e-9)
    assert abs(kernels.wrap_angle(row[kernels.HEADING] - heading)) == pytest.approx(s.clamping_angle, abs=1e-9)
    moved = math.hypot(x, z)
    if give == 1.0:
        assert moved <= s.adjustment_ratio / 60 + 1e-9
    if give == 0.0:
        assert moved == pytest.approx(5.0 - 0.15)


def test_a_body_at_rest_is_left_alone() -> None:
    row = np.zeros(kernels.SIZE)
    row[0], row[kernels.HEADING] = 0.1, 0.5
    assert kernels.follow(0.0, 0.0, 0.0, 0.0, 0.0, row, SimulationSettings().constants(), 1 / 60) == (0.0, 0.0, 0.0)


def test_columns_have_the_names_that_the_kernels_use() -> None:
    assert len(SIMULATION_COLUMNS) == kernels.SIZE
    assert SIMULATION_COLUMNS.index("velocity_x") == kernels.VELOCITY
    assert SIMULATION_COLUMNS.index("acceleration_x") == kernels.ACCELERATION
    assert SIMULATION_COLUMNS.index("heading") == kernels.HEADING
    assert SIMULATION_COLUMNS.index("turning") == kernels.TURNING
    assert SIMULATION_COLUMNS.index("goal_heading") == kernels.GOAL_HEADING


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ControlError, match="rotation_half_life"):
        SimulationSettings(rotation_half_life=0.0)
    with pytest.raises(ControlError, match="clamping_yield"):
        SimulationSettings(clamping_yield=1.5)
    with pytest.raises(ControlError, match="velocity_half_life"):
        SimulationSettings(velocity_half_life=float("nan"))

"""Feet with known faults give exactly the known numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ambulo.evaluation import feet
from ambulo.evaluation.footage import Footage

Make = Callable[..., Footage]
FLAT = feet.Clearances(np.array([0.02, 0.02]), np.array([0.10, 0.10]))


def moving(count: int, speed: float, height: float, start: float = 0.0) -> np.ndarray:
    """A point that moves along +Z at a speed, at one height."""
    z = start + np.arange(count) / 60.0 * speed
    return np.stack([np.full(count, 0.1), np.full(count, height), z], axis=1)


def test_a_foot_that_slides_in_contact_slides_at_its_speed(make_footage: Make) -> None:
    footage = make_footage(31, contacts=(True, False), left_toe=moving(31, 0.6, 0.02))
    assert feet.contact_slide(footage, FLAT) == pytest.approx(0.6)
    # 30 steps of 1 cm.
    assert feet.contact_slide_distance(footage, FLAT) == pytest.approx(0.30)


def test_slide_counts_only_steps_that_begin_and_end_planted(make_footage: Make) -> None:
    contacts = np.zeros((40, 2), bool)
    contacts[5:10, 0] = contacts[20:31, 0] = True
    z = np.zeros(40)
    z[5:10] = 0.01 * np.arange(5)  # a contact of 4 steps of 1 cm
    z[10:20] = 5.0  # the swing is far, and not counted
    z[20:31] = 7.0  # a contact without slide, 10 steps
    toe = np.stack([np.full(40, 0.1), np.full(40, 0.02), z], axis=1)
    footage = make_footage(40, contacts=contacts, left_toe=toe)
    assert feet.contact_slide(footage, FLAT) == pytest.approx((4 * 0.01 * 60.0) / 14)
    assert feet.contact_slide_distance(footage, FLAT) == pytest.approx((0.04 + 0.0) / 2)


def test_a_foot_in_the_air_does_not_slide(make_footage: Make) -> None:
    # The capture says planted, but the toe shown is carried past at 3 cm for ten frames, then on the ground at 1 cm.
    toe = moving(21, 0.6, 0.05)
    toe[11:, 1] = 0.03
    footage = make_footage(21, contacts=(True, False), left_toe=toe)
    both = feet.planted_steps(footage, FLAT, 0)
    np.testing.assert_array_equal(np.flatnonzero(both), np.arange(11, 20))
    assert feet.contact_slide(footage, FLAT) == pytest.approx(0.6)


def test_vertical_motion_is_no_slide(make_footage: Make) -> None:
    toe = np.stack([np.full(20, 0.1), np.linspace(0.02, 0.2, 20), np.zeros(20)], axis=1)
    footage = make_footage(20, contacts=(True, True), left_toe=toe)
    assert feet.contact_slide(footage, FLAT) == 0.0


@pytest.mark.parametrize(
    ("height", "factor"), [(0.0, 1.0), (-0.01, 1.0), (0.0125, 2.0 - 2.0**0.5), (0.025, 0.0), (0.3, 0.0)]
)
def test_skate_weighs_speed_by_height(make_footage: Make, height: float, factor: float) -> None:
    # One foot moves at 1.2 m/s, the other rests: the mean over feet is half of the moving foot's.
    footage = make_footage(25, left_toe=moving(25, 1.2, 0.02 + height))
    assert feet.foot_skate(footage, FLAT) == pytest.approx(0.5 * 1.2 * factor, abs=1e-9)


def test_skate_is_the_same_number_in_both_units(make_footage: Make) -> None:
    footage = make_footage(25, contacts=(True, True), left_toe=moving(25, 1.2, 0.02))
    measures = feet.measure_feet(footage, footage)
    assert measures["foot_skate"].value == pytest.approx(60.0 * measures["foot_skate_per_frame"].value)
    assert measures["foot_skate"].value == pytest.approx(measures["foot_skate"].raw)
    assert measures["foot_skate"].value == pytest.approx(60.0)  # 0.5 * 1.2 m/s


def test_a_step_between_stretches_is_not_motion(make_footage: Make) -> None:
    toe = moving(20, 0.0, 0.02)
    toe[10:, 2] = 3.0
    stretch = np.repeat([0, 1], 10)
    footage = make_footage(20, contacts=(True, False), stretch=stretch, left_toe=toe)
    assert feet.contact_slide(footage, FLAT) == 0.0
    assert feet.foot_skate(footage, FLAT) == 0.0
    # Without the cut it would be seen.
    assert feet.contact_slide(make_footage(20, contacts=(True, False), left_toe=toe), FLAT) > 1.0


def test_frames_that_must_not_be_measured_are_not(make_footage: Make) -> None:
    toe = moving(20, 0.0, 0.02)
    toe[10] = (0.1, 0.02, 9.0)
    stretch = np.array([0] * 10 + [-1] + [1] * 9)
    footage = make_footage(20, contacts=(True, False), stretch=stretch, left_toe=toe)
    assert feet.contact_slide(footage, FLAT) == 0.0


def test_frames_count_as_often_as_they_were_shown(make_footage: Make) -> None:
    toe = moving(21, 0.0, 0.02)
    toe[:11, 2] = 0.01 * np.arange(11)  # ten steps at 0.6 m/s, then ten at rest
    toe[11:, 2] = toe[10, 2]
    weights = np.where(np.arange(21) < 10, 3.0, 1.0)
    footage = make_footage(21, contacts=(True, False), weights=weights, left_toe=toe)
    assert feet.contact_slide(footage, FLAT) == pytest.approx(0.6 * 30.0 / 40.0)


def test_clearances_are_the_heights_of_planted_feet(make_footage: Make) -> None:
    contacts = np.zeros((100, 2), bool)
    contacts[:50] = True
    height = np.where(np.arange(100) < 50, 0.031, 0.2)
    toe = np.stack([np.full(100, 0.1), height, np.zeros(100)], axis=1)
    found = feet.clearances(make_footage(100, contacts=contacts, left_toe=toe))
    np.testing.assert_allclose(found.toes, [0.031, 0.02], atol=1e-6)
    np.testing.assert_allclose(found.ankles, [0.10, 0.10], atol=1e-6)


def test_penetration_is_the_depth_of_the_deepest_joint(make_footage: Make) -> None:
    raw = make_footage(50, contacts=(True, True))
    toe = moving(50, 0.0, 0.02)
    toe[7, 1] -= 0.013
    toe[9, 1] -= 0.004  # below half a centimetre: seen in the depth, not in the share
    foot = np.tile([-0.1, 0.10, 0.0], (50, 1))
    foot[20, 1] -= 0.030
    measures = feet.measure_feet(make_footage(50, left_toe=toe, right_foot=foot), raw)
    assert measures["penetration"].value == pytest.approx(3.0, abs=1e-4)
    assert measures["penetration"].raw == pytest.approx(0.0, abs=1e-4)
    assert measures["penetration_frames"].value == pytest.approx(2 / 50 * 100)


def test_no_contact_is_no_number(make_footage: Make) -> None:
    assert np.isnan(feet.contact_slide(make_footage(10), FLAT))
    assert np.isnan(feet.contact_slide_distance(make_footage(10), FLAT))
    assert feet.measure_feet(make_footage(10), make_footage(10))["contact_slide"].row()["value"] is None


def test_hover_is_the_height_of_the_lowest_toe_while_a_foot_is_planted(make_footage: Make) -> None:
    left, right = moving(20, 0.0, 0.02), moving(20, 0.0, 0.32)
    left[10:, 1] = 0.06  # the planted foot is lifted by 4 cm for half of the time
    planted = np.zeros((20, 2), bool)
    planted[:, 0] = True
    footage = make_footage(20, contacts=planted, left_toe=left, right_toe=right)
    assert feet.hover(footage, FLAT) == pytest.approx(0.02)
    flying = make_footage(20, contacts=(False, False), left_toe=left, right_toe=right)
    assert np.isnan(feet.hover(flying, FLAT))


def test_hocks_of_an_animal_are_no_ankles(make_footage: Callable[..., Footage]) -> None:
    """A hock that bends towards the ground sinks in as little as a knee does; the same foot of a person would."""
    heights = np.linspace(0.3, 0.05, 40)
    person = make_footage(40, contacts=True, left_foot=np.stack([0 * heights, heights, 0 * heights], axis=1))
    level = feet.Clearances(np.zeros(2), np.array([0.3, 0.1]))
    assert feet.penetration_depths(person, level).max() > 0.2
    roles = {**person.skeleton.roles, "left_front_foot": 3, "right_front_foot": 5}
    animal = replace(person, skeleton=person.skeleton.with_roles(roles))
    assert animal.ankles == (-1, -1)
    assert feet.penetration_depths(animal, level).max() == 0.0

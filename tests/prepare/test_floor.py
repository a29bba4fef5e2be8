"""The floor: read from standing feet, on flat and uneven ground, for bodies with and without toe joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton
from ambulo.prepare.floor import TIP_HEIGHT, TOE_HEIGHT, floor_height

TOES = Skeleton(("left", "right"), np.array([-1, -1]), np.zeros((2, 3)), roles={"left_toe": 0, "right_toe": 1})


def standing(heights: np.ndarray, skeleton: Skeleton = TOES) -> Motion:
    """Two feet that never move, at given heights per frame (both the same)."""
    positions = np.zeros((len(heights), 2, 3))
    positions[:, :, 1] = np.asarray(heights)[:, None]
    return Motion(skeleton, positions, quaternions.identity((len(heights), 2)), 60.0)


@pytest.mark.parametrize("height", [0.022, 0.031, 0.042, 0.049])
def test_takes_like_the_clean_sets_are_left_alone(height):
    report = floor_height(standing(np.full(60, height)))
    assert report.offset == 0.0
    assert report.penetration == 0.0


@pytest.mark.parametrize("height", [-0.20, -0.05, 0.10, 0.5])
def test_others_are_moved_to_the_expected_height(height):
    report = floor_height(standing(np.full(60, height)))
    assert report.foot_height == pytest.approx(height)
    assert height + report.offset == pytest.approx(TOE_HEIGHT)
    assert report.penetration == pytest.approx(max(0.0, -height))
    assert not report.uneven


def test_steps_are_uneven_and_the_level_nearest_zero_is_the_floor():
    heights = np.repeat([0.04, 0.34, 0.64, 0.94], 60)
    report = floor_height(standing(heights))
    assert report.uneven
    assert report.offset == 0.0
    sunk = floor_height(standing(heights - 0.3))
    assert sunk.uneven
    assert sunk.offset == 0.0


def test_a_body_that_never_stands_still_uses_its_lowest_frames(walk):
    motion = walk(speed=6.0)
    report = floor_height(motion)
    assert report.contact_frames == 0
    lifted = motion.positions.copy()
    lifted[:, 0, 1] += 0.3
    assert floor_height(replace(motion, positions=lifted)).offset == pytest.approx(report.offset - 0.3, abs=0.02)


def test_without_toe_joints_the_tip_of_the_foot_bone_counts():
    skeleton = Skeleton(
        ("left", "right"),
        np.array([-1, -1]),
        np.zeros((2, 3)),
        np.array([[0.0, -0.02, 0.05]] * 2),
        roles={"left_foot": 0, "right_foot": 1},
    )
    report = floor_height(standing(np.full(30, -0.18), skeleton))
    assert report.foot_height == pytest.approx(-0.20)
    assert report.penetration == pytest.approx(0.20)
    assert report.offset == pytest.approx(0.20 + TIP_HEIGHT)

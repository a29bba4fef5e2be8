"""Contacts: the published rule on a hand-built case, the median filter as SciPy's, fallbacks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from ambulo.errors import SkeletonError
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton
from ambulo.prepare.contacts import contact_joints, contacts, median_filter

FEET = Skeleton(("left", "right"), np.array([-1, -1]), np.zeros((2, 3)), roles={"left_toe": 0, "right_toe": 1})


def feet(left: np.ndarray, right: np.ndarray, rate: float = 60.0) -> Motion:
    positions = np.zeros((len(left), 2, 3))
    positions[:, 0, 2], positions[:, 1, 2] = left, right
    return Motion(FEET, positions, quaternions.identity((len(left), 2)), rate)


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(1, 12))
def test_the_median_filter_is_scipys(flags, size):
    values = np.array(flags)[:, None]
    expected = ndimage.median_filter(values.astype(np.uint8), size=(size, 1), mode="nearest").astype(bool)
    assert np.array_equal(median_filter(values, size), expected)


def test_a_hand_built_step_is_found_exactly():
    # 20 frames still, 20 at 0.6 m/s, 20 still; with central differences the frames at the edges are half as fast.
    steps = np.concatenate([np.zeros(20), np.full(20, 0.6 / 60.0), np.zeros(20)])
    z = np.concatenate([[0.0], np.cumsum(steps)])
    down = contacts(feet(z, np.zeros(61)))
    speed = np.zeros(61)
    speed[20:41] = 0.6
    speed[[20, 40]] = 0.3
    expected = ndimage.median_filter((speed < 0.15).astype(np.uint8), size=6, mode="nearest").astype(bool)
    assert np.array_equal(down[:, 0], expected)
    # Fast are frames 20 to 40. The even window [i - 3, i + 2] needs three still frames of six, so it moves the off edge
    # by one frame and leaves the on edge: 20 has 17, 18, 19 behind it; 41 is followed by 42 and 43.
    assert np.flatnonzero(~down[:, 0]).tolist() == list(range(21, 41))
    assert down[:, 1].all()


def test_a_short_stop_is_filtered_and_a_long_one_is_not():
    def stop(frames):
        steps = np.concatenate([np.full(30, 0.02), np.zeros(frames + 1), np.full(30, 0.02)])
        z = np.concatenate([[0.0], np.cumsum(steps)])
        return contacts(feet(z, z))[:, 0]

    assert not stop(2).any()
    assert stop(6).sum() >= 5


@pytest.mark.parametrize("rate", [30.0, 60.0, 120.0])
def test_the_window_is_in_seconds(rate):
    t = np.arange(int(4 * rate)) / rate
    z = np.where(t < 2.0, 0.0, 0.5 * (t - 2.0))
    down = contacts(feet(z, z, rate))
    off = np.flatnonzero(~down[:, 0])[0] / rate
    assert abs(off - 2.0) <= 2.0 / rate


def test_speed_counts_up_and_down_too():
    positions = np.zeros((60, 2, 3))
    positions[:, 0, 1] = 0.2 * np.arange(60) / 60.0
    motion = Motion(FEET, positions, quaternions.identity((60, 2)), 60.0)
    down = contacts(motion)
    assert not down[:, 0].any()
    assert down[:, 1].all()


def test_the_height_guard_drops_a_foot_held_in_the_air():
    positions = np.zeros((60, 2, 3))
    positions[:, 0, 1] = 0.5
    motion = Motion(FEET, positions, quaternions.identity((60, 2)), 60.0)
    assert contacts(motion).all()
    assert contacts(motion, height=0.2).any(axis=0).tolist() == [False, True]


def test_the_foot_stands_in_for_a_missing_toe_and_nothing_else_does():
    skeleton = FEET.with_roles({"left_foot": 0, "right_toe": 1})
    assert contact_joints(skeleton) == (0, 1)
    with pytest.raises(SkeletonError, match=r"right_toe or right_foot.*\[roles\]"):
        contact_joints(FEET.with_roles({"left_foot": 0}))

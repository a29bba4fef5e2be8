"""Glitches: planted ones are found where they are, clean motion has none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.maths import quaternions
from ambulo.prepare.glitches import Glitch, find_glitches, glitch_mask


def planted(motion, frames: slice, role: str, angle: float):
    rotations = motion.rotations.copy()
    joint = motion.skeleton.role(role)
    turn = quaternions.from_angle_axis(np.array(angle), np.array([1.0, 0.0, 0.0]))
    rotations[frames, joint] = quaternions.multiply(rotations[frames, joint], turn)
    return replace(motion, rotations=rotations)


@pytest.mark.parametrize("rate", [30.0, 60.0, 120.0])
def test_smooth_motion_has_none(walk, rate):
    assert find_glitches(walk(rate=rate)) == []


def test_one_frame_off_is_a_pop_of_that_joint_in_that_frame(walk):
    found = find_glitches(planted(walk(), slice(70, 71), "spine", np.radians(25.0)))
    assert [(g.start_frame, g.stop_frame, g.joint, g.reason) for g in found] == [(70, 71, "Spine", "pop")]
    assert found[0].value == pytest.approx(25.0 * 60.0, rel=0.01)
    assert 0.2 < found[0].displacement < 0.6


def test_turning_over_and_staying_is_a_flip(walk):
    found = find_glitches(planted(walk(), slice(100, None), "left_forearm", np.pi * 0.9))
    flips = [g for g in found if g.reason == "flip"]
    assert [(g.start_frame, g.stop_frame, g.joint) for g in flips] == [(99, 101, "LeftForeArm")]


def test_a_jump_of_the_body_is_a_speed(walk):
    motion = walk()
    positions = motion.positions.copy()
    positions[120:, 0, 0] += 1.0
    found = find_glitches(replace(motion, positions=positions))
    assert [(g.start_frame, g.stop_frame, g.reason) for g in found] == [(119, 121, "speed")]
    assert found[0].value == pytest.approx(61.5, abs=3.0)
    assert found[0].displacement == np.inf
    assert find_glitches(replace(motion, positions=positions), speed=100.0) == []


def test_neighbours_become_one_stretch_and_far_ones_do_not(walk):
    motion = walk()
    positions = motion.positions.copy()
    for frame in (50, 53, 120):
        positions[frame, 0, 0] += 1.0
    found = find_glitches(replace(motion, positions=positions))
    assert [(g.start_frame, g.stop_frame) for g in found] == [(49, 55), (119, 122)]


def test_a_flipped_sign_of_a_quaternion_is_no_glitch(walk):
    motion = walk()
    rotations = motion.rotations.copy()
    rotations[60] *= -1.0
    assert find_glitches(replace(motion, rotations=rotations)) == []


def test_a_leaf_that_pops_throws_nothing_far(walk):
    found = find_glitches(planted(walk(), slice(70, 71), "left_toe", np.radians(60.0)))
    assert found[0].displacement < 0.1


def test_the_mask_covers_glitches_and_a_margin():
    mask = glitch_mask([Glitch(3, 5, "a", "speed", 30.0)], 10, 1.0)
    assert np.flatnonzero(mask).tolist() == [2, 3, 4, 5]
    assert not glitch_mask([], 4).any()


@pytest.mark.parametrize("count", [0, 1, 2])
def test_tiny_motions_are_no_trouble(walk, count):
    assert find_glitches(walk().slice(0, count)) == []

"""Held feet stand; legs keep their lengths, feet their turn, and frames far from any contact every bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion
from ambulo.prepare.contacts import contact_joints
from ambulo.prepare.repair.feet import faded, hold_feet, move_feet
from ambulo.synthesis.performance import synthesize


@pytest.fixture(scope="module")
def stroll() -> Motion:
    return max((p.motion for p in synthesize(seed=3, minutes=1.0)), key=lambda m: m.frame_count)


@pytest.fixture(scope="module")
def creeping(stroll: Motion) -> Motion:
    """The take on a ground that drifts at 8 cm/s."""
    positions = stroll.positions.copy()
    positions[:, 0, 0] += 0.08 * np.arange(stroll.frame_count) / stroll.rate
    return replace(stroll, positions=positions)


def test_feet_that_creep_stand_still(creeping):
    done = hold_feet(creeping)
    assert done.creep_before > 0.06
    assert done.creep_after < 0.002
    toes = forward_motion(done.motion).positions[:, list(contact_joints(creeping.skeleton))][..., [0, 2]]
    speeds = np.linalg.norm(np.diff(toes, axis=0), axis=-1) * creeping.rate
    both = done.contacts[1:] & done.contacts[:-1]
    assert np.median(speeds[both]) < 1e-3


def test_nothing_snaps(creeping):
    done = hold_feet(creeping)
    before, after = forward_motion(creeping).positions, forward_motion(done.motion).positions
    feet = [creeping.skeleton.role(f"{side}_{part}") for side in ("left", "right") for part in ("lower_leg", "foot")]
    moved = np.linalg.norm((after - before)[:, feet], axis=-1)
    assert moved.max() < 0.1
    assert np.abs(np.diff(moved, axis=0)).max() * creeping.rate < 1.0


def test_feet_keep_their_turn_and_bones_their_length(creeping):
    done = hold_feet(creeping)
    before, after = forward_motion(creeping), forward_motion(done.motion)
    for side in ("left", "right"):
        foot = creeping.skeleton.role(f"{side}_foot")
        assert quaternions.angle_between(before.rotations[:, foot], after.rotations[:, foot]).max() < 1e-3
    assert np.array_equal(done.motion.positions, creeping.positions)
    legs = {creeping.skeleton.role(f"{s}_{p}") for s in ("left", "right") for p in ("upper_leg", "lower_leg", "foot")}
    others = [j for j in range(creeping.skeleton.joint_count) if j not in legs]
    assert np.array_equal(done.motion.rotations[:, others], creeping.rotations[:, others])


def test_frames_far_from_contacts_keep_every_bit(creeping):
    done = hold_feet(creeping)
    near = done.contacts.any(axis=1)
    reach = round(0.12 * creeping.rate) + 1
    near = np.convolve(near, np.ones(2 * reach + 1), "same") > 0
    assert np.array_equal(done.motion.rotations[~near], creeping.rotations[~near])


def test_offsets_of_zero_change_nothing(stroll):
    moved = move_feet(stroll, np.zeros((stroll.frame_count, 2, 3)))
    assert np.array_equal(moved.rotations, stroll.rotations)


def test_feet_reach_where_they_are_sent(stroll):
    offsets = np.zeros((stroll.frame_count, 2, 3))
    offsets[:, 0] = [0.01, 0.02, -0.015]
    foot = stroll.skeleton.role("left_foot")
    before, after = forward_motion(stroll).positions, forward_motion(move_feet(stroll, offsets)).positions
    assert np.abs(after[:, foot] - before[:, foot] - offsets[:, 0]).max() < 2e-3


def test_fades_reach_from_held_to_zero():
    held = np.zeros(60, bool)
    held[20:30] = True
    wishes = np.zeros((60, 3))
    wishes[20:30, 0] = np.linspace(0.1, 0.2, 10)
    offsets = faded(wishes, held, 8)[:, 0]
    assert np.array_equal(offsets[20:30], wishes[20:30, 0])
    assert (offsets[:12] == 0.0).all() and (offsets[38:] == 0.0).all()
    assert (np.diff(offsets[12:20]) >= 0.0).all() and (np.diff(offsets[29:38]) <= 0.0).all()


def test_between_two_contacts_near_each_other_the_offset_goes_over():
    held = np.ones(40, bool)
    held[18:22] = False
    wishes = np.where(held[:, None], 0.1, 0.0) * np.ones(3)
    offsets = faded(wishes, held, 10)
    assert offsets.max() <= 0.1 + 1e-12
    assert offsets[18:22].min() > 0.02

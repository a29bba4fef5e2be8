"""Spikes are laid anew where they are; everything else keeps every bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.prepare.glitches import find_glitches
from ambulo.prepare.repair.spikes import remove_spikes
from ambulo.synthesis.performance import synthesize

STROLL = max((p.motion for p in synthesize(seed=3, minutes=1.0)), key=lambda m: m.frame_count)


def spiked(motion: Motion, joint: int, start: int, stop: int, degrees: float) -> Motion:
    rotations = motion.rotations.copy()
    turn = quaternions.from_angle_axis(np.radians(degrees), np.array([1.0, 0.0, 0.0]))
    rotations[start:stop, joint] = quaternions.multiply(rotations[start:stop, joint], turn)
    return replace(motion, rotations=quaternions.unroll(rotations))


def differing(a: Motion, b: Motion) -> set[tuple[int, int]]:
    rotations = (a.rotations != b.rotations).any(axis=-1)
    positions = (a.positions != b.positions).any(axis=-1)
    return {(int(t), int(j)) for t, j in np.argwhere(rotations | positions)}


@given(
    start=st.integers(5, 300),
    length=st.integers(1, 4),
    degrees=st.sampled_from([60.0, 120.0, 170.0, -90.0]),
    role=st.sampled_from(["chest", "left_upper_arm", "right_lower_leg", "head"]),
)
@settings(max_examples=30)
def test_a_planted_spike_is_gone_and_nothing_else_has_changed(start, length, degrees, role):
    joint = STROLL.skeleton.role(role)
    bad = spiked(STROLL, joint, start, start + length, degrees)
    assert find_glitches(bad)
    done = remove_spikes(bad)
    assert done.after == ()
    assert differing(bad, done.motion) <= {(t, joint) for t in range(start, start + length)}
    back = quaternions.angle_between(done.motion.rotations[:, joint], STROLL.rotations[:, joint])
    # What a cubic can know of up to 0.13 s of motion: a few degrees.
    assert np.degrees(back.max()) < 12.0


def test_a_clean_take_keeps_every_bit():
    done = remove_spikes(STROLL)
    assert done.before == () and done.mended == ()
    assert np.array_equal(done.motion.rotations, STROLL.rotations)
    assert np.array_equal(done.motion.positions, STROLL.positions)


def test_a_body_that_jumps_away_and_back_is_put_back():
    positions = STROLL.positions.copy()
    positions[50:54, 0] += [0.0, 0.0, 2.0]
    done = remove_spikes(replace(STROLL, positions=positions))
    assert done.after == ()
    assert {(span.start_frame, span.stop_frame) for span in done.mended} == {(50, 54)}
    assert np.abs(done.motion.positions[:, 0] - STROLL.positions[:, 0]).max() < 0.02


def test_a_jump_that_stays_is_left_and_told():
    positions = STROLL.positions.copy()
    positions[50:, 0] += [0.0, 0.0, 2.0]
    bad = replace(STROLL, positions=positions)
    done = remove_spikes(bad)
    assert [(g.start_frame, g.stop_frame) for g in done.after] == [(49, 51)]
    assert differing(bad, done.motion) == set()


def test_mending_twice_is_mending_once():
    bad = spiked(STROLL, STROLL.skeleton.role("chest"), 60, 63, 90.0)
    once = remove_spikes(bad).motion
    assert np.array_equal(remove_spikes(once).motion.rotations, once.rotations)


@pytest.mark.parametrize("rate", [30.0, 60.0, 120.0])
def test_spikes_longer_than_allowed_are_left(rate):
    motion = replace(STROLL, rate=rate)
    length = round(0.4 * rate)
    bad = spiked(motion, motion.skeleton.role("chest"), 40, 40 + length, 120.0)
    done = remove_spikes(bad)
    assert done.after and differing(bad, done.motion) == set()

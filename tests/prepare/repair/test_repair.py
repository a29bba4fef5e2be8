"""Repairs do what is asked for, say what they did, and leave calibration and everything else alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.errors import MotionError
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.prepare.quality.check import check_motion
from ambulo.prepare.repair.floor import align_floor
from ambulo.prepare.repair.repair import OPERATIONS, changed_frames, proposed_operations, repair_motion
from ambulo.prepare.repair.smoothing import smooth_motion
from ambulo.synthesis.performance import synthesize


@pytest.fixture(scope="module")
def stroll() -> Motion:
    return max((p.motion for p in synthesize(seed=3, minutes=1.0)), key=lambda m: m.frame_count)


@pytest.fixture(scope="module")
def spoiled(stroll: Motion) -> Motion:
    """A spike, a floor too low, and feet that creep."""
    positions, rotations = stroll.positions.copy(), stroll.rotations.copy()
    positions[:, 0, 1] -= 0.12
    positions[:, 0, 0] += 0.09 * np.arange(stroll.frame_count) / stroll.rate
    joint = stroll.skeleton.role("head")
    turn = quaternions.from_angle_axis(np.radians(110.0), np.array([1.0, 0.0, 0.0]))
    rotations[90, joint] = quaternions.multiply(rotations[90, joint], turn)
    return replace(stroll, positions=positions, rotations=quaternions.unroll(rotations))


def worth(findings):
    return [f for f in findings if f.severity != "note"]


def test_a_clean_take_needs_no_repair(stroll):
    made, report = repair_motion(stroll)
    assert report.steps == ()
    assert changed_frames(stroll, made) == 0


def test_what_is_proposed_is_done_and_the_findings_are_gone(spoiled):
    assert proposed_operations(check_motion(spoiled)) == ("spikes", "floor", "feet")
    made, report = repair_motion(spoiled)
    assert [step.operation for step in report.steps] == ["spikes", "floor", "feet"]
    assert worth(report.before) and worth(report.after) == []
    assert worth(check_motion(made)) == []
    steps = {step.operation: step for step in report.steps}
    assert steps["spikes"].changed_frames == 1
    assert (steps["spikes"].before["glitches"], steps["spikes"].after["glitches"]) == (1.0, 0.0)
    assert steps["feet"].after["speed of held feet"] < 0.02 * steps["feet"].before["speed of held feet"]


def test_only_what_is_asked_for_is_done(spoiled):
    made, report = repair_motion(spoiled, ("floor",))
    assert [step.operation for step in report.steps] == ["floor"]
    assert np.array_equal(made.rotations, spoiled.rotations)
    assert np.array_equal(made.positions[..., [0, 2]], spoiled.positions[..., [0, 2]])
    lift = made.positions[:, 0, 1] - spoiled.positions[:, 0, 1]
    assert np.ptp(lift) < 1e-6 and lift[0] == pytest.approx(0.12, abs=0.02)
    assert np.array_equal(made.positions[:, 1:], spoiled.positions[:, 1:])


def test_calibration_at_the_start_is_left_as_it_is(spoiled):
    head = np.tile(quaternions.IDENTITY, (1, spoiled.skeleton.joint_count, 1))
    away = np.tile(spoiled.skeleton.offsets, (1, 1, 1))
    away[0, 0] = [5.0, 0.9, 5.0]
    take = replace(
        spoiled,
        rotations=np.concatenate([head, spoiled.rotations]),
        positions=np.concatenate([away, spoiled.positions]),
    )
    made, _ = repair_motion(take, ("spikes", "feet", "smooth"))
    assert np.array_equal(made.rotations[0], take.rotations[0])
    assert np.array_equal(made.positions[0], take.positions[0])


def test_feet_are_held_at_the_rate_that_seems_true(spoiled):
    lying = replace(spoiled, rate=2 * spoiled.rate)
    made, report = repair_motion(lying, ("feet",))
    assert (report.rate, report.judged_rate) == (2 * spoiled.rate, spoiled.rate)
    assert made.rate == lying.rate
    right, _ = repair_motion(spoiled, ("feet",))
    assert np.array_equal(made.rotations, right.rotations)


def test_smoothing_takes_jitter_and_leaves_standing_feet(stroll):
    rng = np.random.default_rng(1)
    shake = quaternions.from_scaled_angle_axis(rng.normal(0.0, 0.004, (*stroll.rotations.shape[:2], 3)))
    shaken = replace(stroll, rotations=quaternions.unroll(quaternions.multiply(stroll.rotations, shake)))
    done = smooth_motion(shaken)
    assert done.jitter_after < 0.25 * done.jitter_before
    assert done.creep_after == pytest.approx(done.creep_before, rel=0.02)
    clean = quaternions.angle_between(stroll.rotations, shaken.rotations).mean()
    assert quaternions.angle_between(stroll.rotations, done.motion.rotations).mean() < 0.8 * clean


def test_a_floor_that_is_right_is_not_moved(stroll):
    assert align_floor(stroll).lift == 0.0
    assert align_floor(stroll).motion is stroll


def test_what_cannot_be_mended_is_refused(stroll):
    rotations = stroll.rotations.copy()
    rotations[3, 2] = np.nan
    with pytest.raises(MotionError, match="cannot be repaired"):
        repair_motion(replace(stroll, rotations=rotations))
    with pytest.raises(MotionError, match="no frames"):
        repair_motion(stroll.slice(0, 0))
    with pytest.raises(MotionError, match="no repair is called 'polish'"):
        repair_motion(stroll, ("polish",))


def test_operations_have_one_order(spoiled):
    _, report = repair_motion(spoiled, tuple(reversed(OPERATIONS)))
    assert [step.operation for step in report.steps] == list(OPERATIONS)

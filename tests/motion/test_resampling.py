"""Resampling: exact at shared times, right times elsewhere, no Euler angles and no overshoot of what is linear."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ambulo.errors import MotionError
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.motion.resampling import resample, source_frames
from ambulo.motion.skeleton import Skeleton

ONE = Skeleton(("only",), np.array([-1]), np.zeros((1, 3)))
RATES = st.sampled_from([24.0, 25.0, 30.0, 50.0, 59.94, 60.0, 90.0, 119.88, 120.0, 120.0048])
SLOW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def spinning(rate: float, frames: int, speed: float = 2.0) -> Motion:
    """Turns about a slanted axis at constant speed and moves on a straight line at constant speed."""
    times = np.arange(frames) / rate
    axis = np.array([0.6, 0.0, 0.8])
    rotations = quaternions.unroll(quaternions.from_scaled_angle_axis(times[:, None] * speed * axis))[:, None]
    positions = (times[:, None] * np.array([1.0, -2.0, 0.5]))[:, None]
    return Motion(ONE, positions, rotations, rate)


@given(RATES, RATES, st.integers(1, 200))
@SLOW
def test_times_start_at_zero_and_end_within_one_new_frame(source, wanted, frames):
    motion = spinning(source, frames)
    result = resample(motion, wanted)
    assert result.rate == wanted
    assert result.duration <= motion.duration + 1e-6
    assert motion.duration - result.duration < 1.0 / wanted


@given(RATES, RATES, st.integers(3, 200), st.sampled_from(["cubic", "slerp"]))
@SLOW
def test_constant_speed_stays_constant_speed(source, wanted, frames, rotation):
    result = resample(spinning(source, frames), wanted, rotation=rotation)
    expected = spinning(wanted, result.frame_count)
    assert np.allclose(result.positions, expected.positions, atol=2e-5)
    assert quaternions.angle_between(result.rotations, expected.rotations).max() < 1e-3


@pytest.mark.parametrize(("source", "wanted", "every", "nth"), [(30, 60, 1, 2), (120, 60, 2, 1), (60, 24, 5, 2)])
def test_shared_times_keep_their_poses_exactly(body, make_motion, source, wanted, every, nth):
    motion = make_motion(body, 3, frames=61, rate=float(source))
    result = resample(motion, float(wanted))
    assert np.array_equal(result.positions[::nth], motion.positions[::every][: len(result.positions[::nth])])
    kept = motion.rotations[::every][: len(result.rotations[::nth])]
    assert np.array_equal(np.abs(result.rotations[::nth]), np.abs(kept))
    assert quaternions.angle_between(result.rotations[::nth], kept).max() < 1e-3


def test_the_same_rate_returns_the_same_motion(body, make_motion):
    motion = make_motion(body)
    assert resample(motion, motion.rate) is motion


def test_a_parabola_is_kept_exactly():
    times = np.arange(20) / 30.0
    positions = np.stack([times**2, 1 - 3 * times**2, times], axis=-1)[:, None]
    motion = Motion(ONE, positions, quaternions.identity((20, 1)), 30.0)
    result = resample(motion, 120.0)
    t = np.arange(result.frame_count) / 120.0
    assert np.allclose(result.positions[:, 0], np.stack([t**2, 1 - 3 * t**2, t], axis=-1), atol=1e-6)


def test_slerp_is_slerp_and_cubic_has_no_steps_in_speed():
    rng = np.random.default_rng(0)
    turns = np.cumsum(rng.normal(size=(12, 1, 3)) * 0.2, axis=0)
    motion = Motion(ONE, np.zeros((12, 1, 3)), quaternions.unroll(quaternions.from_scaled_angle_axis(turns)), 30.0)
    fine = resample(motion, 120.0, rotation="slerp")
    for i in range(11):
        for k in range(4):
            expected = quaternions.slerp(motion.rotations[i, 0], motion.rotations[i + 1, 0], k / 4)
            assert quaternions.angle_between(fine.rotations[4 * i + k, 0], expected) < 1e-3

    def steps(rotation):
        dense = resample(motion, 30.0 * 64, rotation=rotation)
        q = dense.rotations[:, 0].astype(np.float64)
        speed = quaternions.angular_velocity(q[:-1], q[1:], 1 / dense.rate)
        return np.abs(np.diff(speed, axis=0)).max()

    assert steps("cubic") < 0.25 * steps("slerp")


def test_cubic_rotation_is_nearer_to_what_was_left_out(body, make_motion):
    motion = make_motion(body, 7, frames=121, rate=120.0, swing=1.0)
    coarse = resample(motion, 30.0)
    errors = {
        mode: quaternions.angle_between(resample(coarse, 120.0, rotation=mode).rotations, motion.rotations).mean()
        for mode in ("cubic", "slerp")
    }
    assert errors["cubic"] < 0.5 * errors["slerp"]


@given(st.integers(0, 1000), RATES)
@SLOW
def test_rotations_stay_unit_and_unrolled(body, make_motion, seed, rate):
    result = resample(make_motion(body, seed, frames=40, swing=2.0), rate)
    assert np.allclose(np.linalg.norm(result.rotations, axis=-1), 1.0, atol=1e-5)
    assert np.all(np.sum(result.rotations[1:] * result.rotations[:-1], axis=-1) >= 0.0)


def test_the_last_frame_is_kept_where_the_rates_allow():
    assert source_frames(31, 30.0, 60.0)[-1] == 30.0
    assert source_frames(121, 120.0, 60.0)[-1] == 120.0
    assert source_frames(122, 120.0, 60.0)[-1] == 120.0
    assert source_frames(1, 30.0, 60.0).tolist() == [0.0]


@pytest.mark.parametrize("rate", [0.0, -1.0, np.nan, np.inf])
def test_impossible_rates_are_refused(rate):
    with pytest.raises(MotionError, match="cannot resample"):
        resample(spinning(30.0, 3), rate)


def test_no_frames_are_refused():
    with pytest.raises(MotionError, match="without frames"):
        resample(spinning(30.0, 3).slice(0, 0), 60.0)

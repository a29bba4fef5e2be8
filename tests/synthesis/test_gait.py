"""Published curves, and what the synthetic actor makes of them on a straight line."""

import numpy as np
import pytest

from ambulo.synthesis import gait

RATE = 60.0


def _landings(performance, start=4.0, stop=10.5):
    """Times at which the left and the right foot begin to touch the ground, and shares of time that they do."""
    down = performance.truth.contacts | performance.truth.heel_contacts
    a, b = int(start * RATE), int(stop * RATE)
    times = [np.flatnonzero(down[a:b][1:, f] & ~down[a:b][:-1, f]) / RATE for f in (0, 1)]
    first, last = int(times[0][0] * RATE) + 1, int(times[0][-1] * RATE) + 1
    return times, down[a + first : a + last]


def test_published_values():
    assert np.isclose(120 * gait.walk_stride_frequency(1.4), 114, atol=2)  # Grieve and Gear 1966
    assert np.isclose(gait.walk_stance_fraction(1.4), 0.62 - 0.03, atol=1e-9)  # the ball's share
    assert np.isclose(gait.run_stance_fraction(3.2), 0.39 - 0.02, atol=0.02)  # Novacheck 1998
    assert gait.run_weight(1.8) == 0.0
    assert gait.run_weight(2.4) == 1.0


@pytest.mark.parametrize("speed", [0.8, 1.1, 1.4, 1.8])
def test_walking_cadence_and_stance(straight, speed):
    performance = straight(speed)
    (left, right), down = _landings(performance)
    stride = np.mean(np.diff(left))
    assert np.isclose(1.0 / stride, gait.walk_stride_frequency(speed), rtol=0.06)
    assert np.isclose(down.mean(), gait.walk_stance_fraction(speed), atol=0.035)
    assert down.any(axis=1).all(), "a walker always has a foot on the ground"
    assert down.all(axis=1).mean() > 0.08, "a walker has double support"
    assert 0.3 < ((right[0] - left[0]) % stride) / stride < 0.7


@pytest.mark.parametrize("speed", [2.6, 3.2, 4.0, 5.0])
def test_running_cadence_and_flight(straight, speed):
    performance = straight(speed)
    (left, _), down = _landings(performance)
    assert np.isclose(1.0 / np.mean(np.diff(left)), gait.run_stride_frequency(speed), rtol=0.06)
    assert np.isclose(down.mean(), gait.run_stance_fraction(speed), atol=0.06)
    assert (~down.any(axis=1)).mean() > 0.1, "a runner flies"
    assert not down.all(axis=1).any(), "a runner has no double support"


@pytest.mark.parametrize("speed", [0.4, 0.8, 1.4, 2.0, 3.2, 5.0])
def test_the_body_goes_as_fast_as_asked(straight, speed):
    performance = straight(speed)
    hips = performance.motion.positions[:, 0]
    measured = (hips[600, 2] - hips[300, 2]) / (300 / RATE)
    assert np.isclose(measured, speed, rtol=0.02)


@pytest.mark.parametrize(("speed", "low", "high"), [(1.4, 0.030, 0.060), (2.6, 0.030, 0.10), (3.2, 0.030, 0.11)])
def test_vertical_excursion_of_the_pelvis(straight, speed, low, high):
    """About 4 to 5 cm in free walking (Perry and Burnfield 2010), more in running."""
    height = straight(speed).motion.positions[300:600, 0, 1]
    assert low < np.percentile(height, 98) - np.percentile(height, 2) < high


@pytest.mark.parametrize(("speed", "low", "high"), [(1.4, 55, 75), (3.2, 85, 115)])
def test_peak_knee_flexion_in_swing(straight, speed, low, high):
    """60 degrees in walking (Perry and Burnfield 2010), about 90 or more in running (Novacheck 1998)."""
    motion = straight(speed).motion
    knee = motion.rotations[300:600, motion.skeleton.index("LeftLeg")]
    flexion = np.degrees(2.0 * np.arctan2(np.linalg.norm(knee[:, :3], axis=-1), np.abs(knee[:, 3])))
    assert low < flexion.max() < high
    assert flexion.min() > 4.0, "the knee never locks"

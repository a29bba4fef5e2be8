"""Known jumps, known polynomials and known turns give exactly their numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ambulo.evaluation import continuity
from ambulo.evaluation.footage import Footage

Make = Callable[..., Footage]


def shifted(make_footage: Make, z: np.ndarray, **options: object) -> Footage:
    """Footage whose five joints below the root all move along +Z as given."""
    footage = make_footage(len(z), **options)
    footage.global_positions[:, 1:, 2] += z[:, None]
    return footage


def test_jerk_of_a_cubic_is_six_times_its_factor(make_footage: Make) -> None:
    t = np.arange(40) / 60.0
    jerks = continuity.jerks(shifted(make_footage, 0.7 * t**3 + 2.0 * t**2 - t))
    np.testing.assert_allclose(jerks[:-3], 6.0 * 0.7, rtol=1e-6)
    assert np.isnan(jerks[-3:]).all()


def test_a_jump_is_as_long_as_it_is(make_footage: Make) -> None:
    z = np.zeros(30)
    z[12:] = 0.08
    footage = shifted(make_footage, z)
    changes = continuity.pose_changes(footage)
    assert np.isnan(changes[0])
    assert changes[12] == pytest.approx(0.08)
    assert np.nansum(changes) == pytest.approx(0.08)
    jumped = np.zeros(30, bool)
    jumped[12] = True
    measures = continuity.measure_continuity(footage, shifted(make_footage, np.arange(2000) * 0.02), jumped)
    assert measures["pose_jump"].value == pytest.approx(8.0)
    assert measures["pose_jump"].raw == pytest.approx(2.0)
    assert measures["velocity_jump"].value == pytest.approx(0.08 * 60.0)
    assert measures["transitions_per_second"].value == pytest.approx(2.0)


def test_a_jump_elsewhere_is_not_a_transition(make_footage: Make) -> None:
    z = np.zeros(30)
    z[20:] = 0.5
    jumped = np.zeros(30, bool)
    jumped[12] = True
    measures = continuity.measure_continuity(shifted(make_footage, z), shifted(make_footage, z), jumped)
    assert measures["pose_jump"].value == 0.0


def test_the_frame_after_a_transition_is_looked_at_too(make_footage: Make) -> None:
    z = np.zeros(30)
    z[13:] = 0.05
    jumped = np.zeros(30, bool)
    jumped[12] = True
    assert continuity.worst_at(continuity.pose_changes(shifted(make_footage, z)), jumped) == pytest.approx(0.05)


def test_steady_motion_has_no_velocity_change(make_footage: Make) -> None:
    changes = continuity.velocity_changes(shifted(make_footage, np.arange(30) * 0.03))
    np.testing.assert_allclose(changes[1:-1], 0.0, atol=1e-10)


def test_breaks_between_stretches_do_not_count(make_footage: Make) -> None:
    z = np.where(np.arange(30) < 15, 0.0, 4.0)
    footage = shifted(make_footage, z, stretch=np.repeat([0, 1], 15))
    for values in (
        continuity.pose_changes(footage),
        continuity.velocity_changes(footage),
        continuity.jerks(footage),
    ):
        assert np.nanmax(values) == 0.0


def test_jerk_ratio_compares_like_with_like(make_footage: Make) -> None:
    # The capture jerks ten times as much in its second half, which was not shown.
    t = np.arange(200) / 60.0
    quiet, wild = t**3, 10.0 * t**3
    raw = shifted(
        make_footage,
        np.concatenate([quiet, wild]),
        stretch=np.repeat([0, 1], 200),
        weights=np.repeat([1.0, 0.0], 200),
    )
    made = shifted(make_footage, 1.2 * quiet)
    measures = continuity.measure_continuity(made, raw, np.zeros(200, bool))
    assert measures["jerk_ratio"].value == pytest.approx(1.2, rel=1e-4)
    assert measures["jerk_ratio"].raw == 1.0


def test_joint_rotation_is_the_joints_angular_speed(make_footage: Make) -> None:
    footage = make_footage(61)
    angle = np.arange(61) / 60.0 * 2.0
    footage.rotations[:, 1, 0], footage.rotations[:, 1, 3] = np.sin(0.5 * angle), np.cos(0.5 * angle)
    # One of five joints turns at 2 rad/s; the root's own turning does not count.
    footage.rotations[:, 0, 1], footage.rotations[:, 0, 3] = np.sin(angle), np.cos(angle)
    assert continuity.joint_rotation(footage) == pytest.approx(2.0 / 5.0)

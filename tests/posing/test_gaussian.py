"""The conditional Gaussian against its definition, and what tolerances do to it."""

from __future__ import annotations

import numpy as np

from ambulo.posing.gaussian import PoseGaussian, fit_facing, fit_turned
from ambulo.posing.observations import join_observations, observe_near, observe_points, turn_vectors
from ambulo.posing.points import POINT_COUNT
from ambulo.posing.pose_set import PoseSet


def centred(poses: PoseSet) -> np.ndarray:
    points = poses.points.astype(np.float64)
    return points - points[:, :1] * [1.0, 0.0, 1.0]


def test_the_turned_gaussian_is_the_mean_over_all_turns(poses: PoseSet) -> None:
    points = centred(poses)[::20]
    exact = fit_turned(points)
    steps = 16
    turned = [turn_vectors(points, np.full(len(points), 2.0 * np.pi * step / steps)) for step in range(steps)]
    summed = fit_facing(np.concatenate(turned))
    assert np.abs(exact.mean - summed.mean).max() < 1e-9
    assert np.abs(exact.covariance - summed.covariance).max() < 1e-9


def test_conditioning_is_the_textbook_formula(poses: PoseSet) -> None:
    gaussian = fit_facing(centred(poses))
    chosen = np.array([0, 5, 17])
    asked = centred(poses)[:3, chosen]
    means, deviations = gaussian.condition(observe_points(chosen, asked, [0.0, 0.02, 0.1]))
    known = (3 * chosen[:, None] + np.arange(3)).ravel()
    noise = np.diag(np.repeat([1e-8, 0.02**2, 0.1**2], 3))
    gain = gaussian.covariance[:, known] @ np.linalg.inv(gaussian.covariance[np.ix_(known, known)] + noise)
    expected = gaussian.mean + (asked.reshape(3, -1) - gaussian.mean[known]) @ gain.T
    left = np.diag(gaussian.covariance - gain @ gaussian.covariance[known])
    assert np.abs(means.reshape(3, -1) - expected).max() < 1e-6
    assert np.abs(deviations.ravel() ** 2 - left).max() < 1e-6


def test_more_wishes_leave_less_open(poses: PoseSet) -> None:
    gaussian = fit_facing(centred(poses))
    pose = centred(poses)[:1]
    one = observe_points([0], pose[:, [0]])
    two = join_observations([one, observe_points([17], pose[:, [17]], 0.05)])
    three = join_observations([two, observe_near(pose, 0.05)])
    sums = [float(gaussian.condition(wishes)[1].sum()) for wishes in (one, two, three)]
    assert sums[0] > sums[1] > sums[2]


def test_what_is_packed_comes_back(poses: PoseSet) -> None:
    gaussian = fit_turned(centred(poses))
    wishes = observe_points([0, 17], centred(poses)[:4, [0, 17]])
    again = PoseGaussian.unpack(**gaussian.pack())
    assert all(array.dtype == np.float32 for array in gaussian.pack().values())
    assert np.abs(again.condition(wishes)[0] - gaussian.condition(wishes)[0]).max() < 1e-5
    assert again.mean.shape == (3 * POINT_COUNT,)

"""Damped least squares on chains (S3.28: damping 2.0, 20 iterations)."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.errors import MotionError
from ambulo.maths import quaternions
from ambulo.motion.damped_least_squares import DAMPING, ITERATIONS, solve_chain


def chains(seed: int, count: int = 200, bones: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(count, bones, 3))
    steps *= rng.uniform(0.15, 0.4, (count, bones, 1)) / np.linalg.norm(steps, axis=-1, keepdims=True)
    points = np.cumsum(np.concatenate([np.zeros((count, 1, 3)), steps], axis=1), axis=1)
    lengths = np.linalg.norm(steps, axis=-1)
    longest, most = lengths.max(axis=1), lengths.sum(axis=1)
    nearest = np.maximum(2 * longest - most, 0.0)
    targets = rng.normal(size=(count, 3))
    reach = nearest + (0.2 + 0.7 * rng.uniform(size=count)) * (most - nearest)
    return points, targets * (reach / np.linalg.norm(targets, axis=1))[:, None]


def test_the_published_constants() -> None:
    assert (DAMPING, ITERATIONS) == (2.0, 20)


@pytest.mark.parametrize("bones", [2, 3, 4, 8])
def test_chains_reach_their_targets(bones: int) -> None:
    points, targets = chains(bones, bones=bones)
    solved = solve_chain(points, targets)
    apart = np.linalg.norm(solved.points[:, -1] - targets, axis=-1)
    assert np.percentile(apart, 99) < 1e-5
    assert solved.iterations.max() <= 20


def test_bones_keep_their_lengths_and_turns_are_what_was_done() -> None:
    points, targets = chains(7)
    solved = solve_chain(points, targets)
    before, after = np.diff(points, axis=1), np.diff(solved.points, axis=1)
    assert np.abs(np.linalg.norm(after, axis=-1) - np.linalg.norm(before, axis=-1)).max() < 1e-12
    assert np.abs(quaternions.rotate(solved.turns, before) - after).max() < 1e-12
    assert np.abs(solved.points[:, 0]).max() == 0.0


def test_a_target_out_of_reach_stretches_the_chain() -> None:
    points, targets = chains(3)
    far = targets / np.linalg.norm(targets, axis=-1, keepdims=True) * 5.0
    solved = solve_chain(points, far, iterations=400)
    bones = np.linalg.norm(np.diff(points, axis=1), axis=-1).sum(axis=1)
    assert np.percentile(np.linalg.norm(solved.points[:, -1], axis=-1) / bones, 5) > 0.99


def test_hinges_turn_about_their_axis_only_and_fixed_joints_not_at_all() -> None:
    points = np.array([[[0.0, 0.9, 0.0], [0.0, 0.5, 0.02], [0.0, 0.1, 0.0]]])
    target = np.array([[0.05, 0.3, 0.1]])
    axis = np.array([[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]])
    solved = solve_chain(points, target, hinges=axis, free=[1, 0])
    assert np.linalg.norm(solved.points[0, 2] - target[0]) < 1e-5
    bend = quaternions.inverse_multiply(solved.turns[0, 0], solved.turns[0, 1])
    assert np.abs(bend[1:3]).max() < 1e-9
    held = solve_chain(points, target, hinges=axis, free=[-1, 0])
    assert np.abs(held.turns[0, 0] - [0, 0, 0, 1]).max() == 0.0
    assert np.abs(held.points[0, 1] - points[0, 1]).max() == 0.0


def test_where_the_end_is_at_its_target_nothing_moves() -> None:
    points, _ = chains(5)
    solved = solve_chain(points, points[:, -1])
    assert np.array_equal(solved.points, points) and solved.iterations.max() == 0


def test_what_makes_no_chain_is_refused() -> None:
    points, targets = chains(1)
    for wrong in (points[:, :1], points[..., :2], points * np.nan):
        with pytest.raises(MotionError):
            solve_chain(wrong, targets)
    with pytest.raises(MotionError):
        solve_chain(points, targets, damping=0.0)
    with pytest.raises(MotionError):
        solve_chain(points, targets, free=[1])

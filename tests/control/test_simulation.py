"""Simulations: the same again, in the shapes that were promised, doing what was asked."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ambulo.control.create import create_controller
from ambulo.control.foot_lock import FootLock
from ambulo.control.recording import Recording
from ambulo.control.scripts import circle, forward, random_sticks, sticks
from ambulo.control.simulation import simulate
from ambulo.database.database import Database
from ambulo.errors import ControlError
from ambulo.matching.index import SearchIndex
from ambulo.motion import kinematics


def test_the_same_again(stack: FootLock, recording: Recording) -> None:
    again = simulate(stack, random_sticks(3, 20.0), 20.0)
    for field in dataclasses.fields(Recording):
        a, b = getattr(recording, field.name), getattr(again, field.name)
        if field.name != "step_seconds" and isinstance(a, np.ndarray):
            assert_array_equal(a, b, err_msg=field.name)


def test_shapes_and_sense(stack: FootLock, recording: Recording) -> None:
    steps, joints = 1200, stack.skeleton.joint_count
    assert (recording.frame_count, recording.count) == (steps, 1)
    assert recording.global_positions.shape == (steps, 1, joints, 3)
    assert recording.trajectory_positions.shape == (steps, 1, 3, 3)
    assert recording.contacts.shape == (steps, 1, 2)
    assert recording.step_seconds.shape == (steps,)
    assert (recording.step_seconds > 0).all()
    assert_array_equal(recording.root_positions, recording.positions[:, :, 0])
    motion = recording.motion()
    pose = kinematics.forward_motion(motion)
    assert_allclose(pose.positions, recording.global_positions[:, 0], atol=1e-4)
    assert motion.duration == pytest.approx((steps - 1) / 60)
    with pytest.raises(ControlError, match="character 1"):
        recording.motion(1)


def test_it_walks_where_it_is_asked_and_stands_when_it_is_asked(stack: FootLock) -> None:
    recording = simulate(stack, forward(1.4, start=1.0, stop=5.0), 8.0)
    root = recording.root_positions[:, 0]
    assert np.linalg.norm(root[59] - root[0]) < 0.1
    speed = np.linalg.norm(root[290] - root[230]) / 1.0
    assert speed == pytest.approx(1.4, abs=0.2)
    assert abs(root[300, 0]) < 0.5
    assert np.linalg.norm(root[-1] - root[-30]) < 0.05


def test_it_faces_where_it_is_asked_while_it_goes_elsewhere(stack: FootLock) -> None:
    recording = simulate(stack, sticks("left", [(0.0, (1.0, 0, 0), (0, 0, 1))]), 5.0)
    ahead = recording.global_positions[-60:, 0, 0] - recording.global_positions[-120:-60, 0, 0]
    assert ahead[:, 0].mean() > 0.5
    heading = 2.0 * np.arctan2(recording.root_rotations[-60:, 0, 1], recording.root_rotations[-60:, 0, 3])
    assert np.abs(heading).max() < 0.5


def test_many_characters_start_where_they_are_put(stack: FootLock) -> None:
    where = np.array([[0, 0, 0], [5, 0, 0], [0, 0, -5]], np.float32)
    recording = simulate(stack, circle(), 1.0, count=3, position=where, facing=(1.0, 0.0, 0.0))
    assert_allclose(recording.root_positions[0], where, atol=0.1)
    assert recording.desired_path is not None
    assert recording.desired_path.shape[1] == 3


def test_blocks_go_round_a_circle_too(blocks: FootLock) -> None:
    script = circle()
    recording = simulate(blocks, script, 12.0)
    _, distance = script.path.nearest(recording.root_positions[120:, 0])
    assert distance.mean() < 0.3
    assert recording.controller == "FootLock"


def test_progress_is_told_once_a_second(stack: FootLock) -> None:
    told: list[tuple[int, int]] = []
    simulate(stack, forward(), 3.0, progress=lambda done, total: told.append((done, total)))
    assert told == [(60, 180), (120, 180), (180, 180)]


def test_nothing_to_do_is_refused(stack: FootLock, database: Database, index: SearchIndex) -> None:
    for seconds in (0.0, -1.0, float("nan")):
        with pytest.raises(ControlError, match="no step"):
            simulate(stack, forward(), seconds)
    with pytest.raises(ControlError, match="rate"):
        simulate(stack, forward(), 1.0, rate=0.0)
    for absurd in (
        {"seconds": 1e9},
        {"seconds": 1e300},
        {"seconds": 1.0, "rate": 1e12},
        {"seconds": 1.0, "count": 10**9},
    ):
        with pytest.raises(ControlError, match="memory") as caught:
            simulate(stack, forward(), **cast(dict[str, Any], absurd))
        assert "fewer" in str(caught.value.remedy)
    with pytest.raises(ControlError, match="motion_matching"):
        create_controller("motion_maching", database, index)

"""The body is lifted by what its deepest foot would sink, and by nothing more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.control.above_ground import AboveGround, ground_feet
from ambulo.control.controller import join, take
from ambulo.control.handover import hand_over
from ambulo.control.inertialization import Inertialize
from ambulo.control.intent import Intent
from ambulo.control.motion_matching import MotionMatching
from ambulo.errors import ControlError
from ambulo.motion import kinematics

DT = 1.0 / 60.0


@pytest.fixture(scope="module")
def smooth(database, index) -> Inertialize:
    return Inertialize(MotionMatching(database, index))


@pytest.fixture(scope="module")
def feet(database):
    """Feet that must be 2 cm higher than they stand: most frames have to be lifted, and flights need not."""
    found = ground_feet(database)
    above = kinematics.forward(database.positions, database.rotations, database.skeleton.parents).positions
    return replace(found, heights=np.median(above[:, found.joints, 1], axis=0) + 0.02)


def walk(count: int = 2) -> Intent:
    velocity = np.tile(np.array([0.0, 0.0, 1.3], np.float32), (count, 1))
    return Intent(velocity, velocity / 1.3)


def test_no_foot_is_lower_than_allowed_and_only_the_height_changes(smooth, feet) -> None:
    plain, lifted = smooth, AboveGround(smooth, feet)
    one, other = plain.start(2, seed=1), lifted.start(2, seed=1)
    lifts = []
    for _ in range(200):
        (one, before), (other, after) = plain.step(one, walk(), DT), lifted.step(other, walk(), DT)
        heights = after.global_positions[:, feet.joints, 1] - after.root_position[:, None, 1]
        assert (heights > feet.heights - 1e-5).all()
        sunk = feet.heights - (before.global_positions[:, feet.joints, 1] - before.root_position[:, None, 1])
        lift = np.maximum(sunk.max(axis=1), 0.0)
        moved = after.global_positions - before.global_positions
        np.testing.assert_allclose(moved[:, 1:, 1], np.broadcast_to(lift[:, None], moved[:, 1:, 1].shape), atol=1e-5)
        assert not moved[:, 0].any() and not moved[..., [0, 2]].any()
        np.testing.assert_array_equal(after.rotations, before.rotations)
        whole = kinematics.forward(after.positions, after.rotations, smooth.skeleton.parents)
        np.testing.assert_allclose(whole.positions, after.global_positions, atol=1e-4)
        lifts.append(lift)
    assert 0.2 < (np.array(lifts) > 0.0).mean() < 1.0


def test_the_deepest_foot_does_not_go_up_or_down_while_it_is_held(smooth, feet) -> None:
    lifted = AboveGround(smooth, feet)
    state = lifted.start(1)
    held = 0
    for _ in range(120):
        state, pose = lifted.step(state, walk(1), DT)
        heights = pose.global_positions[0, feet.joints, 1] - pose.root_position[0, 1] - feet.heights
        if abs(heights.min()) < 1e-6:
            _, speeds = kinematics.forward_velocities(
                pose.positions, pose.rotations, pose.velocities, pose.angular_velocities, lifted.skeleton.parents
            )
            assert abs(speeds.linear[0, feet.joints[heights.argmin()], 1]) < 1e-3
            held += 1
    assert held > 20


def test_its_states_are_split_joined_and_handed_over(smooth, feet) -> None:
    lifted = AboveGround(smooth, feet)
    state, _ = lifted.step(lifted.start(2, seed=3), walk(), DT)
    _, whole = lifted.step(state, walk(), DT)
    _, again = lifted.step(join([take(state, 0), take(state, 1)]), walk(), DT)
    np.testing.assert_array_equal(again.positions, whole.positions)
    gone_on, pose = lifted.step(hand_over(state, lifted, lifted, walk()), walk(), DT)
    assert np.isfinite(pose.positions).all()
    assert lifted.explain(gone_on).winner is not None
    with pytest.raises(ControlError, match="no state of this"):
        lifted.step(state.inner, walk(), DT)


def test_the_floor_of_feet_is_their_own_and_never_below_the_ground(database) -> None:
    found = ground_feet(database)
    roles = database.skeleton.roles
    assert found.joints.tolist() == [roles["left_toe"], roles["right_toe"]]
    assert (found.heights >= 0.0).all() and (found.heights < 0.08).all()

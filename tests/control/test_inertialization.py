"""A transition is no pop: positions and velocities go on, and the offset fades as the spring says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ambulo.control.inertialization import Inertialize
from ambulo.control.intent import Intent
from ambulo.control.motion_matching import MotionMatching
from ambulo.control.scripts import random_sticks
from ambulo.control.settings import InertializeSettings
from ambulo.maths import quaternions, springs


def test_poses_and_velocities_go_on_at_a_transition(bare: MotionMatching) -> None:
    controller = Inertialize(bare)
    script = random_sticks(4, 20.0)
    state, last = controller.start(), None
    seen, still = 0, np.zeros((1, 3), np.float32)
    for step in range(1200):
        intent = script.intent(step / 60, still, still)
        _, plain = bare.step(state.inner, intent, 1 / 60)
        state, pose = controller.step(state, intent, 1 / 60)
        if pose.transitioned[0] and last is not None:
            seen += 1
            # What differs from where the new animation was a step ago fades from there.
            gap = last.positions - (plain.positions - plain.velocities / 60)
            x, v = springs.decay(gap, last.velocities - plain.velocities, controller.settings.half_life, 1 / 60)
            assert_allclose(pose.positions, plain.positions + x, atol=1e-5)
            assert_allclose(pose.velocities, plain.velocities + v, atol=1e-4)
            # And so nothing pops: what is shown goes on by its own velocity, but for what a spring gives in one step.
            assert_allclose(pose.positions, last.positions + last.velocities / 60, atol=0.01)
            moved = quaternions.from_scaled_angle_axis(last.angular_velocities / 60)
            error = quaternions.angle_between(pose.rotations, quaternions.multiply(moved, last.rotations))
            assert error.max() < 0.15
        last = pose
    assert seen > 20


def test_the_offset_fades_by_the_closed_form(bare: MotionMatching) -> None:
    half_life = 0.1
    controller = Inertialize(bare, InertializeSettings(half_life))
    state = controller.start()
    wish = np.array([[0.0, 0.0, 2.0]], np.float32)
    steps = 0
    while steps < 200:
        state, pose = controller.step(state, Intent(wish if steps > 20 else 0 * wish), 1 / 60)
        steps += 1
        if steps > 20 and pose.transitioned[0]:
            break
    offset = state.offsets[0].astype(np.float64)
    for k in range(1, 4):
        state, pose = controller.step(state, Intent(wish), 1 / 60)
        assert not pose.transitioned[0]
        x, v = springs.decay(offset[:, :3], offset[:, 3:6], half_life, k / 60)
        assert_allclose(state.offsets[0, :, :3], x, atol=1e-5)
        assert_allclose(state.offsets[0, :, 3:6], v, atol=1e-4)
        x, v = springs.decay(offset[:, 6:9], offset[:, 9:], half_life, k / 60)
        assert_allclose(state.offsets[0, :, 6:9], x, atol=1e-5)
        assert_allclose(state.offsets[0, :, 9:], v, atol=1e-4)


def test_without_transitions_it_changes_nothing(bare: MotionMatching) -> None:
    controller = Inertialize(bare)
    state, plain = controller.start(), bare.start()
    still = Intent(np.zeros((1, 3), np.float32))
    for _ in range(30):
        state, pose = controller.step(state, still, 1 / 60)
        plain, shown = bare.step(plain, still, 1 / 60)
        if pose.transitioned[0]:
            pytest.skip("standing still took a transition")
        assert_allclose(pose.positions, shown.positions, atol=1e-6)
        assert_allclose(pose.rotations, shown.rotations, atol=1e-6)


@pytest.mark.parametrize("dt", [1 / 60, 0.5, 3.0])
def test_what_is_shown_stays_with_the_animation_although_every_step_is_a_transition(
    bare: MotionMatching, dt: float
) -> None:
    controller = Inertialize(bare)
    state = controller.start()
    transitions, steps = 0, 300
    for step in range(steps):
        speed = 4.0 if step % 2 else 0.0
        intent = Intent(np.array([[0.0, 0.0, speed]], np.float32))
        _, plain = bare.step(state.inner, intent, dt)
        state, pose = controller.step(state, intent, dt)
        transitions += int(pose.transitioned[0])
        assert np.linalg.norm(pose.root_position - plain.root_position) < 1.0
        assert np.isfinite(pose.global_positions).all()
    assert transitions > 0.5 * steps


def test_steps_of_very_different_lengths_throw_nobody(bare: MotionMatching) -> None:
    controller, generator = Inertialize(bare), np.random.default_rng(0)
    state = controller.start()
    for _ in range(300):
        velocity = 2.0 * generator.normal(size=(1, 3))
        intent, dt = Intent(velocity.astype(np.float32)), float(10.0 ** generator.uniform(-4.0, 0.5))
        _, plain = bare.step(state.inner, intent, dt)
        state, pose = controller.step(state, intent, dt)
        assert np.linalg.norm(pose.root_position - plain.root_position) < 2.0

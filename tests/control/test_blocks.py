"""The one-second-block controller: what begins a block, when the next one comes, and how it is faded in."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ambulo.control.blocks import Blocks, block_features
from ambulo.control.foot_lock import FootLock
from ambulo.control.intent import Intent
from ambulo.control.settings import BlockSettings
from ambulo.database.database import Database
from ambulo.errors import ControlError

STILL = np.zeros((1, 3), np.float32)
GO = np.array([[0.0, 0.0, 1.4]], np.float32)


@pytest.fixture(scope="module")
def inner(blocks: FootLock) -> Blocks:
    found = blocks.inner.inner  # type: ignore[attr-defined]
    assert isinstance(found, Blocks)
    return found


def test_the_input_is_that_of_the_talk(database: Database, inner: Blocks) -> None:
    """S0.27: positions and velocities of the joints; position, velocity and facing one second ahead."""
    kinds = [spec.kind for spec in block_features(database.skeleton)]
    joints = len([role for role, joint in database.skeleton.roles.items() if joint > 0])
    assert kinds.count("position") == kinds.count("velocity") == joints
    assert inner.schema.dimension_count == 6 * joints + 6
    assert_array_equal(inner.trajectory_times, [1.0])


def test_every_whole_second_that_is_not_junk_begins_a_block(database: Database, inner: Blocks) -> None:
    """S0.54: overlapping, stride 1, over everything but junk."""
    frame_set = inner.frame_sets.of((), ())
    candidates = set(frame_set.mask.frames.tolist())
    assert not frame_set.allowed[database.mask(("junk",))].any()
    for clip in database.clips:
        inside = [frame for frame in range(clip.start, clip.stop) if frame in candidates]
        whole = [
            frame
            for frame in range(clip.start, clip.stop - 60)
            if frame_set.allowed[frame : frame + 60].all() and database.valid[frame]
        ]
        assert set(inside) <= set(whole) | {clip.stop - 60}
        assert len(inside) >= len(whole) - 2


def test_a_block_lasts_a_second_or_until_the_wish_changes(inner: Blocks) -> None:
    """S0.29."""
    state = inner.start()
    times = []
    for step in range(240):
        before = state
        state, _ = inner.step(state, Intent(STILL if step < 90 else GO), 1 / 60)
        if state.timer[0] > before.timer[0]:
            times.append(step)
    assert times[0] == 0
    assert times[1] == 60
    assert times[2] == 90
    assert_array_equal(np.diff(times[2:]), 60)


def test_the_cross_fade_begins_with_the_old_block_and_ends_with_the_new(inner: Blocks, database: Database) -> None:
    """S0.30."""
    state = inner.start()
    for step in range(200):
        before = state
        state, pose = inner.step(state, Intent(STILL if step < 5 else GO), 1 / 60)
        if step >= 5 and pose.transitioned[0]:
            break
    old = int(before.playhead[0]) + 1
    assert state.fading[0] == old
    # A first step of a quarter second's fade shows 1.3 % of the new block.
    u = (1 / 60) / inner.settings.blocks.fade
    weight = u * u * (3 - 2 * u)
    new = int(state.playhead[0])
    expected = (1 - weight) * database.positions[old, 1:] + weight * database.positions[new, 1:]
    assert_allclose(pose.positions[0, 1:], expected, atol=1e-5)
    for _ in range(round(inner.settings.blocks.fade * 60)):
        state, pose = inner.step(state, Intent(GO), 1 / 60)
    assert state.fading[0] == -1.0
    assert_allclose(pose.positions[0, 1:], database.positions[int(state.playhead[0]), 1:], atol=1e-6)


def test_blend_velocities_are_the_derivative_of_the_blend(inner: Blocks) -> None:
    """At small steps the reported velocity of a fading joint is its finite difference."""
    state = inner.start()
    for step in range(60):
        state, pose = inner.step(state, Intent(STILL if step < 5 else GO), 1 / 60)
        if step >= 5 and pose.transitioned[0]:
            break
    last = pose
    for _ in range(5):
        state, pose = inner.step(state, Intent(GO), 1 / 60)
        middle = 0.5 * (last.velocities + pose.velocities)
        assert_allclose((pose.positions - last.positions)[0, 1:] * 60, middle[0, 1:], atol=0.02)
        last = pose


def test_settings_are_checked() -> None:
    with pytest.raises(ControlError, match="fade"):
        BlockSettings(length=0.2, fade=0.3)
    with pytest.raises(ControlError, match="length"):
        BlockSettings(length=0.0)

"""Feet that stand stay, let go without a jump, and are never under the ground."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ambulo.control.foot_lock import FootLock, foot_geometry, leg_joints
from ambulo.control.intent import Intent
from ambulo.control.recording import Recording
from ambulo.control.scripts import random_sticks
from ambulo.database.database import Database
from ambulo.errors import SkeletonError
from ambulo.motion import kinematics


@pytest.fixture(scope="module")
def walked(stack: FootLock) -> dict[str, np.ndarray]:
    """What the feet did for 30 seconds of random sticks."""
    script = random_sticks(11, 30.0)
    state = stack.start()
    rows: dict[str, list[np.ndarray]] = {name: [] for name in ("locked", "globals", "locals", "moved", "spin")}
    for step in range(1800):
        state, pose = stack.step(state, script.intent(step / 60, np.zeros((1, 3)), np.zeros((1, 3))), 1 / 60)
        rows["locked"].append(state.locked[0])
        rows["globals"].append(pose.global_positions[0])
        rows["locals"].append(pose.rotations[0])
        rows["spin"].append(pose.angular_velocities[0])
        rows["moved"].append(pose.positions[0])
    return {name: np.array(values) for name, values in rows.items()}


def test_a_locked_toe_stands_still(stack: FootLock, walked: dict[str, np.ndarray]) -> None:
    toes = walked["globals"][:, stack.geometry.legs[:, 3]]
    locked = walked["locked"]
    held = locked[1:] & locked[:-1]
    # Two steps after it took hold a toe has come to rest.
    settled = held[2:] & held[1:-1] & held[:-2]
    steps = np.linalg.norm(np.diff(toes[:, :, [0, 2]], axis=0), axis=-1)[2:]
    assert settled.mean() > 0.3
    assert np.percentile(steps[settled], 99.0) < 1e-3
    assert np.mean(steps[settled]) < 1e-4


def test_letting_go_is_no_jump(stack: FootLock, walked: dict[str, np.ndarray], database: Database) -> None:
    toes = walked["globals"][:, stack.geometry.legs[:, 3]].astype(np.float64)
    change = np.linalg.norm(np.diff(toes, 2, axis=0), axis=-1) * 60.0
    released = (walked["locked"][:-1] & ~walked["locked"][1:])[1:]
    assert released.sum() > 20
    frames = database.clips[0]
    captured = kinematics.forward(
        database.positions[frames.start : frames.stop],
        database.rotations[frames.start : frames.stop],
        database.skeleton.parents,
    ).positions[:, stack.geometry.legs[:, 3]]
    usual = np.linalg.norm(np.diff(captured.astype(np.float64), 2, axis=0), axis=-1) * 60.0
    assert change[released].max() < 2.0 * np.percentile(usual, 99.9)


def test_no_foot_is_under_the_ground(stack: FootLock, walked: dict[str, np.ndarray]) -> None:
    for side in range(2):
        toe = walked["globals"][:, stack.geometry.legs[side, 3], 1]
        ankle = walked["globals"][:, stack.geometry.legs[side, 2], 1]
        assert toe.min() > stack.geometry.heights[side, 0] - 0.01
        assert ankle.min() > stack.geometry.heights[side, 1] - 0.01


def test_bones_keep_their_length_and_knees_do_not_snap(stack: FootLock, walked: dict[str, np.ndarray]) -> None:
    for upper, lower, foot, toe, _ in stack.geometry.legs:
        for a, b in ((upper, lower), (lower, foot), (foot, toe)):
            length = np.linalg.norm(walked["globals"][:, a] - walked["globals"][:, b], axis=-1)
            assert_allclose(length, length[0], rtol=1e-3)
    # The angle of a knee between two frames: the capture's fast legs swing by 15 degrees; a leg that a late foot pulls
    # nearly straight turns its knee fastest.
    for _, lower, *_ in stack.geometry.legs:
        q = walked["locals"][:, lower].astype(np.float64)
        dot = np.abs((q[1:] * q[:-1]).sum(axis=-1)).clip(0.0, 1.0)
        assert np.degrees(2.0 * np.arccos(dot)).max() < 30.0


def test_globals_are_the_forward_kinematics_of_locals(stack: FootLock, walked: dict[str, np.ndarray]) -> None:
    pose = kinematics.forward(walked["moved"], walked["locals"], stack.skeleton.parents)
    assert_allclose(walked["globals"], pose.positions, atol=1e-4)


def test_geometry_comes_from_the_data(database: Database) -> None:
    geometry = foot_geometry(database)
    pose = kinematics.forward(database.positions, database.rotations, database.skeleton.parents)
    for side in range(2):
        toe = pose.positions[database.contacts[:, side] != 0, geometry.legs[side, 3], 1]
        low, ankle, high = geometry.heights[side]
        assert 0.0 <= low <= np.median(toe) <= high + 1e-6
        assert 0.02 < ankle < 0.15
        # In this skeleton's rest pose knees bend forward, +Z.
        assert geometry.knees[side, 2] > 0.9


def test_a_standing_character_keeps_both_feet(stack: FootLock) -> None:
    state = stack.start()
    toes = []
    for _ in range(120):
        state, pose = stack.step(state, Intent(np.zeros((1, 3), np.float32)), 1 / 60)
        toes.append(pose.global_positions[0, stack.geometry.legs[:, 3]])
    assert np.ptp(np.array(toes)[10:], axis=0).max() < 2e-3


def test_the_recorded_contacts_are_of_feet_near_the_ground(stack: FootLock, recording: Recording) -> None:
    for side in range(2):
        toe = recording.global_positions[:, 0, stack.geometry.legs[side, 3], 1]
        touching = recording.contacts[:, 0, side] != 0
        assert touching.any() and not touching.all()
        assert toe[touching].max() < stack.geometry.heights[side, 2] + 0.02


def test_other_tags_throw_no_foot(stack: FootLock, database: Database) -> None:
    """However sticks and tags change, a foot moves faster than without the lock by a step's speed at most."""
    joints = stack.geometry.legs[:, [2, 3]]
    tags = sorted({tag for tag in database.tags if tag not in ("junk", "locomotion", "mirrored")})
    assert len(tags) > 2
    for seed in (1, 2):
        script, generator = random_sticks(seed, 15.0), np.random.default_rng(seed)
        state, asked, shown, wrapped = stack.start(), (), [], []
        for step in range(900):
            if step % 45 == 0:
                asked = (str(generator.choice(tags)),)
            wish = script.intent(step / 60, np.zeros((1, 3)), np.zeros((1, 3)))
            intent = Intent(wish.velocity, wish.facing, required_tags=asked)
            _, pose = stack.inner.step(state.inner, intent, 1 / 60)
            wrapped.append(pose.global_positions[0, joints].astype(np.float64))
            state, pose = stack.step(state, intent, 1 / 60)
            shown.append(pose.global_positions[0, joints].astype(np.float64))
        fast, usual = (np.linalg.norm(np.diff(p, axis=0), axis=-1) * 60.0 for p in (np.array(shown), np.array(wrapped)))
        around = np.array([usual[max(k - 6, 0) : k + 7].max() for k in range(len(usual))])
        assert (fast.max(axis=(1, 2)) - around).max() < stack.settings.step_speed


@pytest.mark.parametrize("low", [0.05, 0.2, 0.45])
def test_a_toe_that_swings_high_at_once_is_taken_up_not_thrown(stack: FootLock, low: float) -> None:
    """The animation jumps to a toe high in the air: the one shown rises no faster than in a usual swing."""
    from ambulo.control.foot_lock_kernels import track_toe

    flags, values = np.zeros((1, 2, 4), np.uint8), np.zeros((1, 2, 19))
    heights, constants = stack.geometry.heights, stack.settings.constants()
    start = float(heights[0, 0]) + 0.05
    values[0, :, 9:12] = values[0, :, 15:18] = 0.1, start, 0.2
    path = [start]
    for step in range(60):
        after_flags, after = np.zeros_like(flags), np.zeros_like(values)
        toe = track_toe(
            0, 0, (0.1, start + low, 0.2), False, step == 0, False, False, 0.0, heights, constants, flags, values,
            1 / 60, after_flags, after,
        )  # fmt: skip
        flags, values = after_flags, after
        path.append(toe[1])
    assert np.abs(np.diff(path)).max() * 60.0 < 2.5
    assert_allclose(path[30], start + low, atol=0.01)
    assert max(path) < start + low + 1e-3


@pytest.mark.parametrize("way", [0.3, 1.5, 3.0])
def test_a_step_to_far_away_takes_longer(stack: FootLock, way: float) -> None:
    """A locked toe whose animation stands elsewhere steps there, and no faster than `step_speed`."""
    from ambulo.control.foot_lock_kernels import track_toe

    flags, values = np.zeros((1, 2, 4), np.uint8), np.zeros((1, 2, 19))
    heights, constants = stack.geometry.heights, stack.settings.constants()
    ground = float(heights[0, 0])
    values[0, :, 9:12] = values[0, :, 15:18] = values[0, :, 0:3] = 0.1, ground, 0.2
    flags[0, :, 0] = 1  # both toes are locked where they are
    path = []
    for step in range(150):
        after_flags, after = np.zeros_like(flags), np.zeros_like(values)
        after_flags[0, 1] = flags[0, 1]
        after[0, 1] = values[0, 1]
        toe = track_toe(
            0, 0, (0.1, ground, 0.2 + way), True, step == 0, False, False, 0.0, heights, constants, flags, values,
            1 / 60, after_flags, after,
        )  # fmt: skip
        flags, values = after_flags, after
        path.append(toe[2])
    fastest = np.diff(path).max() * 60.0
    assert_allclose(path[-1], 0.2 + way, atol=0.08)
    assert fastest < stack.settings.step_speed * 1.01
    assert fastest > 0.8 * min(stack.settings.step_speed, way / stack.settings.step_duration)


def test_a_skeleton_without_legs_is_refused(database: Database) -> None:
    roles = {role: joint for role, joint in database.skeleton.roles.items() if role != "left_lower_leg"}
    with pytest.raises(SkeletonError, match="left_lower_leg"):
        leg_joints(database.skeleton.with_roles(roles))


@pytest.mark.parametrize("kind", ["stack", "blocks"])
def test_a_stick_that_never_rests_throws_no_limb(kind: str, request: pytest.FixtureRequest) -> None:
    # Nearly every step is a transition here; what each of them leaves over must not add up.
    controller = request.getfixturevalue(kind)
    rng = np.random.default_rng(1)
    wishes = rng.normal(size=(900, 2, 1, 3)) * (2.0, 0.0, 2.0)
    state, before = controller.start(), None
    for velocity, facing in wishes:
        state, pose = controller.step(state, Intent(velocity, facing), 1 / 60)
        if before is not None:
            assert np.linalg.norm(pose.global_positions - before, axis=-1).max() < 0.3
        before = pose.global_positions

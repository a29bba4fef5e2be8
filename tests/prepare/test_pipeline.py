"""The whole preparation: consistent arrays, honest notes, and clear refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.errors import MotionError, SkeletonError
from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward, forward_velocities
from ambulo.motion.motion import Motion, Note
from ambulo.motion.skeleton import Skeleton
from ambulo.prepare.pipeline import prepare_take
from ambulo.prepare.settings import PrepareSettings
from ambulo.prepare.velocities import angular, linear


@pytest.fixture
def take(walk, tmp_path):
    motion = walk(rate=30.0)
    return replace(motion, source=replace(motion.source, path=tmp_path / "take.bvh")).with_roles({})


def test_a_take_becomes_a_clip_at_the_project_s_rate(take):
    clip = prepare_take(take)
    assert clip.rate == 60.0
    assert clip.frame_count == 2 * take.frame_count - 1
    assert clip.skeleton.names[0] == "root"
    assert clip.skeleton.joint_count == take.skeleton.joint_count + 1
    assert clip.name == "walk"
    assert clip.start_time == 0.0
    assert clip.valid.all()
    for array in (clip.positions, clip.rotations, clip.velocities, clip.angular_velocities):
        assert array.dtype == np.float32
        assert array.flags.c_contiguous
        assert np.isfinite(array).all()


@pytest.mark.parametrize("rate", [30.0, 60.0, 100.0])
def test_other_rates_work(take, rate):
    clip = prepare_take(take, PrepareSettings(rate=rate))
    assert clip.rate == rate
    assert abs(clip.duration - take.duration) < 1.0 / rate


def test_velocities_are_those_of_the_arrays_and_of_the_world(take):
    clip = prepare_take(take)
    dt = 1.0 / clip.rate
    assert np.array_equal(clip.velocities, linear(clip.positions, dt))
    assert np.array_equal(clip.angular_velocities, angular(clip.rotations, dt))
    pose, velocity = forward_velocities(
        clip.positions, clip.rotations, clip.velocities, clip.angular_velocities, clip.skeleton.parents
    )
    assert np.allclose(velocity.linear[2:-2], linear(pose.positions, dt)[2:-2], atol=0.02)
    assert np.allclose(velocity.angular[2:-2], angular(pose.rotations, dt)[2:-2], atol=0.05)


def test_the_joints_are_where_the_take_has_them(take):
    clip = prepare_take(take, PrepareSettings(floor=False))
    before = forward(take.positions, take.rotations, take.skeleton.parents).positions
    after = forward(clip.positions, clip.rotations, clip.skeleton.parents).positions
    assert np.allclose(after[::2, 1:], before, atol=1e-5)


def test_the_floor_moves_the_database_s_copy_and_never_the_take(take):
    positions = take.positions.copy()
    positions[:, 0, 1] += 0.5
    high = replace(take, positions=positions)
    kept = high.positions.copy()
    clip = prepare_take(high)
    assert np.array_equal(high.positions, kept)
    note = next(note for note in clip.notes if note.code == "floor")
    assert note.warning
    assert "-" in note.message
    plain = prepare_take(take)
    assert np.allclose(clip.positions[:, 1], plain.positions[:, 1], atol=0.02)
    assert np.all(clip.positions[:, 0, 1] == 0.0)


def test_glitches_are_told_and_marked_unusable(take):
    positions = take.positions.copy()
    positions[45:, 0, 0] += 2.0
    clip = prepare_take(replace(take, positions=positions))
    note = next(note for note in clip.notes if note.code == "glitch")
    assert note.warning
    assert "moves at 6" in note.message
    assert note.message.startswith("1.47 to 1.53 s")
    off = np.flatnonzero(clip.valid == 0) / clip.rate
    assert off[0] <= 44 / 30 - 0.049
    assert off[-1] >= 45 / 30 + 0.049
    assert len(off) < 12


def test_small_pops_are_told_but_stay_usable(take):
    rotations = take.rotations.copy()
    joint = take.skeleton.index("LeftToeBase")
    rotations[40, joint] = quaternions.from_angle_axis(np.array(0.7), np.array([1.0, 0.0, 0.0]))
    clip = prepare_take(replace(take, rotations=rotations))
    assert [note.joint for note in clip.notes if note.code == "glitch"] == ["LeftToeBase"]
    assert clip.valid.all()


def test_trimming_can_be_turned_off_and_shifts_the_start(take):
    head = np.repeat(take.positions[:1], 3, axis=0)
    head[:, 0] += [5.0, 0.0, 0.0]
    positions = np.concatenate([head, take.positions])
    rotations = np.concatenate([np.repeat(take.rotations[:1], 3, axis=0), take.rotations])
    long = replace(take, positions=positions, rotations=rotations)
    clip = prepare_take(long)
    assert clip.trim is not None
    assert clip.trim.start_frame == 3
    assert clip.start_time == pytest.approx(3 / 30)
    assert any(note.code == "trim" for note in clip.notes)
    whole = prepare_take(long, PrepareSettings(trim=False))
    assert whole.frame_count == 2 * long.frame_count - 1
    assert (whole.valid == 0).any()


def test_the_reader_s_notes_come_along(take):
    note = Note("unit_guess", "centimetres, by the height of the body")
    clip = prepare_take(replace(take, source=replace(take.source, notes=(note,))))
    assert clip.notes[0] is note


@pytest.mark.parametrize("count", [0, 1, 4])
def test_too_short_a_take_is_refused_by_name(take, count):
    with pytest.raises(MotionError, match=rf"take\.bvh: the take has {count} frame.*too short.*exclude it"):
        prepare_take(take.slice(0, count))


def test_values_that_are_no_numbers_are_refused_with_joint_and_frame(take):
    positions = take.positions.copy()
    positions[7, 3, 1] = np.nan
    with pytest.raises(MotionError, match=r"take\.bvh: a position is not a number") as caught:
        prepare_take(replace(take, positions=positions))
    assert (caught.value.frame, caught.value.joint) == (7, take.skeleton.names[3])


def test_a_body_without_legs_is_refused_with_the_roles_and_the_remedy(tmp_path):
    box = Skeleton(("box", "lid"), np.array([-1, 0]), np.array([[0, 0, 0], [0, 1, 0]]))
    motion = Motion(box, np.tile(box.offsets, (60, 1, 1)), quaternions.identity((60, 2)), 60.0)
    motion = replace(motion, source=replace(motion.source, path=tmp_path / "box.bvh"))
    with pytest.raises(SkeletonError, match=r"box\.bvh: .*hips.*left_foot.*\[roles\].*box, lid"):
        prepare_take(motion)


def test_overrides_reach_the_clip_and_wrong_ones_name_the_file(take):
    clip = prepare_take(take, None, {"chest": "Spine1"})
    assert clip.skeleton.names[clip.skeleton.role("chest")] == "Spine1"
    with pytest.raises(SkeletonError, match=r"take\.bvh.*did you mean 'Spine"):
        prepare_take(take, None, {"chest": "Spinne"})


def test_bones_without_length_make_no_nan(walk):
    motion = walk().with_roles({})
    skeleton = motion.skeleton
    offsets, positions = skeleton.offsets.copy(), motion.positions.copy()
    for name in ("LeftHandMiddle1", "RightHandMiddle1", "Neck", "LeftShoulder", "RightShoulder"):
        joint = skeleton.index(name)
        offsets[joint], positions[:, joint] = 0.0, 0.0
    flat = replace(motion, skeleton=replace(skeleton, offsets=offsets), positions=positions)
    clip = prepare_take(flat)
    for array in (clip.positions, clip.rotations, clip.velocities, clip.angular_velocities):
        assert np.isfinite(array).all()


@pytest.mark.parametrize("settings", [{"rate": 0.0}, {"position_window": -1.0}, {"glitch_margin": float("nan")}])
def test_settings_that_are_not_possible_are_refused(take, settings):
    with pytest.raises(MotionError, match="not possible"):
        prepare_take(take, PrepareSettings(**settings))


def test_a_frame_time_of_hours_is_not_filled_with_frames(take):
    with pytest.raises(MotionError, match=r"0\.001 frames a second"):
        prepare_take(replace(take, rate=0.001))

"""Take ends: T-poses, jumps, ringing; and nothing where there is nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.prepare.trim import usable_range


def with_head(motion: Motion, frames: int) -> Motion:
    """The motion behind a T-pose at the origin, held for some frames."""
    skeleton = motion.skeleton
    rest = np.tile(skeleton.offsets, (frames, 1, 1))
    rest[:, 0] = [0.0, skeleton.offsets[0, 1], 0.0]
    far = motion.positions.copy()
    far[:, 0] += [3.0, 0.0, 1.0]
    identity = quaternions.identity((frames, skeleton.joint_count))
    return replace(
        motion, positions=np.concatenate([rest, far]), rotations=np.concatenate([identity, motion.rotations])
    )


def backwards(motion: Motion) -> Motion:
    return replace(motion, positions=motion.positions[::-1], rotations=motion.rotations[::-1])


def test_a_plain_take_is_left_whole(walk):
    report = usable_range(walk())
    assert (report.start_frame, report.stop_frame, report.reasons) == (0, 181, ())


@pytest.mark.parametrize("frames", [1, 5, 90])
def test_a_t_pose_and_its_jump_are_cut_at_either_end(walk, frames):
    motion = with_head(walk(), frames)
    report = usable_range(motion)
    assert (report.start_frame, report.stop_frame) == (frames, motion.frame_count)
    assert any("jump" in reason for reason in report.reasons)
    tail = usable_range(backwards(motion))
    assert (tail.start_frame, tail.stop_frame) == (0, motion.frame_count - frames)


def test_a_t_pose_without_a_jump_is_cut_where_the_body_starts_to_move(walk):
    lowering = np.clip(np.linspace(-1.0, 1.0, 121), 0.0, 1.0)
    skeleton = walk().skeleton
    rotations = quaternions.identity((121, skeleton.joint_count), float)
    for side, sign in (("left", -1.0), ("right", 1.0)):
        joint = skeleton.role(f"{side}_upper_arm")
        axis = np.tile([0.0, 0.0, 1.0], (121, 1))
        rotations[:, joint] = quaternions.from_angle_axis(sign * 1.3 * lowering, axis)
    positions = np.tile(skeleton.offsets, (121, 1, 1))
    start = usable_range(Motion(skeleton, positions, rotations, 60.0)).start_frame
    assert 59 <= start <= 66


def test_ringing_after_the_jump_is_cut_too(walk):
    motion = with_head(walk(seconds=4.0, rate=120.0), 1)
    positions = motion.positions.copy()
    # A low-pass filter's decaying oscillation in frames 1 to 6.
    positions[1:7, 0] += (np.array([0.4, -0.2, 0.1, -0.05, 0.025, -0.012]))[:, None] * [1.0, 0.0, 1.0]
    report = usable_range(replace(motion, positions=positions))
    assert 6 <= report.start_frame <= 9
    assert any("ring" in reason for reason in report.reasons)
    # In frames that come before a jump at the end nothing rings.
    tail = usable_range(backwards(with_head(walk(seconds=4.0, rate=120.0), 1)))
    assert tail.stop_frame == 481


def test_a_jump_in_the_middle_is_no_business_of_trimming(walk):
    motion = walk()
    positions = motion.positions.copy()
    positions[90:, 0, 0] += 2.0
    assert usable_range(replace(motion, positions=positions)).reasons == ()


def test_a_take_that_is_one_t_pose_is_left_whole_and_says_so(walk):
    skeleton = walk().skeleton
    motion = Motion(skeleton, np.tile(skeleton.offsets, (60, 1, 1)), quaternions.identity((60, 24)), 60.0)
    report = usable_range(motion)
    assert (report.start_frame, report.stop_frame) == (0, 60)
    assert "calibration" in report.reasons[0]


def test_without_roles_jumps_are_found_all_the_same(walk):
    motion = with_head(walk(), 2).with_roles({})
    assert usable_range(motion).start_frame == 2


@pytest.mark.parametrize("count", [0, 1, 2])
def test_tiny_motions_are_left_whole(walk, count):
    report = usable_range(walk().slice(0, count))
    assert (report.start_frame, report.stop_frame) == (0, count)

"""The probe files of bad capture: each is found, with its frames and numbers."""

from __future__ import annotations

import pytest

import ambulo
from ambulo.prepare.quality.check import check_motion


def found(cases, name, *codes):
    (motion,) = ambulo.load_all(cases / name)
    return [f for f in check_motion(motion) if f.code in codes]


def test_a_t_pose_then_a_jump(cases):
    (jump,) = found(cases, "bvh_tpose_then_jump.bvh", "head_jump", "t_pose", "speed")
    assert (jump.code, jump.start_frame, jump.stop_frame) == ("head_jump", 0, 1)
    assert jump.value == pytest.approx(94.87, abs=0.01)
    assert jump.proposal.start_frame == 1


def test_a_one_frame_spike(cases):
    (pop,) = found(cases, "bvh_one_frame_spike.bvh", "pop", "flip", "speed", "head_jump", "frozen")
    assert (pop.start_frame, pop.stop_frame, pop.joint) == (4, 5, "Spine")
    assert pop.value == pytest.approx(1200.0, abs=1.0)


def test_sliding_feet(cases):
    (slide,) = found(cases, "bvh_foot_slide.bvh", "sliding")
    assert (slide.start_frame, slide.stop_frame) == (0, 11)
    assert slide.value == pytest.approx(0.30, abs=1e-4)
    assert "90 cm/s" in slide.message


def test_a_take_below_the_floor(cases):
    (sunk,) = found(cases, "bvh_below_floor.bvh", "sunk")
    assert (sunk.start_frame, sunk.stop_frame) == (0, 4)
    assert sunk.value == pytest.approx(0.20, abs=1e-3)
    assert sunk.proposal.lift == pytest.approx(0.20, abs=1e-3)


def test_an_all_zero_pose(cases):
    (zero,) = found(cases, "amass_all_zero_pose.npz", "all_zero")
    assert (zero.start_frame, zero.stop_frame, zero.severity) == (0, 4, "error")


def test_a_frame_time_that_is_the_rate(cases):
    (rate,) = found(cases, "bvh_frame_time_is_fps.bvh", "rate")
    assert rate.proposal.rate == 30.0
    assert "30 s a frame" in rate.message


def test_a_zero_length_bone(cases):
    (bone,) = found(cases, "bvh_zero_length_bone.bvh", "zero_length")
    assert (bone.joint, bone.severity, bone.value) == ("Spine", "note", 1.0)


def test_a_spine_that_translates(cases):
    (bone,) = found(cases, "bvh_position_channels_on_all_joints.bvh", "bone_length")
    assert bone.joint == "Spine"
    assert "10.0 to 12.0 cm" in bone.message


@pytest.mark.parametrize("name", ["bvh_declares_more_frames_than_rows.bvh", "bvh_declares_fewer_frames_than_rows.bvh"])
def test_declared_against_real_frames(cases, name):
    (frames,) = found(cases, name, "frame_count")
    assert "line 17" in frames.message and "3 rows" in frames.message


def test_files_that_load_well_have_no_fault_of_motion(cases):
    faults = ("speed", "pop", "flip", "rate", "all_zero", "frozen", "unit", "head_jump", "tail_jump")
    for name in ("bvh_units_metre.bvh", "bvh_units_inch.bvh", "bvh_z_up.bvh", "pair_a_30fps.bvh", "pair_b_60fps.bvh"):
        assert found(cases, name, *faults) == [], name


def test_a_height_that_nobody_could_tell_is_not_listed(cases):
    """These stand at y = 0 but for the last bits of a float."""
    for name in ("bvh_foot_slide", "bvh_one_frame_spike", "bvh_tpose_then_jump"):
        assert not found(cases, f"{name}.bvh", "sunk", "floating")

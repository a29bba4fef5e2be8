"""The probe files of bad capture: what is wrong with each is found, where it is."""

from __future__ import annotations

import numpy as np
import pytest

import ambulo
from ambulo.motion.humanoid import with_detected_roles
from ambulo.motion.kinematics import forward_motion
from ambulo.prepare.floor import floor_height
from ambulo.prepare.glitches import find_glitches
from ambulo.prepare.trim import usable_range


def test_a_t_pose_then_a_jump(cases):
    motion = ambulo.load(cases / "bvh_tpose_then_jump.bvh", unit="centimetre")
    report = usable_range(with_detected_roles(motion))
    assert (report.start_frame, report.stop_frame) == (1, 9)
    assert any("3.16 m" in reason for reason in report.reasons)
    (jump,) = find_glitches(motion)
    assert (jump.start_frame, jump.stop_frame, jump.reason) == (0, 2, "speed")
    assert jump.value == pytest.approx(94.87, abs=0.02)


def test_a_one_frame_spike(cases):
    motion = ambulo.load(cases / "bvh_one_frame_spike.bvh", unit="centimetre")
    (pop,) = find_glitches(motion)
    assert (pop.start_frame, pop.stop_frame, pop.joint, pop.reason) == (4, 5, "Spine", "pop")
    assert pop.value == pytest.approx(1200.0, abs=1.0)


def test_a_take_below_the_floor(cases):
    motion = ambulo.load(cases / "bvh_below_floor.bvh", unit="centimetre")
    report = floor_height(with_detected_roles(motion))
    assert report.penetration == pytest.approx(0.20, abs=1e-4)
    assert report.offset == pytest.approx(0.20, abs=0.02)


def test_feet_that_glide_are_no_contacts(cases):
    from ambulo.prepare.contacts import contacts

    motion = with_detected_roles(ambulo.load(cases / "bvh_foot_slide.bvh", unit="centimetre"))
    assert not contacts(motion).any()
    feet = forward_motion(motion).positions[:, [motion.skeleton.role("left_foot"), motion.skeleton.role("right_foot")]]
    assert np.allclose(np.linalg.norm(np.diff(feet, axis=0), axis=-1) * motion.rate, 0.90, atol=1e-3)


def test_bones_without_length_prepare(cases):
    motion = ambulo.load(cases / "bvh_zero_length_bone.bvh", unit="centimetre")
    assert np.isfinite(forward_motion(motion).positions).all()
    assert with_detected_roles(motion).skeleton.roles["hips"] == motion.skeleton.index("Hips")

"""What a project knows of one take wins over what preparation would find; rates that lie are told by a build too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.errors import MotionError
from ambulo.motion.kinematics import forward
from ambulo.motion.motion import Motion
from ambulo.prepare.corrections import Corrections
from ambulo.prepare.pipeline import prepare_take
from ambulo.synthesis.performance import synthesize


@pytest.fixture(scope="module")
def stroll() -> Motion:
    return max((p.motion for p in synthesize(seed=3, minutes=0.5)), key=lambda m: m.frame_count).slice(0, 600)


def test_ends_are_cut_where_they_are_given(stroll):
    clip = prepare_take(stroll, corrections=Corrections(start_frame=30, stop_frame=500))
    assert clip.frame_count == 470
    assert clip.start_time == pytest.approx(30 / stroll.rate)
    whole = prepare_take(stroll)
    assert np.allclose(clip.rotations[100, 5], whole.rotations[130, 5], atol=1e-6)


def test_frames_to_skip_are_never_chosen(stroll):
    clip = prepare_take(stroll, corrections=Corrections(start_frame=30, skip_frames=((100, 110), (0, 31), (580, 900))))
    assert np.flatnonzero(clip.valid == 0).tolist() == [0, *range(70, 80), *range(550, 570)]


def test_frames_to_skip_follow_the_rate(stroll):
    clip = prepare_take(replace(stroll, rate=120.0), corrections=Corrections(skip_frames=((100, 121),)))
    assert np.flatnonzero(clip.valid == 0).tolist() == list(range(50, 61))


@pytest.mark.parametrize("lift", [0.0, 0.3, -0.1])
def test_the_height_is_what_is_given(stroll, lift):
    low = stroll.positions.copy()
    low[:, 0, 1] -= 0.2
    clip = prepare_take(replace(stroll, positions=low), corrections=Corrections(lift=lift))
    plain = prepare_take(stroll, corrections=Corrections(lift=0.0))
    heights = [forward(c.positions, c.rotations, c.skeleton.parents).positions[:, 1:, 1] for c in (clip, plain)]
    assert np.abs(heights[0] - heights[1] - (lift - 0.2)).max() < 1e-4


def test_no_corrections_change_nothing(stroll):
    a, b = prepare_take(stroll), prepare_take(stroll, corrections=Corrections())
    assert np.array_equal(a.positions, b.positions) and np.array_equal(a.valid, b.valid)


@pytest.mark.parametrize(
    ("given", "message"),
    [({"start_frame": 601}, "outside the take"), ({"start_frame": 596, "stop_frame": 598}, "too short")],
)
def test_ends_that_are_not_possible_are_refused(stroll, given, message):
    with pytest.raises(MotionError, match=message):
        prepare_take(stroll, corrections=Corrections(**given))


def test_a_rate_that_lies_is_told(stroll):
    notes = [note for note in prepare_take(replace(stroll, rate=240.0)).notes if note.code == "rate"]
    assert len(notes) == 1 and notes[0].warning and "60 fits" in notes[0].message
    assert not [note for note in prepare_take(stroll).notes if note.code == "rate"]

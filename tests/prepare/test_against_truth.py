"""What preparation estimates, judged by what the synthesizer knows exactly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.maths import quaternions
from ambulo.prepare.clip import PreparedClip
from ambulo.prepare.pipeline import prepare_take
from ambulo.synthesis.performance import Performance, synthesize


@pytest.fixture(scope="module")
def takes() -> list[tuple[Performance, PreparedClip]]:
    performances = synthesize(seed=1, minutes=3.0)
    # Nothing but the motion goes in: not even the roles.
    return [(each, prepare_take(each.motion.with_roles({}))) for each in performances]


def part(performance: Performance, clip: PreparedClip) -> slice:
    assert clip.trim is not None
    return slice(clip.trim.start_frame, clip.trim.start_frame + clip.frame_count)


def test_nothing_is_cut_and_no_frame_is_called_a_glitch(takes):
    for performance, clip in takes:
        assert clip.frame_count == performance.motion.frame_count
        assert clip.valid.all()


def test_all_roles_are_those_of_the_actor(takes):
    for performance, clip in takes:
        own = performance.motion.skeleton.roles
        assert clip.skeleton.roles == {role: joint + 1 for role, joint in own.items()}


def test_contacts_agree_with_the_truth(takes):
    true = np.concatenate([p.truth.contacts[part(p, c)] for p, c in takes])
    found = np.concatenate([c.contacts.astype(bool) for _, c in takes])
    hits = (true & found).sum()
    precision, recall = hits / found.sum(), hits / true.sum()
    assert recall > 0.98
    assert precision > 0.92
    assert 2 * precision * recall / (precision + recall) > 0.96


def test_the_root_is_within_centimetres_and_degrees_of_the_true_path(takes):
    for performance, clip in takes:
        truth, frames = performance.truth, part(performance, clip)
        apart = (clip.positions[:, 0] - truth.root_positions[frames])[:, [0, 2]]
        distance = np.linalg.norm(apart, axis=-1)
        assert distance.mean() < 0.04
        assert np.percentile(distance, 99) < 0.10
        ahead = quaternions.rotate(clip.rotations[:, 0], np.array([0.0, 0.0, 1.0], np.float32))
        cosine = np.sum(ahead * truth.root_directions[frames], axis=-1)
        angle = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
        assert angle.mean() < 8.0
        assert np.percentile(angle, 99) < 25.0


@pytest.mark.parametrize("wrong", [-0.20, 0.12])
def test_a_floor_at_a_wrong_height_is_found(takes, wrong):
    performance, right = takes[0]
    motion = performance.motion.slice(0, 1200)
    positions = motion.positions.copy()
    positions[:, 0, 1] += wrong
    clip = prepare_take(replace(motion, positions=positions))
    assert "floor" in {note.code for note in clip.notes}
    lowest = clip.positions[:, 1, 1] - right.positions[:1200, 1, 1]
    assert np.abs(lowest).max() < 0.02
    assert np.array_equal(clip.contacts, prepare_take(motion).contacts)

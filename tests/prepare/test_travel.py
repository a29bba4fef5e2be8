"""Clips that walk in place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion
from ambulo.prepare.pipeline import prepare_take
from ambulo.prepare.quality.check import check_motion
from ambulo.prepare.repair.repair import repair_motion
from ambulo.prepare.travel import feet_travel, with_travel
from ambulo.synthesis.performance import synthesize


def cycle(motion: Motion, speed: float) -> Motion:
    """The piece of a take that is nearest to a loop: both ends in the same pose, walking at about a speed."""
    pose = forward_motion(motion).positions.astype(np.float64)
    body = pose - pose[:, :1] * [1.0, 0.0, 1.0]
    best, found = np.inf, motion
    for start in range(0, motion.frame_count - 150, 10):
        for length in range(50, 140, 2):
            moved = np.linalg.norm(pose[start + length, 0] - pose[start, 0]) / (length / motion.rate)
            apart = np.linalg.norm(body[start + length] - body[start], axis=-1).mean()
            if abs(moved - speed) < 0.3 and apart < best:
                best, found = apart, motion.slice(start, start + length + 1)
    return found


@pytest.fixture(scope="module")
def walking() -> Motion:
    takes = [performance.motion for performance in synthesize(minutes=1.5)]
    return cycle(max(takes, key=lambda m: float(np.ptp(m.positions[:, 0, [0, 2]], axis=0).max())), 1.3)


def in_place(motion: Motion) -> Motion:
    """The same with its hips' way along the ground taken out, but for a straight line's sway."""
    positions = motion.positions.copy()
    way = positions[:, 0, [0, 2]]
    line = np.linspace(way[0], way[-1], len(way))
    positions[:, 0, 0] -= line[:, 0]
    positions[:, 0, 2] -= line[:, 1]
    return replace(motion, positions=positions)


def test_a_walk_in_place_is_found_and_its_speed_told(walking: Motion) -> None:
    wanted = np.linalg.norm(walking.positions[-1, 0, [0, 2]] - walking.positions[0, 0, [0, 2]]) / walking.duration
    travel = feet_travel(in_place(walking))
    assert travel.in_place
    assert np.linalg.norm(travel.velocity.mean(axis=0)) == pytest.approx(wanted, rel=0.08)


def test_what_travels_already_is_left_as_it_is(walking: Motion) -> None:
    assert not feet_travel(walking).in_place
    motion, way = with_travel(walking)
    assert motion is walking and way == 0.0


def test_the_way_comes_back(walking: Motion) -> None:
    moved, way = with_travel(in_place(walking))
    truth = walking.positions[-1, 0] - walking.positions[0, 0]
    came = moved.positions[-1, 0] - moved.positions[0, 0]
    assert np.linalg.norm((came - truth)[[0, 2]]) < 0.1 * np.linalg.norm(truth[[0, 2]])
    assert way == pytest.approx(np.linalg.norm(truth[[0, 2]]), rel=0.15)
    assert np.array_equal(moved.rotations, walking.rotations)


def test_a_build_says_so_or_mends_it(walking: Motion) -> None:
    stuck = in_place(walking)
    told = prepare_take(stuck)
    assert [note.code for note in told.notes if note.warning] == ["in_place"]
    assert "from_feet" in next(note.message for note in told.notes if note.code == "in_place")
    mended = prepare_take(stuck, travel="from_feet")
    assert "travel" in [note.code for note in mended.notes]
    assert "in_place" not in [note.code for note in mended.notes]
    far = [float(np.linalg.norm(clip.positions[-1, 0] - clip.positions[0, 0])) for clip in (told, mended)]
    assert far[1] > 5 * far[0]
    assert mended.contacts.mean() > told.contacts.mean() + 0.1


def test_standing_still_is_no_walk(walking: Motion) -> None:
    still = replace(
        walking,
        positions=np.repeat(walking.positions[:1], 60, axis=0),
        rotations=np.repeat(walking.rotations[:1], 60, axis=0),
    )
    travel = feet_travel(still)
    assert not travel.in_place and travel.speed < 1e-6
    assert not feet_travel(still.slice(0, 2)).in_place


def test_a_check_names_it_and_blames_no_feet(walking: Motion) -> None:
    """Feet that a repair would pin to the ground are the last thing that such a clip needs."""
    codes = {finding.code: finding for finding in check_motion(in_place(walking))}
    assert "sliding" not in codes and "from_feet" in codes["in_place"].remedy
    assert codes["in_place"].value == pytest.approx(feet_travel(in_place(walking)).speed)
    assert "in_place" not in {finding.code for finding in check_motion(walking)}
    report = repair_motion(in_place(walking))[1]
    assert "feet" not in {step.operation for step in report.steps}

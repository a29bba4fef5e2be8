"""The capture becomes footage: glitches cut it, frames count as shown, clips that were not drawn on are left out."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.database.database import Database
from ambulo.evaluation.footage import database_footage
from ambulo.evaluation.usage import array_bytes, measure_coverage, measure_latency, measure_memory
from ambulo.motion.skeleton import Skeleton
from ambulo.prepare.clip import PreparedClip


@pytest.fixture()
def database(legs: Skeleton) -> Database:
    """Three clips of 40 frames that stand at x = 0, 1, 2; frames 50 to 54 of the second are glitches."""
    clips = []
    for number in range(3):
        positions = np.tile(legs.offsets, (40, 1, 1))
        positions[:, 0, 0] = number
        rotations = np.zeros((40, 6, 4))
        rotations[..., 3] = 1.0
        valid = np.ones(40)
        if number == 1:
            valid[10:15] = 0
        still = np.zeros((40, 6, 3))
        clips.append(
            PreparedClip(f"c{number}", legs, 60.0, positions, rotations, still, still, np.ones((40, 2)), valid)
        )
    return Database.from_clips(clips)


def test_the_whole_capture(database: Database, legs: Skeleton) -> None:
    footage = database_footage(database)
    assert footage.frame_count == 120
    np.testing.assert_allclose(footage.global_positions[85], legs.rest_positions() + np.float32([2, 0, 0]), atol=1e-6)
    # Four stretches: two whole clips and the two parts of the one with a glitch.
    lengths = np.unique(footage.stretch[footage.stretch >= 0], return_counts=True)[1]
    np.testing.assert_array_equal(lengths, [40, 10, 25, 40])
    np.testing.assert_array_equal(np.flatnonzero(footage.stretch < 0), np.arange(50, 55))
    assert footage.weights[50:55].sum() == 0.0
    # No step leads over an edge: 4 stretches of n frames have n - 1 steps.
    assert int(footage.unbroken(1).sum()) == 115 - 4
    assert int(footage.unbroken(3).sum()) == 115 - 12


def test_frames_count_as_often_as_they_were_shown(database: Database) -> None:
    footage = database_footage(database, np.array([[3], [3], [4], [90]]))
    # The second clip was not drawn on.
    assert footage.frame_count == 80
    assert footage.weights[3] == 2.0 and footage.weights[4] == 1.0 and footage.weights[50] == 1.0
    assert footage.weights.sum() == 4.0
    assert footage.mean(footage.global_positions[:, 0, 0]) == pytest.approx(2.0 / 4.0)


def test_a_mean_of_nothing_is_no_number(database: Database) -> None:
    footage = database_footage(database)
    assert np.isnan(footage.mean(np.ones(120), np.zeros(120, bool)))


def test_coverage(database: Database) -> None:
    measures = measure_coverage(np.array([0, 0, 1, 2, 41, 52]), database)
    # Frame 52 is a glitch and no part of what could be used.
    assert measures["database_used"].value == pytest.approx(4 / 115 * 100)
    assert measures["clips_used"].value == pytest.approx(2 / 3 * 100)


def test_latency_leaves_the_warm_up_out() -> None:
    seconds = np.full(1000, 1e-4)
    seconds[:5] = 3.0
    seconds[-20:] = 5e-4
    measures = measure_latency(seconds, 1)
    assert measures["latency_p50"].value == pytest.approx(0.1)
    assert measures["latency_p99"].value == pytest.approx(0.5)


def test_memory_counts_each_array_once(database: Database) -> None:
    held = [
        database.positions,
        database.rotations,
        database.velocities,
        database.angular_velocities,
        database.contacts,
        database.valid,
    ]
    assert array_bytes(database) >= sum(array.nbytes for array in held)
    assert array_bytes({"a": held[0], "b": [held[0][5:], held[0]]}) == held[0].nbytes
    assert measure_memory(database)["memory"].value == pytest.approx(array_bytes(database) / 1e6)

"""What the player is given is what was recorded, to a millimetre."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ambulo.control.recording import Recording
from ambulo.database.database import Database
from ambulo.export.player_data import (
    matched_trajectory,
    motion_player_data,
    pack,
    played_clips,
    recording_player_data,
    unpack,
)


def test_arrays_survive_packing() -> None:
    random = np.random.default_rng(0)
    near = random.uniform(-20.0, 20.0, (50, 7, 3))
    assert pack(near)["dtype"] == "int16"
    np.testing.assert_allclose(unpack(pack(near)), near, atol=20.0 / 32767)
    far = near * 1000.0
    assert pack(far)["dtype"] == "float32"
    np.testing.assert_array_equal(unpack(pack(far)), far.astype(np.float32))
    np.testing.assert_array_equal(unpack(pack(near, exact=True)), near.astype(np.float32))
    flags = random.integers(0, 2, (9, 2)).astype(np.uint8)
    assert pack(flags)["dtype"] == "uint8"
    np.testing.assert_array_equal(unpack(pack(flags)), flags)
    np.testing.assert_array_equal(unpack(pack(flags.astype(bool))), flags)


@pytest.mark.parametrize("empty", [np.zeros((0, 3)), np.zeros((4, 3))])
def test_nothing_and_zeros_survive_too(empty: np.ndarray) -> None:
    np.testing.assert_array_equal(unpack(pack(empty)), empty)


def test_a_recording_round_trips(recording: Recording, database: Database) -> None:
    data = json.loads(json.dumps(recording_player_data(recording, database, title="t", subtitle="s"), allow_nan=False))
    assert (data["format"], data["version"], data["rate"], data["title"]) == ("ambulo-player", 1, 60.0, "t")
    assert data["skeleton"]["names"] == list(recording.skeleton.names)
    assert data["skeleton"]["parents"] == recording.skeleton.parents.tolist()
    assert data["skeleton"]["roles"] == dict(recording.skeleton.roles)
    assert data["skeleton"]["end_offsets"] == [None] * recording.skeleton.joint_count
    assert len(data["characters"]) == 2
    first = data["characters"][0]
    np.testing.assert_allclose(unpack(first["positions"]), recording.global_positions[:, 0], atol=1e-3)
    np.testing.assert_allclose(unpack(first["rotations"]), recording.global_rotations[:, 0], atol=1e-4)
    np.testing.assert_allclose(unpack(first["root_path"]), recording.root_positions[:, 0], atol=1e-3)
    np.testing.assert_array_equal(unpack(first["contacts"]), recording.contacts[:, 0])
    np.testing.assert_allclose(unpack(first["speed"]), 1.0, atol=1e-3)
    np.testing.assert_allclose(unpack(first["desired_speed"]), 1.0, atol=1e-3)
    assert first["transitions"] == [0, 40]
    np.testing.assert_allclose(unpack(data["paths"][0]["points"]), recording.desired_path, atol=1e-3)


def test_clips_are_told_apart_by_their_runs(database: Database) -> None:
    shown = np.concatenate([np.arange(10, 30), np.arange(60, 100), np.arange(100, 120)])
    runs = played_clips(shown, database)
    assert [(run["start"], run["stop"], run["name"]) for run in runs] == [
        (0, 20, "along_x"),
        (20, 60, "along_x"),
        (60, 80, "along_z"),
    ]
    assert [run["time"] for run in runs] == pytest.approx([10 / 60, 1.0, 0.0], abs=1e-3)
    assert played_clips([], database) == []


def test_the_matched_trajectory_lies_where_the_character_stands(recording: Recording, database: Database) -> None:
    # The frames shown come from a clip that walks along its own front; the character faces +Z.
    positions, directions = matched_trajectory(recording, database, 0, np.array([0.5, 60.0]), 30)
    expected = recording.root_positions[:30, 0] + [0.0, 0.0, 0.5]
    np.testing.assert_allclose(positions[:, 0], expected, atol=1e-5)
    # Beyond the clip's end it stays at the end: frame 99 from frame t.
    np.testing.assert_allclose(
        positions[:, 1, 2], recording.root_positions[:30, 0, 2] + (99 - np.arange(30)) / 60, atol=1e-5
    )
    np.testing.assert_allclose(directions, np.broadcast_to([0.0, 0.0, 1.0], (30, 2, 3)), atol=1e-6)


def test_long_recordings_and_crowds_are_cut(recording: Recording) -> None:
    data = recording_player_data(recording, max_frames=50, max_characters=1)
    assert len(data["characters"]) == 1
    assert data["characters"][0]["positions"]["shape"][0] == 50
    assert data["characters"][0]["transitions"] == [0, 40]


def test_motions_play_side_by_side(recording: Recording) -> None:
    motions = [recording.motion(0), recording.motion(1)]
    data = motion_player_data(motions, contacts=[recording.contacts[:, 0], None], title="two")
    np.testing.assert_allclose(unpack(data["characters"][1]["positions"]), recording.global_positions[:, 1], atol=1e-3)
    assert "contacts" in data["characters"][0] and "contacts" not in data["characters"][1]

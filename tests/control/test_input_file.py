"""Recorded inputs ask the same again, to the bit; files that say something else are refused with the reason."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from ambulo.control.input_file import load_inputs, save_inputs
from ambulo.control.recording import Recording
from ambulo.control.scripts import random_sticks
from ambulo.errors import FormatError


def recorded(count: int, steps: int = 240, tags: Any = ()) -> Recording:
    """The part of a recording that was asked: random sticks at 60 steps a second."""
    script = random_sticks(seed=2, seconds=10.0, count=count)
    still = np.zeros((count, 3), np.float32)
    intents = [script.intent(step / 60.0, still, still) for step in range(steps)]
    return cast(
        Recording,
        SimpleNamespace(
            rate=60.0,
            script="random_sticks",
            tags=(tags,) * steps,
            desired_velocity=np.stack([intent.velocity for intent in intents]),
            desired_facing=np.stack([intent.facing for intent in intents]),
        ),
    )


@pytest.mark.parametrize("count", [1, 3])
def test_inputs_play_again_to_the_bit(tmp_path: Path, count: int) -> None:
    recording = recorded(count, tags=("walk", "neutral"))
    script = load_inputs(save_inputs(recording, tmp_path / "deep" / "inputs.json"))
    assert script.name == "random_sticks" and script.tags == ("walk", "neutral")
    still = np.zeros((count, 3), np.float32)
    for step in range(240):
        intent = script.intent(step / 60.0, still, still)
        np.testing.assert_array_equal(intent.velocity, recording.desired_velocity[step])
        np.testing.assert_array_equal(intent.facing, recording.desired_facing[step])
        assert intent.required_tags == ("walk", "neutral")
    # Only changes are written: a stick that rests takes no space.
    assert len(json.loads((tmp_path / "deep" / "inputs.json").read_text())["changes"]) < 12
    assert [entry.name for entry in (tmp_path / "deep").iterdir()] == ["inputs.json"]


def test_a_file_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "hand.json"
    path.write_text(
        '{"format": "ambulo-inputs", "version": 1, "changes": [{"time": 0, "velocity": [0, 0, 1.5]},'
        ' {"time": 2, "velocity": [0, 0, 0], "facing": [1, 0, 0]}]}'
    )
    script = load_inputs(path)
    still = np.zeros((4, 3), np.float32)
    np.testing.assert_array_equal(script.intent(1.99, still, still).velocity, np.tile([0, 0, 1.5], (4, 1)))
    np.testing.assert_array_equal(script.intent(2.0, still, still).facing, np.tile([1, 0, 0], (4, 1)))


def text(changes: Any, **more: Any) -> str:
    return json.dumps({"format": "ambulo-inputs", "version": 1, "changes": changes} | more)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("not json", "no input file"),
        ("[]", "no input file"),
        ('{"format": "ambulo-inputs", "version": 1}', "changes"),
        (text([]), "asks nothing"),
        (text([{"time": 0, "velocity": [0, 0, 0]}], version=2), "version 2"),
        (text([{"time": 0, "velocity": [0, 0, 0]}], format="bvh"), "'bvh'"),
        (text([{"time": 1, "velocity": [0, 0, 0]}]), "rise from 0"),
        (text([{"time": 0, "velocity": [0, 0, 0]}, {"time": 0, "velocity": [0, 0, 1]}]), "rise from 0"),
        (text([{"time": 0, "velocity": [0, 0]}]), "velocity of change 0"),
        (text([{"time": 0, "velocity": []}]), "velocity of change 0"),
        (text([{"time": 0, "velocity": [[0, 0, 1], [0, 1]]}]), "velocity of change 0"),
        (text([{"time": 0, "velocity": [[0, 0, 1]] * 2, "facing": [[0, 0, 1]] * 3}]), "characters"),
        (text([{"time": 0, "velocity": [0, 0, 0], "speed": 3}]), "speed"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "inputs.json"
    path.write_text(content)
    with pytest.raises(FormatError, match=reason) as caught:
        load_inputs(path)
    assert caught.value.path == path


def test_a_missing_file_and_changing_tags_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        load_inputs(tmp_path / "none.json")
    recording = recorded(1)
    object.__setattr__(recording, "tags", (("walk",), ("run",)))
    with pytest.raises(FormatError, match="tags"):
        save_inputs(recording, tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []

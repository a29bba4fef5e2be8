"""Recorded inputs ask the same again, to the bit; files that say something else are refused with the reason."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from ambulo.control.asking_script import AskingScript
from ambulo.control.input_file import load_inputs, save_inputs
from ambulo.control.recording import Recording
from ambulo.control.scripts import forward, random_sticks
from ambulo.errors import ControlError, FormatError


def recorded(count: int, steps: int = 240) -> Recording:
    """The part of a recording that was asked: random sticks at 60 steps a second, tags from the second second on."""
    script = random_sticks(seed=2, seconds=10.0, count=count)
    still = np.zeros((count, 3), np.float32)
    intents = [script.intent(step / 60.0, still, still) for step in range(steps)]
    return cast(
        Recording,
        SimpleNamespace(
            rate=60.0,
            script="random_sticks",
            frame_count=steps,
            count=count,
            tags=tuple(() if step < 60 else ("walk", "neutral") for step in range(steps)),
            preferred_tags=(),
            numbers=(),
            events=(),
            desired_velocity=np.stack([intent.velocity for intent in intents]),
            desired_facing=np.stack([intent.facing for intent in intents]),
        ),
    )


@pytest.mark.parametrize("count", [1, 3])
def test_inputs_play_again_to_the_bit(tmp_path: Path, count: int) -> None:
    recording = recorded(count)
    path = tmp_path / "inputs.json"
    save_inputs(recording, path)
    script = load_inputs(path)
    still = np.zeros((count, 3), np.float32)
    for step in range(240):
        intent = script.intent(step / 60.0, still, still)
        np.testing.assert_array_equal(intent.velocity, recording.desired_velocity[step])
        np.testing.assert_array_equal(intent.facing, recording.desired_facing[step])
        assert intent.required_tags == recording.tags[step]
    # Only changes are written: a stick that rests takes no space.
    assert len(json.loads(path.read_text())["steps"]) < 12
    assert [entry.name for entry in tmp_path.iterdir()] == ["inputs.json"]
    with pytest.raises(ControlError, match=f"moves {count}"):
        script.intent(0.0, np.zeros((count + 1, 3), np.float32), np.zeros((count + 1, 3), np.float32))


def test_all_that_is_asked_plays_again(tmp_path: Path) -> None:
    asked = AskingScript(forward(), ("injured",), (("kick", 1.0), ("jump", 3.0)))
    still = np.zeros((2, 3), np.float32)
    plain = recorded(2)
    intents = [asked.intent(step / 60.0, still, still) for step in range(240)]
    numbers = [{"fatigue": np.array([0.25, 0.5 if step < 100 else 0.75], np.float32)} for step in range(240)]
    path = tmp_path / "inputs.json"
    both = SimpleNamespace(
        **vars(plain)
        | {
            "preferred_tags": tuple(intent.preferred_tags for intent in intents),
            "numbers": tuple(numbers),
            "events": tuple(intent.events() for intent in intents),
        }
    )
    save_inputs(cast(Recording, both), path)
    script = load_inputs(path)
    for step, intent in enumerate(intents):
        again = script.intent(step / 60.0, still, still)
        assert again.preferred_tags == ("injured",)
        np.testing.assert_array_equal(again.numbers["fatigue"], numbers[step]["fatigue"])
        assert [event and event[0] for event in again.events()] == [event and event[0] for event in intent.events()]
        for one, other in zip(again.events(), intent.events(), strict=True):
            assert one is not None and other is not None and one[1] == pytest.approx(other[1], abs=1e-6)
    # An event that is counted down is one event, not one a step.
    assert len(json.loads(path.read_text())["steps"]) < 15


def test_one_event_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "hand.json"
    path.write_text(text([STAND | {"event": ["kick", 0.5], "numbers": {"fatigue": 0.8}, "prefer": ["injured"]}]))
    script, still = load_inputs(path), np.zeros((1, 3), np.float32)
    assert script.intent(0.25, still, still).events() == (("kick", 0.25),)
    assert script.intent(0.75, still, still).event is None
    assert script.intent(0.0, still, still).numbers["fatigue"] == np.float32(0.8)


def test_a_file_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "hand.json"
    path.write_text(
        '{"format": "ambulo-input", "version": 1, "steps": [{"time": 0, "velocity": [0, 0, 1.5]},'
        ' {"time": 2, "velocity": [0, 0, 0], "facing": [1, 0, 0], "tags": ["idle"]}]}'
    )
    script = load_inputs(path)
    still = np.zeros((1, 3), np.float32)
    np.testing.assert_array_equal(script.intent(1.99, still, still).velocity, [[0, 0, 1.5]])
    later = script.intent(2.0, still, still)
    np.testing.assert_array_equal(later.facing, [[1, 0, 0]])
    assert later.required_tags == ("idle",)


def text(steps: Any, **more: Any) -> str:
    return json.dumps({"format": "ambulo-input", "version": 1, "steps": steps} | more)


STAND = {"time": 0, "velocity": [0, 0, 0]}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("not json", "no JSON"),
        ("[]", "no recorded input"),
        ('{"format": "ambulo-input", "version": 1}', "no steps"),
        (text([]), "no steps"),
        (text([STAND], version=2), "version 2"),
        (text([STAND], format="bvh"), "no recorded input"),
        (text([3]), r"steps\[0\] is no object"),
        (text([{"time": 1, "velocity": [0, 0, 0]}]), "rise from 0"),
        (text([STAND, STAND]), "rise from 0"),
        (text([{"time": "now", "velocity": [0, 0, 0]}]), "not a number"),
        (text([{"time": 0}]), r"steps\[0\].velocity"),
        (text([{"time": 0, "velocity": [0, 0]}]), r"steps\[0\].velocity"),
        (text([{"time": 0, "velocity": [[0, 0, 1], [0, 1]]}]), r"steps\[0\].velocity"),
        (text([{"time": 0, "velocity": [[0, 0, 1]] * 2, "facing": [[0, 0, 1]] * 3}]), r"steps\[0\].facing"),
        ('{"steps": [{"time": 0, "velocity": [0, 0, NaN]}]}', "not finite"),
        (text([STAND | {"tags": "walk"}]), r"steps\[0\].tags"),
        (text([STAND | {"prefer": "walk"}]), r"steps\[0\].prefer"),
        (text([STAND | {"numbers": [1]}]), "names of channels"),
        (text([STAND | {"numbers": {"fatigue": "much"}}]), r"numbers.fatigue is 'much'"),
        (text([STAND | {"event": ["kick"]}]), r"steps\[0\].event"),
        (text([STAND | {"event": [["kick", 1], ["kick", 2]]}]), r"steps\[0\].event"),
        ("[" * 100_000, "brackets"),
        ('{"steps": ' * 50_000, "brackets"),
        ('{"steps": [{"time": ' + "9" * 5000 + "}]}", "digits"),
        (text([STAND, STAND | {"time": 10**400}]), "too large"),
        (text([STAND, STAND | {"time": 1e300}]), "1e\\+300"),
        (text([STAND | {"velocity": [10**400, 0, 0]}]), r"steps\[0\].velocity"),
        (text([STAND | {"velocity": [1e39, 0, 0]}]), "not finite"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "inputs.json"
    path.write_text(content)
    with pytest.raises(FormatError, match=reason) as caught:
        load_inputs(path)
    assert caught.value.path == path


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "inputs.json"
    path.write_text(text([STAND]), encoding="utf-8-sig")
    assert len(load_inputs(path).times) == 1


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        load_inputs("nul\0byte.json")
    with pytest.raises(FormatError, match="cannot be read"):
        load_inputs(tmp_path / "none.json")
    with pytest.raises(ControlError, match="cannot be written"):
        save_inputs(recorded(1), tmp_path / "none" / "inputs.json")

"""Messages: what is taken, what is refused, and that the TypeScript types are current."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ambulo.studio import messages as m
from ambulo.studio import pose_messages as p
from ambulo.studio.typescript import typescript

MESSAGES_TS = Path(__file__).resolve().parents[2] / "web" / "src" / "messages.ts"


def test_typescript_types_are_current() -> None:
    assert MESSAGES_TS.read_text(encoding="utf-8") == typescript(), (
        "run `python -m ambulo.studio.typescript web/src/messages.ts`"
    )


def test_typescript_of_a_message() -> None:
    text = typescript()
    assert (
        'export interface Input {\n  type: "input";\n  velocity: [number, number];\n  facing?: [number, number];'
        in text
    )
    assert "end_offsets: (number[] | null)[];" in text
    assert "runner_up: CandidateInfo | null;" in text
    interfaces = [line for line in text.splitlines() if line.startswith("export interface")]
    known = [*vars(m).values(), *vars(p).values()]
    structs = [kind for kind in known if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    named = {kind.__name__ for kind in structs if kind is not msgspec.Struct and not kind.__name__.startswith("_")}
    assert sorted(interfaces) == sorted(f"export interface {name} {{" for name in named)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"type": "input", "velocity": [0.5, -1]}', m.Input((0.5, -1.0))),
        (
            '{"type": "input", "velocity": [0, 0], "facing": [1, 0], "sequence": 7}',
            m.Input((0.0, 0.0), (1.0, 0.0), 7),
        ),
        ('{"type": "pause", "paused": true}', m.Pause(True)),
        ('{"type": "step"}', m.Step(1)),
        ('{"type": "set_weights", "weights": {"hips velocity": 2}}', m.SetWeights({"hips velocity": 2.0})),
        ('{"type": "restart"}', m.Restart()),
    ],
)
def test_messages_are_read(text: str, message: m.ClientMessage) -> None:
    assert m.decode(text) == message


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"type": "nonsense"},
        {"type": "hello"},
        {"type": "input"},
        {"type": "input", "velocity": [0]},
        {"type": "input", "velocity": [0, 0, 0]},
        {"type": "input", "velocity": ["a", 0]},
        {"type": "input", "velocity": [1e9, 0]},
        {"type": "input", "velocity": [0, 0], "surprise": 1},
        {"type": "input", "velocity": [0, 0], "sequence": -1},
        {"type": "pause", "paused": "yes"},
        {"type": "rate", "rate": 0},
        {"type": "rate", "rate": 5},
        {"type": "step", "frames": 1_000_000},
        {"type": "rewind", "tick": 1.5},
        {"type": "rewind", "tick": -1},
        {"type": "set_weights", "weights": {"a": -1}},
        {"type": "set_weights", "weights": {f"g{i}": 1 for i in range(65)}},
        {"type": "set_tags", "required": "walk"},
        {"type": "set_tags", "required": ["x" * 201]},
        {"type": "set_tags", "required": ["x"] * 65},
        [1, 2],
        "input",
        None,
    ],
    ids=lambda value: json.dumps(value)[:50],
)
def test_what_is_no_message_is_refused(value: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        m.decode(json.dumps(value))


@pytest.mark.parametrize("text", ["", "{", "\x00", '{"type": "input", "velocity": [NaN, 0]}', "[" * 5000])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises((msgspec.DecodeError, RecursionError)):
        m.decode(text)


def test_numbers_beyond_floats_are_refused() -> None:
    with pytest.raises(msgspec.DecodeError):
        m.decode('{"type": "input", "velocity": [1e999, 0]}')


def test_server_messages_carry_their_type() -> None:
    text = m.encode(m.Problem("no", key="tags"))
    assert json.loads(text) == {"type": "problem", "message": "no", "key": "tags", "remedy": None}

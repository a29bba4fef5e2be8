"""Gameplay states emit tags and numbers; they cannot name a file, and know of no database."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ambulo.control.gameplay
from ambulo.control.gameplay.condition import parse_condition
from ambulo.control.gameplay.state_machine import GameplayState, StateMachine, Transition, load_machine
from ambulo.errors import ControlError

MACHINE = """
start = "fine"

[states.fine]

[states.hurt]
require = ["injured"]
numbers = { fatigue = 0.8 }
speed = 0.6

[states.falling]
require = "fall and not roll"
event = "landing"
event_in = 0.4

[[transitions]]
from = "fine"
to = "hurt"
when = "health < 30 and grounded"

[[transitions]]
from = "hurt"
to = "fine"
when = "health >= 30 and after 2"

[[transitions]]
from = "*"
to = "falling"
when = "not grounded"

[[transitions]]
from = "falling"
to = "fine"
when = "grounded"
"""


def test_the_package_knows_no_database() -> None:
    """S0.7: nothing that it imports can reach a clip."""
    modules = [
        f"ambulo.control.gameplay.{file.stem}" for file in Path(ambulo.control.gameplay.__path__[0]).glob("*.py")
    ]
    code = f"import sys, importlib; [importlib.import_module(name) for name in {modules!r}]\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "ambulo.control.gameplay.state_machine" in loaded
    assert not [name for name in loaded if name.startswith(("ambulo.database", "ambulo.matching", "ambulo.formats"))]


def test_states_follow_the_game() -> None:
    machine = load_machine(MACHINE)
    assert machine.values == ("grounded", "health")
    state = machine.start(2)
    names = []
    healthy, wounded = {"health": 100, "grounded": 1}, {"health": 10, "grounded": 1}
    for values in (
        [healthy, wounded],
        [healthy, {"health": 10, "grounded": 0}],
        [healthy, healthy],
        [wounded, healthy],
    ):
        state = machine.step(state, values, 0.5)
        names.append([machine.of(state, n).name for n in range(2)])
    assert names == [["fine", "hurt"], ["fine", "falling"], ["fine", "fine"], ["hurt", "fine"]]
    for _ in range(3):
        state = machine.step(state, healthy, 0.5)
        assert machine.of(state, 0).name == "hurt"
    state = machine.step(state, healthy, 0.5)
    assert machine.of(state, 0).name == "fine"


def test_steps_are_pure() -> None:
    machine = load_machine(MACHINE)
    state = machine.start(3)
    machine.step(state, {"health": 0, "grounded": 1}, 1.0)
    assert (state.index == 0).all() and (state.seconds == 0.0).all()


@pytest.mark.parametrize(
    ("text", "values", "seconds", "holds"),
    [
        ("a", {"a": 1}, 0.0, True),
        ("not a", {"a": 1}, 0.0, False),
        ("a >= -1.5 and b != 2", {"a": -1.5, "b": 3}, 0.0, True),
        ("after 2", {}, 1.9, False),
        ("after 2", {}, 2.0, True),
    ],
)
def test_conditions(text: str, values: dict[str, float], seconds: float, holds: bool) -> None:
    assert parse_condition(text).holds(values, seconds) is holds


@pytest.mark.parametrize("text", ["", "a <", "a or b", "1 < a", "__import__('os')", "a and", "walk.bvh"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(ControlError, match="condition"):
        parse_condition(text)


def test_wrong_machines_are_refused_with_the_place() -> None:
    with pytest.raises(ControlError, match="healht"):
        load_machine(MACHINE).step(load_machine(MACHINE).start(), {"healht": 3, "grounded": 1}, 0.1)
    for text, message in (
        ('[states.a]\nclip = "walk_01"\n', "never by the name of a clip"),
        ('start = "b"\n[states.a]\n', "no state 'b'"),
        ('[states.a]\n[[transitions]]\nfrom = "a"\nto = "c"\nwhen = "x"\n', "no state 'c'"),
        ('[states.a]\n[[transitions]]\nfrom = "a"\nto = "*"\nwhen = "x"\n', "no state"),
        ('[states.a]\n[[transitions]]\nfrom = "a"\n', "from, to and when"),
        ("x = 1\n", "no states"),
        ("[states\n", "cannot be read"),
    ):
        with pytest.raises(ControlError, match=message):
            load_machine(text)
    with pytest.raises(ControlError, match="different names"):
        StateMachine([GameplayState("a"), GameplayState("a")])
    with pytest.raises(ControlError, match="no state"):
        StateMachine([GameplayState("a")], [Transition("a", "b", parse_condition("x"))])


def test_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "game.toml"
    file.write_text(MACHINE)
    machine = load_machine(file)
    assert [state.name for state in machine.states] == ["fine", "hurt", "falling"]
    assert machine.states[1].numbers == {"fatigue": 0.8} and machine.states[2].require == ("fall and not roll",)
    assert np.isclose(machine.states[2].event_in, 0.4)

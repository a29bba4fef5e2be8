"""A state machine of what the game means, not of how it looks (S0.4, S0.16).

A state says which tags are asked for, which are preferred, and which numbers; a transition says when another state
begins. There is no clip in it, no blend time and no foot phase: the same machine drives any database.

::

    start = "fine"

    [states.fine]

    [states.hurt]
    require = ["injured"]
    speed = 0.6

    [[transitions]]
    from = "fine"
    to = "hurt"
    when = "health < 30"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.control.gameplay.condition import Condition, parse_condition
from ambulo.errors import ControlError, nearest_names

ANY_STATE = "*"
_STATE_KEYS = ("require", "prefer", "numbers", "speed", "event", "event_in")


@dataclass(frozen=True)
class GameplayState:
    """What is asked while the game is in this state.

    Attributes:
        name: for the game and for people.
        require: tags or questions that all that is shown must answer to.
        prefer: tags that are preferred.
        numbers: values that are wanted of numeric channels.
        speed: what the producer's speed is multiplied by.
        event: a tag whose range begins ``event_in`` seconds after the state does; empty for none.
        event_in: see there.
    """

    name: str
    require: tuple[str, ...] = ()
    prefer: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    speed: float = 1.0
    event: str = ""
    event_in: float = 0.5


@dataclass(frozen=True)
class Transition:
    """From a state (or any, ``*``) to another, when a condition holds."""

    source: str
    target: str
    when: Condition


@dataclass(frozen=True)
class MachineState:
    """Where N characters are: index of the state, int64 ``[N]``, and seconds since it began, float64 ``[N]``."""

    index: NDArray[np.int64]
    seconds: NDArray[np.float64]


class StateMachine:
    """States and transitions, checked. Steps are pure, as a controller's are.

    Args:
        states: the first is where everybody starts.
        transitions: in order; the first that holds is taken, one a step.

    Raises:
        ControlError: no states, a name twice, or a transition from or to nowhere.
    """

    def __init__(self, states: Sequence[GameplayState], transitions: Sequence[Transition] = ()) -> None:
        self.states, self.transitions = tuple(states), tuple(transitions)
        names = [state.name for state in self.states]
        if not names or len(set(names)) < len(names):
            raise ControlError(f"a machine needs states of different names, got {names}", key="states")
        for transition in self.transitions:
            for name in (transition.source, transition.target):
                if name not in names and not (name == ANY_STATE and name is transition.source):
                    raise ControlError(f"no state {name!r}; {nearest_names(name, names)}", key="transitions")
        self._names = names

    @property
    def values(self) -> tuple[str, ...]:
        """The game's values that its conditions look at, sorted."""
        return tuple(sorted({name for transition in self.transitions for name in transition.when.names}))

    def start(self, count: int = 1) -> MachineState:
        """N characters in the first state."""
        return MachineState(np.zeros(count, np.int64), np.zeros(count))

    def step(
        self, state: MachineState, values: Mapping[str, float] | Sequence[Mapping[str, float]], dt: float
    ) -> MachineState:
        """The machine ``dt`` seconds later.

        Args:
            state: not changed.
            values: of the game, for all characters or one mapping a character.
            dt: seconds.
        """
        index, seconds = state.index.copy(), state.seconds + dt
        for n in range(len(index)):
            own = values if isinstance(values, Mapping) else values[n]
            name = self._names[index[n]]
            for transition in self.transitions:
                if transition.source not in (name, ANY_STATE) or transition.target == name:
                    continue
                if transition.when.holds(own, float(seconds[n])):
                    index[n], seconds[n] = self._names.index(transition.target), 0.0
                    break
        return MachineState(index, seconds)

    def of(self, state: MachineState, character: int = 0) -> GameplayState:
        """The state that a character is in."""
        return self.states[int(state.index[character])]


def load_machine(source: str | Path) -> StateMachine:
    """A machine from TOML: a file, or the text itself where it has a line break.

    Raises:
        ControlError: the text is no machine; names the key.
    """
    path = None if isinstance(source, str) and "\n" in source else Path(source)
    try:
        data = tomllib.loads(str(source) if path is None else path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise ControlError(f"the state machine cannot be read: {error}", path=path) from None
    tables = data.get("states")
    if not isinstance(tables, dict) or not tables:
        raise ControlError("the state machine has no states", path=path, key="states")
    first = data.get("start", next(iter(tables)))
    if first not in tables:
        raise ControlError(f"no state {first!r}; {nearest_names(str(first), tables)}", path=path, key="start")
    states = [_state(name, tables[name], path) for name in sorted(tables, key=lambda name: name != first)]
    transitions = []
    for row in data.get("transitions", []):
        if not isinstance(row, dict) or set(row) != {"from", "to", "when"}:
            raise ControlError("a transition has from, to and when", path=path, key="transitions")
        transitions.append(Transition(str(row["from"]), str(row["to"]), parse_condition(str(row["when"]))))
    return StateMachine(states, transitions)


def _state(name: str, table: Any, path: Path | None) -> GameplayState:
    where = f"states.{name}"
    if not isinstance(table, dict):
        raise ControlError(f"{where} is no table", path=path, key=where)
    for key in table:
        if key not in _STATE_KEYS:
            raise ControlError(
                f"a state has no {key!r}; {nearest_names(key, _STATE_KEYS)}",
                path=path,
                key=f"{where}.{key}",
                remedy="a state asks by tags and numbers, never by the name of a clip",
            )
    values = dict(table)
    for key in ("require", "prefer"):
        tags = values.get(key, [])
        values[key] = (tags,) if isinstance(tags, str) else tuple(tags)
        if not all(isinstance(tag, str) for tag in values[key]):
            raise ControlError(f"{where}.{key} is a list of tags", path=path, key=f"{where}.{key}")
    try:
        values["numbers"] = {str(number): float(value) for number, value in values.get("numbers", {}).items()}
        values["speed"] = float(values.get("speed", 1.0))
        values["event_in"] = float(values.get("event_in", 0.5))
    except (AttributeError, TypeError, ValueError):
        raise ControlError(f"{where} has a number that is none", path=path, key=where) from None
    return GameplayState(name, **values)

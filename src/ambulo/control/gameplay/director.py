"""The director: a machine and a producer together ask a controller for what the game wants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.control.gameplay.producers import Producer
from ambulo.control.gameplay.state_machine import MachineState, StateMachine
from ambulo.control.intent import Event, Intent
from ambulo.control.missing import OnMissing

Float = NDArray[np.float32]


@dataclass(frozen=True)
class Direction:
    """What a director has said: the machine, and seconds since the start."""

    machine: MachineState
    time: float


class Director:
    """Tags and numbers from a state machine, ways from a producer. Steps are pure.

    Args:
        machine: what the game is in.
        producer: where to go: a player, a path, a mind.
        on_missing: what happens where the data has not yet what a state asks for: ``"report"`` lets the game go on
            without it and says so, ``"raise"`` stops it; see :class:`ambulo.control.intent.Intent`.
    """

    def __init__(self, machine: StateMachine, producer: Producer, on_missing: OnMissing = "report") -> None:
        self.machine = machine
        self.producer = producer
        self.on_missing = on_missing

    def start(self, count: int = 1) -> Direction:
        """N characters in the machine's first state."""
        return Direction(self.machine.start(count), 0.0)

    def step(
        self,
        said: Direction,
        positions: Float,
        facings: Float,
        values: Mapping[str, float] | Sequence[Mapping[str, float]],
        dt: float,
    ) -> tuple[Direction, Intent]:
        """What is asked now.

        Args:
            said: from the step before; not changed.
            positions, facings: float32 ``[N, 3]``, world.
            values: the game's, for all characters or one mapping a character.
            dt: seconds.
        """
        after = self.machine.step(said.machine, values, dt)
        states = [self.machine.of(after, n) for n in range(len(positions))]
        wanted = self.producer.want(said.time, positions, facings)
        speeds = np.array([[state.speed] for state in states], np.float32)
        begun = (after.seconds == 0.0) | (said.time == 0.0)
        events: tuple[Event | None, ...] = tuple(
            (state.event, state.event_in) if state.event and new else None
            for state, new in zip(states, begun, strict=True)
        )
        names = {name for state in states for name in state.numbers}
        shared = {name for name in names if all(name in state.numbers for state in states)}
        intent = Intent(
            wanted.velocity * speeds,
            wanted.facing,
            required_tags=tuple(state.require for state in states),
            preferred_tags=tuple(state.prefer for state in states),
            numbers={name: np.array([state.numbers[name] for state in states], np.float32) for name in sorted(shared)},
            event=events if any(events) else None,
            on_missing=self.on_missing,
        )
        return Direction(after, said.time + dt), intent

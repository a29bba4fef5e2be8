"""What a step refuses before the kernels see it: foreign states, intents of others, steps that go nowhere."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from ambulo.control.intent import Intent
from ambulo.errors import ControlError

SHORTEST_STEP, LONGEST_STEP = 1e-6, 10.0
"""Seconds; outside of these, speeds and springs lose all their digits."""


def check_state(state: object, kind: type, width: int, array: str) -> None:
    """Refuse a state of another controller or body, whose arrays the kernels would read beyond their ends.

    Args:
        state: what the caller was given.
        kind: the controller's own kind of state.
        width: what the second axis of the named array must be.

    Raises:
        ControlError: see above.
    """
    if type(state) is not kind or getattr(state, array).shape[1] != width:
        raise_foreign_state()


def raise_foreign_state() -> NoReturn:
    """Refuse a state that this controller cannot have made."""
    raise ControlError(
        "the state is of another controller, body or database",
        key="state",
        remedy="begin with this controller's start()",
    )


def check_step(count: int, intent: Intent, dt: float) -> None:
    """Refuse an intent of other characters, a step of nobody, and a step that goes nowhere or too far.

    Raises:
        ControlError: see above. Numbers of the intent are looked at by the kernels.
    """
    if len(intent.velocity) != count:
        raise ControlError(
            f"the intent moves {len(intent.velocity)} characters, the state has {count}",
            key="intent",
            remedy=f"give velocity and facing as [{count}, 3]",
        )
    if not count:
        raise ControlError("the state has no characters", key="state", remedy="leave the step out")
    if not isinstance(dt, float | int | np.floating | np.integer):
        raise ControlError(f"a step lasts a positive number of seconds, not {dt!r}", key="dt")
    if not (SHORTEST_STEP <= dt <= LONGEST_STEP):
        raise ControlError(
            f"a step lasts a positive number of seconds, {SHORTEST_STEP:g} to {LONGEST_STEP:g}, not {dt}",
            key="dt",
            remedy="take several steps for a longer time",
        )


def raise_not_finite(character: int) -> NoReturn:
    """Refuse a wish with NaN, infinity or an absurd speed in it."""
    raise ControlError(
        f"the wish of character {character} has a number that is not finite, or is faster than a million m/s",
        key="intent",
        remedy="check the input device or script before making the intent",
    )

"""Characters that do not do what they are told: standing when asked to go, going when asked to stand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ambulo.evaluation.measure import Measure
from ambulo.evaluation.travel import Travel

PATIENCE = 0.5  # seconds
GO = 0.3  # m/s: a wish at or above this is one to go
STANDING = 0.1  # m/s: a root slower than this stands
GOING = 0.3  # m/s: a root faster than this goes although asked to stand
PROGRESS = 0.2  # share of its speed that a braking character must have lost over the patience


def disobeying(travel: Travel) -> NDArray[np.bool_]:
    """Frames in which the root stands although asked to go, or goes although asked to stand, bool ``[T]``."""
    velocity = travel.velocities()
    speed = np.hypot(velocity[:, 0], velocity[:, 1])
    wish = travel.desired_speeds()
    disobeys: NDArray[np.bool_] = ((wish >= GO) & (speed < STANDING)) | ((wish < 1e-3) & (speed > GOING))
    return disobeys


def stuck(travel: Travel) -> NDArray[np.bool_]:
    """Frames in which it has disobeyed one and the same kind of wish for over 0.5 s, and does not get better.

    A runner who is asked to stand needs a second to brake; as long as a fifth of the speed is lost every half second
    that is an answer, and not being stuck. bool ``[T]``.
    """
    velocity = travel.velocities()
    speed = np.hypot(velocity[:, 0], velocity[:, 1])
    asked_to_go = travel.desired_speeds() >= GO
    wrong = disobeying(travel)
    lengths = run_lengths(wrong, asked_to_go)
    patience = int(PATIENCE * travel.rate)
    result = lengths > patience
    late = np.flatnonzero(result)
    braking = ~asked_to_go[late] & (speed[late] < (1.0 - PROGRESS) * speed[late - patience])
    result[late[braking]] = False
    return result


def run_lengths(mask: NDArray[np.bool_], kind: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many frames in a row, this one included, the mask is set with one kind; 0 where it is not set. ``[T]``."""
    breaks = ~mask
    breaks[1:] |= kind[1:] != kind[:-1]
    index = np.arange(len(mask))
    # The frame of a break counts as the first of a new run where the mask is set in it.
    last = np.maximum.accumulate(np.where(breaks, index, -1)) if len(mask) else index
    start = np.where(last >= 0, np.where(mask[np.maximum(last, 0)], last, last + 1), 0)
    lengths: NDArray[np.int64] = np.where(mask, index - start + 1, 0)
    return lengths


def measure_stuck(travels: Sequence[Travel]) -> dict[str, Measure]:
    """Time stuck and the longest disobedience, over all characters."""
    seconds, longest = 0.0, 0.0
    for travel in travels:
        seconds += float(stuck(travel).sum()) / travel.rate
        runs = run_lengths(disobeying(travel), travel.desired_speeds() >= GO)
        longest = max(longest, float(runs.max(initial=0)) / travel.rate)
    text = "stands (below 0.1 m/s) though asked to go (0.3 m/s or more), or goes (above 0.3 m/s) though asked to stand"
    return {
        "stuck": Measure(
            seconds,
            0.0,
            "s",
            False,
            f"Time past the first 0.5 s in which the root {text}, without losing a fifth of its speed in each 0.5 s.",
        ),
        "longest_disobedience": Measure(
            longest, 0.0, "s", False, f"Longest unbroken time in which the root {text}; braking included."
        ),
    }

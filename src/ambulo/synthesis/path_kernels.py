"""Compiled spring loop of the body's path."""

from __future__ import annotations

import math
from typing import Any

from ambulo.maths.kernels import kernel


@kernel
def follow(goals: Any, half_lives: Any, start: Any, dt: float, values: Any, rates: Any) -> None:
    """Critically damped springs towards moving goals: values and their rates ``[T, C]``; exact for a held goal."""
    for c in range(goals.shape[1]):
        x = start[c]
        v = 0.0
        for t in range(goals.shape[0]):
            values[t, c] = x
            rates[t, c] = v
            y = 2.0 * math.log(2.0) / (half_lives[t, c] + 1e-5)
            j0 = x - goals[t, c]
            j1 = v + j0 * y
            decay = math.exp(-y * dt)
            x = decay * (j0 + j1 * dt) + goals[t, c]
            v = decay * (v - j1 * y * dt)

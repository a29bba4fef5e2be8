"""What a game hands to a graph, before the graph believes it.

In a graph nothing can be refused, and what is not finite would stay in the state for ever: a pause has ``dt`` 0, a
stick that was divided by nothing is NaN. So all inputs are held within limits, in one place. What lies within them is
not changed by a bit.
"""

from __future__ import annotations

import numpy as np

from ambulo.control.step_checks import LONGEST_STEP
from ambulo.export.engine.graph import Value

SHORTEST_SECONDS, LONGEST_SECONDS = 1e-4, LONGEST_STEP
"""Of a step. Ours goes down to 1e-6, by which single precision cannot divide."""

FASTEST = 20.0
"""Metres a second that can be asked for along an axis."""

_LARGEST_FACING = 1000.0
_FINITE = float(np.finfo(np.float32).max)


def held_dt(dt: Value) -> Value:
    """Seconds of the step, at least and at most so many; what is not finite is the least."""
    g, seconds = dt.graph, finite(dt)
    return g.lesser_of(g.greater_of(seconds, SHORTEST_SECONDS), LONGEST_SECONDS)


def finite(values: Value) -> Value:
    """Numbers, 0 where one is NaN or infinite."""
    return values.graph.where(values.abs() <= _FINITE, values, 0.0)


def held_velocity(velocity: Value, per_metre: float) -> Value:
    """Rows ``[N, 3]``: what is not finite is 0; a faster one is made slower, and keeps its direction."""
    return _shortened(finite(velocity), FASTEST * per_metre)


def held_facing(facing: Value) -> Value:
    """The same of directions, whose squares must not overflow."""
    return _shortened(finite(facing), _LARGEST_FACING)


def held_tag_set(tag_set: Value, count: int) -> Value:
    """The nearest of so many places, as a float; NaN is the first."""
    g = tag_set.graph
    return (g.lesser_of(g.where(tag_set > 0.0, tag_set, 0.0), float(count - 1)) + 0.5).floor()


def _shortened(vectors: Value, limit: float) -> Value:
    """No component larger than that; by exactly 1 where none is."""
    return vectors * (limit / vectors.graph.greater_of(vectors.abs().most(1, keep=True), limit))

"""How a search method and the index meet: what the index gives to all methods, and what it gets to call."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Shared(NamedTuple):
    """Arrays that every kernel needs.

    Attributes:
        raw: float32 ``[F, D]``.
        coefficients: float64 ``[D]``, weight over scale.
        allowed: uint8 ``[F]``, frames that may go on being played.
        clip_starts: int64 ``[C]``.
        clip_stops: int64 ``[C]``.
        penalty: float32 ``[F + 1]``, not negative, added to the cost of each frame, and last what is taken off costs
            that are told; ``[0]`` for none.
    """

    raw: NDArray[np.float32]
    coefficients: NDArray[np.float64]
    allowed: NDArray[np.uint8]
    clip_starts: NDArray[np.int64]
    clip_stops: NDArray[np.int64]
    penalty: NDArray[np.float32]


class Bound(NamedTuple):
    """A kernel with everything but the queries.

    Call it as ``kernel(queries, currents, bias, surround, skips, *arguments, frames, costs, tests)``.

    Attributes:
        kernel: compiled.
        arguments: its own ones.
        arrays: what the arguments may point to and must therefore be kept as long as they are.
    """

    kernel: Any
    arguments: tuple[Any, ...]
    arrays: tuple[Any, ...]


NO_PENALTY = np.zeros(0, np.float32)
"""Where no frame has a penalty."""


def no_skips(count: int) -> NDArray[np.int64]:
    """No ranges to skip for so many queries, int64 ``[count, 0, 2]``."""
    return np.zeros((count, 0, 2), np.int64)

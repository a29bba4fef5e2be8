"""The state of characters that play a database."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.control.commitments import Commitments
from ambulo.control.memory import Memory


@dataclass(frozen=True)
class PlayerState:
    """The state of N characters that play a database.

    Attributes:
        playhead: float64 ``[N]``, the moment of the database that is shown, in frames.
        timer: float64 ``[N]``, seconds until the next search.
        wish: float64 ``[N, 3]``, desired velocity (x, z; m/s) and heading (rad) of the last search.
        impatience: float64 ``[N]``, seconds for which the body has not done what it is asked.
        root: float64 ``[N, 6]``, x, y, z (metres), heading (rad) and smoothed velocity (x, z; m/s) of the body.
        simulation: float64 ``[N, 10]``, the simulation object; columns in
            :data:`ambulo.control.simulation_object.SIMULATION_COLUMNS`.
        query: float32 ``[N, D]``, raw features of the last search.
        query_frame: int64 ``[N]``, the continuing frame of the last search, -1 where it had to leave.
        chosen_frame: int64 ``[N]``, the frame that the last search chose.
        tag_set: int64 ``[N]``, key of the frame set last searched.
        eager: bool ``[N]``, whether that search put the trajectory first, out of impatience.
        numbers: int64 ``[N]``, the numbers that it asked for: a bit for each of the schema's, in its order.
        arriving: bool ``[N]``, came from elsewhere: the next step is shown as a transition.
        memory: what was lately left.
        commitments: what must be played.
    """

    playhead: NDArray[np.float64]
    timer: NDArray[np.float64]
    wish: NDArray[np.float64]
    impatience: NDArray[np.float64]
    root: NDArray[np.float64]
    simulation: NDArray[np.float64]
    query: NDArray[np.float32]
    query_frame: NDArray[np.int64]
    chosen_frame: NDArray[np.int64]
    tag_set: NDArray[np.int64]
    eager: NDArray[np.bool_]
    numbers: NDArray[np.int64]
    arriving: NDArray[np.bool_]
    memory: Memory
    commitments: Commitments

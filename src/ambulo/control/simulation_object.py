"""The simulation object: a point with a heading that follows the wish by springs, and that the body follows.

Its steps are compiled, see :mod:`ambulo.control.simulation_kernels`; here is how it starts and where it is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float32]

SIMULATION_COLUMNS = ("x", "y", "z", "velocity_x", "velocity_z", "acceleration_x", "acceleration_z", "heading",
                      "turning", "goal_heading")  # fmt: skip
"""Columns of a state's ``simulation``: metres, m/s, m/s2, radians about +Y, rad/s, radians."""


def start_simulation(positions: Float, headings: NDArray[np.float64]) -> NDArray[np.float64]:
    """The simulation objects of standing characters, float64 ``[N, 10]``."""
    simulation = np.zeros((len(positions), len(SIMULATION_COLUMNS)))
    simulation[:, 0:3] = positions
    simulation[:, 7] = headings
    simulation[:, 9] = headings
    return simulation


def simulation_pose(simulation: NDArray[np.float64]) -> tuple[Float, Float]:
    """World positions ``[N, 3]`` and rotations ``[N, 4]`` of the simulation objects."""
    rotations = np.zeros((len(simulation), 4), np.float32)
    half = 0.5 * simulation[:, 7]
    rotations[:, 1], rotations[:, 3] = np.sin(half), np.cos(half)
    return simulation[:, 0:3].astype(np.float32), rotations

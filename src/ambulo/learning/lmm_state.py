"""What learned motion matching remembers of its characters, and the numbers that it adds to motion matching's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import ControlError

Float = NDArray[np.float32]


@dataclass(frozen=True)
class LmmSettings:
    """What learned motion matching adds to the settings of motion matching.

    Attributes:
        refresh: seconds without a jump after which the state is projected anyway: what the stepper has drifted off the
            data is then put back.
        drag: metres by which toes that stand were dragged since the last jump, after which the same is done. Between
            two frames of the data the stepper may stand still in mid-step while the body and the trajectory go on as
            wished, so that going on stays cheap and nothing else ends it.
    """

    refresh: float = 1.0
    drag: float = 0.035

    def __post_init__(self) -> None:
        for name, unit in (("refresh", "seconds"), ("drag", "metres")):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise ControlError(f"{name} must be a positive number of {unit}, not {value}", key=name)

    @property
    def latest(self) -> float:
        """Seconds with which times are compared, a hair above: a sum of steps that just meets ``refresh`` is not past
        it, whatever rounding does to the sum, in double precision here and in single precision in an exported graph."""
        return self.refresh + 1e-4


@dataclass(frozen=True)
class LmmState:
    """The state of N characters.

    Attributes:
        values: float32 ``[N, D + L]``, normalised features and latents.
        timer: float64 ``[N]``, seconds until the next projection.
        wish: float64 ``[N, 3]``, desired velocity (x, z; m/s) and heading (rad) of the last projection.
        impatience: float64 ``[N]``, seconds for which the body has not done what it is asked.
        root: float64 ``[N, 6]``, x, y, z (metres), heading (rad) and smoothed velocity (x, z; m/s) of the body.
        simulation: float64 ``[N, 10]``, the simulation object.
        since: float64 ``[N]``, seconds since the last jump.
        dragged: float64 ``[N]``, metres by which toes that stand were dragged since then.
        toes: float64 ``[N, 2, 3]``, left and right: x and z (metres, world) of the animation's toe, 1 while it stands.
        query: float32 ``[N, D]``, normalised, of the last projection.
        landed: float32 ``[N, D]``, normalised features where it landed.
        continuing: float32 ``[N, D]``, normalised features of going on, then.
        jumped: bool ``[N]``, whether it was followed.
        eager: bool ``[N]``, whether it put the trajectory first, out of impatience.
        playhead: float64 ``[N]``, the database frame that the pose is named after; -1 without a database.
    """

    values: Float
    timer: NDArray[np.float64]
    wish: NDArray[np.float64]
    impatience: NDArray[np.float64]
    root: NDArray[np.float64]
    simulation: NDArray[np.float64]
    since: NDArray[np.float64]
    dragged: NDArray[np.float64]
    toes: NDArray[np.float64]
    query: Float
    landed: Float
    continuing: Float
    jumped: NDArray[np.bool_]
    eager: NDArray[np.bool_]
    playhead: NDArray[np.float64]

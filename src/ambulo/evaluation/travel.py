"""Where a character goes and faces, beside what it is asked: the common ground of path, response and stuck measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.maths import quaternions

if TYPE_CHECKING:
    from ambulo.control.recording import Recording

VELOCITY_WINDOW = 0.1  # seconds over which a root's velocity is taken


@dataclass(frozen=True)
class Travel:
    """One character's way. T frames.

    Attributes:
        rate: frames a second.
        positions: the root, float64 ``[T, 3]``, metres.
        headings: where the root faces, float64 ``[T]``, radians from +Z towards +X.
        desired_velocity: float64 ``[T, 3]``, m/s.
        desired_facing: float64 ``[T, 3]``; zero where it shall face where it goes.
    """

    rate: float
    positions: NDArray[np.float64]
    headings: NDArray[np.float64]
    desired_velocity: NDArray[np.float64]
    desired_facing: NDArray[np.float64]

    @property
    def frame_count(self) -> int:
        """Number of frames T."""
        return len(self.positions)

    def velocities(self) -> NDArray[np.float64]:
        """Horizontal velocity of the root, float64 ``[T, 2]`` (x, z), m/s, over 0.1 s centred on the frame."""
        return horizontal_velocities(self.positions, self.rate)

    def desired_headings(self) -> NDArray[np.float64]:
        """Where it shall face, radians ``[T]``; NaN where it is asked neither to face nor to go anywhere."""
        wish = np.where(
            (np.hypot(self.desired_facing[:, 0], self.desired_facing[:, 2]) > 1e-3)[:, None],
            self.desired_facing,
            self.desired_velocity,
        )
        heading = np.arctan2(wish[:, 0], wish[:, 2])
        return np.where(np.hypot(wish[:, 0], wish[:, 2]) > 1e-3, heading, np.nan)

    def desired_speeds(self) -> NDArray[np.float64]:
        """Asked speed over the ground, float64 ``[T]``, m/s."""
        return np.hypot(self.desired_velocity[:, 0], self.desired_velocity[:, 2])


def horizontal_velocities(positions: ArrayLike, rate: float) -> NDArray[np.float64]:
    """Velocity over the ground by central differences over :data:`VELOCITY_WINDOW`, shorter at the ends.

    ``[T, 3] -> [T, 2]`` (x and z), m/s.
    """
    p = np.asarray(positions, np.float64)[:, [0, 2]]
    if len(p) < 2:
        return np.zeros_like(p)
    half = max(round(0.5 * VELOCITY_WINDOW * rate), 1)
    index = np.arange(len(p))
    before, after = np.maximum(index - half, 0), np.minimum(index + half, len(p) - 1)
    velocity: NDArray[np.float64] = (p[after] - p[before]) * (rate / (after - before))[:, None]
    return velocity


def wrap(angle: ArrayLike) -> NDArray[np.float64]:
    """The same angle in ``[-pi, pi)``."""
    wrapped: NDArray[np.float64] = (np.asarray(angle, np.float64) + np.pi) % (2.0 * np.pi) - np.pi
    return wrapped


def recording_travels(recording: Recording) -> list[Travel]:
    """One way a character of a recording."""
    return [
        Travel(
            float(recording.rate),
            np.asarray(recording.root_positions[:, n], np.float64),
            np.asarray(quaternions.to_yaw(recording.root_rotations[:, n]), np.float64),
            np.asarray(recording.desired_velocity[:, n], np.float64),
            np.asarray(recording.desired_facing[:, n], np.float64),
        )
        for n in range(recording.root_positions.shape[1])
    ]

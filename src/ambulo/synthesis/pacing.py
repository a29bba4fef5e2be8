"""When a foot steps: the tempo of steps along a path, and how a foot meets and leaves the ground at that pace."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.synthesis import gait
from ambulo.synthesis.path import BodyPath
from ambulo.synthesis.steps import LEFT, RIGHT
from ambulo.synthesis.styles import Style
from ambulo.synthesis.terrain import Terrain

Array = NDArray[np.floating]

_DEGREE = np.pi / 180.0


class Pacing:
    """Looks ahead along a path, and says how fast and how to step there."""

    def __init__(self, path: BodyPath, style: Style, terrain: Terrain, rng: np.random.Generator) -> None:
        self.path, self.style, self.terrain, self.rng = path, style, terrain, rng
        self.rate, self.last = path.rate, path.frame_count - 1
        self._speed = path.speed
        columns = [path.position, path.facing[:, None], path.velocity, path.acceleration]
        values = np.concatenate(columns, axis=1)
        self._sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])

    def frame(self, time: float) -> int:
        """The frame nearest to a time, within the path."""
        return int(min(max(round(time * self.rate), 0), self.last))

    def mean(self, start: float, stop: float) -> Array:
        """Mean of (x, z, facing, velocity x, z, acceleration x, z) over a time window."""
        a, b = self.frame(start), self.frame(stop) + 1
        values: Array = (self._sums[b] - self._sums[a]) / (b - a)
        return values

    def top_speed(self, start: float, stop: float) -> float:
        """Highest speed over a time window, m/s."""
        return float(self._speed[self.frame(start) : self.frame(stop) + 1].max())

    def turn_rate(self, start: float, stop: float) -> float:
        """Mean rate of turning over a time window, rad/s, without sign."""
        a, b = self.frame(start), self.frame(stop)
        return abs(float(self.path.facing[b] - self.path.facing[a])) / max((b - a) / self.rate, 1e-3)

    def tempo(self, time: float) -> tuple[float, float, float]:
        """Speed, running and step time for the step that begins at ``time``."""
        ahead = self.mean(time, time + 0.45)
        speed = 0.8 * self.top_speed(time, time + 0.5) + 0.2 * self.top_speed(time, time + 0.1)
        run = float(gait.run_weight(speed))
        period = float(gait.step_time(speed, run)) / self.style.tempo
        sine, cosine = np.sin(ahead[2]), np.cos(ahead[2])
        left = abs(ahead[3] * cosine - ahead[4] * sine)
        back = max(0.0, -(ahead[3] * sine + ahead[4] * cosine))
        # Sideways and backward steps are short and quick; turning on the spot takes a step every 50 degrees or so.
        period = min(period, (0.31 + 0.10 * left) / max(left, 1e-3), (0.52 + 0.06 * back) / max(back, 1e-3))
        period = min(period, 0.85 / max(self.turn_rate(time, time + 0.5), 1e-3))
        period = min(period, self._stair_time(time, speed))
        jitter = 1.0 + 0.02 * self.style.unsteady * float(self.rng.standard_normal())
        return speed, run, float(np.clip(period * np.clip(jitter, 0.85, 1.15), 0.28, 0.80 / min(self.style.tempo, 1.0)))

    def stance(self, speed: float, run: float, foot: int, period: float = 1.0) -> float:
        """Share of a stride on the ground; quick steps leave at least a quarter of a second for the swing."""
        fraction = float(gait.stance_fraction(speed, run)) + self.style.stance * (1.0 - run)
        spared = self.style.limp * (1.0 if foot == LEFT else -1.0)
        return float(np.clip(fraction - 0.05 * spared, 0.25, min(0.76, 1.0 - 0.135 / period)))

    def _stair_time(self, time: float, speed: float) -> float:
        """Longest step time that still takes every tread, s."""
        treads = self.terrain.treads
        z = float(self.path.position[self.frame(time + 0.4), 1])
        if len(treads) < 2 or not any(abs(z - tread) < 0.45 for tread in treads):
            return np.inf
        return (treads[1] - treads[0]) / max(speed, 0.2)

    def _roll(self, foot: int) -> float:
        roll = self.style.roll * (1.0 - 0.8 * self.style.drag * (foot == RIGHT))
        return roll * 0.5 if self.style.limp and foot == LEFT else roll

    def landing(self, foot: int, direction: float, pace: float, run: float) -> tuple[float, float]:
        """Pitch at landing and share of stance until the foot is flat; backward and sideways the ball lands first."""
        heel = float(gait.landing_pitch(pace, run)) * self._roll(foot)
        ahead, back = max(direction, 0.0), max(-direction, 0.0)
        pitch = ahead * heel + (1.0 - ahead - back) * -5.0 * _DEGREE + back * -15.0 * _DEGREE
        return pitch, 0.06 + 0.10 * min(1.0, abs(pitch) / (20.0 * _DEGREE))

    def push_off(self, foot: int, direction: float, pace: float, run: float) -> tuple[float, float]:
        """Pitch at lift-off and share of stance after heel rise; walking backward, the heel leaves last."""
        push = float(gait.push_off_pitch(pace, run)) * max(abs(self._roll(foot)), 0.3)
        ahead, back = max(direction, 0.0), max(-direction, 0.0)
        pitch = ahead * push + (1.0 - ahead - back) * -22.0 * _DEGREE + back * (9.0 - 25.0 * run) * _DEGREE
        return pitch, ahead * (0.46 + 0.06 * run) + (1.0 - ahead) * 0.30

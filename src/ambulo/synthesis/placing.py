"""Where a foot may stand: within reach of its hip joint, off the other foot, on a tread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.synthesis.body import BALL_FORWARD, FOOT_LENGTH, HEEL_BACK, HIP_HALF_WIDTH
from ambulo.synthesis.curves import ramp
from ambulo.synthesis.pacing import Pacing
from ambulo.synthesis.path import BodyPath
from ambulo.synthesis.steps import LEFT, Step
from ambulo.synthesis.styles import Style
from ambulo.synthesis.terrain import Terrain

Array = NDArray[np.floating]

_DEGREE = np.pi / 180.0
IDLE_HALF_WIDTH = 0.095
_REACH_LAND = 0.38  # How far from under its hip joint a foot may land, m.
_REACH_LIFT = 0.59  # How far ahead of its place the hip may be at lift-off: the heel rises.
_REACH_SIDE = 0.43  # The same to the sides and behind.
_SWIVEL = 0.65  # How far the body may turn over a standing foot before the foot swivels about its ball, radians.


class Placing:
    """Rules for the places of feet along a path."""

    def __init__(self, path: BodyPath, style: Style, terrain: Terrain, pacing: Pacing) -> None:
        self.path, self.style, self.terrain = path, style, terrain
        self.rate, self.last, self.frame = pacing.rate, pacing.last, pacing.frame

    def toe_out(self, foot: int, gain: float = 1.0) -> float:
        """How far a foot points outward, radians to the left."""
        return (1.0 if foot == LEFT else -1.0) * self.style.toe_out * gain * _DEGREE

    def home(self, foot: int, frames: NDArray[np.integer]) -> tuple[Array, Array, Array]:
        """Where a foot stands at ease: x, z and yaw."""
        yaw = self.path.facing[frames]
        side = (1.0 if foot == LEFT else -1.0) * (IDLE_HALF_WIDTH + self.style.width)
        x = self.path.position[frames, 0] + side * np.cos(yaw)
        z = self.path.position[frames, 1] - side * np.sin(yaw)
        return x, z, yaw + self.toe_out(foot, 1.4)

    def _hip(self, foot: int, frames: NDArray[np.integer]) -> Array:
        """Ground places under a hip joint ``[N, 2]``."""
        side = (HIP_HALF_WIDTH if foot == LEFT else -HIP_HALF_WIDTH) * np.ones(len(frames))
        yaw = self.path.facing[frames]
        places: Array = self.path.position[frames] + np.stack([side * np.cos(yaw), -side * np.sin(yaw)], axis=-1)
        return places

    def within_reach(
        self, foot: int, land: float, nominal: float, run: float, x: float, z: float
    ) -> tuple[float, float]:
        """Pull a place towards the body until a leg can span it at lift-off and, above all, at landing."""
        place = np.array([x, z])
        for time, limit in ((land + nominal, _REACH_LIFT - 0.05 + 0.12 * run), (land, _REACH_LAND - 0.06 * run)):
            hip = self._hip(foot, np.array([self.frame(time)]))[0]
            distance = float(np.hypot(*(place - hip)))
            if distance > limit:
                place = hip + (place - hip) * (limit / distance)
        return float(place[0]), float(place[1])

    def beside(self, foot: int, other: Step, x: float, z: float, yaw: float) -> tuple[float, float]:
        """Move a place sideways off the other foot where the two would overlap."""
        sine, cosine = np.sin(yaw), np.cos(yaw)
        dx, dz = x - other.place[0], z - other.place[1]
        left, ahead = dx * cosine - dz * sine, dx * sine + dz * cosine
        room = 0.115 * (1.0 - float(ramp(abs(ahead), 0.17, 0.30)))
        if abs(left) >= room:
            return x, z
        own = 1.0 if foot == LEFT else -1.0
        side = float(np.sign(left)) if abs(left) > 0.06 else own
        shift = side * room - left
        return float(x + shift * cosine), float(z - shift * sine)

    def ahead(self, step: Step, frames: NDArray[np.integer]) -> tuple[Array, Array]:
        """How far the hip joint is ahead and to the left of a standing foot's place, in the foot's heading, metres."""
        offset = self._hip(step.foot, frames) - np.array(step.place)
        sine, cosine = np.sin(step.yaw), np.cos(step.yaw)
        return offset[:, 0] * sine + offset[:, 1] * cosine, offset[:, 0] * cosine - offset[:, 1] * sine

    def overstretched(self, step: Step, since: float) -> float:
        """When a standing foot gets out of the leg's reach, s; infinite where not within a second and a half."""
        begin = self.frame(max(since, step.land + 0.06))
        frames = np.arange(begin, min(begin + round(1.5 * self.rate), self.last) + 1)
        ahead, left = self.ahead(step, frames)
        out = np.hypot(ahead / np.where(ahead > 0.0, _REACH_LIFT, _REACH_SIDE), left / _REACH_SIDE) > 1.0
        return float(frames[int(np.argmax(out))]) / self.rate if out.any() else np.inf

    def swivel(self, step: Step, lift: float) -> tuple[tuple[tuple[float, float], ...], float]:
        """How a standing foot turns about its ball once the body has turned far over it, and since when."""
        frames = np.arange(self.frame(step.land), self.frame(lift) + 1)
        turned = self.path.facing[frames] - step.yaw
        over = np.sign(turned) * np.maximum(np.abs(turned) - _SWIVEL, 0.0)
        if abs(over[-1]) < 0.02:
            return (), lift
        # The foot never turns back before it lifts: the run of one sign that ends here counts.
        back = np.flatnonzero(np.abs(turned) < 0.5 * _SWIVEL)
        first = int(back[-1]) if len(back) else 0
        at = np.unique(np.linspace(first, len(frames) - 1, 6).astype(int))[1:]
        keys = [(float(frames[i]) / self.rate, float(over[i])) for i in at[:-1]]
        return (*keys, (lift, float(over[-1]))), float(frames[first]) / self.rate

    def on_tread(self, other: Step, z: float, yaw: float) -> float:
        """A place on stairs moves to the middle of its tread, never more than one from the other foot's."""
        if not self.terrain.treads:
            return z
        treads = np.asarray(self.terrain.treads)
        nearest = int(np.argmin(np.abs(treads - z)))
        beside = int(np.argmin(np.abs(treads - other.place[1])))
        if abs(treads[beside] - other.place[1]) < 0.12:
            nearest = int(np.clip(nearest, beside - 1, beside + 1))
        # Ankle a little behind the middle of the tread: the whole sole fits.
        ahead = float(np.sign(np.cos(yaw)))
        if abs(treads[nearest] - z) < 0.24:
            z = float(treads[nearest]) - 0.06 * ahead
        # On the level before and behind the stairs, neither toes nor heel stand inside a step.
        for reach in (HEEL_BACK + 0.02, -(FOOT_LENGTH - HEEL_BACK + 0.02)):
            for _ in range(12):
                if float(self.terrain.height(z - reach * ahead)) <= float(self.terrain.height(z)) + 0.01:
                    break
                z += 0.025 * ahead * float(np.sign(reach))
        # Nor does the ball of the foot hang over an edge.
        for _ in range(6):
            if float(self.terrain.height(z + (BALL_FORWARD + 0.02) * ahead)) >= float(self.terrain.height(z)) - 0.01:
                break
            z -= 0.025 * ahead
        return z

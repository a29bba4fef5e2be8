"""Producers of wishes: a player with a stick, a path, and simple minds. All give the same thing (S0.3).

A producer is a pure function of time and of where the characters are, so that it can be replayed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.control import paths
from ambulo.control.controller import generator_of
from ambulo.control.scripts import WALK_SPEED, PathScript
from ambulo.errors import ControlError

Float = NDArray[np.float32]


class Wanted(NamedTuple):
    """Where N characters are to go and look, float32 ``[N, 3]``: velocity (m/s), facing (zeros: where they go)."""

    velocity: Float
    facing: Float


class Producer(Protocol):
    """Where characters are to go."""

    def want(self, time: float, positions: Float, facings: Float) -> Wanted:
        """What is wanted at ``time`` seconds of characters at ``positions`` that face ``facings``, ``[N, 3]`` each."""
        ...


@dataclass
class Player:
    """A gamepad or keyboard: set ``stick`` and ``look`` whenever they change.

    Attributes:
        speed: m/s at the stick's rim.
        dead_zone: part of the stick's way that counts as nothing.
        camera: radians about +Y, by which the camera that the stick is relative to is turned.
        stick: right and up, -1 to 1; beyond a length of 1 it counts as 1.
        look: the same for the facing; zeros mean "face where you go".
    """

    speed: float = WALK_SPEED
    dead_zone: float = 0.15
    camera: float = 0.0
    stick: tuple[float, float] = (0.0, 0.0)
    look: tuple[float, float] = (0.0, 0.0)

    def want(self, time: float, positions: Float, facings: Float) -> Wanted:
        """See :class:`Producer`."""
        return Wanted(
            np.repeat(self._world(self.stick, self.speed)[None], len(positions), axis=0),
            np.repeat(self._world(self.look, 1.0)[None], len(positions), axis=0),
        )

    def _world(self, stick: tuple[float, float], size: float) -> Float:
        right, up = stick
        length = min(float(np.hypot(right, up)), 1.0)
        if length <= self.dead_zone:
            return np.zeros(3, np.float32)
        # The stick's right is the character's -X while the camera looks along +Z.
        angle = self.camera + np.arctan2(-right, up)
        strength = size * (length - self.dead_zone) / (1.0 - self.dead_zone)
        return np.array([strength * np.sin(angle), 0.0, strength * np.cos(angle)], np.float32)


@dataclass(frozen=True)
class FollowPath:
    """Along a path on the ground."""

    path: paths.Path
    speed: float = WALK_SPEED

    def want(self, time: float, positions: Float, facings: Float) -> Wanted:
        """See :class:`Producer`."""
        intent = PathScript("path", self.path, self.speed).intent(time, positions, facings)
        return Wanted(intent.velocity, intent.facing)


@dataclass(frozen=True)
class Chase:
    """Towards a point, and stand when it is near.

    Attributes:
        target: ``[3]`` or ``[N, 3]``, metres.
        speed: m/s while it is far.
        near: metres at which to stand; the last metre before that is walked ever slower.
    """

    target: ArrayLike
    speed: float = WALK_SPEED
    near: float = 0.5

    def want(self, time: float, positions: Float, facings: Float) -> Wanted:
        """See :class:`Producer`."""
        way = np.broadcast_to(np.asarray(self.target, np.float32), positions.shape) - positions
        way = way * np.array([1.0, 0.0, 1.0], np.float32)
        distance = np.linalg.norm(way, axis=1, keepdims=True)
        speed = self.speed * np.clip(distance - self.near, 0.0, 1.0)
        velocity = (way / np.maximum(distance, 1e-6) * speed).astype(np.float32)
        return Wanted(velocity, np.zeros_like(velocity))


@dataclass(frozen=True)
class Patrol:
    """From point to point and round again, standing a while at each.

    Attributes:
        points: ``[P, 3]``, metres.
        speed: m/s.
        pause: seconds of standing at each point.
    """

    points: ArrayLike
    speed: float = WALK_SPEED
    pause: float = 1.5

    def __post_init__(self) -> None:
        points = np.asarray(self.points, np.float32)
        if points.ndim != 2 or points.shape[1] != 3 or len(points) < 2:
            raise ControlError(f"a patrol needs at least two points [P, 3], got {points.shape}", key="points")

    def want(self, time: float, positions: Float, facings: Float) -> Wanted:
        """See :class:`Producer`. Which point is next depends on the time alone, so that late ones catch up."""
        points = np.asarray(self.points, np.float32)
        legs = np.linalg.norm(np.roll(points, -1, axis=0) - points, axis=1) / self.speed + self.pause
        now = time % float(legs.sum())
        leg = int(np.searchsorted(np.cumsum(legs), now, side="right"))
        return Chase(points[(leg + 1) % len(points)], self.speed, 0.2).want(time, positions, facings)


@dataclass(frozen=True)
class Wander:
    """Anywhere, in soft turns, every character its own way; it comes back when it is far from home.

    Attributes:
        seed: decides the ways.
        speed: m/s.
        home: ``[3]``, metres.
        radius: metres from home at which it turns back.
    """

    seed: int = 0
    speed: float = 1.2
    home: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius: float = 5.0

    def want(self, time: float, positions: Float, facings: Float) -> Wanted:
        """See :class:`Producer`."""
        count = len(positions)
        generator = generator_of(self.seed)
        # Rows are drawn one character after the other: more characters do not change the ways of the first.
        draws = np.array([generator.uniform(size=6) for _ in range(count)])
        periods, phases = 5.0 + 12.0 * draws[:, :3], 2.0 * np.pi * draws[:, 3:]
        heading = 2.0 * np.sin(2.0 * np.pi * time / periods + phases).sum(axis=1) + phases[:, 0]
        way = np.stack([np.sin(heading), np.zeros(count), np.cos(heading)], axis=1)
        back = np.asarray(self.home, np.float64) - positions
        back[:, 1] = 0.0
        distance = np.linalg.norm(back, axis=1, keepdims=True)
        pull = np.clip(distance / self.radius - 0.7, 0.0, 1.0) / 0.3
        way += 2.0 * pull * back / np.maximum(distance, 1e-6)
        way /= np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-6)
        velocity = (self.speed * way).astype(np.float32)
        return Wanted(velocity, np.zeros_like(velocity))

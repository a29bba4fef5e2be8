"""Scripts: what a player would do, as a pure function of time and of where the characters are.

The same script drives every controller, so that their measures can be compared. Path scripts pursue a point ahead of
the character on a fixed path (R. C. Coulter, "Implementation of the Pure Pursuit Path Tracking Algorithm", CMU 1992).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.control import paths
from ambulo.control.controller import generator_of
from ambulo.control.intent import Intent, Tags
from ambulo.errors import ControlError, nearest_names

Float = NDArray[np.float32]

WALK_SPEED = 1.4
"""m/s, a comfortable adult walk (R. W. Bohannon, Age and Ageing 26, 1997)."""

LONGEST_STICKS = 1e6
"""Seconds of random sticks at most; they are drawn before the first step."""


class Script(Protocol):
    """What is asked of N characters at a time."""

    @property
    def name(self) -> str:
        """A short name for reports."""
        ...

    def intent(self, time: float, positions: Float, facings: Float) -> Intent:
        """The intent at ``time`` seconds of characters at ``positions [N, 3]`` that face ``facings [N, 3]``."""
        ...


@dataclass(frozen=True)
class StickScript:
    """A stick and a facing that change at given times.

    Attributes:
        name: for reports.
        times: seconds, rising, the first 0.
        velocities: float32 ``[S, 3]`` or, one row a character, ``[S, N, 3]``: m/s from each time on.
        facings: the same shape; zeros mean "face where you go".
        tags: required tags.
    """

    name: str
    times: NDArray[np.float64]
    velocities: Float
    facings: Float
    tags: Tags = ()

    def intent(self, time: float, positions: Float, facings: Float) -> Intent:
        """See :class:`Script`."""
        row = max(int(np.searchsorted(self.times, time + 1e-9, side="right")) - 1, 0)
        velocity, facing = self.velocities[row], self.facings[row]
        count = len(positions)
        if velocity.ndim == 2 and len(velocity) != count:
            raise ControlError(f"the script {self.name!r} moves {len(velocity)} characters, not {count}", key="count")
        return Intent(
            np.broadcast_to(velocity, (count, 3)), np.broadcast_to(facing, (count, 3)), required_tags=self.tags
        )


def sticks(
    name: str, changes: list[tuple[float, ArrayLike] | tuple[float, ArrayLike, ArrayLike]], tags: Tags = ()
) -> StickScript:
    """A stick script from ``(time, velocity)`` or ``(time, velocity, facing)`` entries; times in seconds, rising."""
    times = np.array([change[0] for change in changes], np.float64)
    velocities = np.array([change[1] for change in changes], np.float32)
    facings = np.array([change[2] if len(change) > 2 else (0.0, 0.0, 0.0) for change in changes], np.float32)
    if not len(times) or times[0] != 0.0 or (np.diff(times) <= 0).any():
        raise ControlError(f"the times of script {name!r} must rise from 0, got {times.tolist()}", key="times")
    return StickScript(name, times, velocities, facings, tags)


def idle(tags: Tags = ()) -> StickScript:
    """Stand."""
    return sticks("idle", [(0.0, (0, 0, 0))], tags)


def forward(speed: float = WALK_SPEED, start: float = 1.0, stop: float | None = None, tags: Tags = ()) -> StickScript:
    """Stand, walk along +Z from ``start`` seconds on, and stand again from ``stop`` on."""
    changes: list[Any] = [(0.0, (0, 0, 0)), (start, (0, 0, speed))]
    if stop is not None:
        changes.append((stop, (0, 0, 0)))
    return sticks("forward", changes, tags)


def turn(
    degrees: float, speed: float = WALK_SPEED, period: float = 3.0, count: int = 20, tags: Tags = ()
) -> StickScript:
    """Walk, and turn the stick by so many degrees every ``period`` seconds, left and right in turn."""
    changes: list[Any] = [(0.0, (0, 0, 0)), (1.0, (0, 0, speed))]
    heading = 0.0
    for step in range(count):
        heading += np.deg2rad(degrees) * (1 if step % 2 == 0 else -1)
        changes.append((1.0 + period * (step + 1), (speed * np.sin(heading), 0.0, speed * np.cos(heading))))
    return sticks(f"turn_{degrees:g}", changes, tags)


def strafe(speed: float = 1.2, period: float = 3.0, tags: Tags = ()) -> StickScript:
    """Face +Z all the time and walk left, right, back, and diagonally."""
    ways = [(1, 0), (-1, 0), (0, -1), (0.7, 0.7), (-0.7, 0.7), (0.7, -0.7), (-0.7, -0.7), (0, 1)]
    ahead = (0.0, 0.0, 1.0)
    changes: list[Any] = [(0.0, (0, 0, 0), ahead)]
    changes += [(1.0 + period * i, (speed * x, 0.0, speed * z), ahead) for i, (x, z) in enumerate(ways)]
    changes.append((1.0 + period * len(ways), (0, 0, 0), ahead))
    return sticks("strafe", changes, tags)


def random_sticks(seed: int = 0, seconds: float = 600.0, count: int = 1, tags: Tags = ()) -> StickScript:
    """A restless player: for 0.5 to 3 seconds each stands, walks or runs anywhere, one time in five facing elsewhere.

    Every character has its own stick.
    """
    if not 0.0 <= seconds <= LONGEST_STICKS:
        raise ControlError(f"random sticks last 0 to {LONGEST_STICKS:g} seconds, not {seconds:g}", key="seconds")
    generator = generator_of(seed)
    times = [0.0]
    while times[-1] < seconds:
        times.append(times[-1] + float(generator.uniform(0.5, 3.0)))
    entries = len(times)
    gait = generator.random((entries, count))
    speed = np.where(
        gait < 0.2,
        0.0,
        np.where(gait < 0.7, generator.uniform(0.8, 1.8, gait.shape), generator.uniform(2.5, 4.0, gait.shape)),
    )
    heading = generator.uniform(-np.pi, np.pi, gait.shape)
    strafing = (generator.random(gait.shape) < 0.2) & (speed > 0.0)
    # Nobody runs sideways at full speed.
    speed = np.where(strafing, np.minimum(speed, 1.5), speed)
    look = heading + generator.uniform(-np.pi, np.pi, gait.shape)
    velocities = np.stack([speed * np.sin(heading), 0 * speed, speed * np.cos(heading)], axis=-1).astype(np.float32)
    facings = np.stack([np.sin(look), 0 * look, np.cos(look)], axis=-1).astype(np.float32) * strafing[..., None]
    return StickScript("random_sticks", np.array(times), velocities, facings.astype(np.float32), tags)


@dataclass(frozen=True)
class PathScript:
    """Follow a path on the ground at a speed.

    Attributes:
        name: for reports.
        path: where to go.
        speed: m/s.
        lookahead: seconds of way ahead of the character that it heads for.
        slowdown: how much of the speed is given up for a point straight behind (corners are walked, not overrun).
        tags: required tags.
    """

    name: str
    path: paths.Path
    speed: float = WALK_SPEED
    lookahead: float = 0.65
    slowdown: float = 0.8
    tags: Tags = ()

    def desired_path(self, count: int = 400) -> Float:
        """``count`` points along the path, even in arc length, float32 ``[count, 3]``."""
        return self.path.sample(count)

    def intent(self, time: float, positions: Float, facings: Float) -> Intent:
        """See :class:`Script`."""
        target = self.path.ahead(positions, self.speed * self.lookahead)
        way = target - positions
        way[:, 1] = 0.0
        distance = np.linalg.norm(way, axis=1, keepdims=True)
        direction = way / np.maximum(distance, 1e-6)
        cosine = np.clip((direction * facings).sum(axis=1, keepdims=True), -1.0, 1.0)
        speed = self.speed * (1.0 - self.slowdown * 0.5 * (1.0 - cosine))
        return Intent((direction * speed).astype(np.float32), required_tags=self.tags)


def circle(radius: float = 2.0, speed: float = WALK_SPEED, tags: Tags = ()) -> PathScript:
    """A circle to the left that starts at the origin along +Z."""
    return PathScript("circle", paths.circle(radius), speed, tags=tags)


def square(side: float = 4.0, speed: float = WALK_SPEED, tags: Tags = ()) -> PathScript:
    """A square to the left that starts at the origin along +Z, in the middle of a side."""
    return PathScript("square", paths.square(side), speed, tags=tags)


def star(radius: float = 4.0, speed: float = WALK_SPEED, tags: Tags = ()) -> PathScript:
    """The outline of a five-pointed star."""
    return PathScript("star", paths.star(radius), speed, tags=tags)


def wave(amplitude: float = 1.5, length: float = 6.0, speed: float = WALK_SPEED, tags: Tags = ()) -> PathScript:
    """A sine wave along +Z."""
    return PathScript("wave", paths.wave(amplitude, length), speed, tags=tags)


def from_file(path: Any) -> Script:
    """A script recorded with :func:`ambulo.control.input_file.save_inputs`, or written by hand; see there."""
    from ambulo.control.input_file import load_inputs

    return load_inputs(path)


SCRIPTS: dict[str, Callable[..., Script]] = {
    "idle": idle,
    "forward": forward,
    "circle": circle,
    "square": square,
    "star": star,
    "wave": wave,
    "turn_90": lambda **options: turn(90.0, **options),
    "turn_180": lambda **options: turn(180.0, **options),
    "strafe": strafe,
    "random_sticks": random_sticks,
}
"""Scripts by the names that the command line takes."""


def create_script(name: str, **options: Any) -> Script:
    """The script of that name with options of its function (``speed``, ``tags``, ``seed``, ...).

    Raises:
        ControlError: there is none of that name; lists the nearest.
    """
    maker = SCRIPTS.get(name)
    if maker is None:
        raise ControlError(f"no script {name!r}; {nearest_names(name, SCRIPTS)}", key="script")
    try:
        return maker(**options)
    except TypeError as error:
        raise ControlError(f"the script {name!r} does not take these options: {error}", key="options") from None

"""A script that an actor follows: a sequence of wishes, written like a dance card."""

from __future__ import annotations

import numpy as np

from ambulo.formats.tag_file import TagRange
from ambulo.synthesis.curves import wrap
from ambulo.synthesis.path import Wish
from ambulo.synthesis.steps import Jump


class Script:
    """Builds a wish segment by segment.

    Headings are radians from +Z towards +X. The half-life with which the body answers varies from segment to segment
    within 0.16 to 0.29 s, and is longer where the change of speed is large: a runner does not stop like a walker.
    """

    def __init__(self, rng: np.random.Generator, rate: float) -> None:
        self.rng, self.rate = rng, rate
        self.heading = 0.0
        self.facing = 0.0
        self._velocity: list[np.ndarray] = []
        self._facing: list[np.ndarray] = []
        self._half_life: list[np.ndarray] = []
        self._turn_half_life: list[np.ndarray] = []
        self._crouch: list[np.ndarray] = []
        self._last_velocity = np.zeros(2)
        self.frames = 0
        self.tags: list[TagRange] = []
        self.jumps: list[Jump] = []

    @property
    def seconds(self) -> float:
        """Length so far."""
        return self.frames / self.rate

    def go(
        self,
        seconds: float,
        speed: float = 0.0,
        *,
        heading: float | None = None,
        turn: float = 0.0,
        facing: float | str | None = "travel",
        spin: float = 0.0,
        crouch: float = 0.0,
        half_life: float | None = None,
        tags: tuple[str, ...] = (),
    ) -> None:
        """Append one wish.

        Args:
            seconds: how long.
            speed: m/s.
            heading: new heading of travel; None keeps the old one.
            turn: rad/s by which the heading turns meanwhile.
            facing: ``"travel"`` faces where one goes, a number is a fixed heading, None keeps the facing.
            spin: rad/s by which a facing that is not ``"travel"`` turns meanwhile.
            crouch: 0 to 1.
            half_life: of the velocity; drawn at random where None.
            tags: tags of this stretch.
        """
        count = max(1, round(seconds * self.rate))
        time = np.arange(count) / self.rate
        if heading is not None:
            self.heading += float(wrap(heading - self.heading))
        headings = self.heading + turn * time
        velocity = speed * np.stack([np.sin(headings), np.cos(headings)], axis=-1)
        if facing == "travel":
            goal = self.facing + float(wrap(self.heading - self.facing))
            facings = goal + turn * time
        else:
            goal = self.facing if facing is None else self.facing + float(wrap(float(facing) - self.facing))
            facings = goal + spin * time
        change = float(np.hypot(*(velocity[0] - self._last_velocity)))
        base = float(self.rng.uniform(0.16, 0.29)) if half_life is None else half_life
        start = self.seconds
        self._velocity.append(velocity)
        self._facing.append(facings)
        self._half_life.append(np.full(count, base * max(1.0, change / 3.0)))
        self._turn_half_life.append(np.full(count, float(self.rng.uniform(0.12, 0.22))))
        self._crouch.append(np.full(count, crouch))
        self.heading, self.facing = float(headings[-1]), float(facings[-1])
        self._last_velocity = velocity[-1]
        self.frames += count
        self.tags += [TagRange(start, self.seconds, tag) for tag in tags]

    def stand(
        self, seconds: float, *, crouch: float = 0.0, facing: float | None = None, tags: tuple[str, ...] = ()
    ) -> None:
        """Append a rest, in which one may turn on the spot."""
        self.go(seconds, 0.0, facing=facing, crouch=crouch, tags=tags)

    def jump(self, after: float, flight: float, standing: bool) -> None:
        """Jump ``after`` seconds from here."""
        self.jumps.append(Jump(self.seconds + after, flight, standing))

    def wish(self) -> tuple[Wish, np.ndarray]:
        """The whole wish, and the crouch channel ``[T]``."""
        wish = Wish(
            np.concatenate(self._velocity),
            np.concatenate(self._facing),
            np.concatenate(self._half_life),
            np.concatenate(self._turn_half_life),
        )
        return wish, np.concatenate(self._crouch)

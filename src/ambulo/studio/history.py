"""The last seconds of a session, moment by moment, so that they can be shown again and played on from.

This needs nothing but that steps are pure: a kept state is a complete moment.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ambulo.control.controller import State
from ambulo.errors import StudioError


@dataclass(frozen=True)
class Wish:
    """What is asked of the character.

    Attributes:
        velocity: (x, z), m/s in the world.
        facing: direction (x, z); zeros mean "face where you go".
        sequence: number of the page's input that said so.
    """

    velocity: tuple[float, float] = (0.0, 0.0)
    facing: tuple[float, float] = (0.0, 0.0)
    sequence: int = 0


@dataclass(frozen=True)
class Moment:
    """What one step left behind.

    Attributes:
        tick: number of the step.
        state: the controller's state after it.
        body: the pose's float32 blocks, see :mod:`ambulo.studio.frames`.
        asked_points: points of the asked trajectory in it; controllers look ahead differently far.
        frame: database frame shown.
        transitioned: the playhead jumped in this step.
        wish: what was asked in it.
        required_tags: tags that were required in it.
        microseconds: what the step cost.
    """

    tick: int
    state: State
    body: bytes
    asked_points: int
    frame: int
    transitioned: bool
    wish: Wish
    required_tags: tuple[str, ...]
    microseconds: float


class History:
    """A ring of moments with consecutive ticks and a cursor on the one that is shown."""

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise StudioError(f"a history holds at least one moment, not {capacity}", key="history_seconds")
        self._moments: deque[Moment] = deque(maxlen=capacity)
        self._cursor = 0

    def __len__(self) -> int:
        return len(self._moments)

    @property
    def oldest(self) -> int:
        """Tick of the oldest moment kept."""
        return self._moments[0].tick

    @property
    def newest(self) -> int:
        """Tick of the newest moment kept."""
        return self._moments[-1].tick

    @property
    def now(self) -> Moment:
        """The moment that is shown."""
        return self._moments[self._cursor]

    @property
    def in_past(self) -> bool:
        """The moment shown is not the newest."""
        return self._cursor < len(self._moments) - 1

    def until_now(self) -> list[Moment]:
        """The moments kept, from the oldest to the one shown."""
        return [self._moments[i] for i in range(self._cursor + 1)]

    def append(self, moment: Moment) -> None:
        """Add the moment after the one shown; what came after that one before is forgotten."""
        while self.in_past:
            self._moments.pop()
        if self._moments and moment.tick != self.newest + 1:
            raise StudioError(f"moment {moment.tick} does not follow {self.newest}")
        self._moments.append(moment)
        self._cursor = len(self._moments) - 1

    def seek(self, tick: int) -> None:
        """Show the moment of a tick, or the nearest one that is kept."""
        self._cursor = min(max(tick, self.oldest), self.newest) - self.oldest

    def clear(self) -> None:
        """Forget everything; append before anything else is asked."""
        self._moments.clear()
        self._cursor = 0

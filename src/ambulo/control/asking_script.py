"""A script that asks for more than its way: preferred tags, and events at given times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.control.intent import Intent, Tags
from ambulo.control.missing import OnMissing
from ambulo.control.scripts import Script
from ambulo.errors import ControlError

Float = NDArray[np.float32]


@dataclass(frozen=True)
class AskingScript:
    """Another script, with more to ask.

    Attributes:
        script: says where to go.
        preferred_tags: of every step.
        events: tag and second of the script at which its range shall begin, in order of time.
        on_missing: what happens where the data has no such tag, see :class:`ambulo.control.intent.Intent`.
    """

    script: Script
    preferred_tags: Tags = ()
    events: tuple[tuple[str, float], ...] = ()
    on_missing: OnMissing = "raise"

    @property
    def name(self) -> str:
        """The script's name."""
        return self.script.name

    def intent(self, time: float, positions: Float, facings: Float) -> Intent:
        """See :class:`ambulo.control.scripts.Script`. The next event is counted down."""
        intent = self.script.intent(time, positions, facings)
        ahead = [(tag, at - time) for tag, at in self.events if at - time >= 0.0]
        return replace(
            intent,
            preferred_tags=self.preferred_tags or intent.preferred_tags,
            event=ahead[0] if ahead else intent.event,
            on_missing=self.on_missing,
        )

    def __getattr__(self, name: str) -> Any:
        # A path script has a path; what is asked besides changes nothing of it.
        if name == "script":
            raise AttributeError(name)
        return getattr(self.script, name)


def parse_event(text: str) -> tuple[str, float]:
    """An event from ``"kick@2.0"``: the tag, and the second at which its range begins.

    Raises:
        ControlError: it is none.
    """
    tag, _, seconds = text.rpartition("@")
    try:
        at = -1.0 if "_" in seconds else float(seconds)
    except ValueError:
        at = -1.0
    if not tag or not 0.0 <= at < 1e6:
        raise ControlError(f"{text!r} is no event", key="event", remedy="write TAG@SECONDS, such as kick@2.0")
    return tag, at

"""What a project file says about annotations: which numbers there are, and which tags exclude each other."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

NO_TRANSITION = "no_transition"
"""Reserved tag: inside such a range no jump may start or land; what plays there plays on to its end."""

JUNK = "junk"
"""Reserved tag: such frames are never shown and answer no query."""

MIRRORED = "mirrored"
"""Reserved tag: carried by every mirrored clip."""

RESERVED_TAGS = (JUNK, NO_TRANSITION, MIRRORED)


COMPUTED_CHANNELS: dict[str, str] = {"speed": "m/s", "turn_rate": "rad/s"}
"""Numbers that every frame has, computed from the root's motion, and their units."""


class NumericChannel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[channels.NAME]`` table: a number that takes are annotated with.

    Attributes:
        unit: its unit, for people; empty for a plain number.
        description: what it says.
        minimum: least possible value; None for no limit.
        maximum: greatest possible value; None for no limit.
        mirrored: what it is in a mirrored clip: ``same``, or ``negated`` where it speaks of left and right.
    """

    unit: str = ""
    description: str = ""
    minimum: float | None = None
    maximum: float | None = None
    mirrored: Literal["same", "negated"] = "same"

    def fault(self, value: float) -> str | None:
        """Why a value is not possible; None where it is."""
        low = -math.inf if self.minimum is None else self.minimum
        high = math.inf if self.maximum is None else self.maximum
        if low <= value <= high:
            return None
        limits = " and ".join(
            f"{word} {limit:g}"
            for word, limit in (("at least", self.minimum), ("at most", self.maximum))
            if limit is not None
        )
        return f"{value:g}{' ' if self.unit else ''}{self.unit} where the project allows {limits}"


class TagSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ``[tags]`` table.

    Attributes:
        exclusive: groups of tags of which a frame may carry one at most, such as ``[["walk", "run"]]``.
    """

    exclusive: tuple[tuple[str, ...], ...] = ()

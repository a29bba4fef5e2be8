"""The measure: a number, the same number on the raw capture, and exactly what it means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Measure:
    """One number about a recorded motion.

    Attributes:
        value: of the motion that a controller made; NaN where the recording holds nothing to measure.
        raw: of the capture that it was made from; None where the capture has no such number.
        unit: of both, e.g. ``"cm/s"``; empty for a bare ratio.
        higher_is_better: True, False, or None for a number that is neither good nor bad.
        definition: what exactly was computed, one or two sentences.
    """

    value: float
    raw: float | None
    unit: str
    higher_is_better: bool | None
    definition: str

    def row(self) -> dict[str, Any]:
        """``{"value", "raw", "unit", "higher_is_better"}``, ready for JSON: numbers that do not exist become None."""
        return {
            "value": _number(self.value),
            "raw": _number(self.raw),
            "unit": self.unit,
            "higher_is_better": self.higher_is_better,
        }


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)

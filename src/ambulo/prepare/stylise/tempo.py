"""The same, faster or slower."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from ambulo.prepare.stylise.draft import Draft


class Tempo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Play the take faster or slower: the same poses, at another rate.

    Attributes:
        amount: 0.25 for a quarter faster, -0.25 for a quarter slower.
    """

    amount: float

    def fault(self) -> str | None:
        """What is wrong with the numbers."""
        return None if -0.75 <= self.amount <= 3.0 else "the amount goes from -0.75 (a quarter of the tempo) to 3"

    @property
    def factor(self) -> float:
        """What the rate is multiplied by."""
        return 1.0 + self.amount

    def apply(self, draft: Draft) -> Draft:
        """Only the rate changes: no frame does."""
        return replace(draft, motion=replace(draft.motion, rate=draft.motion.rate * self.factor))

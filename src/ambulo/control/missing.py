"""What is asked for that the data does not have yet: refused, or passed over and told (S0.12).

A game's states ask for "injured" from the first day on; the takes may come later. A tool wants to hear of a tag that
nothing carries, for it is misspelt; a game must go on, with what there is, and say so. Which of the two is up to
whoever asks: :attr:`ambulo.control.intent.Intent.on_missing`.
"""

from __future__ import annotations

import warnings
from typing import Literal

from ambulo.errors import AmbuloError

OnMissing = Literal["raise", "report"]
"""``raise`` refuses what the data does not have; ``report`` passes over it and tells it."""


class MissingWarning(UserWarning):
    """Something was asked for that the data does not have; it was passed over."""


class Missing:
    """What was passed over so far: each is told once, as a :class:`MissingWarning`.

    Args:
        name: of the database or the model that does not have it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._told: set[str] = set()

    def tell(self, what: str, error: AmbuloError) -> None:
        """Warn that something is passed over, and why, unless that was done before."""
        if what in self._told:
            return
        self._told.add(what)
        whose = f"{self.name}: " if self.name else ""
        remedy = f" | {error.remedy}" if error.remedy else ""
        warnings.warn(f"{whose}{what} is passed over: {error.message}{remedy}", MissingWarning, stacklevel=2)

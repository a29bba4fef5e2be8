"""Databases in order: what the first cannot answer, a more general one may (S0.13, S0.14)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.database.database import Database
from ambulo.database.tag_query import TagQuery, as_query
from ambulo.errors import QueryError


class Answer(NamedTuple):
    """Which database of a chain answers a question, and with what.

    Attributes:
        level: its place in the chain, 0 is the first.
        database: itself.
        mask: bool ``[F]``, its frames that may be shown.
        reasons: why each database before it could not.
    """

    level: int
    database: Database
    mask: NDArray[np.bool_]
    reasons: tuple[str, ...]


class DatabaseChain:
    """Databases from the most special to the most general. Their skeletons may differ.

    Attributes:
        databases: in the order in which they are asked.
        counts: how many questions each has answered since the chain was made.
    """

    def __init__(self, databases: Sequence[Database]) -> None:
        if not databases:
            raise QueryError("a chain needs at least one database", key="databases")
        self.databases = tuple(databases)
        self.counts = [0] * len(self.databases)

    @property
    def fallback_rate(self) -> float:
        """Share of the questions so far that the first database could not answer; 0 before the first question."""
        asked = sum(self.counts)
        return (asked - self.counts[0]) / asked if asked else 0.0

    def answer(self, query: Iterable[str] | str | TagQuery, *, least_frames: int = 1) -> Answer:
        """The first database that can answer.

        Args:
            query: tags that are all required, or a question (:mod:`ambulo.database.tag_query`).
            least_frames: how many frames without glitches make an answer.

        Raises:
            QueryError: none can; with the reason of each.
        """
        question = as_query(query if isinstance(query, str | TagQuery) else tuple(query))
        reasons: list[str] = []
        for level, database in enumerate(self.databases):
            try:
                mask = question.mask(database) & np.asarray(database.valid).astype(bool)
            except QueryError as error:
                reasons.append(error.message)
                continue
            found = int(np.count_nonzero(mask))
            if found >= max(least_frames, 1):
                self.counts[level] += 1
                return Answer(level, database, mask, tuple(reasons))
            reasons.append(f"{found} frames answer, {least_frames} are needed" if found else "no frame answers")
        told = "; ".join(
            f"{database.name or f'database {level}'}: {reason}"
            for level, (database, reason) in enumerate(zip(self.databases, reasons, strict=True))
        )
        raise QueryError(f"no database of the chain answers {str(question)!r}: {told}", key=str(question))

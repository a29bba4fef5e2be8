"""What verbs that read a database say when it is older than its project."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ambulo.errors import ControlError, QueryError


@contextmanager
def telling_stale(place: Path | None) -> Iterator[None]:
    """Run a verb that reads the database of a project; where that is stale, say so on stderr.

    A question that is refused is refused with that as its remedy: a tag may be missing because it was just written.

    Args:
        place: the project or database, as it was given; None where the verb reads none.
    """
    from ambulo.database.staleness import project_of, stale_reasons

    home = None if place is None else project_of(place)
    try:
        yield
    except (QueryError, ControlError) as error:
        reasons = stale_reasons(home)
        if not reasons:
            raise
        facts = error.facts()
        facts["remedy"] = f"run `ambulo build {home}` first, the database is stale ({reasons[0]}); then: {error.remedy}"
        raise type(error)(error.message, **facts) from None
    for reason in stale_reasons(home):
        print(f"the database is stale, run `ambulo build {home}`: {reason}", file=sys.stderr)

"""What verbs that read a database say when it is older than its project."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ambulo.errors import ControlError, QueryError

_OF_THE_COMMAND = frozenset(
    {"character", "characters", "controller", "count", "fallback", "on_missing", "path", "rate", "script", "seconds",
     "seed", "speed", "tag_sets", "tags", "target"}
)  # fmt: skip
"""Keys of refusals that no build mends: an option is wrong by itself."""


@contextmanager
def telling_stale(place: Path | None) -> Iterator[None]:
    """Run a verb that reads the database of a project; where that is stale, say so on stderr.

    A question that is refused is refused with that as its remedy: a tag may be missing because it was just written.
    Options that are wrong by themselves are refused as ever.

    Args:
        place: the project or database, as it was given; None where the verb reads none.
    """
    from ambulo.database.staleness import project_of, stale_reasons

    home = None if place is None else project_of(place)
    try:
        yield
    except (QueryError, ControlError) as error:
        of_the_command = isinstance(error, ControlError) and error.key in _OF_THE_COMMAND
        reasons = () if of_the_command else stale_reasons(home)
        if not reasons:
            raise
        facts = error.facts()
        then = f"; then: {error.remedy}" if error.remedy else ""
        facts["remedy"] = f"run `ambulo build {home}` first, the database is stale ({reasons[0]}){then}"
        raise type(error)(error.message, **facts) from None
    for reason in stale_reasons(home):
        print(f"the database is stale, run `ambulo build {home}`: {reason}", file=sys.stderr)

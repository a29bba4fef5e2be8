"""Takes that are not in a database: why, and refusing to build without them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from ambulo.database.records import TakeRecord
from ambulo.database.takes import Take
from ambulo.errors import NoMotionError, ProjectError


class TakeProblem(msgspec.Struct, frozen=True):
    """A take that is not in the database, and why.

    Attributes:
        take: the file, as the project names it.
        reason: one sentence, with line, joint and remedy where known.
        kind: ``failed`` where it could not be read or prepared, ``excluded`` where it does not fit with the others,
            ``skipped`` where it holds no motion at all, such as a body's shape: no fault, and strict builds pass it.
    """

    take: str
    reason: str
    kind: str


def problems_of(
    takes: Sequence[Take], records: Sequence[TakeRecord], excluded: dict[int, str]
) -> tuple[TakeProblem, ...]:
    """The takes that are not in the database, in order."""
    problems = []
    for number, (take, record) in enumerate(zip(takes, records, strict=True)):
        if record.failure is not None:
            kind = "skipped" if record.failure.kind == NoMotionError.__name__ else "failed"
            problems.append(TakeProblem(take.label, record.failure.text, kind))
        elif number in excluded:
            problems.append(TakeProblem(take.label, excluded[number], "excluded"))
    return tuple(problems)


def refuse_problems(path: Path, problems: Sequence[TakeProblem], *, strict: bool) -> None:
    """Refuse to build; what is wrong with many takes alike, such as a joint that none of them has, is said once.

    A strict build passes over files that hold no motion at all: they are no fault.

    Args:
        path: the project file.
        problems: nothing is refused where there are none.
        strict: the build could do without those takes, but may not.

    Raises:
        ProjectError: with the first few of them.
    """
    if strict:
        problems = [problem for problem in problems if problem.kind != "skipped"]
    if not problems:
        return
    takes: dict[str, list[str]] = {}
    for problem in problems:
        takes.setdefault(problem.reason, []).append(problem.take)
    if len(problems) > 1 and len(takes) == 1:
        (reason,) = takes
        message, _, advice = reason.partition(" | ")
        text = f"{len(problems)} of its takes cannot be used, all for one reason: {message}"
    else:
        advice = ""
        parts = [
            f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {reason}"
            for reason, names in list(takes.items())[:5]
        ]
        rest = sum(len(names) for names in list(takes.values())[5:])
        text = f"{len(problems)} of its takes cannot be used: {'; '.join(parts)}" + (
            f"; and {rest} more" if rest else ""
        )
    remedy = advice or "mend or exclude them"
    raise ProjectError(text, path=path, remedy=f"{remedy}, or build without --strict" if strict else remedy)

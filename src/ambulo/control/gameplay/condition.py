"""Conditions of transitions, as short text on named values: ``"health < 30 and not swimming"``, ``"after 2.5"``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ambulo.errors import ControlError, nearest_names

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_TERM = re.compile(
    r"after\s+(?P<seconds>\d+(\.\d*)?)"
    r"|(?P<name>[a-z_]\w*)\s*(?P<sign><=|>=|==|!=|<|>)\s*(?P<number>-?\d+(\.\d*)?)"
    r"|(?P<negation>not\s+)?(?P<flag>[a-z_]\w*)"
)


class Term(NamedTuple):
    """One comparison: a value (the time in the state for an empty name), a sign and a number."""

    name: str
    sign: str
    number: float


class Condition(NamedTuple):
    """All terms must hold.

    Attributes:
        text: as it was written.
        terms: parsed.
    """

    text: str
    terms: tuple[Term, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The values that it looks at."""
        return tuple(term.name for term in self.terms if term.name)

    def holds(self, values: Mapping[str, float], seconds: float) -> bool:
        """Whether it is true of some values, ``seconds`` after the state was entered.

        Raises:
            ControlError: a value is missing; lists the nearest.
        """
        for term in self.terms:
            if term.name and term.name not in values:
                raise ControlError(
                    f"the condition {self.text!r} needs the value {term.name!r}; {nearest_names(term.name, values)}",
                    key=term.name,
                )
            value = float(values[term.name]) if term.name else seconds
            if not _COMPARISONS[term.sign](value, term.number):
                return False
        return True


def parse_condition(text: str) -> Condition:
    """A condition from its text.

    Raises:
        ControlError: it is no condition; says which part.
    """
    terms = []
    for part in re.split(r"\s+and\s+", text.strip()):
        match = _TERM.fullmatch(part)
        if match is None:
            raise ControlError(
                f"{part!r} is no condition" if part else "a condition is empty",
                key="when",
                remedy="write terms such as 'health < 30', 'swimming', 'not swimming' or 'after 2', with 'and' between",
            )
        if match["seconds"]:
            terms.append(Term("", ">=", float(match["seconds"]) - 1e-9))
        elif match["name"]:
            terms.append(Term(match["name"], match["sign"], float(match["number"])))
        else:
            terms.append(Term(match["flag"], "==" if match["negation"] else "!=", 0.0))
    return Condition(text, tuple(terms))

"""One ``[[stylise]]`` entry of ``ambulo.toml``: takes that are made of others by operators, and their tags."""

from __future__ import annotations

import re

import msgspec

from ambulo.prepare.stylise.style import Operator

_NAME = re.compile(r"[A-Za-z0-9][\w-]*")


class StyleSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Takes made of takes. Each has the tags of its base, ``stylised``, and those of the entry.

    Attributes:
        name: of the style; a take made of ``takes/walk_01.bvh`` is called ``takes/walk_01.bvh@name``.
        takes: which takes, by the names that reports call them; ``**`` crosses folders.
        of_tags: only takes that carry all of these, on some of their frames at least.
        operators: what is done, in order.
        tags: what the new takes carry beside the tags of their base.
        without: tags of the base that the new takes do not carry.
    """

    name: str
    takes: tuple[str, ...] = ("**/*",)
    of_tags: tuple[str, ...] = ()
    operators: tuple[Operator, ...]
    tags: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def fault(self) -> tuple[str, str] | None:
        """The first value that is not possible, as its key and what is wrong with it; None where all are."""
        if _NAME.fullmatch(self.name) is None:
            return "name", f"{self.name!r} cannot be the name of a style: use letters, digits, '_' and '-'"
        if not self.operators:
            return "operators", "a style without operators changes nothing"
        for operator in self.operators:
            fault = operator.fault()
            if fault is not None:
                return "operators", fault
        return None

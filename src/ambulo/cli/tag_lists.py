"""Tags and questions in the options of verbs: parted by commas, but for those that a question itself has."""

from __future__ import annotations

from collections.abc import Iterable


def split_tags(texts: Iterable[str]) -> tuple[str, ...]:
    """The tags and questions of an option that may be given several times: ``walk,before(jump, 0.5)`` are two."""
    found: list[str] = []
    for text in texts:
        depth, quote, begin = 0, "", 0
        for place, sign in enumerate(text):
            if quote:
                quote = "" if sign == quote else quote
            elif sign in "\"'":
                quote = sign
            elif sign in "()":
                depth += 1 if sign == "(" else -1
            elif sign == "," and depth <= 0:
                found.append(text[begin:place])
                begin = place + 1
        found.append(text[begin:])
    return tuple(part for part in map(str.strip, found) if part)

"""Questions to a database: tags and numbers combined by an algebra, compiled to ranges of frames.

::

    walk and not turn
    (injured or tired) and speed > 1.2
    before("jump", 0.5)             the half second that leads to a jump
    after("jump", 1) and run        the second that follows one
    within("cut_scene", 2)          a cut-scene and two seconds on either side

``not`` binds closest, then ``and``, then ``or``. A tag that is also a word of the language, or begins with one, stands
in quotes. Frames with the tag ``junk`` answer no question that does not name it.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.database.annotation_settings import JUNK
from ambulo.database.range_algebra import Ranges, complement, intersection, mask_to_ranges, no_ranges, union, widen
from ambulo.database.tags import ranges_to_mask, unknown_tag
from ambulo.errors import QueryError
from ambulo.formats.tag_file import is_tag, normalize_tag

if TYPE_CHECKING:
    from ambulo.database.database import Database

COMPARISONS: dict[str, Callable[[NDArray[np.float32], float], NDArray[np.bool_]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_NEAR = ("before", "after", "within")
_WORDS = ("and", "or", "not")
_DEEPEST = 64
_SHOWN = 40


class TagQuery:
    """A parsed question; make one with :func:`parse_query`. Equal questions compare and hash equal."""

    def ranges(self, database: Database, *, junk: bool = False) -> Ranges:
        """The frames that answer it: int64 ``[n, 2]``, half-open, sorted, merged.

        Args:
            database: whose frames.
            junk: also frames that are ``junk``; else they answer only a question that names that tag.

        Raises:
            QueryError: a tag or number that the database does not know; lists the nearest ones.
        """
        found = self._ranges(database)
        if junk or JUNK not in database.tags or JUNK in self._names():
            return found
        return intersection(found, complement(database.tags[JUNK], database.frame_count))

    def mask(self, database: Database, *, junk: bool = False) -> NDArray[np.bool_]:
        """The same as bool ``[F]``."""
        return ranges_to_mask(self.ranges(database, junk=junk), database.frame_count)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that it names, sorted."""
        return tuple(sorted(self._names()))

    def _ranges(self, database: Database) -> Ranges:
        raise NotImplementedError

    def _names(self) -> set[str]:
        return set()


@dataclass(frozen=True)
class Tag(TagQuery):
    """Frames that carry a tag."""

    name: str

    def __str__(self) -> str:
        return self.name if self.name not in (*_WORDS, *_NEAR) else json.dumps(self.name)

    def _ranges(self, database: Database) -> Ranges:
        found = database.tags.get(self.name)
        if found is None:
            raise unknown_tag(self.name, database.tags)
        return found

    def _names(self) -> set[str]:
        return {self.name}


@dataclass(frozen=True)
class Near(TagQuery):
    """Frames in the seconds before, after or around the ranges of a tag; never beyond the clip."""

    side: Literal["before", "after", "within"]
    tag: Tag
    seconds: float

    def __str__(self) -> str:
        return f"{self.side}({json.dumps(self.tag.name)}, {self.seconds:g})"

    def _ranges(self, database: Database) -> Ranges:
        ranges = self.tag._ranges(database)
        frames = min(math.ceil(self.seconds * database.rate - 1e-6), database.frame_count)
        before, after = frames * (self.side != "after"), frames * (self.side != "before")
        wide = widen(ranges, before, after, database.clip_starts, database.clip_stops)
        return wide if self.side == "within" else intersection(wide, complement(ranges, database.frame_count))

    def _names(self) -> set[str]:
        return {self.tag.name}


@dataclass(frozen=True)
class Comparison(TagQuery):
    """Frames whose number compares so; a frame without the number never does."""

    channel: str
    sign: str
    value: float

    def __str__(self) -> str:
        return f"{self.channel} {self.sign} {self.value!r}"

    def _ranges(self, database: Database) -> Ranges:
        numbers = database.number(self.channel)
        return mask_to_ranges(COMPARISONS[self.sign](numbers, self.value) & ~np.isnan(numbers))


@dataclass(frozen=True)
class Not(TagQuery):
    """Frames that do not answer a question."""

    part: TagQuery

    def __str__(self) -> str:
        return f"not {_wrapped(self.part)}"

    def _ranges(self, database: Database) -> Ranges:
        return complement(self.part._ranges(database), database.frame_count)

    def _names(self) -> set[str]:
        return self.part._names()


@dataclass(frozen=True)
class All(TagQuery):
    """Frames that answer every one of some questions; all frames for none."""

    parts: tuple[TagQuery, ...] = field(default=())

    def __str__(self) -> str:
        return " and ".join(map(_wrapped, self.parts))

    def _ranges(self, database: Database) -> Ranges:
        return reduce(
            intersection,
            (part._ranges(database) for part in self.parts),
            complement(no_ranges(), database.frame_count),
        )

    def _names(self) -> set[str]:
        return set().union(*(part._names() for part in self.parts))


@dataclass(frozen=True)
class Any(TagQuery):
    """Frames that answer one of some questions."""

    parts: tuple[TagQuery, ...]

    def __str__(self) -> str:
        return " or ".join(map(_wrapped, self.parts))

    def _ranges(self, database: Database) -> Ranges:
        return reduce(union, (part._ranges(database) for part in self.parts), no_ranges())

    def _names(self) -> set[str]:
        return set().union(*(part._names() for part in self.parts))


def _wrapped(query: TagQuery) -> str:
    return f"({query})" if isinstance(query, All | Any) and len(query.parts) != 1 else str(query)


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


_TOKEN = re.compile(
    r"""\s*(?:(?P<open>\()|(?P<close>\))|(?P<comma>,)|(?P<sign><=|>=|==|!=|<|>)|(?P<quoted>"[^"]*"|'[^']*')"""
    r"""|(?P<word>[\w.+-]+))""",
    re.UNICODE,
)


def parse_query(text: str) -> TagQuery:
    """Read a question.

    Args:
        text: see the module's description; empty text asks for all frames.

    Raises:
        QueryError: it is no question; says where.
    """
    return _Parser(text).parse()


def as_query(required: TagQuery | str | Iterable[str]) -> TagQuery:
    """A question as it is, from its text, or for all of some tags."""
    if isinstance(required, TagQuery):
        return required
    if isinstance(required, str):
        return parse_query(required)
    return All(tuple(Tag(name) for name in required))


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._scan()
        self.at = 0
        self.depth = 0

    def _scan(self) -> list[_Token]:
        tokens, place, text = [], 0, self.text.rstrip()
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                place += len(text[place:]) - len(text[place:].lstrip())
                raise self._fail(f"{text[place]!r} is not understood", place)
            kind = str(match.lastgroup)
            tokens.append(_Token(kind, match.group(kind), match.start(kind)))
            place = match.end()
        return [*tokens, _Token("end", "", len(text))]

    def parse(self) -> TagQuery:
        if len(self.tokens) == 1:
            return All()
        query = self._any()
        left = self._here
        if left.kind != "end":
            hint = " ('and' or 'or' stands between two tags)" if left.kind in ("word", "quoted") else ""
            raise self._fail(f"{left.text!r} does not belong here{hint}", left.place)
        return query

    @property
    def _here(self) -> _Token:
        return self.tokens[self.at]

    def _take(self) -> _Token:
        token = self._here
        self.at += token.kind != "end"
        return token

    def _is_word(self, word: str) -> bool:
        return self._here.kind == "word" and self._here.text.lower() == word

    def _fail(self, message: str, place: int) -> QueryError:
        begin, end = max(place - _SHOWN, 0), min(place + _SHOWN, len(self.text))
        if len(self.text) <= 3 * _SHOWN:
            begin, end = 0, len(self.text)
        shown = f"{'...' * (begin > 0)}{self.text[begin:end]}{'...' * (end < len(self.text))}"
        return QueryError(
            f"{message}, at character {place + 1} of the query {shown!r}",
            key="query",
            remedy='write tags with and, or, not and brackets, before("tag", seconds), or number > value; a tag '
            'that is called like one of these words stands in quotes, "and"',
        )

    def _any(self) -> TagQuery:
        parts = [self._all()]
        while self._is_word("or"):
            self._take()
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Any(tuple(parts))

    def _all(self) -> TagQuery:
        parts = [self._not()]
        while self._is_word("and"):
            self._take()
            parts.append(self._not())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _not(self) -> TagQuery:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self._fail(f"too many brackets and nots in each other, more than {_DEEPEST}", self._here.place)
        try:
            if self._is_word("not"):
                self._take()
                return Not(self._not())
            return self._atom()
        finally:
            self.depth -= 1

    def _atom(self) -> TagQuery:
        token = self._take()
        if token.kind == "open":
            query = self._any()
            closing = self._take()
            if closing.kind != "close":
                raise self._fail("a bracket is not closed", token.place)
            return query
        if token.kind == "quoted":
            return self._tag(token)
        if token.kind != "word" or token.text.lower() in _WORDS:
            what = f"{token.text!r} where" if token.text else "it ends where"
            raise self._fail(f"{what} a tag is expected", token.place)
        if token.text.lower() in _NEAR and self._here.kind == "open":
            return self._near(token)
        if self._here.kind == "sign":
            sign, value = self._take().text, self._take()
            return Comparison(normalize_tag(token.text), sign, self._number(value))
        return self._tag(token)

    def _near(self, token: _Token) -> TagQuery:
        self._take()
        tag = self._tag(self._take())
        comma = self._take()
        seconds = self._take()
        closing = self._take()
        if comma.kind != "comma" or closing.kind != "close":
            raise self._fail(f'{token.text} is written {token.text}("tag", seconds)', token.place)
        value = self._number(seconds)
        if value < 0:
            raise self._fail(f"{value:g} seconds are not possible", seconds.place)
        side = next(side for side in _NEAR if side == token.text.lower())
        return Near(side, tag, value)  # type: ignore[arg-type]

    def _tag(self, token: _Token) -> Tag:
        name = normalize_tag(token.text.strip("\"'"))
        if token.kind not in ("word", "quoted") or not is_tag(name):
            raise self._fail(f"{token.text!r} cannot be a tag", token.place)
        return Tag(name)

    def _number(self, token: _Token) -> float:
        try:
            value = math.nan if "_" in token.text else float(token.text)  # Python takes 1_000 for a thousand
        except ValueError:
            value = math.nan
        if token.kind != "word" or not math.isfinite(value):
            raise self._fail(f"{token.text!r} is not a number", token.place)
        return value

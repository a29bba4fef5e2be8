"""Which database frames a character with certain tags may be shown, and how long each can be played."""

from __future__ import annotations

import zlib
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ambulo.control.intent import Intent, Tags
from ambulo.control.missing import Missing, OnMissing
from ambulo.control.settings import SearchSettings
from ambulo.database.tag_query import as_query
from ambulo.database.tags import unknown_tag
from ambulo.errors import ControlError, QueryError

if TYPE_CHECKING:
    from ambulo.database.database import Database

NEVER_SHOWN = "junk"

# Frame sets kept, the one asked for longest ago goes first, and keys remembered. Each holds nine bytes a frame and what
# its search needs: of a large database, bytes are what bounds them, whatever a client asks for.
_KEPT_SETS = 128
_KEPT_BYTES = 1 << 30
_KEPT_KEYS = 4096


@dataclass(frozen=True)
class FrameSet:
    """Frames that may be shown to whoever asks for certain tags.

    Attributes:
        key: a stable number of the tags, kept in states.
        required: tags, or questions, that all of these frames answer to.
        preferred: tags that make a frame cost less.
        excluded: tags that none of them carries.
        allowed: bool ``[F]``.
        run_stops: int64 ``[F]``: the frame after the last one that can be played from here without a jump; 0 where
            the frame itself is not allowed.
        mask: what the index searches, None for all of its frames.
        candidate_count: how many frames can be jumped to.
        filtered: tag or reason -> how many frames it took away.
        passed_over: what was asked for and is not there -> why.
    """

    key: int
    required: Tags
    preferred: Tags
    excluded: Tags
    allowed: NDArray[np.bool_]
    run_stops: NDArray[np.int64]
    mask: Any
    candidate_count: int
    filtered: dict[str, int]
    passed_over: dict[str, str] = field(default_factory=dict)

    @property
    def byte_count(self) -> int:
        """Bytes that are kept with it."""
        own = self.allowed.nbytes + self.run_stops.nbytes
        return int(own + (0 if self.mask is None else self.mask.byte_count))


_Question = tuple[Tags, Tags, OnMissing]


def canonical(tags: Tags) -> Tags:
    """Each tag once, sorted."""
    return tuple(sorted(set(tags)))


def _keep(cache: OrderedDict[Any, Any], key: Any, value: Any, most: int) -> None:
    cache[key] = value
    cache.move_to_end(key)
    if len(cache) > most:
        cache.popitem(last=False)


class FrameSets:
    """The frame sets of one database and index, made when first asked for; those asked for last are kept.

    The cache is no state: what it returns depends on the tags alone.
    """

    def __init__(self, database: Database, index: Any, settings: SearchSettings, minimum_run: float) -> None:
        self.database = database
        self.index = index
        self.settings = settings
        self._minimum_run_frames = max(round(minimum_run * database.rate), 1)
        self.missing = Missing(database.name)
        self._by_tags: OrderedDict[_Question, FrameSet] = OrderedDict()
        self._asked: OrderedDict[int, _Question] = OrderedDict()
        self._defaults = tuple(tag for tag in settings.default_tags if tag in database.tags)

    def of(self, required: Tags, preferred: Tags, on_missing: OnMissing = "raise") -> FrameSet:
        """The frames for these tags.

        Args:
            required: names, or questions.
            preferred: names.
            on_missing: whether a tag that nothing carries is refused, or passed over and told. Then of the required
                ones each counts, in their order, with which there is still something to show.

        Raises:
            QueryError: a tag is unknown, or no frame carries all required tags; a question is none.
        """
        found = self._by_tags.get((required, preferred, on_missing))
        if found is not None:
            self._by_tags.move_to_end((required, preferred, on_missing))
            return found
        if on_missing == "report":
            found = self._of_what_is_there(required, preferred)
            self._remember((required, preferred, on_missing), found)
            _keep(self._asked, found.key, (required, preferred, on_missing), _KEPT_KEYS)
            return found
        # The same tags in any order, or twice, are the same question.
        asked: _Question = canonical(required), canonical(preferred), on_missing
        found = self._by_tags.get(asked)
        if found is None:
            found = self._make(asked[0] or self._defaults, asked[1])
        for question in {(required, preferred, on_missing), asked}:
            self._remember(question, found)
        _keep(self._asked, found.key, asked, _KEPT_KEYS)
        return found

    def _remember(self, question: _Question, found: FrameSet) -> None:
        """Keep an answer, and forget the oldest ones where there are too many of them or they are too large."""
        _keep(self._by_tags, question, found, _KEPT_SETS)
        sizes = {id(kept): kept.byte_count for kept in self._by_tags.values()}
        while len(self._by_tags) > 1 and sum(sizes.values()) > _KEPT_BYTES:
            gone = self._by_tags.popitem(last=False)[1]
            if all(kept is not gone for kept in self._by_tags.values()):
                del sizes[id(gone)]

    def _of_what_is_there(self, required: Tags, preferred: Tags) -> FrameSet:
        """The frames for those of the tags with which there is something to show."""
        passed_over: dict[str, str] = {}

        def pass_over(tag: str, error: QueryError) -> None:
            self.missing.tell(f"the tag {tag!r}", error)
            passed_over[tag] = error.message

        liked: list[str] = []
        for tag in dict.fromkeys(preferred):
            if tag in self.database.tags:
                liked.append(tag)
            else:
                pass_over(tag, unknown_tag(tag, self.database.tags))
        kept: tuple[str, ...] = ()
        for tag in dict.fromkeys(required):
            if tag not in self.database.tags:
                as_query(tag)  # what is no question at all is refused in any case
            try:
                found = self.of((*kept, tag), ())
                if found.mask is not None and not found.mask.candidate_count:
                    raise QueryError(f"no frame with {' and '.join((*kept, tag))} can be jumped to")
            except QueryError as error:
                pass_over(tag, error)
            else:
                kept = (*kept, tag)
        found = self.of(kept, tuple(liked))
        if not passed_over:
            return found
        text = "\0".join(passed_over)
        return replace(found, key=zlib.crc32(text.encode(), found.key), passed_over=passed_over)

    def of_character(self, intent: Intent, character: int) -> FrameSet:
        """The frames for what one character is asked.

        Raises:
            ControlError: there is no such character.
            QueryError: as :meth:`of`.
        """
        for required, preferred, members in intent.groups():
            if members is None or character in members:
                return self.of(required, preferred, intent.on_missing)
        raise ControlError(f"character {character} of {intent.count}", key="character")

    def of_key(self, key: int) -> FrameSet | None:
        """The frame set that a state remembers, if this controller has made it."""
        asked = self._asked.get(int(key))
        return None if asked is None else self.of(*asked)

    def _make(self, required: Tags, preferred: Tags) -> FrameSet:
        allowed = np.ones(self.database.frame_count, bool)
        asked: set[str] = set()
        for question in required:
            query = as_query((question,) if question in self.database.tags else question)
            allowed &= query.mask(self.database, junk=True)
            asked |= set(query.tags)
        filtered = {"required tags": int(len(allowed) - np.count_nonzero(allowed))}
        excluded = tuple(
            tag
            for tag in dict.fromkeys((NEVER_SHOWN, *self.settings.opt_in_tags))
            if tag in self.database.tags and (tag not in asked or tag == NEVER_SHOWN)
        )
        unasked = [self.database.mask((tag,), junk=True) for tag in excluded if tag != NEVER_SHOWN]
        if unasked and not (allowed & ~np.any(unasked, axis=0)).any():
            # A database of nothing but dances is there to dance.
            excluded = tuple(tag for tag in excluded if tag == NEVER_SHOWN)
        for tag in excluded:
            carriers = self.database.mask((tag,), junk=True)
            filtered[f"tag {tag}"] = int(np.count_nonzero(allowed & carriers))
            allowed &= ~carriers
        invalid = np.asarray(self.database.valid) == 0
        filtered["glitches"] = int(np.count_nonzero(allowed & invalid))
        allowed &= ~invalid
        if not allowed.any():
            away = ", ".join(f"{reason} {frames}" for reason, frames in filtered.items() if frames)
            what = f"no frame with {' and '.join(map(repr, required))}" if required else "no frame"
            remedy = "ask for fewer tags, or also for an excluded one" if required else "ask for one of the opt-in tags"
            raise QueryError(
                f"{what} may be shown; of {len(allowed)} frames are taken away: {away}",
                key="required_tags",
                remedy=f"{remedy}; what is junk or a glitch is never shown",
            )
        allowed = self._of_highest_priority(allowed, filtered)
        run_stops = self._run_stops(allowed)
        remaining = run_stops - np.arange(len(allowed))
        # Jumping to a frame whose tags end at once would only make the next jump; do so where there is nothing else.
        landing = allowed & self.database.transition_ok
        filtered["no_transition"] = int(np.count_nonzero(allowed & ~landing))
        candidates = landing & (remaining >= self._minimum_run_frames)
        if not candidates.any():
            candidates = landing
        filtered["too near the end of a run"] = int(np.count_nonzero(landing & ~candidates))
        bonus = self._bonus(preferred)
        plain = allowed.all() and landing.all() and bonus is None
        text = "\0".join(required) + "\1" + "\0".join(excluded)
        if preferred:
            text += "\2" + "\0".join(preferred)
        return FrameSet(
            key=zlib.crc32(text.encode()),
            required=required,
            preferred=preferred,
            excluded=excluded,
            allowed=allowed,
            run_stops=run_stops,
            mask=None if plain else self.index.mask(candidates, playable=allowed, bonus=bonus),
            candidate_count=int(np.count_nonzero(candidates)),
            filtered=filtered,
        )

    def _of_highest_priority(self, allowed: NDArray[np.bool_], filtered: dict[str, int]) -> NDArray[np.bool_]:
        """Of the allowed frames, those of the highest priority that can be jumped to: no cost outweighs it (S0.63)."""
        priority = self.database.priority
        levels = np.unique(priority[allowed])[::-1]
        chosen = allowed
        for level in levels if len(levels) > 1 else ():
            chosen = allowed & (priority == level)
            if (chosen & self.index.candidates & self.database.transition_ok).any():
                break
        filtered["lower priority"] = int(np.count_nonzero(allowed & ~chosen))
        return chosen

    def _bonus(self, preferred: Tags) -> NDArray[np.float32] | None:
        """float32 ``[F]``: what the capture's annotations and the preferred tags take off a frame's cost."""
        bonus = self.database.bonus
        for tag in preferred:
            bonus = bonus + np.float32(self.settings.preference) * self.database.mask((tag,)).astype(np.float32)
        return bonus if bonus.any() else None

    def _run_stops(self, allowed: NDArray[np.bool_]) -> NDArray[np.int64]:
        """For each frame, where the stretch of allowed frames of its clip ends."""
        count = len(allowed)
        breaks = np.ones(count + 1, bool)
        breaks[1:count] = allowed[1:] != allowed[:-1]
        breaks[[clip.start for clip in self.database.clips]] = True
        edges = np.flatnonzero(breaks)
        stops = np.repeat(edges[1:], np.diff(edges)).astype(np.int64)
        stops[~allowed] = 0
        ok = self.database.transition_ok
        if not ok.all():
            self._extend_zones(allowed, ok, stops)
        return stops

    def _extend_zones(self, allowed: NDArray[np.bool_], ok: NDArray[np.bool_], stops: NDArray[np.int64]) -> None:
        """Whoever is in a no-transition zone plays to its end, and on from there where that is allowed."""
        count = len(allowed)
        breaks = np.ones(count + 1, bool)
        breaks[1:count] = ok[1:] != ok[:-1]
        breaks[[clip.start for clip in self.database.clips]] = True
        edges = np.flatnonzero(breaks)
        starts = {clip.start for clip in self.database.clips}
        for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            if not ok[start]:
                goes_on = stop < count and stop not in starts and allowed[stop]
                stops[start:stop] = np.maximum(stops[start:stop], stops[stop] if goes_on else stop)

"""Which database frames a character with certain tags may be shown, and how long each can be played."""

from __future__ import annotations

import zlib
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ambulo.control.intent import Tags
from ambulo.control.settings import SearchSettings
from ambulo.errors import QueryError

if TYPE_CHECKING:
    from ambulo.database.database import Database

NEVER_SHOWN = "junk"

# Frame sets kept, the one asked for longest ago goes first (nine bytes a frame each), and keys remembered.
_KEPT_SETS = 128
_KEPT_KEYS = 4096


@dataclass(frozen=True)
class FrameSet:
    """Frames that may be shown to whoever asks for certain tags.

    Attributes:
        key: a stable number of the tags, kept in states.
        required: tags that all of these frames carry.
        excluded: tags that none of them carries.
        allowed: bool ``[F]``.
        run_stops: int64 ``[F]``: the frame after the last one that can be played from here without a jump; 0 where
            the frame itself is not allowed.
        mask: what the index searches, None for all of its frames.
        candidate_count: how many frames can be jumped to.
        filtered: tag or reason -> how many frames it took away.
    """

    key: int
    required: Tags
    excluded: Tags
    allowed: NDArray[np.bool_]
    run_stops: NDArray[np.int64]
    mask: Any
    candidate_count: int
    filtered: dict[str, int]


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
        self._by_tags: OrderedDict[tuple[Tags, Tags], FrameSet] = OrderedDict()
        self._asked: OrderedDict[int, tuple[Tags, Tags]] = OrderedDict()
        self._defaults = tuple(tag for tag in settings.default_tags if tag in database.tags)

    def of(self, required: Tags, preferred: Tags) -> FrameSet:
        """The frames for these tags.

        Raises:
            QueryError: a tag is unknown, or no frame carries all required tags.
        """
        found = self._by_tags.get((required, preferred))
        if found is not None:
            self._by_tags.move_to_end((required, preferred))
            return found
        # The same tags in any order, or twice, are the same question.
        asked = canonical(required), canonical(preferred)
        found = self._by_tags.get(asked)
        if found is None:
            found = self._make(asked[0] or self._defaults, asked[1])
        for question in {(required, preferred), asked}:
            _keep(self._by_tags, question, found, _KEPT_SETS)
        _keep(self._asked, found.key, asked, _KEPT_KEYS)
        return found

    def of_key(self, key: int) -> FrameSet | None:
        """The frame set that a state remembers, if this controller has made it."""
        asked = self._asked.get(int(key))
        return None if asked is None else self.of(*asked)

    def _make(self, required: Tags, preferred: Tags) -> FrameSet:
        if preferred:
            wanted = tuple(dict.fromkeys((*required, *preferred)))
            if self.database.mask(wanted).any():
                required = wanted
        tagged = self.database.mask(required, junk=True)
        allowed = np.array(tagged, bool)
        filtered = {"required tags": int(len(allowed) - np.count_nonzero(allowed))}
        excluded = tuple(
            tag
            for tag in dict.fromkeys((NEVER_SHOWN, *self.settings.opt_in_tags))
            if tag in self.database.tags and (tag not in required or tag == NEVER_SHOWN)
        )
        unasked = [self.database.mask((tag,)) for tag in excluded if tag != NEVER_SHOWN]
        if unasked and not (allowed & ~np.any(unasked, axis=0)).any():
            # A database of nothing but dances is there to dance.
            excluded = tuple(tag for tag in excluded if tag == NEVER_SHOWN)
        for tag in excluded:
            carriers = self.database.mask((tag,))
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
        run_stops = self._run_stops(allowed)
        remaining = run_stops - np.arange(len(allowed))
        # Jumping to a frame whose tags end at once would only make the next jump; do so where there is nothing else.
        candidates = allowed & (remaining >= self._minimum_run_frames)
        if not candidates.any():
            candidates = allowed
        filtered["too near the end of a run"] = int(np.count_nonzero(allowed & ~candidates))
        text = "\0".join(required) + "\1" + "\0".join(excluded)
        return FrameSet(
            key=zlib.crc32(text.encode()),
            required=required,
            excluded=excluded,
            allowed=allowed,
            run_stops=run_stops,
            mask=None if allowed.all() else self._mask(allowed, candidates),
            candidate_count=int(np.count_nonzero(candidates)),
            filtered=filtered,
        )

    def _mask(self, allowed: NDArray[np.bool_], candidates: NDArray[np.bool_]) -> Any:
        """Jump to candidates only, but let what is allowed go on."""
        mask = self.index.mask(candidates)
        return replace(mask, allowed=self.index.whole.allowed * allowed)

    def _run_stops(self, allowed: NDArray[np.bool_]) -> NDArray[np.int64]:
        """For each frame, where the stretch of allowed frames of its clip ends."""
        count = len(allowed)
        breaks = np.ones(count + 1, bool)
        breaks[1:count] = allowed[1:] != allowed[:-1]
        breaks[[clip.start for clip in self.database.clips]] = True
        edges = np.flatnonzero(breaks)
        stops = np.repeat(edges[1:], np.diff(edges)).astype(np.int64)
        stops[~allowed] = 0
        return stops

"""Tags from folders and from file names, and tags as ranges of frames."""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from ambulo.database.annotation_settings import RESERVED_TAGS
from ambulo.errors import QueryError, nearest_names
from ambulo.formats.tag_file import is_tag

# Words of file and folder names that say how a data set is organised, not what the motion is.
_NOISE_TEXT = """
    actor and animation animations anim bvh by capture captured captures clip clips cmu copy data database dataset
    datasets dev export exported extra file files final free frame frames fps in lafan mocap motion motions new
    noncommercial of on part raw scaled sequence session set subj subject take takes test testing the to train
    training trial trials val valid validation version with
"""
_NOISE = frozenset(_NOISE_TEXT.split())
_NEGATIONS = frozenset({"not", "no", "non", "un"})
_SWAPS = {"left": "right", "right": "left", "l": "r", "r": "l", "lf": "rf", "rf": "lf", "lhs": "rhs", "rhs": "lhs"}


def words_of(text: str) -> list[str]:
    """The words of a file or folder name that may describe motion, lower case, each once, in order.

    Split at ``_``, ``-``, ``.``, blanks, digits and camel case; words that only say how a data set is organised
    (``train``, ``dataset``, ``take``, ...) and single letters are dropped; a negation stays with its word:
    ``dataset-1_walk_not-confident_001`` -> ``walk``, ``not-confident``.
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", unicodedata.normalize("NFC", text))
    words: list[str] = []
    negation = ""
    for word in re.split(r"[^A-Za-z\u00c0-\uffff]+", spaced):
        lower = word.lower()
        if lower in _NEGATIONS:
            negation = f"{lower}-"
            continue
        if (len(lower) > 1 and lower not in _NOISE) or negation:
            words.append(negation + lower)
        negation = ""
    return list(dict.fromkeys(word for word in words if is_tag(word)))


def tags_of_file_name(path: str | PurePosixPath) -> list[str]:
    """Tags from the file's own name, without its ending."""
    return words_of(PurePosixPath(path).stem)


def tags_of_folders(path: str | PurePosixPath) -> list[str]:
    """Tags from the folders between the source's folder and the file; ``path`` is relative to the source."""
    words = [word for folder in PurePosixPath(path).parent.parts for word in words_of(folder)]
    return list(dict.fromkeys(words))


def mirrored_tag(tag: str) -> str:
    """The tag that fits the mirrored motion: ``turn_left`` -> ``turn_right``; others unchanged. Its own inverse."""
    return re.sub(r"[^\W_]+", lambda match: _SWAPS.get(match.group(), match.group()), tag)


def range_to_frames(
    start: float | None, stop: float | None, *, rate: float, frame_count: int, start_time: float = 0.0
) -> tuple[int, int]:
    """The frames of a clip that lie in ``[start, stop)`` seconds of its take, as ``(start, stop)``; empty if equal.

    Args:
        rate: frames a second of the clip.
        frame_count: frames of the clip.
        start_time: seconds of the take at which the clip's first frame lies.
    """
    # Times such as 0.1 s at 60 a second are 6.000000000000001 frames; a millionth of a frame is no frame.
    first = 0 if start is None else math.ceil((start - start_time) * rate - 1e-6)
    last = frame_count if stop is None else math.ceil((stop - start_time) * rate - 1e-6)
    first, last = (min(max(frame, 0), frame_count) for frame in (first, last))
    return first, max(first, last)


def merge_ranges(ranges: Iterable[Sequence[int]]) -> NDArray[np.int64]:
    """Union of half-open ranges: sorted, non-empty, neither overlapping nor touching. Returns int64 ``[n, 2]``."""
    merged: list[list[int]] = []
    for start, stop in sorted((int(r[0]), int(r[1])) for r in ranges):
        if stop <= start:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], stop)
        else:
            merged.append([start, stop])
    return np.array(merged, np.int64).reshape(-1, 2)


def ranges_to_mask(ranges: NDArray[np.int64], frame_count: int) -> NDArray[np.bool_]:
    """bool ``[frame_count]``, true inside any of the ranges ``[n, 2]``."""
    mask = np.zeros(frame_count, np.bool_)
    for start, stop in ranges:
        mask[start:stop] = True
    return mask


def unknown_tag(tag: str, known: Iterable[str], *, key: str | None = None) -> QueryError:
    """The error for a tag that nothing carries: the nearest that something does, and how to have it carried.

    A reserved tag is named only to whoever nearly wrote it: ``mirrored`` is no answer to ``injured``.
    """
    meant = difflib.get_close_matches(tag.lower(), RESERVED_TAGS, cutoff=0.8)
    likely = [name for name in known if name not in RESERVED_TAGS or name in meant]
    return QueryError(
        f"no range carries the tag {tag!r}; {nearest_names(tag, likely)}",
        key=tag if key is None else key,
        remedy=f"ask for one that is carried (`ambulo info` lists them), or `ambulo tag add TAKE {tag}`, then build",
    )

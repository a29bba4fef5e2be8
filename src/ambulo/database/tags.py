"""Tags: names on ranges of frames (S0.9 to S0.11), from ``NAME.tags.csv`` files, from folders and from file names.

A tag file is a small text table, so that it merges in version control::

    # what happens in walk_01.bvh
    start,stop,tag
    0.0,4.5,walk
    4.0,5.2,turn
    ,,injured

Times are seconds from the take's first frame and half-open, ``start <= t < stop``. An empty start or stop is open.
Ranges may overlap, also those of one tag.
"""

from __future__ import annotations

import csv
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import ProjectError, nearest_names

TAG_FILE_ENDING = ".tags.csv"
COLUMNS = ("start", "stop", "tag")
_TAG = re.compile(r"[^\W_][\w+-]*", re.UNICODE)

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


class TagRange(NamedTuple):
    """A tag on a stretch of a take, in seconds of the take.

    Attributes:
        start: seconds, included; None for the beginning.
        stop: seconds, excluded; None for the end.
        tag: the name.
    """

    start: float | None
    stop: float | None
    tag: str


def tag_file_of(take: Path) -> Path:
    """Where the tags of a take are kept: ``walk_01.bvh`` -> ``walk_01.tags.csv``."""
    return take.with_name(take.stem + TAG_FILE_ENDING)


def normalize_tag(text: str) -> str:
    """Lower case, trimmed, inner blanks as ``_``, accents joined to their letters (macOS takes them apart)."""
    return re.sub(r"\s+", "_", unicodedata.normalize("NFC", text).strip().lower())


def check_tag(tag: str, *, path: Path | None = None, line: int | None = None) -> str:
    """The normalised tag.

    Raises:
        ProjectError: it is empty, or has characters other than letters, digits, ``_``, ``-`` and ``+``.
    """
    name = normalize_tag(tag)
    if not _TAG.fullmatch(name):
        raise ProjectError(
            f"{tag!r} cannot be a tag" if name else "a tag is empty",
            path=path,
            line=line,
            remedy="use letters, digits, '_', '-' and '+', a letter or digit first",
        )
    return name


def read_tag_file(path: Path) -> list[TagRange]:
    """The ranges of a ``.tags.csv`` file, in the file's order.

    Raises:
        ProjectError: with the line, where the header, a number, an order of times or a tag is not as it should be.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ProjectError(f"is not UTF-8 text (byte {error.start})", path=path, remedy="save it as UTF-8") from None
    except OSError as error:
        raise ProjectError(f"cannot be read: {error.strerror}", path=path) from None
    ranges: list[TagRange] = []
    header: list[str] | None = None
    for line, row in enumerate(text.splitlines(), start=1):
        content = row.split("#", 1)[0].strip()
        if not content:
            continue
        try:
            cells = [cell.strip() for cell in next(csv.reader([content], strict=True))]
        except csv.Error as error:  # a quote that does not end, a cell without end
            raise ProjectError(f"is no row of a table: {error}", path=path, line=line) from None
        if header is None:
            header = [cell.lower() for cell in cells]
            if header != list(COLUMNS):
                raise ProjectError(
                    f"the first row is {content!r}, not 'start,stop,tag'",
                    path=path,
                    line=line,
                    remedy="begin the file with the row start,stop,tag (commas, seconds with a point)",
                )
            continue
        if len(cells) != len(COLUMNS):
            raise ProjectError(
                f"{len(cells)} cells where start,stop,tag are 3",
                path=path,
                line=line,
                remedy="write seconds with a point, one tag a row",
            )
        start, stop = (_seconds(cell, column, path, line) for cell, column in zip(cells[:2], COLUMNS[:2], strict=True))
        if start is not None and stop is not None and stop <= start:
            raise ProjectError(f"the range stops at {stop} s, before it starts at {start} s", path=path, line=line)
        ranges.append(TagRange(start, stop, check_tag(cells[2], path=path, line=line)))
    return ranges


def _seconds(cell: str, column: str, path: Path, line: int) -> float | None:
    if not cell:
        return None
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise ProjectError(f"{column} is {cell!r}, not a number of seconds from 0 up", path=path, line=line, key=column)
    return value


def write_tag_file(path: Path, ranges: Iterable[TagRange]) -> None:
    """Write ranges as a ``.tags.csv`` file; reading it back gives the same ranges."""
    rows = [",".join(COLUMNS)]
    rows += [f"{_text(start)},{_text(stop)},{check_tag(tag)}" for start, stop, tag in ranges]
    path.write_bytes(("\n".join(rows) + "\n").encode())


def _text(seconds: float | None) -> str:
    return "" if seconds is None else repr(float(seconds))


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
    return list(dict.fromkeys(word for word in words if _TAG.fullmatch(word)))


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


def unknown_tag_text(tag: str, known: Iterable[str]) -> str:
    """What an error says about a tag that nothing carries."""
    return f"no range carries the tag {tag!r}; {nearest_names(tag, known)}"

"""``NAME.tags.proposed.csv``: tags that a program proposes for a take, with its confidence, until somebody has looked.

Like a tag file (:mod:`ambulo.formats.tag_file`), with a column ``confidence`` from 0 to 1. No build reads it: what is
accepted goes into ``NAME.tags.csv``, the rest is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from ambulo.errors import ProjectError
from ambulo.formats.annotation_table import number_cell, parse_table, read_table, seconds_text, span_cells
from ambulo.formats.paths import write_whole
from ambulo.formats.tag_edit import TagDocument
from ambulo.formats.tag_file import TagRange, check_tag, tag_file_of

PROPOSAL_FILE_ENDING = ".tags.proposed.csv"
COLUMNS = ("start", "stop", "tag", "confidence")


class Proposal(NamedTuple):
    """A tag that is proposed for a stretch: seconds of the take, half-open, and how sure the program is (0 to 1)."""

    start: float | None
    stop: float | None
    tag: str
    confidence: float


def proposal_file_of(take: Path) -> Path:
    """Where proposals for a take are kept: ``walk_01.bvh`` -> ``walk_01.tags.proposed.csv``."""
    return take.with_name(take.stem + PROPOSAL_FILE_ENDING)


def read_proposals(path: Path) -> list[Proposal]:
    """The proposals of a file; none where it is not there.

    Raises:
        ProjectError: with the line, where it is not as it should be.
    """
    if not path.exists():
        return []
    found = []
    for row in parse_table(read_table(path), path, COLUMNS, ()):
        start, stop = span_cells(row, path)
        tag = check_tag(row.cells["tag"], path=path, line=row.line)
        confidence = number_cell(row.cells["confidence"], "confidence", path, row.line)
        found.append(Proposal(start, stop, tag, confidence))
    return found


def write_proposals(path: Path, proposals: Iterable[Proposal]) -> None:
    """Write a file of proposals, whole or not at all; without any, the file goes.

    Raises:
        ProjectError: it cannot be written.
    """
    rows = list(proposals)
    lines = [f"{seconds_text(p.start)},{seconds_text(p.stop)},{check_tag(p.tag)},{p.confidence:.2f}" for p in rows]
    text = "# proposed, not applied: see `ambulo tag accept` and `ambulo tag reject`\n" + "\n".join(
        [",".join(COLUMNS), *lines]
    )
    try:
        if rows:
            write_whole(path, (text + "\n").encode())
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise ProjectError(f"cannot be written: {error.strerror}", path=path) from None


def settle(take: Path, chosen: Callable[[Proposal], bool], *, accept: bool) -> list[Proposal]:
    """Accept or reject proposals for a take.

    Args:
        take: the take's file.
        chosen: which proposals are meant; the others stay.
        accept: put them into ``NAME.tags.csv``; otherwise they only go.

    Returns:
        What was settled.

    Raises:
        ProjectError: nothing was chosen, or a file cannot be read or written. The tags are written first: a crash in
            between leaves a proposal that is accepted already, and accepting it again changes nothing.
    """
    file = proposal_file_of(take)
    proposals = read_proposals(file)
    taken = [proposal for proposal in proposals if chosen(proposal)]
    if not taken:
        there = [
            f"{p.tag} {0.0 if p.start is None else p.start:g} to {'its end' if p.stop is None else f'{p.stop:g} s'}"
            f" ({p.confidence:.2f})"
            for p in sorted(proposals, key=lambda p: -p.confidence)
        ]
        more = f" and {len(there) - 8} more" if len(there) > 8 else ""
        raise ProjectError(
            "nothing is proposed for this take" if not proposals else "none of its proposals is meant",
            path=file,
            remedy=f"proposed, with their confidence: {', '.join(there[:8])}{more}"
            if there
            else "run `ambulo autotag` on the project",
        )
    if accept:
        document = TagDocument(tag_file_of(take))
        for proposal in taken:
            document.add(TagRange(proposal.start, proposal.stop, proposal.tag))
        document.save()
    write_proposals(file, [proposal for proposal in proposals if proposal not in taken])
    return taken

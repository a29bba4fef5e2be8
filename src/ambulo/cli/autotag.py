"""``ambulo autotag``: propose tags for takes that have none, learned from those that have."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec

UNRELIABLE_F1 = 0.1
"""A tag that is found no better than this in held-out clips is as good as guessed."""


@dataclass(frozen=True)
class Arguments:
    """Propose tags for takes that have none, learned from the tagged takes of a built project.

    Proposals are written beside each take as NAME.tags.proposed.csv, which no build reads. Look at them, then
    `ambulo tag accept TAKE` or `ambulo tag reject TAKE`. Needs the extra `learn`.
    """

    project: Path
    """Folder of a built project."""
    take: tuple[Path, ...] = ()
    """Propose for these takes, in the project or not; for those without learned tags if left out."""
    tags: tuple[str, ...] = ()
    """Learn only these tags; all that two takes carry if left out."""
    least: float = 0.5
    """Confidence, 0 to 1, below which nothing is proposed."""
    folds: int = 5
    """Rounds in which clips are held out to tell what the proposals are worth; 0 leaves it out."""
    review: bool = False
    """Ask for every proposal whether to accept it."""
    json: bool = False
    """Print one JSON object."""


class ProposedTag(msgspec.Struct, frozen=True):
    """A tag on a stretch of a take, seconds."""

    tag: str
    start: float
    stop: float
    confidence: float


class TakeProposals(msgspec.Struct, frozen=True):
    """What is proposed for a take, and where it is written; null where nothing is."""

    take: str
    file: str | None
    proposals: tuple[ProposedTag, ...]


class HeldOut(msgspec.Struct, frozen=True):
    """How well a tag is found, per frame, in clips that were held out."""

    tag: str
    precision: float
    recall: float
    f1: float
    clips: int


class Autotagged(msgspec.Struct, frozen=True):
    """What ``ambulo autotag`` did; ``unreliable`` are the tags whose held-out F1 is below :data:`UNRELIABLE_F1`."""

    project: str
    learned_from: int
    scores: tuple[HeldOut, ...]
    macro_f1: float | None
    takes: tuple[TakeProposals, ...]
    unreliable: tuple[str, ...]


def run(arguments: Arguments) -> Autotagged:
    """Learn, score, propose, write."""
    from ambulo.database.database import Database
    from ambulo.database.project import load_project
    from ambulo.errors import AmbuloError
    from ambulo.formats.proposal_file import Proposal, proposal_file_of, write_proposals
    from ambulo.learning.auto_tagging import held_out, learned_tags, nothing_to_tell_apart, tagged_clips, train
    from ambulo.learning.takes_to_tag import clips_of_takes, untagged_takes

    if not 0.0 <= arguments.least <= 1.0:
        raise AmbuloError(f"a confidence of {arguments.least:g} is not possible", key="least", remedy="give 0 to 1")
    project = load_project(arguments.project)
    database = Database.open(arguments.project)
    tags = every = learned_tags(database, arguments.tags or None)
    takes = list(arguments.take) or untagged_takes(project, database, tags)
    targets = clips_of_takes(project, takes)
    known = tagged_clips(database, tags, leave_out={target.database_name for target in targets})
    # A tag may be on the very takes alone that are proposed for, or on all that is left to learn from.
    columns = [
        place
        for place in range(len(every))
        if any(clip.labels[:, place].any() for clip in known) and not all(clip.labels[:, place].all() for clip in known)
    ]
    if not columns:
        raise nothing_to_tell_apart(database, every)
    tags = tuple(every[place] for place in columns)
    known = [clip._replace(labels=clip.labels[:, columns]) for clip in known]
    exclusive = project.tags.exclusive
    tagger = train(known, tags, exclusive=exclusive)
    scores = held_out(known, tags, exclusive=exclusive, folds=arguments.folds) if arguments.folds > 1 else []
    found = []
    for target in targets:
        ranges = tagger.propose(target.windows, target.rate, least=arguments.least)
        proposals = [
            Proposal(
                round(target.start_time + entry.start / target.rate, 3),
                round(target.start_time + entry.stop / target.rate, 3),
                entry.tag,
                entry.confidence,
            )
            for entry in ranges
        ]
        file = proposal_file_of(target.path)
        write_proposals(file, proposals)
        told = tuple(ProposedTag(p.tag, p.start or 0.0, p.stop or 0.0, round(p.confidence, 3)) for p in proposals)
        found.append(TakeProposals(str(target.path), str(file) if proposals else None, told))
        if arguments.review and proposals:
            _review(target.path)
    told_scores = tuple(HeldOut(*score) for score in scores)
    macro = sum(score.f1 for score in told_scores) / len(told_scores) if told_scores else None
    unreliable = tuple(score.tag for score in told_scores if score.f1 < UNRELIABLE_F1)
    return Autotagged(str(arguments.project), len(known), told_scores, macro, tuple(found), unreliable)


def _review(take: Path) -> None:
    """Ask for each proposal; what is left unanswered stays proposed."""
    from ambulo.formats.proposal_file import proposal_file_of, read_proposals, settle

    print(f"{take}:", file=sys.stderr)
    for proposal in read_proposals(proposal_file_of(take)):
        print(
            f"  {proposal.tag} {proposal.start:g} to {proposal.stop:g} s, {proposal.confidence:.0%}: "
            "accept? [y]es, [n]o, later (enter) ",
            end="",
            file=sys.stderr,
            flush=True,
        )
        answer = sys.stdin.readline().strip().lower()[:1]
        if answer in ("y", "n"):
            settle(take, lambda entry, one=proposal: entry == one, accept=answer == "y")  # type: ignore[misc]


def show(result: Autotagged) -> None:
    """Print what is proposed, and what such proposals are worth."""
    print(f"{result.project}: learned from {result.learned_from} clips")
    if result.macro_f1 is not None:
        print(f"  in clips held out, per frame: macro F1 {result.macro_f1:.2f}")
        for score in sorted(result.scores, key=lambda score: -score.f1):
            print(
                f"    {score.tag:<20} F1 {score.f1:.2f}  precision {score.precision:.2f}"
                f"  recall {score.recall:.2f}  ({score.clips} clips)"
                + ("  warning: hardly ever found" if score.tag in result.unreliable else "")
            )
    if not result.takes:
        print(
            "  every take carries one of the learned tags, from its tag file, its name (tags_from) or its source:"
            " nothing to propose for\n  -> name takes with --take FILE, or learn fewer tags with --tags"
        )
    for take in result.takes:
        print(f"  {take.file or take.take + ': nothing is proposed'}")
        for entry in take.proposals:
            doubt = "  warning: not to be trusted" if entry.tag in result.unreliable else ""
            print(f"    {entry.tag:<20} {entry.start:8.2f} to {entry.stop:8.2f} s   {entry.confidence:.0%}{doubt}")
    if result.unreliable:
        print(
            f"  warning: do not trust proposals of {', '.join(result.unreliable)}"
            f" (held-out F1 below {UNRELIABLE_F1:g}): tag more clips with them and without, or choose others by --tags"
        )
    if any(take.file for take in result.takes):
        print("  nothing is applied: `ambulo tag accept TAKE`, `ambulo tag reject TAKE`")

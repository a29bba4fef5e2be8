"""``ambulo tag``: add, remove and list the tags of a take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import tyro

from ambulo.formats.tag_file import TagRange

if TYPE_CHECKING:
    from ambulo.database.project import Project
    from ambulo.database.takes import Take
    from ambulo.formats.tag_edit import TagDocument


@dataclass(frozen=True)
class Arguments:
    """Add, remove or list the tags of a take. They are kept as text beside it, in NAME.tags.csv, comments and all."""

    action: Literal["add", "remove", "list", "accept", "reject"]
    """What to do; accept and reject are for what `ambulo autotag` proposed: all of it, or these tags, or what is at
    least as sure as --least."""
    take: Path
    """The take's file, such as takes/walk_01.bvh."""
    tags: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Tags to add or remove."""
    start: float | None = None
    """Seconds from the take's first frame; from its beginning if left out. With remove: only ranges that start here."""
    stop: float | None = None
    """Seconds, excluded; to its end if left out. With remove: only ranges that stop here."""
    priority: int = 0
    """A higher one wins over any cost of a search."""
    bonus: float = 0.0
    """What these frames cost less than others in a search."""
    clip: str = ""
    """With add: the one motion, of a file that holds several, that it is about; all if left out."""
    least: float = 0.0
    """With accept and reject: only proposals of this confidence at least, 0 to 1."""
    json: bool = False
    """Print one JSON object."""


class TagLine(msgspec.Struct, frozen=True):
    """One range: its line in the file (null where it was removed), seconds, tag."""

    line: int | None
    start: float | None
    stop: float | None
    tag: str
    priority: int
    bonus: float
    clip: str = ""


class Tagged(msgspec.Struct, frozen=True):
    """What ``ambulo tag`` did: the file, what was added or removed, all ranges that are there now, and what is odd."""

    file: str
    action: str
    changed: tuple[TagLine, ...]
    ranges: tuple[TagLine, ...]
    notes: tuple[str, ...] = ()


def run(arguments: Arguments) -> Tagged:
    """Edit the tag file."""
    from ambulo.database.annotate import check_tag_rows
    from ambulo.database.remote.addresses import as_url, shown
    from ambulo.database.takes import project_of_take
    from ambulo.errors import ProjectError, nearest_names
    from ambulo.formats.paths import is_file
    from ambulo.formats.registry import is_motion_name
    from ambulo.formats.tag_edit import ChangedMeanwhile, TagDocument
    from ambulo.formats.tag_file import tag_file_of

    take = arguments.take
    url = as_url(take)
    if url is not None:
        raise ProjectError(
            f"{shown(url)} is not written to by ambulo",
            key="take",
            remedy=f"put a file {tag_file_of(take).name} beside it, with the tools of that storage; a build reads it",
        )
    if take.is_dir():
        raise ProjectError(
            "is a folder: tags are of a take",
            path=take,
            remedy="name one take; for all takes of a source, give tags = [...] to its [[sources]] in ambulo.toml",
        )
    if not is_file(take):
        files = sorted(take.parent.iterdir()) if take.parent.is_dir() else []
        siblings = [path.name for path in files if is_motion_name(path)]
        raise ProjectError("there is no such take", path=take, remedy=nearest_names(take.name, siblings))
    file = tag_file_of(take)
    if take == file:
        raise ProjectError("is the tag file itself", path=take, remedy="name the take, such as walk_01.bvh")
    if arguments.action in ("accept", "reject"):
        return _settle(arguments, file)
    if (arguments.action == "list") == bool(arguments.tags):
        what = "list takes no tags" if arguments.tags else f"{arguments.action} which tags?"
        remedy = {
            "add": f"ambulo tag add {take} injured --start 1.5 --stop 4",
            "remove": f"ambulo tag remove {take} injured; `ambulo tag list {take}` says what there is",
            "list": f"ambulo tag list {take}",
        }[arguments.action]
        raise ProjectError(what, key="tags", remedy=remedy)
    found = project_of_take(take)
    notes = _checked(arguments, found) if arguments.action == "add" else ()
    while True:
        document = TagDocument(file)
        changed, there = _edit(arguments, document)
        if found is not None and arguments.action == "add":
            check_tag_rows(*found, document.rows)
        try:
            if arguments.action != "list":
                document.save()
        except ChangedMeanwhile:  # what was asked for is done to the file as it is now
            continue
        rows = tuple(TagLine(row.line, *row.range) for row in document.rows)
        return Tagged(str(file), arguments.action, changed, rows, (*notes, *there))


def _edit(arguments: Arguments, document: TagDocument) -> tuple[tuple[TagLine, ...], tuple[str, ...]]:
    """Add or remove what is asked for, in memory; returns that, and notes on what is there already."""
    from ambulo.errors import ProjectError
    from ambulo.formats.tag_file import check_tag, parse_tags, tag_file_text

    changed: list[TagLine] = []
    there: list[str] = []
    for text in arguments.tags:
        tag = check_tag(text)
        if arguments.action == "add":
            entry = TagRange(
                *(arguments.start, arguments.stop, tag, arguments.priority, arguments.bonus, arguments.clip)
            )
            try:
                parse_tags(tag_file_text([entry]), document.path)  # the same rules as for what is written by hand
            except ProjectError as error:  # there is no such line yet
                raise ProjectError(error.message, path=arguments.take, key=error.key, remedy=error.remedy) from None
            known = any(row.range == entry for row in document.rows)
            added = document.add(entry)
            if known:
                there.append(f"{tag} is there already, line {added.line}: nothing is added")
            else:
                changed.append(TagLine(added.line, *added.range))
        else:
            gone = document.remove(tag, arguments.start, arguments.stop)
            changed += [TagLine(None, *row.range) for row in gone]
    return tuple(changed), tuple(there)


def _checked(arguments: Arguments, found: tuple[Project, Take] | None) -> tuple[str, ...]:
    """Refuse what would hold nowhere in the take; returns what is only odd."""
    from ambulo.errors import AmbuloError, ProjectError, nearest_names
    from ambulo.formats.registry import load_all

    take = arguments.take
    rate = None if found is None else found[0].source_of(found[1].source, found[1].label).rate
    try:
        motions = load_all(take, rate=rate)
    except AmbuloError as error:
        return (f"{take.name} cannot be read, so its length is not known: {error.message}",)
    if arguments.clip and arguments.clip not in {motion.name for motion in motions}:
        near = nearest_names(arguments.clip, [motion.name for motion in motions])
        raise ProjectError(f"has no clip {arguments.clip!r}; {near}", path=take, key="clip")
    longest = max((m.frame_count / m.rate for m in motions if arguments.clip in ("", m.name)), default=0.0)
    if arguments.start is not None and arguments.start >= longest:
        raise ProjectError(
            f"the range would start at {arguments.start:g} s, the take ends at {longest:.2f} s: it would hold nowhere",
            path=take,
            key="start",
            remedy="give seconds of the take from its first frame",
        )
    if arguments.stop is not None and arguments.stop > longest + 0.05:
        return (f"the take ends at {longest:.2f} s, before {arguments.stop:g} s: the tag holds to its end",)
    return ()


def _settle(arguments: Arguments, file: Path) -> Tagged:
    """Accept or reject proposals."""
    from ambulo.formats.proposal_file import Proposal, settle
    from ambulo.formats.tag_edit import TagDocument
    from ambulo.formats.tag_file import check_tag

    wanted = {check_tag(tag) for tag in arguments.tags}

    def chosen(entry: Proposal) -> bool:
        times = (arguments.start in (None, entry.start)) and (arguments.stop in (None, entry.stop))
        return times and (not wanted or entry.tag in wanted) and entry.confidence >= arguments.least

    taken = settle(arguments.take, chosen, accept=arguments.action == "accept")
    changed = tuple(TagLine(None, entry.start, entry.stop, entry.tag, 0, 0.0) for entry in taken)
    rows = tuple(TagLine(row.line, *row.range) for row in TagDocument(file).rows)
    return Tagged(str(file), arguments.action, changed, rows)


def show(result: Tagged) -> None:
    """Print it."""
    print(f"{result.file}: {len(result.ranges)} range{'' if len(result.ranges) == 1 else 's'}")
    for entry in result.ranges if result.action == "list" else result.changed:
        start = "start" if entry.start is None else f"{entry.start:g}"
        stop = "end" if entry.stop is None else f"{entry.stop:g}"
        more = f"  priority {entry.priority}" if entry.priority else ""
        more += f"  bonus {entry.bonus:g}" if entry.bonus else ""
        more += f"  clip {entry.clip}" if entry.clip else ""
        sign = {"add": "+ ", "remove": "- ", "list": "", "accept": "+ ", "reject": "- "}[result.action]
        print(f"  {sign}{entry.tag:<24} {start} to {stop} s{more}")
    for note in result.notes:
        print(f"  note: {note}")

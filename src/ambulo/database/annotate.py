"""What people say about takes: tags and numbers from the project file, folders, file names and files beside takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from ambulo.database.annotation_settings import COMPUTED_CHANNELS, MIRRORED
from ambulo.database.catalog import FrameNumber, FrameRange
from ambulo.database.project import Project
from ambulo.database.records import ClipRecord
from ambulo.database.style_spec import StyleSpec
from ambulo.database.tags import mirrored_tag, range_to_frames, tags_of_file_name, tags_of_folders
from ambulo.database.takes import Take
from ambulo.errors import ProjectError, nearest_names
from ambulo.formats.channel_file import NumberRange, channel_file_of, read_channel_rows
from ambulo.formats.tag_file import TagRange, TagRow, check_tag, read_tag_rows, tag_file_of
from ambulo.motion.motion import Note
from ambulo.prepare.stylise.style import STYLISED, tempo_factor


class TagNote(NamedTuple):
    """A tag of a take, where it comes from, and the line of its file."""

    range: TagRange
    origin: str
    line: int | None = None


class NumberNote(NamedTuple):
    """A number of a take, where it comes from, and the line of its file."""

    range: NumberRange
    origin: str
    line: int | None = None


class TakeAnnotations(NamedTuple):
    """All that is said about one take. Of numbers of one channel, the later ones hold."""

    tags: list[TagNote]
    numbers: list[NumberNote]


def read_annotations(project: Project, takes: Sequence[Take]) -> list[TakeAnnotations]:
    """The annotations of every take.

    Raises:
        ProjectError: a file is wrong, or two annotations contradict each other; with the line.
    """
    return [TakeAnnotations(_tags(project, take), _numbers(project, take)) for take in takes]


def check_tag_rows(project: Project, take: Take, rows: Sequence[TagRow]) -> None:
    """Refuse rows of a take's tag file that contradict each other, or what else is said about the take.

    Raises:
        ProjectError: two tags of one exclusive group hold at the same time.
    """
    _tags(project, take, rows)


def _tags(project: Project, take: Take, rows: Sequence[TagRow] | None = None) -> list[TagNote]:
    source, style = project.sources[take.source], None if take.style is None else project.stylise[take.style]
    named = take.relative if style is None else take.relative.replace(f"@{style.name}", "")
    notes = [TagNote(TagRange(None, None, check_tag(tag)), "project") for tag in source.tags]
    if "folder" in source.tags_from:
        notes += [TagNote(TagRange(None, None, tag), "folder") for tag in tags_of_folders(named)]
    if "name" in source.tags_from:
        notes += [TagNote(TagRange(None, None, tag), "name") for tag in tags_of_file_name(named)]
    file = tag_file_of(take.path)
    if rows is None:
        rows = read_tag_rows(file) if file.exists() else []
    notes += [TagNote(row.range, "file", row.line) for row in rows]
    if style is not None:
        notes = [_restyled(note, style) for note in notes if note.range.tag not in style.without]
        notes += [TagNote(TagRange(None, None, check_tag(tag)), "style") for tag in (STYLISED, *style.tags)]
    unique = {(note.range, note.origin): note for note in reversed(notes)}  # of equal ones, the first line
    kept = list(reversed(unique.values()))
    for group in project.tags.exclusive:
        _check_exclusive([note for note in kept if note.range.tag in group], take)
    return kept


def _restyled(note: TagNote, style: StyleSpec) -> TagNote:
    """The tag of a base on what a style makes of it: a tempo moves its times."""
    start, stop = _retimed(note.range, style)
    return note._replace(range=note.range._replace(start=start, stop=stop))


def _retimed(entry: TagRange | NumberRange, style: StyleSpec) -> tuple[float | None, float | None]:
    factor = tempo_factor(style.operators)
    return (
        None if entry.start is None else entry.start / factor,
        None if entry.stop is None else entry.stop / factor,
    )


def _check_exclusive(notes: Sequence[TagNote], take: Take) -> None:
    for one, other in combinations(notes, 2):
        if one.range.tag == other.range.tag or (
            one.range.clip and other.range.clip and one.range.clip != other.range.clip
        ):
            continue
        start = max(one.range.start or 0.0, other.range.start or 0.0)
        stops = [note.range.stop for note in (one, other) if note.range.stop is not None]
        if stops and min(stops) <= start:
            continue
        until = f"to {min(stops):g} s" if stops else "on"
        lines = [note.line for note in (one, other) if note.line is not None]
        raise ProjectError(
            f"{_said(one)} and {_said(other)} both hold from {start:g} s {until}, but [tags] exclusive allows one of "
            "them",
            path=tag_file_of(take.path) if lines else take.path,
            line=max(lines, default=None),
            key="tags.exclusive",
            remedy=_way_out(one, other),
        )


def _way_out(one: TagNote, other: TagNote) -> str:
    """What to do about two tags that exclude each other, by where they come from."""
    ways = []
    for note in (one, other):
        if note.origin == "name":
            ways.append(f"rename the file or take 'name' out of the source's tags_from for {note.range.tag!r}")
        elif note.origin == "folder":
            ways.append(f"rename the folder or take 'folder' out of the source's tags_from for {note.range.tag!r}")
        elif note.origin == "style":
            ways.append("name the tag of the base in `without` of the style")
        elif note.origin == "project":
            ways.append(f"take {note.range.tag!r} out of the source's tags")
    if one.origin == other.origin == "file":
        ways.append("let one range stop where the other starts")
    return ", or ".join([*dict.fromkeys(ways), "take the group out of ambulo.toml"])


def _said(note: TagNote) -> str:
    origins = {
        "file": f"line {note.line}",
        "name": "the file's name",
        "folder": "a folder's name",
        "style": "its style",
    }
    return f"{note.range.tag!r} ({origins.get(note.origin, 'the project file')})"


def _numbers(project: Project, take: Take) -> list[NumberNote]:
    given = project.sources[take.source].numbers
    notes = [NumberNote(NumberRange(None, None, name, value), "project") for name, value in sorted(given.items())]
    file = channel_file_of(take.path)
    if file.exists():
        for row in read_channel_rows(file):
            channel = project.channels.get(row.range.channel)
            if row.range.channel in COMPUTED_CHANNELS:
                raise ProjectError(
                    f"{row.range.channel!r} is computed from the motion, and cannot be said",
                    path=file,
                    line=row.line,
                    key="channel",
                    remedy="take the row out, or give the number another name",
                )
            if channel is None:
                raise ProjectError(
                    f"the project has no channel {row.range.channel!r}; "
                    f"{nearest_names(row.range.channel, project.channels)}",
                    path=file,
                    line=row.line,
                    key="channel",
                    remedy=f'declare it in ambulo.toml: [channels.{row.range.channel}] with its unit = "..."',
                )
            for value in (row.range.value, row.range.end_value):
                fault = None if value is None else channel.fault(value)
                if fault is not None:
                    raise ProjectError(
                        f"{row.range.channel} is {fault}",
                        path=file,
                        line=row.line,
                        key=row.range.channel,
                        remedy="correct the value, or the minimum and maximum of "
                        f"[channels.{row.range.channel}] in ambulo.toml",
                    )
            notes.append(NumberNote(row.range, "file", row.line))
    if take.style is not None:
        times = [_retimed(note.range, project.stylise[take.style]) for note in notes]
        notes = [
            note._replace(range=note.range._replace(start=start, stop=stop))
            for note, (start, stop) in zip(notes, times, strict=True)
        ]
    return notes


def tag_frames(
    notes: Sequence[TagNote], clip: ClipRecord, rate: float, *, number: int, offset: int, mirrored: bool
) -> Iterator[FrameRange]:
    """The tags of a take on one of its clips.

    Args:
        notes: of the take.
        clip: its record.
        rate: frames a second.
        number: of the clip in the database.
        offset: its first frame there.
        mirrored: the clip is the mirrored copy.
    """
    for note in notes:
        entry = note.range
        start, stop = _frames(entry, clip, rate)
        if stop > start and entry.clip in ("", clip.name):
            tag = mirrored_tag(entry.tag) if mirrored else entry.tag
            yield FrameRange(number, tag, offset + start, offset + stop, note.origin, entry.priority, entry.bonus)
    if mirrored:
        yield FrameRange(number, MIRRORED, offset, offset + clip.frame_count, "mirror")


def number_frames(
    notes: Sequence[NumberNote],
    clip: ClipRecord,
    project: Project,
    *,
    number: int,
    offset: int,
    mirrored: bool,
) -> Iterator[FrameNumber]:
    """The numbers of a take on one of its clips; arguments as in :func:`tag_frames`."""
    for note in notes:
        entry = note.range
        start, stop = _frames(entry, clip, project.rate)
        if stop <= start:
            continue
        sign = -1.0 if mirrored and project.channels[entry.channel].mirrored == "negated" else 1.0
        first = last = entry.value
        if entry.end_value is not None and entry.start is not None and entry.stop is not None:
            slope = (entry.end_value - entry.value) / (entry.stop - entry.start)
            first, last = (
                entry.value + slope * (clip.start_time + frame / project.rate - entry.start) for frame in (start, stop)
            )
        yield FrameNumber(number, entry.channel, offset + start, offset + stop, sign * first, sign * last, note.origin)


def _frames(entry: TagRange | NumberRange, clip: ClipRecord, rate: float) -> tuple[int, int]:
    return range_to_frames(entry.start, entry.stop, rate=rate, frame_count=clip.frame_count, start_time=clip.start_time)


def outside_notes(said: TakeAnnotations, clips: Sequence[ClipRecord], rate: float) -> list[Note]:
    """Warnings about ranges of a take that hold on no frame of any of its clips."""
    notes = []
    usable = ", ".join(f"{c.start_time:.2f} to {c.start_time + c.frame_count / rate:.2f} s" for c in clips)
    for kind, entries in (("tag", said.tags), ("number", said.numbers)):
        for note in entries:
            entry = note.range
            wanted = entry.clip if isinstance(entry, TagRange) else ""
            if wanted and wanted not in {clip.name for clip in clips}:
                near = nearest_names(wanted, {clip.name for clip in clips})
                text = f"a row is about the clip {wanted!r}, which the file does not have; {near}"
                notes.append(Note(f"{kind}_clip", text, warning=True, line=note.line))
                continue
            about = [clip for clip in clips if wanted in ("", clip.name)]
            if all(stop <= start for start, stop in (_frames(entry, clip, rate) for clip in about)):
                name = entry.tag if isinstance(entry, TagRange) else entry.channel
                until = "its end" if entry.stop is None else f"{entry.stop:g} s"
                text = (
                    f"{name!r} from {entry.start or 0.0:g} s to {until} lies outside of what is used of the take "
                    f"({usable}) and holds nowhere"
                )
                notes.append(Note(f"{kind}_outside", text, warning=True, line=note.line))
    return notes

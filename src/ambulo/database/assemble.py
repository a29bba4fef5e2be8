"""From prepared takes to the layout of a database: which clips stay, their order, names and tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from ambulo.database.annotate import TakeAnnotations, number_frames, outside_notes, tag_frames
from ambulo.database.catalog import Clip, FrameNumber, FrameRange
from ambulo.database.manifest import SkeletonRecord
from ambulo.database.project import Project
from ambulo.database.records import ClipRecord, Summary, TakeRecord
from ambulo.database.tags import merge_ranges, mirrored_tag, words_of
from ambulo.database.takes import Take
from ambulo.motion.motion import Note

Signature = tuple[tuple[str, ...], tuple[int, ...]]


class PlacedClip(NamedTuple):
    """A clip with its place in the database.

    Attributes:
        take: number of its take.
        number: of the clip in the take.
        record: what is known about it.
        clip: its row in the catalogue.
    """

    take: int
    number: int
    record: ClipRecord
    clip: Clip


class Layout(NamedTuple):
    """What the database will hold.

    Attributes:
        skeleton: the one that most of the motion is on.
        clips: in the order of their frames.
        ranges: tag ranges.
        numbers: of the numeric channels.
        excluded: number of a take -> why it is left out although it could be read.
        notes: number of a take -> what is wrong with what is said about it.
    """

    skeleton: SkeletonRecord
    clips: list[PlacedClip]
    ranges: list[FrameRange]
    numbers: list[FrameNumber]
    excluded: dict[int, str]
    notes: dict[int, tuple[Note, ...]]

    @property
    def frame_count(self) -> int:
        """Frames of all clips."""
        return self.clips[-1].clip.stop if self.clips else 0


def lay_out(
    project: Project,
    takes: Sequence[Take],
    records: Sequence[TakeRecord],
    skeletons: dict[str, SkeletonRecord],
    annotations: Sequence[TakeAnnotations],
    signature: Signature | None = None,
) -> Layout | None:
    """Decide what the database holds; None where no take has a clip.

    Args:
        project, takes, records, skeletons, annotations: what there is.
        signature: of the target's skeleton; None for the one that most of the motion is on.
    """
    chosen = majority_skeleton(records, skeletons, signature)
    if chosen is None:
        return None
    excluded: dict[int, str] = {}
    clips: list[PlacedClip] = []
    ranges: list[FrameRange] = []
    numbers: list[FrameNumber] = []
    notes: dict[int, tuple[Note, ...]] = {}
    names = _clip_names(project, takes, records)
    frame = 0
    for number, (take, record) in enumerate(zip(takes, records, strict=True)):
        for index, entry in enumerate(record.clips):
            if skeletons[entry.skeleton].signature != chosen.signature:
                excluded[number] = _difference(skeletons[entry.skeleton], chosen)
                continue
            for mirrored in (False, True) if project.mirror else (False,):
                source = project.sources[take.source]
                said, place = annotations[number], {"number": len(clips), "offset": frame}
                clip_ranges = list(tag_frames(said.tags, entry, project.rate, mirrored=mirrored, **place))
                own = _own_name(take, record, index) if "name" in source.tags_from else ""
                known = {r.tag for r in clip_ranges}
                for word in words_of(own):
                    tag = mirrored_tag(word) if mirrored else word
                    if tag not in known:
                        clip_ranges.append(FrameRange(len(clips), tag, frame, frame + entry.frame_count, "name"))
                ranges += clip_ranges
                numbers += number_frames(said.numbers, entry, project, mirrored=mirrored, **place)
                clip = Clip(
                    names[number, index] + ("_mirrored" if mirrored else ""),
                    frame,
                    frame + entry.frame_count,
                    take.label,
                    mirrored,
                    source.licence or entry.licence,
                    tuple(sorted({r.tag for r in clip_ranges})),
                    entry.start_time,
                    source.attribution or entry.attribution,
                )
                clips.append(PlacedClip(number, index, entry, clip))
                frame += entry.frame_count
        found = outside_notes(annotations[number], record.clips, project.rate) if record.clips else []
        if found and number not in excluded:
            notes[number] = tuple(found)
    return Layout(chosen, clips, ranges, numbers, excluded, notes)


def summarize(layout: Layout, rate: float) -> Summary:
    """Size of the database that a layout describes."""
    by_tag: dict[str, list[tuple[int, int]]] = {}
    for entry in layout.ranges:
        by_tag.setdefault(entry.tag, []).append((entry.start, entry.stop))
    seconds = {}
    for tag, tag_ranges in sorted(by_tag.items()):
        merged = merge_ranges(tag_ranges)
        seconds[tag] = round(float((merged[:, 1] - merged[:, 0]).sum()) / rate, 3)
    mirrored = sum(placed.clip.mirrored for placed in layout.clips)
    return Summary(len(layout.clips), mirrored, layout.frame_count, seconds)


def majority_skeleton(
    records: Sequence[TakeRecord], skeletons: dict[str, SkeletonRecord], wanted: Signature | None = None
) -> SkeletonRecord | None:
    """The skeleton that most frames are on; of its variants (other offsets, other roles), that of most frames.

    Takes that were put on another skeleton count for their own. With ``wanted`` only its variants are looked at.
    """
    by_signature: dict[Signature, int] = {}
    by_key: dict[str, int] = {}
    for record in records:
        for clip in record.own_clips if wanted is None else record.clips:
            signature = skeletons[clip.skeleton].signature
            if wanted is not None and signature != wanted:
                continue
            by_signature[signature] = by_signature.get(signature, 0) + clip.frame_count
            by_key[clip.skeleton] = by_key.get(clip.skeleton, 0) + clip.frame_count
    if not by_signature:
        return None
    best = max(by_signature, key=lambda signature: by_signature[signature])
    variants = [key for key in by_key if skeletons[key].signature == best]
    return skeletons[max(variants, key=lambda key: by_key[key])]


def _difference(skeleton: SkeletonRecord, chosen: SkeletonRecord) -> str:
    extra = [name for name in skeleton.names if name not in chosen.names]
    lacking = [name for name in chosen.names if name not in skeleton.names]
    parts = [
        f"{label} {', '.join(names[:4])}{' and more' if len(names) > 4 else ''}"
        for label, names in (("it has", extra), ("it lacks", lacking))
        if names
    ]
    why = "; ".join(parts) or "the same joints hang together in another way"
    return (
        f"it is on another skeleton ({len(skeleton.names)} joints, root included) than most of the motion "
        f"({len(chosen.names)}): {why} | give it a project of its own"
    )


def _own_name(take: Take, record: TakeRecord, index: int) -> str:
    """What a file of several clips calls one of them; empty where that says no more than the file's own name."""
    name = record.clips[index].name.strip().replace("/", "_")
    alone = len(record.clips) == 1 or name.startswith(PurePosixPath(take.relative).stem)
    return "" if alone else name


def _clip_names(project: Project, takes: Sequence[Take], records: Sequence[TakeRecord]) -> dict[tuple[int, int], str]:
    """A unique name for every clip: the take's path in its source, led by the source's where two have the same."""
    stems = [PurePosixPath(take.relative).with_suffix("").as_posix() for take in takes]
    repeated = {stem for stem, count in Counter(stems).items() if count > 1}
    names: dict[tuple[int, int], str] = {}
    used: set[str] = set()
    for number, (take, record) in enumerate(zip(takes, records, strict=True)):
        base = stems[number]
        if base in repeated:
            base = f"{PurePosixPath(project.sources[take.source].path).name or take.source}/{base}"
        for index in range(len(record.clips)):
            own = _own_name(take, record, index)
            name = f"{base}/{own}" if own else base if index == 0 else f"{base}_{index + 1}"
            count = 2
            while name in used:
                name, count = f"{base}_{count}", count + 1
            used |= {name, f"{name}_mirrored"}
            names[number, index] = name
    return names

"""What a build says at its end: clips, minutes, tags, megabytes, warnings, and the takes that could not be used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from ambulo.database.licences import LicenceUse
from ambulo.database.problems import TakeProblem, problems_of
from ambulo.database.records import BuildState, RetargetRecord, TakeRecord
from ambulo.database.takes import Orphan, Take


class TakeWarning(msgspec.Struct, frozen=True):
    """Something about a used take that looks wrong.

    Attributes:
        take: the file, as the project names it.
        code: a stable short name.
        message: one sentence.
    """

    take: str
    code: str
    message: str


class RetargetSummary(msgspec.Struct, frozen=True):
    """What retargeting did to the takes of one source skeleton; pairs are before and after, means over frames.

    Attributes:
        takes: how many.
        joints: of their own skeleton.
        target: file on the target's skeleton.
        slide_cm_s: of toes in contact.
        penetration_cm: of toes below their standing height.
        jumps: joint-angle jumps a minute.
        contact_f1: agreement of contacts.
    """

    takes: int
    joints: int
    target: str
    slide_cm_s: tuple[float, float]
    penetration_cm: tuple[float, float]
    jumps: tuple[float, float]
    contact_f1: float


class BuildReport(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a build.

    Attributes:
        name: the project's name.
        folder: the database's folder.
        up_to_date: nothing had changed, nothing was done.
        takes: files that the project names.
        used: files of them that are in the database.
        prepared: files that were read and prepared in this build; the others were unchanged.
        clips: clips in the database, mirrored ones included.
        mirrored: the mirrored ones of them.
        frames: frames of all clips.
        rate: frames a second.
        seconds: of motion, all clips together.
        invalid_frames: frames marked as glitches, without the mirrored clips.
        tags: tag -> seconds of motion that carry it, largest first.
        units: unit that the files were read in -> number of files.
        megabytes: size on the disk, 10^6 bytes.
        problems: takes that are not in the database.
        warnings: what looks wrong about the others.
        workers: processes that prepared takes.
        wall_seconds: duration of the build.
        licences: of the takes that are in the database, that of most motion first.
        retargeted: what was put on the target's skeleton, by source and own skeleton.
    """

    name: str
    folder: str
    up_to_date: bool
    takes: int
    used: int
    prepared: int
    clips: int
    mirrored: int
    frames: int
    rate: float
    seconds: float
    invalid_frames: int
    tags: dict[str, float]
    units: dict[str, int]
    megabytes: float
    problems: tuple[TakeProblem, ...]
    warnings: tuple[TakeWarning, ...]
    workers: int
    wall_seconds: float
    licences: tuple[LicenceUse, ...] = ()
    retargeted: tuple[RetargetSummary, ...] = ()


def summarize_retargeting(takes: Sequence[Take], records: Sequence[TakeRecord]) -> tuple[RetargetSummary, ...]:
    """One summary a source and own skeleton."""
    groups: dict[tuple[int, int, str], list[tuple[int, RetargetRecord]]] = {}
    for number, (take, record) in enumerate(zip(takes, records, strict=True)):
        for entry in record.retargeted:
            groups.setdefault((take.source, entry.joints, entry.target), []).append((number, entry))
    found = []
    for (_, joints, target), numbered in groups.items():
        entries = [entry for _, entry in numbered]
        found.append(
            RetargetSummary(
                len({number for number, _ in numbered}),
                joints,
                target,
                _mean_pair(entries, [entry.slide for entry in entries], 100.0),
                _mean_pair(entries, [entry.penetration for entry in entries], 100.0),
                _mean_pair(entries, [entry.jumps for entry in entries], 1.0),
                _mean(entries, [entry.contact_f1 for entry in entries], 1.0),
            )
        )
    return tuple(found)


def _mean(entries: Sequence[RetargetRecord], values: Sequence[float], scale: float) -> float:
    frames = sum(entry.frames for entry in entries)
    total = sum(value * entry.frames for value, entry in zip(values, entries, strict=True))
    return round(scale * total / max(frames, 1), 3)


def _mean_pair(
    entries: Sequence[RetargetRecord], pairs: Sequence[tuple[float, float]], scale: float
) -> tuple[float, float]:
    before, after = (_mean(entries, [pair[side] for pair in pairs], scale) for side in (0, 1))
    return before, after


def report_of(
    name: str,
    folder: Path,
    rate: float,
    takes: Sequence[Take],
    state: BuildState,
    orphans: Sequence[Orphan] = (),
    *,
    megabytes: float,
    prepared: int,
    workers: int,
    up_to_date: bool,
    wall_seconds: float,
    licences: tuple[LicenceUse, ...] = (),
) -> BuildReport:
    """The report on a database whose state is known."""
    used = [n for n, starts in enumerate(state.starts) if starts]
    units: dict[str, int] = {}
    for number in used:
        unit = state.records[number].unit
        units[unit] = units.get(unit, 0) + 1
    warnings = tuple(
        TakeWarning(takes[number].label, note.code, note.message)
        for number in used
        for note in (*state.records[number].notes, *state.notes.get(number, ()))
        if note.warning
    ) + tuple(TakeWarning(orphan.label, "no_take", f"{orphan.why}; {orphan.remedy}") for orphan in orphans)
    summary = state.summary
    return BuildReport(
        name=name,
        folder=str(folder),
        up_to_date=up_to_date,
        takes=len(takes),
        used=len(used),
        prepared=prepared,
        clips=summary.clips,
        mirrored=summary.mirrored,
        frames=summary.frames,
        rate=rate,
        seconds=round(summary.frames / rate, 3),
        invalid_frames=sum(clip.invalid_count for number in used for clip in state.records[number].clips),
        tags=dict(sorted(summary.tags.items(), key=lambda item: (-item[1], item[0]))),
        units=dict(sorted(units.items())),
        megabytes=round(megabytes, 3),
        problems=problems_of(takes, state.records, state.excluded),
        warnings=warnings,
        workers=workers,
        wall_seconds=round(wall_seconds, 3),
        licences=licences,
        retargeted=summarize_retargeting(takes, state.records),
    )

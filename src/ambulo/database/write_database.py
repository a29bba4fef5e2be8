"""Writing the files of a new database: frames, catalogue, what the build remembers, manifest."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

import ambulo
from ambulo.database.assemble import Layout, PlacedClip
from ambulo.database.build_files import BUILD_FILE, OWN_FILES
from ambulo.database.catalog import CATALOG, CatalogRows, write_catalog
from ambulo.database.channels import CHANNELS
from ambulo.database.manifest import VERSION, Manifest, list_files, write_manifest
from ambulo.database.old_database import FrameRun, OldDatabase
from ambulo.database.pieces import PIECES_FILE, write_pieces
from ambulo.database.project import Project
from ambulo.database.records import BuildState, TakeRecord
from ambulo.database.row_writer import RowWriter
from ambulo.database.storage import Array, checksum_of, link_or_copy
from ambulo.database.takes import Take


def frame_runs(layout: Layout, old_start: Callable[[PlacedClip], int | None]) -> list[FrameRun]:
    """The frames that the old database has, as few runs as possible."""
    runs: list[FrameRun] = []
    for placed in layout.clips:
        old = old_start(placed)
        if old is None:
            continue
        start, count = placed.clip.start, placed.record.frame_count
        last = runs[-1] if runs else FrameRun(-1, -1, 0)
        if (last.start + last.length, last.old_start + last.length) == (start, old):
            runs[-1] = last._replace(length=last.length + count)
        else:
            runs.append(FrameRun(start, old, count))
    return runs


def is_whole(layout: Layout, runs: Sequence[FrameRun], old: OldDatabase | None) -> bool:
    """Whether the old database has just these frames."""
    return old is not None and [*runs] == [FrameRun(0, 0, layout.frame_count)] == [
        FrameRun(0, 0, old.manifest.frame_count)
    ]


def write_frames(
    folder: Path,
    layout: Layout,
    old: OldDatabase | None,
    runs: Sequence[FrameRun],
    read: Callable[[PlacedClip], Mapping[str, Array]],
    step: Callable[[int], None],
) -> dict[str, str]:
    """Write every channel; memory stays at one clip. Returns the files' checksums, where they are known.

    Frames that the old database has are copied by the system, in runs; where it has all of them, its files are given a
    second name here.

    Args:
        folder: the new database's.
        layout: its content.
        old: the database that is there.
        runs: which frames it has.
        read: gives the rows of every channel of a clip that it does not have.
        step: called with the number of frames that were written.
    """
    (folder / "frames").mkdir()
    if old is not None and is_whole(layout, runs, old):
        names = [PIECES_FILE, *(channel.file for channel in CHANNELS)]
        for name in names:
            link_or_copy(old.folder / name, folder / name)
        step(layout.frame_count)
        return {name: old.manifest.checksums[name] for name in names}
    joints = len(layout.skeleton.names)
    copied = {run.start: run for run in runs}
    with ExitStack() as stack:
        writers = {}
        for channel in CHANNELS:
            shape = (layout.frame_count, *channel.row_shape(joints))
            writers[channel] = stack.enter_context(RowWriter(folder / channel.file, channel.name, channel.dtype, shape))
        written = 0
        for placed in layout.clips:
            if placed.clip.stop <= written:
                continue  # part of a run
            run = copied.get(placed.clip.start)
            if run is not None and old is not None:
                for channel, writer in writers.items():
                    digests = old.pieces.between(channel.name, run.old_start, run.length)
                    writer.copy(old.folder / channel.file, run.old_start, run.length, digests)
            else:
                rows = read(placed)
                for channel, writer in writers.items():
                    writer.append(rows[channel.name])
            count = placed.record.frame_count if run is None else run.length
            written += count
            step(count)
        checksums = {channel.file: writer.checksum for channel, writer in writers.items()}
        digests_of = {channel.name: writer.digests for channel, writer in writers.items()}
    write_pieces(folder, [placed.clip.stop for placed in layout.clips], digests_of)
    return checksums


def write_tables(
    folder: Path,
    project: Project,
    takes: Sequence[Take],
    sha256: Sequence[str],
    records: Sequence[TakeRecord],
    layout: Layout,
) -> None:
    """Write the catalogue."""
    sources = [(s.path.replace("\\", "/"), s.glob, s.licence, s.attribution) for s in project.sources]
    take_rows, notes = [], []
    for number, (take, digest, record) in enumerate(zip(takes, sha256, records, strict=True)):
        status, reason = "used", ""
        if record.failure is not None:
            status, reason = "failed", record.failure.text
        elif number in layout.excluded:
            status, reason = "excluded", layout.excluded[number]
        take_rows.append(
            (
                *(take.source, take.label, status, reason, digest, take.size, record.format, record.unit),
                *(record.metres_per_unit, record.unit_guessed, record.up, record.up_guessed, record.frame_time),
            )
        )
        found = (*record.notes, *layout.notes.get(number, ()))
        notes += [(number, n.code, n.message, n.warning, n.line, n.joint) for n in found]
    rows = CatalogRows(
        sources,
        take_rows,
        [(p.take, p.clip) for p in layout.clips],
        layout.ranges,
        notes,
        project.channels,
        layout.numbers,
        {
            "name": project.name,
            "rate": f"{project.rate!r}",
            "frames": str(layout.frame_count),
            "version": str(VERSION),
        },
    )
    path = folder / CATALOG
    write_catalog(path, rows, CHANNELS)
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def write_state(folder: Path, state: BuildState) -> None:
    """Write what the build remembers."""
    with (folder / BUILD_FILE).open("wb") as file:
        file.write(msgspec.json.encode(state))
        file.flush()
        os.fsync(file.fileno())


def finish_manifest(
    folder: Path, project: Project, layout: Layout, state: BuildState, checksums: dict[str, str]
) -> Manifest:
    """Write the manifest of what lies in the folder.

    Args:
        folder, project, layout, state: of the new database.
        checksums: of files that are known already; those of the others are added.
    """
    files = list_files(folder, OWN_FILES)
    for name in files:
        if name not in checksums:
            checksums[name] = checksum_of(folder / name)
    manifest = Manifest(
        name=project.name,
        rate=project.rate,
        frame_count=layout.frame_count,
        clip_count=len(layout.clips),
        skeleton=layout.skeleton,
        channels=list(CHANNELS),
        files=files,
        checksums={name: checksums[name] for name in files},
        digest=state.inputs.digest,
        code=state.inputs.code,
        ambulo=ambulo.__version__,
    )
    write_manifest(folder, manifest)
    return manifest

"""The compiler from a project to a database: deterministic, incremental, parallel over files, atomic."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from ambulo.database.annotate import TakeAnnotations, read_annotations
from ambulo.database.assemble import lay_out, summarize
from ambulo.database.build_files import own_stamps, read_stamps, read_state, touched_files, write_stamps
from ambulo.database.engines.engine import create_engine
from ambulo.database.fingerprints import database_code, project_content
from ambulo.database.licences import licences_of_build
from ambulo.database.manifest import list_files, read_manifest, refuse_newer, verify_files
from ambulo.database.old_database import CarriedFrames, OldDatabase
from ambulo.database.preparation import Preparation
from ambulo.database.problems import problems_of, refuse_problems
from ambulo.database.project import Project, load_project
from ambulo.database.records import BuildState, Inputs
from ambulo.database.report import BuildReport, report_of
from ambulo.database.retarget_plan import outside_files
from ambulo.database.soundness import check_sound
from ambulo.database.styled_takes import find_all_takes
from ambulo.database.swap import BuildLock, behind_links, recover, staging_of, swap_in
from ambulo.database.takes import Hasher, Take, find_orphans, hash_takes
from ambulo.database.write_database import (
    finish_manifest,
    frame_runs,
    is_whole,
    write_frames,
    write_state,
    write_tables,
)
from ambulo.errors import DatabaseError

Progress = Callable[[str, int, int], None]
"""Called with a stage (``scan``, ``prepare``, ``write``, ``index``), how much of it is done, and how much there is."""

Finish = Callable[[Path, CarriedFrames | None], None]
"""Called with the new database's folder, and with what it has of an old one that the same code made."""

_WORK = "work"


def build_frames(
    project_path: str | Path,
    *,
    folder: str | Path | None = None,
    jobs: int | None = None,
    strict: bool = False,
    force: bool = False,
    progress: Progress | None = None,
    finish: Finish | None = None,
    engine: str = "local",
) -> BuildReport:
    """Build the database of a project, or bring it up to date.

    Only takes whose file or settings changed are prepared again; the frames of the others come from the old database,
    whose files are kept where no frame changed. The new one is built beside the old one and takes its place in the end,
    so that a crash at any moment leaves the old one whole. Same inputs, same bytes, however many jobs.

    Args:
        project_path: the project's folder or its ``ambulo.toml``.
        folder: where to; ``PROJECT/database`` by default.
        jobs: processes at most; the number of cores by default.
        strict: refuse to build when any take fails or is left out.
        force: build everything anew.
        progress: told how far the build is.
        finish: called before the new database takes its place: writes what is derived from frames.
        engine: where takes are prepared, see :func:`ambulo.database.engines.engine.create_engine`.

    Returns:
        What was built, from what, and what is wrong with the takes.

    Raises:
        ProjectError: the project cannot be read, no take of it can be used, or there is no such engine.
        DatabaseError: another build is running, the disk refuses, or a newer ambulo built what is there.
    """
    began = time.perf_counter()
    project = load_project(project_path)
    prepare_with = create_engine(engine)
    prepare_with.worker_count(jobs, ())  # refuses what is not possible even where nothing is to be done
    folder = behind_links(project.database_folder if folder is None else Path(folder))
    tell = progress or (lambda stage, done, total: None)
    with BuildLock(folder):
        recover(folder)
        refuse_newer(folder)
        shutil.rmtree(staging_of(folder), ignore_errors=True)
        takes = find_all_takes(project)
        hasher = Hasher(read_stamps(folder))
        tell("scan", 0, len(takes))
        code, files = database_code(project), outside_files(project, hasher)
        inputs = Inputs(project_content(project), tuple(hash_takes(takes, hasher)), code, files)
        tell("scan", len(takes), len(takes))
        state = None if force else read_state(folder)
        if state is not None and _is_current(folder, inputs, state):
            if strict:
                refuse_problems(project.path, problems_of(takes, state.records, state.excluded), strict=True)
            with suppress(OSError):  # a project that cannot be written to is up to date all the same
                write_stamps(folder, {**hasher.stamps, **own_stamps(folder, read_manifest(folder))})
            return _report(project, folder, takes, state, began, up_to_date=True)
        staging = staging_of(folder)
        old = None if state is None else OldDatabase.open(folder, state)
        try:
            prepared = Preparation(project, takes, inputs, old, staging / _WORK, prepare_with, tell)
            annotations = read_annotations(project, takes)  # what is wrong with them is known before the work
            prepared.run(jobs)
            state = _write(staging, project, takes, inputs, prepared, annotations, old, tell, finish, strict=strict)
            write_stamps(staging, {**hasher.stamps, **own_stamps(staging, read_manifest(staging))})
            swap_in(staging, folder)
        except OSError as error:
            raise DatabaseError(
                f"the database cannot be written: {error}", path=folder, remedy="make room or choose another folder"
            ) from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        counts = {"prepared": len(prepared.fresh), "workers": prepared.workers}
        return _report(project, folder, takes, state, began, up_to_date=False, **counts)


def _report(
    project: Project,
    folder: Path,
    takes: Sequence[Take],
    state: BuildState,
    began: float,
    *,
    up_to_date: bool,
    prepared: int = 0,
    workers: int = 0,
) -> BuildReport:
    return report_of(
        project.name,
        folder,
        project.rate,
        takes,
        state,
        find_orphans(project),
        megabytes=sum(list_files(folder).values()) / 1e6,
        prepared=prepared,
        workers=workers,
        up_to_date=up_to_date,
        wall_seconds=time.perf_counter() - began,
        licences=licences_of_build(project, takes, state),
    )


def _is_current(folder: Path, inputs: Inputs, state: BuildState) -> bool:
    """Whether a database is what a build would make, and holds what was written: what was touched since is read."""
    try:
        manifest = check_sound(folder)
        if manifest.digest != inputs.digest or state.inputs != inputs:
            return False
        verify_files(folder, manifest, touched_files(folder, manifest, manifest.checksums, read_stamps(folder)))
    except (DatabaseError, OSError):
        return False
    return True


def _write(
    staging: Path,
    project: Project,
    takes: Sequence[Take],
    inputs: Inputs,
    prepared: Preparation,
    annotations: Sequence[TakeAnnotations],
    old: OldDatabase | None,
    tell: Progress,
    finish: Finish | None,
    *,
    strict: bool,
) -> BuildState:
    """Write the new database beside the old one."""
    records = tuple(prepared.records[number] for number in range(len(takes)))
    layout = lay_out(project, takes, records, prepared.skeletons, annotations, prepared.signature)
    problems = problems_of(takes, records, {} if layout is None else layout.excluded)
    if strict or layout is None:
        refuse_problems(project.path, problems, strict=strict and layout is not None)
    assert layout is not None, "takes without clips are problems"
    starts: list[tuple[int, ...]] = [()] * len(takes)
    for placed in layout.clips:
        starts[placed.take] += (placed.clip.start,)
    used = {clip.skeleton for record in records for clip in (*record.clips, *record.native_clips)}
    state = BuildState(
        inputs,
        {key: prepared.skeletons[key] for key in sorted(used)},
        records,
        tuple(starts),
        layout.excluded,
        layout.notes,
        summarize(layout, project.rate),
    )
    written, frame_count = 0, layout.frame_count

    def step(frames: int) -> None:
        nonlocal written
        written += frames
        tell("write", written, frame_count)

    runs = frame_runs(layout, prepared.old_start)
    checksums = write_frames(staging, layout, old, runs, prepared.read, step)
    prepared.close()
    shutil.rmtree(staging / _WORK)
    write_tables(staging, project, takes, [entry.sha256 for entry in inputs.takes], records, layout)
    write_state(staging, state)
    if finish is not None:
        tell("index", 0, 1)
        finish_manifest(staging, project, layout, state, checksums)
        same_code = old is not None and old.manifest.code == inputs.code
        finish(
            staging, CarriedFrames(old, runs, is_whole(layout, runs, old)) if old is not None and same_code else None
        )
    finish_manifest(staging, project, layout, state, checksums)
    if finish is not None:
        tell("index", 1, 1)
    if old is not None:
        old.close()
    return state

"""The compiler from a project to a database: deterministic, incremental, parallel over files, atomic."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from ambulo.database.annotate import read_annotations
from ambulo.database.assemble import (
    Layout,
    PlacedClip,
    lay_out,
    majority_skeleton,
    manifest_of,
    summarize,
    write_frames,
    write_tables,
)
from ambulo.database.build_files import (
    BUILD_FILE,
    STAMPS_FILE,
    kept_own_stamps,
    own_stamps,
    read_stamps,
    read_state,
    touched_files,
    write_stamps,
)
from ambulo.database.channels import CHANNELS
from ambulo.database.engines.engine import Engine, create_engine
from ambulo.database.fingerprints import (
    database_code,
    project_content,
    skeleton_key,
    take_key,
)
from ambulo.database.licences import licences_of_build
from ambulo.database.manifest import (
    SkeletonRecord,
    check_files,
    list_files,
    read_manifest,
    refuse_newer,
    verify_files,
    write_manifest,
)
from ambulo.database.prepare_jobs import JobResult, PrepareJob, tensor_name
from ambulo.database.project import Project, load_project
from ambulo.database.records import BuildState, Inputs, TakeRecord
from ambulo.database.report import BuildReport, TakeProblem, problems_of, report_of
from ambulo.database.retarget_plan import (
    TargetSpec,
    explicit_target,
    majority_target,
    outside_files,
    retarget_key,
    signature_of_target,
)
from ambulo.database.soundness import check_sound
from ambulo.database.storage import Array, checksum_of, map_tensors
from ambulo.database.styled_takes import find_all_takes
from ambulo.database.swap import BuildLock, behind_links, recover, staging_of, swap_in
from ambulo.database.takes import Hasher, Take, find_orphans, hash_takes
from ambulo.errors import DatabaseError, ProjectError

Progress = Callable[[str, int, int], None]
"""Called with a stage (``scan``, ``prepare``, ``write``, ``index``), how much of it is done, and how much there is."""

OWN_FILES = frozenset({STAMPS_FILE})
"""Files of a database's folder that are no part of its content."""

_WORK = "work"


def build_frames(
    project_path: str | Path,
    *,
    folder: str | Path | None = None,
    jobs: int | None = None,
    strict: bool = False,
    force: bool = False,
    progress: Progress | None = None,
    finish: Callable[[Path], None] | None = None,
    engine: str = "local",
) -> BuildReport:
    """Build the database of a project, or bring it up to date.

    Only takes whose file or settings changed are prepared again; the frames of the others come from the old database.
    The new one is built beside the old one and takes its place in the end, so that a crash at any moment leaves the old
    one whole. Same inputs, same bytes, however many jobs.

    Args:
        project_path: the project's folder or its ``ambulo.toml``.
        folder: where to; ``PROJECT/database`` by default.
        jobs: processes at most; the number of cores by default.
        strict: refuse to build when any take fails or is left out.
        force: build everything anew.
        progress: told how far the build is.
        finish: called with the new database's folder before it takes its place: writes what is derived from frames.
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
                _refuse_problems(project, problems_of(takes, state.records, state.excluded), strict=True)
            with suppress(OSError):  # a project that cannot be written to is up to date all the same
                write_stamps(folder, {**hasher.stamps, **kept_own_stamps(read_stamps(folder))})
            return _report(project, folder, takes, state, began, up_to_date=True)
        build = _Build(project, folder, takes, inputs, state, tell, prepare_with)
        try:
            build.prepare(jobs)
            state = build.write(strict, finish)
            own = own_stamps(build.staging, read_manifest(build.staging), [c.file for c in CHANNELS])
            write_stamps(build.staging, {**hasher.stamps, **own})
            swap_in(build.staging, folder)
        except OSError as error:
            raise DatabaseError(
                f"the database cannot be written: {error}", path=folder, remedy="make room or choose another folder"
            ) from error
        finally:
            shutil.rmtree(staging_of(folder), ignore_errors=True)
        return _report(
            project, folder, takes, state, began, up_to_date=False, prepared=len(build.fresh), workers=build.workers
        )


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


def _refuse_problems(project: Project, problems: Sequence[TakeProblem], *, strict: bool) -> None:
    """Refuse to build; what is wrong with many takes alike, such as a joint that none of them has, is said once.

    A strict build passes over files that hold no motion at all: they are no fault.
    """
    if strict:
        problems = [problem for problem in problems if problem.kind != "skipped"]
    if not problems:
        return
    takes: dict[str, list[str]] = {}
    for problem in problems:
        takes.setdefault(problem.reason, []).append(problem.take)
    if len(problems) > 1 and len(takes) == 1:
        (reason,) = takes
        message, _, advice = reason.partition(" | ")
        text = f"{len(problems)} of its takes cannot be used, all for one reason: {message}"
    else:
        advice = ""
        parts = [
            f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {reason}"
            for reason, names in list(takes.items())[:5]
        ]
        rest = sum(len(names) for names in list(takes.values())[5:])
        text = f"{len(problems)} of its takes cannot be used: {'; '.join(parts)}" + (
            f"; and {rest} more" if rest else ""
        )
    remedy = advice or "mend or exclude them"
    raise ProjectError(text, path=project.path, remedy=f"{remedy}, or build without --strict" if strict else remedy)


def _is_current(folder: Path, inputs: Inputs, state: BuildState) -> bool:
    try:
        manifest = check_sound(folder)
    except DatabaseError:
        return False
    return manifest.digest == inputs.digest and state.inputs == inputs


class _Build:
    """One run of the compiler that has something to do."""

    def __init__(
        self,
        project: Project,
        folder: Path,
        takes: Sequence[Take],
        inputs: Inputs,
        state: BuildState | None,
        tell: Progress,
        engine: Engine,
    ) -> None:
        self.engine = engine
        self.project, self.folder, self.takes, self.inputs, self.tell = project, folder, takes, inputs, tell
        self.staging = staging_of(folder)
        self.copies = 2 if project.mirror else 1
        self.keys = [take_key(project, take.source, entry) for take, entry in zip(takes, inputs.takes, strict=True)]
        self.target = explicit_target(project, takes, [entry.sha256 for entry in inputs.takes], inputs.files)
        self.signature = None if self.target is None else signature_of_target(self.target)
        self.records: dict[int, TakeRecord] = {}
        self.skeletons: dict[str, SkeletonRecord] = {}
        self.old_starts: dict[int, tuple[int, ...]] = {}
        self.old: dict[str, Array] = {}
        self.open_take = -1
        self.open_tensors: dict[str, Array] = {}
        self.workers = 0
        if state is not None:
            self._reuse(state)
        self.fresh = [number for number in range(len(takes)) if number not in self.records]
        self.annotations = read_annotations(project, takes)

    def _reuse(self, state: BuildState) -> None:
        """Take over the records of unchanged takes; their frames are copied from the old database."""
        try:
            manifest = read_manifest(self.folder)
            check_files(self.folder, manifest)
            # Damage must not be handed on; what nobody touched since it was written is not read for that.
            touched = touched_files(self.folder, manifest, [c.file for c in CHANNELS], read_stamps(self.folder))
            verify_files(self.folder, manifest, touched)
            self.old = {c.name: map_tensors(self.folder / c.file)[c.name] for c in CHANNELS}
        except (DatabaseError, KeyError, OSError):
            return
        known = {record.native_key or record.key: number for number, record in enumerate(state.records)}
        for number, key in enumerate(self.keys):
            old = known.get(key if self.target is None else self._key(number, self.target))
            if old is None:
                continue
            record, starts = state.records[old], state.starts[old]
            if record.failure is not None and not record.failure.facts:
                continue  # an unexpected failure, such as no memory, may not happen again
            self.records[number] = record
            self.old_starts[number] = starts
            clips = (*record.clips, *record.native_clips)
            self.skeletons.update({clip.skeleton: state.skeletons[clip.skeleton] for clip in clips})

    def _key(self, number: int, target: TargetSpec | None) -> str:
        """The key of a take that is put on a target, or of the take alone."""
        source = self.project.sources[self.takes[number].source]
        if target is None or not source.retarget:
            return self.keys[number]
        mapping = None if source.mapping is None else self.inputs.files[source.mapping]
        return retarget_key(self.keys[number], target, mapping)

    def prepare(self, jobs: int | None) -> None:
        """Prepare the takes that changed."""
        (self.staging / _WORK).mkdir(parents=True)
        self._run(self.fresh, jobs, self.target)
        if self.target is not None:
            return
        # A take that was left out for its skeleton has no frames in the old database, and may fit now.
        chosen = majority_skeleton([self.records[number] for number in range(len(self.takes))], self.skeletons)
        late = [
            number
            for number, starts in self.old_starts.items()
            if chosen is not None
            and (len(starts) != self.copies * len(self.records[number].clips) or self.records[number].native_clips)
            and any(
                self.skeletons[clip.skeleton].signature == chosen.signature for clip in self.records[number].own_clips
            )
        ]
        for number in late:
            del self.records[number], self.old_starts[number]
        self._run(late, jobs, None)
        others: list[int] = []
        if chosen is not None:
            others = self._put_on(chosen, jobs)
        self.fresh = sorted({*self.fresh, *late, *others})

    def _put_on(self, chosen: SkeletonRecord, jobs: int | None) -> list[int]:
        """Put takes that are on other skeletons on the one of the most motion. Returns their numbers."""
        records = [self.records[number] for number in range(len(self.takes))]
        hashes = [entry.sha256 for entry in self.inputs.takes]
        target = majority_target(self.project, self.takes, hashes, records, skeleton_key(chosen))
        others = [
            number
            for number, record in enumerate(records)
            if target is not None
            and self.project.sources[self.takes[number].source].retarget
            and record.key != self._key(number, target)
            and any(self.skeletons[clip.skeleton].signature != chosen.signature for clip in record.own_clips)
        ]
        natives = {number: (self.keys[number], records[number].own_clips) for number in others}
        for number in others:
            self.old_starts.pop(number, None)
        self._run(others, jobs, target)
        for number, (key, clips) in natives.items():
            self.records[number] = msgspec.structs.replace(self.records[number], native_key=key, native_clips=clips)
        return others

    def _run(self, numbers: Sequence[int], jobs: int | None, target: TargetSpec | None) -> None:
        if not numbers:
            return
        work = []
        for number in numbers:
            take = self.takes[number]
            source = self.project.source_of(take.source, take.label)
            spec = self.project.spec_of(take.source, take.label)
            work.append(
                PrepareJob(
                    *(number, self._key(number, target), take.path, take.size, source.unit, source.up, source.rate),
                    *(dict(self.project.roles), self.project.prepare, self.project.mirror, self._work_file(number)),
                    corrections=None if spec is None else spec.corrections,
                    target=target if source.retarget else None,
                    mapping=None if source.mapping is None else self.project.folder / source.mapping,
                    travel=source.travel,
                    operators=() if take.style is None else self.project.stylise[take.style].operators,
                )
            )
        workers = self.engine.worker_count(jobs, work)
        self.workers = max(self.workers, workers)
        finished = 0
        self.tell("prepare", 0, len(work))

        def done(result: JobResult) -> None:
            nonlocal finished
            finished += 1
            self.records[result.number] = result.record
            self.skeletons.update(result.skeletons)
            self.tell("prepare", finished, len(work))

        self.engine.run(work, workers, done)

    def _work_file(self, number: int) -> Path:
        return self.staging / _WORK / f"{number}.safetensors"

    def write(self, strict: bool, finish: Callable[[Path], None] | None) -> BuildState:
        """Write the new database beside the old one."""
        records = tuple(self.records[number] for number in range(len(self.takes)))
        layout = lay_out(self.project, self.takes, records, self.skeletons, self.annotations, self.signature)
        problems = problems_of(self.takes, records, {} if layout is None else layout.excluded)
        if strict or layout is None:
            _refuse_problems(self.project, problems, strict=strict and layout is not None)
        assert layout is not None, "takes without clips are problems"
        starts: list[tuple[int, ...]] = [()] * len(self.takes)
        for placed in layout.clips:
            starts[placed.take] += (placed.clip.start,)
        used = {clip.skeleton for record in records for clip in (*record.clips, *record.native_clips)}
        state = BuildState(
            self.inputs,
            {key: self.skeletons[key] for key in sorted(used)},
            records,
            tuple(starts),
            layout.excluded,
            layout.notes,
            summarize(layout, self.project.rate),
        )
        checksums = self._write_files(layout, state)
        self._write_manifest(layout, state, checksums)
        if finish is not None:
            self.tell("index", 0, 1)
            finish(self.staging)
            self._write_manifest(layout, state, checksums)
            self.tell("index", 1, 1)
        self.old.clear()  # on Windows a mapped file cannot be moved
        return state

    def _write_manifest(self, layout: Layout, state: BuildState, checksums: dict[str, str]) -> None:
        files = list_files(self.staging, OWN_FILES)
        for name in files:
            if name not in checksums:  # those of the frames came as they were written
                checksums[name] = checksum_of(self.staging / name)
        write_manifest(self.staging, manifest_of(self.project, layout, state, files, checksums))

    def _write_files(self, layout: Layout, state: BuildState) -> dict[str, str]:
        written = 0

        def step(frames: int) -> None:
            nonlocal written
            written += frames
            self.tell("write", written, layout.frame_count)

        checksums = write_frames(self.staging, layout, self._read, step)
        self.open_tensors = {}  # on Windows a mapped file cannot be removed
        shutil.rmtree(self.staging / _WORK)
        hashes = [entry.sha256 for entry in self.inputs.takes]
        write_tables(self.staging, self.project, self.takes, hashes, state.records, layout)
        with (self.staging / BUILD_FILE).open("wb") as file:
            file.write(msgspec.json.encode(state))
            file.flush()
            os.fsync(file.fileno())
        return checksums

    def _read(self, placed: PlacedClip) -> dict[str, Array]:
        starts = self.old_starts.get(placed.take)
        if starts is not None:
            start = starts[placed.number * self.copies + placed.clip.mirrored]
            return {name: rows[start : start + placed.record.frame_count] for name, rows in self.old.items()}
        if self.open_take != placed.take:  # its clips come one after the other
            self.open_tensors = {}
            if self.open_take >= 0:  # frames that are copied need no place on the disk twice
                with suppress(OSError):
                    self._work_file(self.open_take).unlink()
            self.open_take, self.open_tensors = placed.take, map_tensors(self._work_file(placed.take))
        return {
            channel.name: self.open_tensors[tensor_name(placed.number, placed.clip.mirrored, channel.name)]
            for channel in CHANNELS
        }

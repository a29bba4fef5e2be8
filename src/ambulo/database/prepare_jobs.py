"""Preparing takes in parallel: one job a file, in worker processes that end when the build ends, however it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ambulo.database.channels import CHANNELS
from ambulo.database.fingerprints import skeleton_key
from ambulo.database.manifest import SkeletonRecord
from ambulo.database.records import ClipRecord, Failure, RetargetRecord, TakeRecord
from ambulo.database.retarget_plan import TargetSpec, put_on_target
from ambulo.database.storage import write_tensors
from ambulo.database.workers import Sized, core_count, run_tasks
from ambulo.errors import AmbuloError, MotionError, ProjectError, nearest_names, printable
from ambulo.motion.motion import Motion, Note
from ambulo.prepare.clip import PreparedClip
from ambulo.prepare.corrections import Corrections
from ambulo.prepare.settings import PrepareSettings
from ambulo.prepare.stylise.style import Operator

_BYTES_PER_WORKER = 40_000_000
"""A worker spends over a second on its start (imports, loading kernels); in less than that, one process prepares this
much text (measured: 31 MB of CMU takes in 2.5 s by one process, in 4 s by two; 130 MB gain from two)."""


class PrepareJob(NamedTuple):
    """What a worker needs to know to prepare one take.

    Attributes:
        number: of the take, in the project's order.
        key: hash of all that the frames depend on.
        path: the file.
        size: its bytes.
        unit, up, rate: as the project says; None leaves them to the reader.
        roles: humanoid role -> joint name, corrections.
        settings: constants of the preparation.
        mirror: make a mirrored copy of each clip as well.
        output: file for the frames.
        corrections: of this one take.
        clip_corrections: name of a clip of it -> those of that clip, in place of the take's.
        target: file on the skeleton that it is put on; None leaves it on its own.
        mapping: mapping file for that; None guesses.
        travel: where the way comes from, ``as_is`` or ``from_feet``.
        operators: what makes another take of it.
    """

    number: int
    key: str
    path: Path
    size: int
    unit: str | float | None
    up: str | None
    rate: float | None
    roles: dict[str, str]
    settings: PrepareSettings
    mirror: bool
    output: Path
    corrections: Corrections | None = None
    target: TargetSpec | None = None
    mapping: Path | None = None
    travel: str = "as_is"
    operators: tuple[Operator, ...] = ()
    clip_corrections: Mapping[str, Corrections] = {}


class JobResult(NamedTuple):
    """What came of a job; the frames lie in the job's output file."""

    number: int
    record: TakeRecord
    skeletons: dict[str, SkeletonRecord]


def tensor_name(clip: int, mirrored: bool, channel: str) -> str:
    """Name of a channel of a clip in a job's output file."""
    return f"{clip}{'m' if mirrored else ''}.{channel}"


def run_job(job: PrepareJob) -> JobResult:
    """Read, prepare and mirror one take. A take that cannot be used gives a record with the reason, not an error.

    Raises:
        OSError: the frames cannot be written.
    """
    from ambulo.prepare.mirror import mirror_clip

    try:
        clips, retargeted = _prepare(job)
        tensors, records, skeletons = {}, [], {}
        for number, clip in enumerate(clips):
            for mirrored in (False, True) if job.mirror else (False,):
                shown = mirror_clip(clip) if mirrored else clip
                for channel in CHANNELS:
                    tensors[tensor_name(number, mirrored, channel.name)] = getattr(shown, channel.name)
            skeleton = SkeletonRecord.of(clip.skeleton)
            key = skeleton_key(skeleton)
            skeletons[key] = skeleton
            invalid = clip.frame_count - int(clip.valid.astype(bool).sum())
            source = clip.source
            records.append(
                ClipRecord(
                    *(
                        clip.frame_count,
                        clip.start_time,
                        key,
                        invalid,
                        source.licence,
                        source.attribution,
                        printable(clip.name),
                    )
                )
            )
    except AmbuloError as error:
        return JobResult(job.number, TakeRecord(job.key, failure=Failure.of(error)), {})
    except Exception as error:  # one odd take must not end the build of ten thousand good ones
        return JobResult(job.number, TakeRecord(job.key, failure=Failure.of(error)), {})
    # A full disk is no fault of the take: it must end the build, else the database would lack takes that are fine.
    write_tensors(job.output, tensors, sync=False)
    first = clips[0].source
    record = TakeRecord(
        job.key,
        tuple(records),
        None,
        tuple(dict.fromkeys(note for clip in clips for note in clip.notes)),
        first.format,
        first.unit,
        first.metres_per_unit,
        first.unit_guessed,
        first.up,
        first.up_guessed,
        first.frame_time,
        retargeted,
    )
    return JobResult(job.number, record, skeletons)


def _prepare(job: PrepareJob) -> tuple[list[PreparedClip], tuple[RetargetRecord, ...]]:
    from ambulo.formats.registry import load_all
    from ambulo.motion.joint_mapping import read_mapping
    from ambulo.prepare.pipeline import prepare_take

    motions = load_all(job.path, unit=job.unit, up=job.up, rate=job.rate)
    if not motions:
        raise MotionError("holds no motion", path=job.path)
    names = [motion.name for motion in motions]
    check_clip_names(job.clip_corrections, names, job.path)
    retargeted: list[RetargetRecord] = []
    if job.target is not None:
        mapping = None if job.mapping is None else read_mapping(job.mapping)
        pairs = [put_on_target(motion, job.target, mapping) for motion in motions]
        motions = [motion for motion, _ in pairs]
        retargeted = [record for _, record in pairs if record is not None]
    if job.operators:
        motions = [_stylised(motion, job) for motion in motions]
    clips: list[PreparedClip] = []
    left_out: list[Note] = []
    for name, motion in zip(names, motions, strict=True):
        corrections = job.clip_corrections.get(name, job.corrections)
        try:
            clips.append(prepare_take(motion, job.settings, job.roles, corrections, job.travel))
        except MotionError as error:
            if len(motions) == len(left_out) + 1:
                raise  # none of the file's can be used
            left_out.append(Note("clip_left_out", f"{motion.name!r} is left out: {error.message}", warning=True))
    if left_out:  # one pose among fifty clips is no reason to do without the others
        clips[0] = replace(clips[0], notes=(*left_out, *clips[0].notes))
    return clips, tuple(retargeted)


def check_clip_names(wanted: Iterable[str], names: Sequence[str], path: Path) -> None:
    """Refuse a correction of a clip that a file does not have.

    Raises:
        MotionError: with the nearest of the names that it has.
    """
    for name in wanted:
        if name not in names:
            raise MotionError(
                f"has no clip {name!r}, which a [[takes]] entry is about; {nearest_names(name, names)}",
                path=path,
                key="takes.clip",
                remedy="correct the entry's clip in ambulo.toml, or leave it out for all clips of the file",
            )


def _stylised(motion: Motion, job: PrepareJob) -> Motion:
    """What the operators make of a motion, by the roles that the project corrects."""
    from ambulo.motion.humanoid import with_detected_roles
    from ambulo.prepare.stylise.style import stylise

    return stylise(with_detected_roles(motion, job.roles), job.operators)[0]


def worker_count(jobs: int | None, work: Sequence[Sized]) -> int:
    """How many processes are worth starting: not more than asked for, than there are cores, files and megabytes.

    Raises:
        ProjectError: fewer than one was asked for.
    """
    if jobs is not None and jobs < 1:
        raise ProjectError(f"{jobs} jobs are not possible", key="jobs", remedy="ask for 1 or more, or leave it out")
    worth = 1 + sum(job.size for job in work) // _BYTES_PER_WORKER
    return max(1, min(jobs or core_count(), len(work), worth))


def run_jobs(work: Sequence[PrepareJob], workers: int, done: Callable[[JobResult], None]) -> None:
    """Run all jobs and hand over each result as it comes, in any order.

    Args:
        work: the jobs.
        workers: number of processes; 1 runs them in this one.
        done: called in this process.

    Raises:
        WorkerDied: a worker process died.
    """
    run_tasks(run_job, work, workers, done)

"""Check whatever a path leads to, a file, a folder or a project, and say what is wrong with each take."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ambulo.database.prepare_jobs import check_clip_names
from ambulo.database.project import PROJECT_FILE, load_project
from ambulo.database.take_spec import TakeSpec
from ambulo.database.takes import find_takes
from ambulo.database.workers import core_count, run_tasks
from ambulo.errors import AmbuloError, FormatError, ProjectError, printable
from ambulo.formats.paths import is_file, is_folder
from ambulo.motion.motion import Motion
from ambulo.prepare.floor import TOLERANCE
from ambulo.prepare.quality.finding import BrokenTake, CheckReport, Finding, TakeCheck
from ambulo.prepare.settings import PrepareSettings

_BYTES_PER_WORKER = 25_000_000
"""A process spends about a second on its start; in that time one that runs already checks so much text."""


class CheckJob(NamedTuple):
    """One file to check.

    Attributes:
        number: its place in the report.
        label: what the report calls it.
        path: where it lies.
        size: bytes.
        unit, up, rate: as the caller or the project says; None leaves them to the reader.
        roles: humanoid role -> joint name, corrections.
        settings: constants of the preparation.
        spec: what the project knows of this take.
        clip_specs: what it knows of single clips of it.
        travel: where the way comes from, ``as_is`` or ``from_feet``.
    """

    number: int
    label: str
    path: Path
    size: int
    unit: str | float | None = None
    up: str | None = None
    rate: float | None = None
    roles: Mapping[str, str] = {}
    settings: PrepareSettings = PrepareSettings()
    spec: TakeSpec | None = None
    travel: str = "as_is"
    clip_specs: Mapping[str, TakeSpec] = {}


class CheckResult(NamedTuple):
    """What came of a job: the file's takes, or why it cannot be read."""

    number: int
    takes: tuple[TakeCheck, ...]
    broken: BrokenTake | None
    frame_count: int


def check(
    source: str | Path | Motion,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    rate: float | None = None,
    roles: Mapping[str, str] | None = None,
    jobs: int | None = None,
    strict: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> CheckReport:
    """Look for everything that is wrong in motion capture: spans of frames, with what would mend them.

    Args:
        source: a motion, a file, a folder (with the folders below), or a project (its folder or ``ambulo.toml``; its
            sources say which files, units and rates).
        unit: as in :func:`ambulo.load`, for files that no project speaks of.
        up: the same for the up axis.
        rate: the same for the rate: the declared one is then not judged, but this one is.
        roles: role -> joint name, where the detection is wrong.
        jobs: processes at most; as many as are worth it where None.
        strict: refuse where any file cannot be read.
        progress: told how far it is.

    Returns:
        The report: every take with its findings, and the files that cannot be read with the reason.

    Raises:
        FormatError: there is no such file, or the folder has no motion file.
        ProjectError: the project cannot be read, or with ``strict``: a take cannot be read.
    """
    began = time.perf_counter()
    if isinstance(source, Motion):
        take = _checked(source, source.name or "motion", PrepareSettings(), roles or {}, None)
        return CheckReport(
            path=source.name,
            takes=(take,),
            frame_count=source.frame_count,
            wall_seconds=time.perf_counter() - began,
        )
    path = Path(source)
    work = find_jobs(path, unit=unit, up=up, rate=rate, roles=roles)
    if jobs is not None and jobs < 1:
        raise ProjectError(f"{jobs} jobs are not possible", key="jobs", remedy="ask for 1 or more, or leave it out")
    worth = 1 + sum(job.size for job in work) // _BYTES_PER_WORKER
    workers = max(1, min(jobs or core_count(), len(work), worth))
    results: dict[int, CheckResult] = {}

    def done(result: CheckResult) -> None:
        results[result.number] = result
        if progress is not None:
            progress("check", len(results), len(work))

    run_tasks(run_check, work, workers, done)
    ordered = [results[number] for number in range(len(work))]
    broken = tuple(result.broken for result in ordered if result.broken is not None)
    if strict and broken:
        first = broken[0]
        more = f" (and {len(broken) - 1} more files)" if len(broken) > 1 else ""
        raise ProjectError(
            f"{len(broken)} of {len(work)} files cannot be read; {first.file}: {first.reason}{more}",
            path=path,
            line=first.line,
            remedy="mend or remove them, or check without --strict",
        )
    return CheckReport(
        path=printable(str(path)),
        takes=tuple(take for result in ordered for take in result.takes),
        broken=broken,
        frame_count=sum(result.frame_count for result in ordered),
        wall_seconds=time.perf_counter() - began,
    )


def find_jobs(
    path: Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    rate: float | None = None,
    roles: Mapping[str, str] | None = None,
) -> list[CheckJob]:
    """The files that a path leads to, in the order of the report.

    Raises:
        FormatError: there is no such file, or the folder has no motion file.
        ProjectError: the project cannot be read.
    """
    from ambulo.formats.registry import motion_files

    if path.name == PROJECT_FILE or (is_folder(path) and is_file(path / PROJECT_FILE)):
        project = load_project(path)
        known = {**project.roles, **(roles or {})}
        jobs = []
        for number, take in enumerate(find_takes(project)):
            of = project.source_of(take.source, take.label)
            spec = project.spec_of(take.source, take.label)
            given = (unit or of.unit, up or of.up, rate or of.rate)
            jobs.append(
                CheckJob(
                    *(number, take.label, take.path, take.size, *given, known, project.prepare, spec, of.travel),
                    clip_specs=project.clip_specs(take.source, take.label),
                )
            )
        return jobs
    if is_folder(path):
        files = motion_files(path, recursive=True)
        if not files:
            raise FormatError("there is no motion file in this folder or below", path=path)
        labels = [printable(file.relative_to(path).as_posix()) for file in files]
    else:
        try:
            path.stat()
        except (OSError, ValueError):
            raise FormatError("there is no such file", path=path, remedy="check the path") from None
        files, labels = [path], [printable(path.name)]
    return [
        CheckJob(number, label, file, file.stat().st_size, unit, up, rate, dict(roles or {}))
        for number, (file, label) in enumerate(zip(files, labels, strict=True))
    ]


def run_check(job: CheckJob) -> CheckResult:
    """Read a file and check its takes. A file that cannot be read gives the reason, not an error."""
    from ambulo.formats.registry import load_all

    try:
        motions = load_all(job.path, unit=job.unit, up=job.up, rate=job.rate)
        if not motions:
            raise FormatError("holds no motion", path=job.path)
        check_clip_names(job.clip_specs, [motion.name for motion in motions], job.path)
        takes = tuple(
            _checked(
                *(motion, job.label, job.settings, job.roles, job.clip_specs.get(motion.name, job.spec), job.travel)
            )
            for motion in motions
        )
    except AmbuloError as error:
        broken = BrokenTake(file=job.label, reason=error.message, remedy=error.remedy, line=error.line)
        return CheckResult(job.number, (), broken, 0)
    except Exception as error:  # one odd file must not end the check of ten thousand good ones
        reason = f"{type(error).__name__}: {error}"
        return CheckResult(job.number, (), BrokenTake(file=job.label, reason=printable(reason)), 0)
    return CheckResult(job.number, takes, None, sum(motion.frame_count for motion in motions))


def _checked(
    motion: Motion,
    label: str,
    settings: PrepareSettings,
    roles: Mapping[str, str],
    spec: TakeSpec | None,
    travel: str = "as_is",
) -> TakeCheck:
    from ambulo.prepare.quality.check import check_motion

    found = check_motion(motion, settings, roles, travel)
    left = found if spec is None else [finding for finding in found if not settled(finding, spec)]
    return TakeCheck(
        file=label,
        name=printable(motion.name),
        frame_count=motion.frame_count,
        rate=motion.rate,
        findings=tuple(left),
        corrected=len(found) - len(left),
    )


def settled(finding: Finding, spec: TakeSpec) -> bool:
    """Whether a take's corrections take care of a finding already."""
    first, last = spec.start_frame or 0, spec.stop_frame
    if finding.stop_frame <= first or (last is not None and finding.start_frame >= last):
        return True
    wanted = finding.proposal
    if wanted.start_frame is not None:
        return wanted.start_frame <= first
    if wanted.stop_frame is not None:
        return last is not None and last <= wanted.stop_frame
    if wanted.skip_frames:
        return all(_inside(span, spec.skip_frames) for span in wanted.skip_frames)
    if finding.code in ("sunk", "floating") and finding.joint is None and spec.lift is not None:
        lift = finding.value if finding.code == "sunk" else -finding.value
        return abs(lift - spec.lift) <= TOLERANCE + 1e-6
    return False


def _inside(span: tuple[int, int], spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= span[0] and span[1] <= stop for start, stop in spans)

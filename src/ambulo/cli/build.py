"""``ambulo build``: build the database of a project, or bring it up to date."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ambulo.cli.progress import progress_bars
from ambulo.database.report import BuildReport


@dataclass(frozen=True)
class Arguments:
    """Build the database of a project, or bring it up to date: only takes that changed are prepared again."""

    project: Path
    """Folder of the project, or its ambulo.toml."""
    jobs: int | None = None
    """Processes at most; as many as there are cores if left out."""
    folder: Path | None = None
    """Where to: a folder, or a URL such as s3://bucket/database; the project's own if left out."""
    engine: str = "local"
    """Where takes are prepared: local, ray (a cluster of this machine), or ray://HOST:PORT."""
    strict: bool = False
    """Refuse to build when any take cannot be used."""
    force: bool = False
    """Build everything anew."""
    json: bool = False
    """Print one JSON object."""


def run(arguments: Arguments) -> BuildReport:
    """Build, and return the report."""
    from ambulo.matching.build import build

    with progress_bars() as progress:
        return build(
            arguments.project,
            folder=arguments.folder,
            jobs=arguments.jobs,
            strict=arguments.strict,
            force=arguments.force,
            progress=progress,
            engine=arguments.engine,
        )


def show(report: BuildReport) -> None:
    """Print the report."""
    state = "is up to date" if report.up_to_date else f"built in {report.wall_seconds:.1f} s"
    print(f"{report.name}: {report.folder} {state}")
    unchanged = report.takes - report.prepared - len(report.problems)
    print(
        f"  {report.used} of {report.takes} takes ({report.prepared} prepared, {max(unchanged, 0)} unchanged)"
        f" -> {report.clips} clips ({report.mirrored} mirrored), {report.seconds / 60:.1f} minutes,"
        f" {report.frames:,} frames at {report.rate:g} a second, {report.megabytes:.1f} MB"
    )
    if report.units:
        print("  read in: " + ", ".join(f"{unit} ({count})" for unit, count in report.units.items()))
    if report.tags:
        shown = [f"{tag} {_long(seconds)}" for tag, seconds in list(report.tags.items())[:16]]
        more = f" and {len(report.tags) - 16} more" if len(report.tags) > 16 else ""
        print(f"  tags: {', '.join(shown)}{more}")
    if report.invalid_frames:
        print(f"  {report.invalid_frames} frames with glitches are kept but never chosen")
    for put in report.retargeted:
        (slide, slid), (deep, deepened), (jumps, jumped) = put.slide_cm_s, put.penetration_cm, put.jumps
        print(
            f"  {put.takes} takes of {put.joints} joints put on the skeleton of {put.target}: slide {slide:.1f} ->"
            f" {slid:.1f} cm/s, below the floor {deep:.2f} -> {deepened:.2f} cm, joint jumps {jumps:.0f} ->"
            f" {jumped:.0f} a minute, {100 * put.contact_f1:.0f} % of contacts kept"
        )
    for use in report.licences:
        if use.licence or use.attribution:
            print(f"  licence: {use.text}")
    if report.warnings:
        print(f"  {len(report.warnings)} warning{'' if len(report.warnings) == 1 else 's'}:")
        _print_grouped([(warning.code, f"{warning.take}: {warning.message}") for warning in report.warnings])
    if report.problems:
        count = len(report.problems)
        print(f"  {'1 take is' if count == 1 else f'{count} takes are'} not in the database:")
        reasons = dict.fromkeys(problem.reason for problem in report.problems)
        for reason in reasons:
            takes = [problem.take for problem in report.problems if problem.reason == reason]
            more = f", ... ({len(takes)} takes)" if len(takes) > 3 else ""
            print(f"    {', '.join(takes[:3])}{more}: {reason}")


def _long(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60.0 else f"{seconds / 60:.1f} min"


def _print_grouped(entries: list[tuple[str, str]], limit: int = 3) -> None:
    codes = list(dict.fromkeys(code for code, _ in entries))
    for code in codes:
        texts = [text for entry_code, text in entries if entry_code == code]
        for text in texts[:limit]:
            print(f"    {text}")
        if len(texts) > limit:
            print(f"    ... and {len(texts) - limit} more of this kind ({code})")

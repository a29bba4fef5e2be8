"""``ambulo check``: what is wrong with takes, as spans of frames, and what would mend them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from ambulo.prepare.quality.finding import BrokenTake, CheckReport, Finding, TakeCheck

_SHOWN_TAKES = 40
_SHOWN_FINDINGS = 6


@dataclass(frozen=True)
class Arguments:
    """Look for what is wrong in takes: rates that lie, units, T-poses, pops, frozen, sunk, floating, sliding.

    Exit codes: 0 nothing worse than notes, 1 something was found or a file cannot be read, 2 refused.
    """

    path: Path
    """A file, a folder (with the folders below), or a project."""
    html: Path | None = None
    """Write a page with a player at each span to this file."""
    fix: Path | None = None
    """A project: write the proposed rates, ends, heights and frames to skip into its ambulo.toml, never into a take."""
    strict: bool = False
    """Refuse where any file cannot be read."""
    notes: bool = False
    """Show notes too: what is true but harmless, or small. (--json has them always.)"""
    unit: str | None = None
    """Length unit of the files; guessed if left out."""
    up: str | None = None
    """Up axis of the files; guessed if left out."""
    rate: float | None = None
    """True frames a second of the files; theirs if left out."""
    jobs: int | None = None
    """Processes at most; as many as are worth it if left out."""
    json: bool = False
    """Print one JSON object."""


class Checked(msgspec.Struct, frozen=True):
    """What ``ambulo check`` says."""

    path: str
    clean: bool
    files_broken: int
    takes_checked: int
    takes_with_findings: int
    frame_count: int
    wall_seconds: float
    counts: dict[str, int]
    takes: tuple[TakeCheck, ...]
    broken: tuple[BrokenTake, ...]
    html: str | None = None
    fixes: dict[str, object] | None = None
    notes_shown: bool = False


def run(arguments: Arguments) -> Checked:
    """Check, then write what was asked for."""
    from ambulo.cli.outputs import check_outputs
    from ambulo.cli.progress import progress_bars
    from ambulo.database.checking import check
    from ambulo.export.page import read_player

    check_outputs([arguments.path], {}, {"html": arguments.html}, force=False)
    if arguments.html is not None:
        read_player()
    with progress_bars() as progress:
        report = check(
            arguments.path,
            unit=parsed_unit(arguments.unit),
            up=arguments.up,
            rate=arguments.rate,
            jobs=arguments.jobs,
            strict=arguments.strict,
            progress=progress,
        )
    html = fixes = None
    if arguments.html is not None:
        from ambulo.export.check_page import write_check_page

        html = str(write_check_page(report, arguments.html))
    if arguments.fix is not None:
        from ambulo.database.fixes import write_fixes

        fixes = msgspec.to_builtins(write_fixes(report, arguments.fix))
    return _told(report, arguments, html, fixes)


def parsed_unit(text: str | None) -> str | float | None:
    """A unit as it is given on a command line: a name, or metres a unit."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _told(report: CheckReport, arguments: Arguments, html: str | None, fixes: dict[str, object] | None) -> Checked:
    takes = report.takes
    return Checked(
        path=report.path,
        clean=report.clean,
        files_broken=len(report.broken),
        takes_checked=len(takes),
        takes_with_findings=sum(take.worst not in (None, "note") for take in takes),
        frame_count=report.frame_count,
        wall_seconds=round(report.wall_seconds, 3),
        counts=report.counts(),
        takes=takes,
        broken=report.broken,
        html=html,
        fixes=fixes,
        notes_shown=arguments.notes,
    )


def exit_code(checked: Checked) -> int:
    """0 where nothing worse than notes was found, else 1."""
    return 0 if checked.clean else 1


def _shown(take: TakeCheck, notes: bool) -> list[Finding]:
    return [finding for finding in take.findings if notes or finding.severity != "note"]


def show(checked: Checked) -> None:
    """Print a table of spans, then what cannot be read, then the sum."""
    from rich.console import Console
    from rich.table import Table

    found = [(take, shown) for take in checked.takes if (shown := _shown(take, checked.notes_shown))]
    console = Console()
    for take, findings in found[:_SHOWN_TAKES]:
        title = take.file if not take.name or Path(take.file).stem == take.name else f"{take.file} · {take.name}"
        table = Table(title=f"{title}  ({take.frame_count} frames at {take.rate:g})", title_justify="left")
        table.add_column("frames", justify="right", no_wrap=True)
        table.add_column("seconds", justify="right", no_wrap=True)
        table.add_column("code", no_wrap=True)
        table.add_column("what is wrong")
        table.add_column("remedy")
        for finding in findings[:_SHOWN_FINDINGS]:
            mark = {"note": "", "warning": "", "error": "! "}[finding.severity]
            table.add_row(
                f"{finding.start_frame}-{finding.stop_frame - 1}",
                f"{finding.start:.2f}-{finding.stop:.2f}",
                f"{mark}{finding.code}",
                finding.message,
                finding.remedy,
            )
        if len(findings) > _SHOWN_FINDINGS:
            table.add_row("", "", "", f"... and {len(findings) - _SHOWN_FINDINGS} more", "")
        console.print(table)
    if len(found) > _SHOWN_TAKES:
        print(f"... and {len(found) - _SHOWN_TAKES} more takes with findings; --json or --html show all")
    if checked.broken:
        print(f"{len(checked.broken)} files cannot be read:")
        for broken in checked.broken:
            line = f":{broken.line}" if broken.line is not None else ""
            print(f"  {broken.file}{line}: {broken.reason}" + (f"\n    -> {broken.remedy}" if broken.remedy else ""))
    counts = ", ".join(f"{code} {count}" for code, count in checked.counts.items())
    speed = checked.frame_count / checked.wall_seconds if checked.wall_seconds else 0.0
    print(
        f"{checked.takes_checked} takes, {checked.frame_count:,} frames in {checked.wall_seconds:.1f} s "
        f"({speed:,.0f} a second): {checked.takes_with_findings} with findings" + (f" ({counts})" if counts else "")
    )
    if checked.html:
        print(f"page: {checked.html}")
    if checked.fixes is not None:
        written = checked.fixes["written"]
        assert isinstance(written, dict)
        print(f"{checked.fixes['project']}: {len(written)} takes corrected; `ambulo build` takes it up")
        for key, said in (
            ("kept", "the project says otherwise already"),
            ("outside", "not in the project"),
            ("split", "several clips in one file that need different corrections; split them (ambulo convert)"),
        ):
            names = checked.fixes[key]
            if names:
                print(f"  {said}: {', '.join(list(names)[:5])}{' ...' if len(list(names)) > 5 else ''}")  # type: ignore[call-overload]

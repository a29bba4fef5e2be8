"""``ambulo repair``: mend a take into a new file, and say what changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from ambulo.prepare.repair.repair import RepairReport


@dataclass(frozen=True)
class Arguments:
    """Mend a take into a new file: spikes, floor, feet, jitter. Without operations, what `ambulo check` asks for.

    The source is never written to. What a repair does not touch keeps every bit of the motion.
    """

    source: Path
    """The take."""
    out: Path
    """The new file; its extension tells the format."""
    clip: str | None = None
    """Which animation of a file that holds several."""
    spikes: bool = False
    """Lay spikes anew: joints that leave their course and come back."""
    floor: bool = False
    """Lift the take so that its feet stand at y = 0."""
    feet: bool = False
    """Hold standing feet in place."""
    smooth: bool = False
    """Take out jitter; standing feet stay where they stand. Never done without being asked for."""
    smooth_window: float = 0.12
    """Seconds of the smoothing filter."""
    html: Path | None = None
    """Write a page with before and after to this file."""
    unit: str | None = None
    """Length unit of the source; guessed if left out. The new file has the same."""
    up: str | None = None
    """Up axis of the source; guessed if left out. The new file has the same."""
    rate: float | None = None
    """True frames a second of the source; the new file has this rate."""
    force: bool = False
    """Overwrite the new file where it is there already."""
    json: bool = False
    """Print one JSON object."""


class Mended(msgspec.Struct, frozen=True):
    """What ``ambulo repair`` says."""

    source: str
    out: str
    report: RepairReport
    html: str | None = None


def run(arguments: Arguments) -> Mended:
    """Load, mend, write."""
    import math

    from ambulo.cli.check import parsed_unit
    from ambulo.cli.one_take import load_take
    from ambulo.cli.outputs import check_outputs
    from ambulo.errors import AmbuloError
    from ambulo.export.page import read_player
    from ambulo.formats.registry import save
    from ambulo.prepare.repair.repair import OPERATIONS, repair_motion

    source, out = arguments.source, arguments.out
    check_outputs([source], {"out": out}, {"html": arguments.html}, force=arguments.force)
    if arguments.html is not None:
        read_player()
    if not (math.isfinite(arguments.smooth_window) and 0.0 < arguments.smooth_window <= 10.0):
        raise AmbuloError(f"a window of {arguments.smooth_window} s is not possible", key="smooth_window")
    motion = load_take(source, arguments.clip, unit=parsed_unit(arguments.unit), up=arguments.up, rate=arguments.rate)
    wanted = tuple(operation for operation in OPERATIONS if getattr(arguments, operation))
    made, report = repair_motion(motion, wanted or None, smooth_window=arguments.smooth_window)
    options = {}
    if out.suffix.lower() == ".bvh":
        options = {"unit": motion.source.metres_per_unit, "up": motion.source.up}
    save(made, out, **options)
    html = None
    if arguments.html is not None:
        from ambulo.export.repair_page import write_repair_page

        html = str(write_repair_page(motion, made, report, arguments.html))
    return Mended(str(source), str(out), report, html)


def show(mended: Mended) -> None:
    """Print what was done, and the numbers before and after."""
    report = mended.report
    print(f"{mended.source} -> {mended.out}: {report.frame_count} frames at {report.rate:g}")
    if report.judged_rate != report.rate:
        print(f"  speeds were counted at {report.judged_rate:g} frames a second: the file's rate seems wrong")
    if not report.steps:
        print("  nothing had to be mended")
    for step in report.steps:
        print(f"  {step.operation}: {step.message} ({step.changed_frames} of {report.frame_count} frames changed)")
        for name in {**step.before, **step.after}:
            before, after = step.before.get(name), step.after.get(name)
            told = " -> ".join(f"{value:.4g}" for value in (before, after) if value is not None)
            print(f"    {name}: {told} {step.units.get(name, '')}".rstrip())
    counts = [sum(f.severity != "note" for f in findings) for findings in (report.before, report.after)]
    print(f"  findings: {counts[0]} -> {counts[1]}")
    for finding in report.after:
        if finding.severity != "note":
            print(f"    left: frames {finding.start_frame}-{finding.stop_frame - 1} {finding.code}: {finding.message}")
    if mended.html:
        print(f"page: {mended.html}")

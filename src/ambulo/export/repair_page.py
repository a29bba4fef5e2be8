"""The report of a repair as one HTML file: before and after side by side where they differ most."""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np

from ambulo.export.page import number
from ambulo.export.player_data import motion_player_data
from ambulo.export.plots import Line, line_plot
from ambulo.export.spans_page import Show, SpansPage, write_spans_page
from ambulo.motion.humanoid import with_detected_roles
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion
from ambulo.prepare.quality.finding import Finding
from ambulo.prepare.repair.repair import RepairReport

SPANS = 4
"""Stretches that are shown."""
SPAN_TIME = 2.0
"""Seconds of each."""
MOST_FRAMES = 96


def write_repair_page(before: Motion, after: Motion, report: RepairReport, path: str | Path) -> Path:
    """Write the report of :func:`ambulo.prepare.repair.repair.repair_motion`. Returns its path.

    Args:
        before: the take as it was.
        after: what was made of it.
        report: what was done.
        path: the HTML file; its folder is made.

    Raises:
        AmbuloError: the player has not been built.
    """
    before, after = with_detected_roles(before), with_detected_roles(after)
    old, new = forward_motion(before).positions, forward_motion(after).positions
    moved = np.linalg.norm(new.astype(np.float64) - old, axis=-1).max(axis=1)
    times = np.arange(len(moved)) / before.rate
    shows = []
    width = max(4, round(SPAN_TIME * before.rate))
    for start in _peaks(moved, width):
        stop = min(start + width, before.frame_count)
        stride = max(1, -(-(stop - start) // MOST_FRAMES))
        pair = [_part(motion, name, start, stop, stride) for motion, name in ((before, "before"), (after, "after"))]
        # Side by side: the mended body stands a metre to the left of the other's first facing.
        shift = np.zeros(3, np.float32)
        shift[0] = 1.2
        pair[1].positions[:, pair[1].skeleton.parents < 0] += shift
        largest = 100.0 * float(moved[start:stop].max())
        shows.append(
            Show(
                f"Frames {start} to {stop - 1}",
                [f"Before (at its place) and after (1.2 m beside it); joints moved by up to {largest:.1f} cm."],
                motion_player_data(pair, title=report.name, subtitle="before and after"),
            )
        )
    plot = line_plot([Line("farthest joint", times, 100.0 * moved, "made")], unit="cm")
    page = SpansPage(
        title=f"Repair of {report.name}",
        subtitle=f"{report.frame_count} frames at {report.rate:g} a second",
        facts={step.operation: step.message for step in report.steps} or {"Done": "nothing had to be mended"},
        shows=shows,
        before=_steps(report) + "<h2>How far joints were moved</h2>" + plot,
        after=_findings(report),
    )
    return write_spans_page(page, path)


def _part(motion: Motion, name: str, start: int, stop: int, stride: int) -> Motion:
    frames = slice(start, stop, stride)
    return Motion(
        motion.skeleton, motion.positions[frames].copy(), motion.rotations[frames], motion.rate / stride, name
    )


def _peaks(moved: np.ndarray, width: int) -> list[int]:
    left = moved.copy()
    starts = []
    for _ in range(SPANS):
        peak = int(np.argmax(left))
        if left[peak] < 1e-4:
            break
        start = max(0, min(peak - width // 2, len(moved) - width))
        starts.append(start)
        left[max(0, start - width // 4) : start + width + width // 4] = 0.0
    return sorted(starts)


def _steps(report: RepairReport) -> str:
    rows = []
    for step in report.steps:
        for name in {**step.before, **step.after}:
            values = [number(side.get(name)) for side in (step.before, step.after)]
            rows.append(
                f"<tr><th>{escape(step.operation)}: {escape(name)}</th><td>{values[0]}</td><td>{values[1]}</td>"
                f"<td class='unit'>{escape(step.units.get(name, ''))}</td><td>{step.changed_frames}</td></tr>"
            )
    head = "<tr><th>measure</th><th>before</th><th>after</th><th></th><th>frames changed</th></tr>"
    return f"<h2>Before and after</h2><table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def _findings(report: RepairReport) -> str:
    def listed(findings: tuple[Finding, ...]) -> str:
        texts = [
            f"<li>frames {f.start_frame} to {f.stop_frame - 1}: {escape(f.code)}, {escape(f.message)}</li>"
            for f in findings
            if f.severity != "note"
        ]
        return f"<ul>{''.join(texts)}</ul>" if texts else "<p>nothing</p>"

    return f"<h2>Found before</h2>{listed(report.before)}<h2>Left after</h2>{listed(report.after)}"

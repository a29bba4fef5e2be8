"""The report of a check as one HTML file, with a player at each span."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.database.checking import CheckJob, find_jobs
from ambulo.errors import AmbuloError
from ambulo.export.player_data import motion_player_data
from ambulo.export.spans_page import Show, SpansPage, write_spans_page
from ambulo.motion.humanoid import with_detected_roles
from ambulo.motion.motion import Motion
from ambulo.prepare.quality.finding import CODES, CheckReport, Finding, TakeCheck

MARGIN = 0.5
"""Seconds shown before and after a span."""
LONGEST = 6.0
"""Seconds shown of a long span, from its start."""
MOST_FRAMES = 72
"""Frames of one show; a longer one is thinned out."""
MOST_SHOWS = 40
"""Players of a page; the other findings stand in the table."""
_ROWS = 2000


def write_check_page(report: CheckReport, path: str | Path) -> Path:
    """Write the report of :func:`ambulo.check`. Returns its path.

    Only the frames around a span go into the page. Where there are more findings than players, every kind is shown, the
    worst and the first of each; all stand in the table.

    Args:
        report: of a file, a folder or a project that is still there.
        path: the HTML file; its folder is made.

    Raises:
        AmbuloError: the player has not been built, or what was checked is gone.
    """
    jobs = {job.label: job for job in find_jobs(Path(report.path))}
    shows = []
    loaded: dict[str, list[Motion]] = {}
    for take, finding in _chosen(report):
        data = None
        if take.file in jobs:
            with suppress(AmbuloError):  # gone or changed since: the words remain
                data = span_data(_motion(take, jobs[take.file], loaded), finding)
        title = f"{_title(take)} · frames {finding.start_frame} to {finding.stop_frame - 1}"
        shows.append(Show(title, _lines(finding), data))
    findings = [(take, finding) for take, finding in report.findings if finding.severity != "note"]
    bad = sum(take.worst not in (None, "note") for take in report.takes)
    counts = ", ".join(f"{code} {count}" for code, count in report.counts().items())
    page = SpansPage(
        title=f"Check of {Path(report.path).name or report.path}",
        subtitle=f"{len(report.takes)} takes, {report.frame_count:,} frames",
        facts={
            "With findings": f"{bad} of {len(report.takes)} takes",
            "By kind": counts or "none",
            "Unreadable": f"{len(report.broken)} files",
        },
        shows=shows,
        before=_broken(report) + (f"<p class='note'>Players for {len(shows)} of {len(findings)} findings.</p>"),
        after=_table(findings),
    )
    return write_spans_page(page, path)


def span_data(motion: Motion, finding: Finding) -> dict[str, Any]:
    """What the player shows of a finding: its frames with a margin, and where it begins and ends.

    Args:
        motion: the take.
        finding: of that take.
    """
    margin = max(2, round(MARGIN * motion.rate))
    start = max(0, finding.start_frame - margin)
    stop = min(motion.frame_count, finding.stop_frame + margin, finding.start_frame + round(LONGEST * motion.rate))
    stride = max(1, -(-(stop - start) // MOST_FRAMES))
    frames = np.arange(start, stop, stride)
    part = Motion(
        motion.skeleton, motion.positions[frames], motion.rotations[frames], motion.rate / stride, motion.name
    )
    data = motion_player_data([part], title=finding.code, subtitle=finding.joint or "")
    inside = (frames >= finding.start_frame) & (frames < finding.stop_frame)
    edges = np.flatnonzero(np.diff(inside.astype(np.int8))) + 1
    clips = []
    for first, last in zip([0, *edges.tolist()], [*edges.tolist(), len(frames)], strict=True):
        name = finding.code if inside[first] else "as it should be"
        clips.append({"start": first, "stop": last, "name": name, "time": round(float(frames[first]) / motion.rate, 3)})
    data["characters"][0]["clips"] = clips
    data["characters"][0]["transitions"] = edges.tolist()
    return data


def _chosen(report: CheckReport) -> list[tuple[TakeCheck, Finding]]:
    """At most :data:`MOST_SHOWS` findings: turn by turn the worst of each kind, from different takes first."""
    kinds: dict[str, list[tuple[TakeCheck, Finding]]] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for take, finding in report.findings:
        if finding.severity != "note" and take.frame_count:
            kinds.setdefault(finding.code, []).append((take, finding))
    queues = []
    for code, entries in kinds.items():
        ranked = []
        for take, finding in sorted(entries, key=lambda entry: -entry[1].value):
            ranked.append((seen[(code, take.file)], take, finding))
            seen[(code, take.file)] += 1
        queues.append([(take, finding) for _, take, finding in sorted(ranked, key=lambda entry: entry[0])])
    chosen: list[tuple[TakeCheck, Finding]] = []
    for turn in range(max(map(len, queues), default=0)):
        chosen += [queue[turn] for queue in queues if turn < len(queue)]
        if len(chosen) >= MOST_SHOWS:
            break
    order = {id(take): number for number, take in enumerate(report.takes)}
    return sorted(chosen[:MOST_SHOWS], key=lambda entry: (order[id(entry[0])], entry[1].start_frame))


def _motion(take: TakeCheck, job: CheckJob, loaded: dict[str, list[Motion]]) -> Motion:
    from ambulo.formats.registry import load_all

    if take.file not in loaded:
        loaded.clear()  # findings come in the order of files; one file is held at a time
        motions = []
        for motion in load_all(job.path, unit=job.unit, up=job.up, rate=job.rate):
            with suppress(AmbuloError):  # where no body is known, the bones are drawn
                motion = with_detected_roles(motion, job.roles)
            motions.append(motion)
        loaded[take.file] = motions
    named = [m for m in loaded[take.file] if m.name == take.name and m.frame_count == take.frame_count]
    if not named:
        raise AmbuloError("the take has changed since it was checked", path=job.path)
    return named[0]


def _title(take: TakeCheck) -> str:
    return take.file if Path(take.file).stem == take.name or not take.name else f"{take.file} · {take.name}"


def _lines(finding: Finding) -> list[str]:
    meaning = CODES.get(finding.code, "")
    return [
        f"<span class='{finding.severity}'>{escape(finding.code)}</span> · {escape(meaning)} · "
        f"{finding.start:.2f} to {finding.stop:.2f} s",
        escape(finding.message) + (f" <b>→ {escape(finding.remedy)}</b>" if finding.remedy else ""),
    ]


def _broken(report: CheckReport) -> str:
    if not report.broken:
        return ""
    rows = "".join(
        f"<li>{escape(b.file)}{f':{b.line}' if b.line is not None else ''}: {escape(b.reason)}"
        f"{f' → {escape(b.remedy)}' if b.remedy else ''}</li>"
        for b in report.broken
    )
    return f"<h2>Cannot be read</h2><ul class='failures'>{rows}</ul>"


def _table(findings: Iterable[tuple[TakeCheck, Finding]]) -> str:
    entries = list(findings)
    rows = "".join(
        f"<tr><th>{escape(_title(take))}</th><td>{f.start_frame}</td><td>{f.stop_frame - 1}</td>"
        f"<td>{f.start:.2f}</td><td class='unit'>{escape(f.code)}</td><td class='text'>{escape(f.message)}</td></tr>"
        for take, f in entries[:_ROWS]
    )
    more = f"<p>... and {len(entries) - _ROWS} more</p>" if len(entries) > _ROWS else ""
    head = "<tr><th>take</th><th>first frame</th><th>last frame</th><th>s</th><th>code</th><th>what is wrong</th></tr>"
    table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
    return f"<h2>All findings</h2><div class='wide'>{table}</div>{more}"

"""Values that are no numbers, takes without frames, and what the reader found odd."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.motion.motion import Motion
from ambulo.prepare.quality.examination import runs
from ambulo.prepare.quality.finding import Finding, Severity

LEAST_FRAMES = 5
"""Frames that preparation needs ..."""
LEAST_TIME = 0.2
"""... and seconds."""
_TOLD_ELSEWHERE = frozenset({"frame_time", "slow", "one_frame"})


def find_numbers(motion: Motion) -> list[Finding]:
    """Every joint's stretches of NaN or infinity. An occluded marker is a note, a joint an error."""
    with np.errstate(all="ignore"):  # a sum is quick, and finite only where all of it is
        if np.isfinite(motion.positions.sum()) and np.isfinite(motion.rotations.sum()):
            return []
    finite = np.isfinite(motion.positions).all(axis=-1) & np.isfinite(motion.rotations).all(axis=-1)
    bad: NDArray[np.bool_] = np.logical_not(finite)
    if not bad.any():
        return []
    markers = bool(motion.skeleton.joint_count > 1 and (motion.skeleton.parents < 0).all())
    found = []
    for joint in np.flatnonzero(bad.any(axis=0)):
        name = motion.skeleton.names[joint]
        for start, stop in runs(bad[:, joint]):
            said = "is occluded" if markers else "has values that are no numbers"
            found.append(
                _finding(
                    motion,
                    "nan",
                    "note" if markers else "error",
                    (start, stop),
                    f"{name!r} {said} for {stop - start} frame{'s' if stop - start > 1 else ''}",
                    value=stop - start,
                    joint=name,
                    remedy="" if markers else "export the take again; nothing else was checked",
                )
            )
    return found


def find_short(motion: Motion) -> list[Finding]:
    """Takes of too few frames for a database."""
    if motion.frame_count >= LEAST_FRAMES and motion.duration >= LEAST_TIME - 1e-6:
        return []
    count = motion.frame_count
    return [
        _finding(
            motion,
            "short",
            "warning",
            (0, count),
            f"{count} frame{'s' if count != 1 else ''} ({motion.duration:.2f} s): too short to enter a database",
            value=count,
            remedy=f"a take needs at least {LEAST_FRAMES} frames and {LEAST_TIME:g} s",
        )
    ]


def reader_findings(motion: Motion) -> list[Finding]:
    """The reader's warnings, declared against real frames among them."""
    return [
        _finding(
            motion,
            "frame_count" if note.code == "frame_count" else "reader",
            "warning",
            (0, motion.frame_count),
            note.message + (f" (line {note.line})" if note.line is not None else ""),
            value=motion.frame_count,
            joint=note.joint,
        )
        for note in motion.source.warnings
        if note.code not in _TOLD_ELSEWHERE
    ]


def _finding(
    motion: Motion,
    code: str,
    severity: Severity,
    span: tuple[int, int],
    message: str,
    *,
    value: float,
    joint: str | None = None,
    remedy: str = "",
) -> Finding:
    return Finding(
        code=code,
        severity=severity,
        start_frame=span[0],
        stop_frame=span[1],
        start=round(span[0] / motion.rate, 6),
        stop=round(span[1] / motion.rate, 6),
        joint=joint,
        value=float(value),
        unit="frames",
        message=message,
        remedy=remedy,
    )

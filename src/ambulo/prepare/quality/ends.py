"""Calibration at the ends of a take: T-poses, the jump after them, the ringing of a converter's filter."""

from __future__ import annotations

from ambulo.prepare.quality.examination import Examination
from ambulo.prepare.quality.finding import Finding, Proposal


def find_ends(exam: Examination) -> list[Finding]:
    """What :func:`ambulo.prepare.trim.usable_range` cuts off, each cut with its frames."""
    trim, count = exam.trim, exam.motion.frame_count
    found = []
    for cut in trim.cuts:
        at_start = cut.stop_frame <= trim.start_frame
        code = {"t_pose": "t_pose", "ringing": "ringing", "jump": "head_jump" if at_start else "tail_jump"}[cut.kind]
        unit = {"t_pose": "s", "ringing": "frames", "jump": "m/s"}[cut.kind]
        where = f"start at frame {trim.start_frame}" if at_start else f"stop at frame {trim.stop_frame}"
        proposal = Proposal(start_frame=trim.start_frame) if at_start else Proposal(stop_frame=trim.stop_frame)
        found.append(
            exam.finding(
                code,
                "warning",
                (cut.start_frame, cut.stop_frame),
                cut.reason,
                value=cut.value,
                unit=unit,
                joint=cut.joint,
                remedy=where,
                proposal=proposal,
            )
        )
    if trim.reasons and not trim.cuts:
        found.append(exam.finding("t_pose", "warning", (0, count), trim.reasons[0], value=count, unit="frames"))
    return found

"""What no body does from a frame to the next: too fast, a pop, a flip."""

from __future__ import annotations

from ambulo.prepare.glitches import SERIOUS
from ambulo.prepare.quality.examination import Examination
from ambulo.prepare.quality.finding import Finding, Proposal


def find_jumps(exam: Examination) -> list[Finding]:
    """The glitches of :func:`ambulo.prepare.glitches.find_glitches` within the usable part.

    One that throws no part of the body farther than :data:`~ambulo.prepare.glitches.SERIOUS` (a thumb, a toe tip) is a
    note: preparation leaves it in.
    """
    found = []
    for glitch in exam.glitches:
        span = (glitch.start_frame, glitch.stop_frame)
        serious = glitch.displacement >= SERIOUS
        if glitch.reason == "speed":
            said, unit = f"{glitch.joint!r} moves at {glitch.value:.0f} m/s", "m/s"
        else:
            unit = "degrees/s"
            thrown = f"which throws what hangs on it by {100 * glitch.displacement:.0f} cm"
            said = (
                f"{glitch.joint!r} leaves its place for a frame and comes back, {glitch.value:.0f} degrees a second "
                f"each way, {thrown}"
                if glitch.reason == "pop"
                else f"{glitch.joint!r} turns over at {glitch.value:.0f} degrees a second, {thrown}"
            )
        found.append(
            exam.finding(
                glitch.reason,
                "warning" if serious else "note",
                span,
                said,
                value=glitch.value,
                unit=unit,
                joint=glitch.joint,
                remedy="skip these frames, or repair them (ambulo repair --spikes)",
                proposal=Proposal(skip_frames=(span,)) if serious else None,
            )
        )
    return found

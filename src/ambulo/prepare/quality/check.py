"""All checks of one take."""

from __future__ import annotations

from collections.abc import Mapping

from ambulo.motion.motion import Motion
from ambulo.prepare.quality.bones import find_bones, find_size
from ambulo.prepare.quality.ends import find_ends
from ambulo.prepare.quality.examination import Examination, examined
from ambulo.prepare.quality.finding import Finding
from ambulo.prepare.quality.ground import find_ground
from ambulo.prepare.quality.jumps import find_jumps
from ambulo.prepare.quality.numbers import find_numbers, find_short, reader_findings
from ambulo.prepare.quality.rate import find_rate
from ambulo.prepare.quality.sliding import find_sliding
from ambulo.prepare.quality.still import find_all_zero, find_frozen
from ambulo.prepare.settings import PrepareSettings

BELIEVED_RATES = (10.0, 1000.0)
"""Frames a second that later checks are willing to count with."""
UNIT_DOUBTS = frozenset({"unit_doubt", "unit_guess"})
"""What readers note of a unit that they do not trust."""


def check_motion(
    motion: Motion,
    settings: PrepareSettings | None = None,
    roles: Mapping[str, str] | None = None,
    travel: str = "as_is",
) -> list[Finding]:
    """Everything that looks wrong in a take, as spans of frames.

    The rate is judged first, and all that depends on time is then counted at the rate that seems true (a spin at twice
    the rate is not twice as wrong). Spans are frames of the take as it was read, and seconds at the file's own rate.
    What preparation cuts, marks or moves by itself is found by the same functions, so that both say the same.

    Args:
        motion: a take as a reader gives it, in metres and +Y up.
        settings: constants of the preparation: speeds of glitches and contacts.
        roles: role -> joint name, where the detection is wrong.
        travel: ``"from_feet"`` where preparation lets takes that walk in place walk on: then that is nothing to find.

    Returns:
        Findings in order of time.

    Raises:
        SkeletonError: ``roles`` names no role or no joint.
    """
    settings = settings or PrepareSettings()
    found = reader_findings(motion) + find_short(motion)
    unusable = find_numbers(motion)
    if unusable or motion.frame_count == 0:
        return _sorted(found + unusable)
    exam = examined(motion, settings, roles)
    wrong_rate = find_rate(exam)
    found += wrong_rate
    proposed = next((f.proposal.rate for f in wrong_rate if f.proposal.rate is not None), None)
    if proposed is not None and BELIEVED_RATES[0] <= proposed <= BELIEVED_RATES[1]:
        exam = exam.at_rate(proposed)
    zero = find_all_zero(exam)
    found += zero
    size = find_size(exam)
    if size:  # the reader's doubt about the unit is the same, without a proposal
        told = {note.message for note in motion.source.warnings if note.code in UNIT_DOUBTS}
        found = [f for f in found if f.code != "reader" or f.message not in told]
    found += find_bones(exam) + size
    if not any(f.severity == "error" for f in zero) and motion.frame_count > 1:
        found += find_ends(exam) + find_jumps(exam)
        found += [f for f in find_frozen(exam) if not any(_covers(other, f) for other in zero)]
        sliding = find_sliding(exam)
        found += find_ground(exam) + [f for f in sliding if f.code != "in_place" or travel != "from_feet"]
    found += _roles(exam)
    return _sorted(found)


def _roles(exam: Examination) -> list[Finding]:
    if exam.has_legs:
        return []
    lost = "steps were" if exam.has_feet else "steps, floor and sliding were"
    return [
        exam.finding(
            "roles",
            "note",
            (0, exam.motion.frame_count),
            f"{'legs' if exam.has_feet else 'feet'} are not known on this skeleton: {lost} not looked at",
            value=len(exam.motion.skeleton.roles),
            unit="roles",
            remedy="name the joints in the [roles] table of ambulo.toml",
        )
    ]


def _covers(outer: Finding, inner: Finding) -> bool:
    return outer.start_frame <= inner.start_frame and inner.stop_frame <= outer.stop_frame


def _sorted(found: list[Finding]) -> list[Finding]:
    return sorted(found, key=lambda f: (f.start_frame, f.stop_frame, f.code))

"""What a check of a take finds: a span of frames, how bad it is, and what would mend it."""

from __future__ import annotations

from typing import Literal

import msgspec

Severity = Literal["note", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")
"""From the least. A *note* is true and harmless, or small; a *warning* spoils what is made of the take; with an *error*
nothing can be made of it."""

CODES: dict[str, str] = {
    "unreadable": "the file cannot be read",
    "frame_count": "the file holds other frames than it declares",
    "reader": "the reader found the file odd",
    "nan": "values that are no numbers",
    "short": "too few frames to be a motion",
    "roles": "the skeleton is no body that is known",
    "rate": "the frame rate is not the true one",
    "repeats": "frames repeat the ones before: the motion was captured at a lower rate",
    "unit": "the body has no human size in the unit that was taken",
    "t_pose": "a T-pose held at an end",
    "head_jump": "a jump cuts calibration off the start",
    "tail_jump": "a jump cuts off the end",
    "ringing": "the data rings after a jump",
    "speed": "a joint moves faster than any body",
    "pop": "a joint leaves its place for a frame",
    "flip": "a joint turns over at once",
    "frozen": "the whole body stands absolutely still",
    "all_zero": "all rotations are zero: lost tracking, or an empty take",
    "sunk": "feet below the floor",
    "floating": "feet above the floor",
    "uneven": "feet stand at different heights",
    "sliding": "the foot that carries the body moves over the ground",
    "in_place": "the feet walk, the body stays where it is",
    "bone_length": "a bone changes its length",
    "zero_length": "joints at the place of the joint above them",
}
"""Every code with its meaning."""


class Proposal(msgspec.Struct, frozen=True, omit_defaults=True):
    """What would mend a take without touching it; the keys of a ``[[takes]]`` table of ``ambulo.toml``.

    Attributes:
        start_frame: first frame to use.
        stop_frame: one past the last frame to use.
        rate: true frames a second.
        unit: true length unit.
        lift: metres to add to all heights.
        skip_frames: ranges ``[start, stop)`` of frames that must never be chosen.
    """

    start_frame: int | None = None
    stop_frame: int | None = None
    rate: float | None = None
    unit: str | None = None
    lift: float | None = None
    skip_frames: tuple[tuple[int, int], ...] = ()

    def __bool__(self) -> bool:
        return self != Proposal()


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong, and where.

    Attributes:
        code: key of :data:`CODES`.
        severity: ``"note"``, ``"warning"`` or ``"error"``.
        start_frame: first frame concerned.
        stop_frame: one past the last.
        start: seconds of the first frame, at the file's own rate.
        stop: seconds of ``stop_frame``, at the file's own rate.
        joint: the joint that shows it most, where it is one joint's matter.
        value: the number that was measured, in ``unit``.
        unit: its unit.
        message: one sentence for a person.
        remedy: what to do about it.
        proposal: what ``ambulo check --fix`` would write into the project.
    """

    code: str
    severity: Severity
    start_frame: int
    stop_frame: int
    start: float
    stop: float
    value: float
    unit: str
    message: str
    joint: str | None = None
    remedy: str = ""
    proposal: Proposal = Proposal()


class TakeCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in one take.

    Attributes:
        file: its path as the caller named it.
        name: name of the motion; a file may hold several.
        frame_count: frames.
        rate: frames a second as the file says it.
        findings: in order of time.
        corrected: how many more were found that the project's ``[[takes]]`` entry settles already.
    """

    file: str
    name: str
    frame_count: int
    rate: float
    findings: tuple[Finding, ...] = ()
    corrected: int = 0

    @property
    def proposal(self) -> Proposal:
        """What all findings together propose: the narrowest range, every frame to skip."""
        proposals = [finding.proposal for finding in self.findings if finding.proposal]
        starts = [p.start_frame for p in proposals if p.start_frame is not None]
        stops = [p.stop_frame for p in proposals if p.stop_frame is not None]
        skips = sorted({span for p in proposals for span in p.skip_frames})
        first = {
            key: next((value for p in proposals if (value := getattr(p, key)) is not None), None)
            for key in ("rate", "unit", "lift")
        }
        return Proposal(max(starts, default=None), min(stops, default=None), skip_frames=joined_spans(skips), **first)

    @property
    def worst(self) -> Severity | None:
        """The greatest severity; None where nothing was found."""
        return max((f.severity for f in self.findings), key=SEVERITIES.index, default=None)


class CheckReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in a file, a folder or a project.

    Attributes:
        path: what was checked.
        takes: every take that could be read, in the order of their files.
        broken: takes that could not be read, with the reason.
        frame_count: frames that were looked at.
        wall_seconds: how long it took.
    """

    path: str
    takes: tuple[TakeCheck, ...]
    broken: tuple[BrokenTake, ...] = ()
    frame_count: int = 0
    wall_seconds: float = 0.0

    @property
    def findings(self) -> list[tuple[TakeCheck, Finding]]:
        """All findings with their takes."""
        return [(take, finding) for take in self.takes for finding in take.findings]

    def counts(self) -> dict[str, int]:
        """Code -> number of takes in which it was found as a warning or worse."""
        counted: dict[str, int] = {}
        for take in self.takes:
            for code in {f.code for f in take.findings if f.severity != "note"}:
                counted[code] = counted.get(code, 0) + 1
        return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))

    @property
    def clean(self) -> bool:
        """Whether every take could be read and none has more than notes."""
        return not self.broken and all(take.worst in (None, "note") for take in self.takes)


class BrokenTake(msgspec.Struct, frozen=True, kw_only=True):
    """A file that cannot be read: its path, the reason, what to do, and the line where one is known."""

    file: str
    reason: str
    remedy: str | None = None
    line: int | None = None


def joined_spans(spans: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Sorted ranges ``[start, stop)`` with those that touch or overlap made one."""
    joined: list[tuple[int, int]] = []
    for start, stop in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], stop))
        else:
            joined.append((start, stop))
    return tuple(joined)

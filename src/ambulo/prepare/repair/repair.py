"""All repairs that are asked for, in the order in which they build on each other, with numbers before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import msgspec
import numpy as np

from ambulo.errors import MotionError
from ambulo.motion.humanoid import detect_roles
from ambulo.motion.motion import Motion
from ambulo.prepare.quality.check import check_motion
from ambulo.prepare.quality.finding import Finding
from ambulo.prepare.repair.feet import hold_feet
from ambulo.prepare.repair.floor import align_floor
from ambulo.prepare.repair.smoothing import WINDOW, smooth_motion
from ambulo.prepare.repair.spikes import remove_spikes
from ambulo.prepare.settings import PrepareSettings
from ambulo.prepare.trim import usable_range

OPERATIONS = ("spikes", "smooth", "floor", "feet")
"""In the order in which they are done: a spike is no contact, and what smoothing leaves is what feet are held in."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One operation.

    Attributes:
        operation: of :data:`OPERATIONS`.
        changed_frames: how many frames differ.
        before: measure -> number, before it.
        after: the same after it.
        units: measure -> unit.
        message: what was done, and what was left.
    """

    operation: str
    changed_frames: int
    before: dict[str, float]
    after: dict[str, float]
    units: dict[str, str]
    message: str


class RepairReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to a take.

    Attributes:
        name: of the take.
        frame_count: frames.
        rate: frames a second as the file says it.
        judged_rate: frames a second that speeds were counted with.
        steps: the operations in order.
        before: findings in the take as it was.
        after: findings in what was made of it.
    """

    name: str
    frame_count: int
    rate: float
    judged_rate: float
    steps: tuple[Step, ...]
    before: tuple[Finding, ...]
    after: tuple[Finding, ...]


class Repaired(NamedTuple):
    """The mended take, and what was done to it."""

    motion: Motion
    report: RepairReport


def proposed_operations(findings: list[Finding]) -> tuple[str, ...]:
    """What a check's findings ask for; never smoothing, which nothing but the eye asks for."""
    worth = [finding for finding in findings if finding.severity == "warning"]
    wanted = set()
    if any(f.code in ("speed", "pop", "flip") for f in worth):
        wanted.add("spikes")
    if any(f.code in ("sunk", "floating") and f.proposal.lift is not None for f in worth):
        wanted.add("floor")
    if any(f.code == "sliding" for f in worth):
        wanted.add("feet")
    return tuple(operation for operation in OPERATIONS if operation in wanted)


def repair_motion(
    motion: Motion,
    operations: tuple[str, ...] | None = None,
    *,
    settings: PrepareSettings | None = None,
    roles: Mapping[str, str] | None = None,
    smooth_window: float = WINDOW,
) -> Repaired:
    """Mend a take.

    Where the check finds that the rate lies, speeds are counted at the rate that seems true; the motion keeps its own.

    Args:
        motion: the take; it is not changed.
        operations: of :data:`OPERATIONS`; those that a check proposes where None.
        settings: constants of the preparation.
        roles: role -> joint name, where the detection is wrong.
        smooth_window: seconds, for ``"smooth"``.

    Returns:
        The mended take on the same skeleton and rate, and the report.

    Raises:
        MotionError: no such operation, no frames, or values that are no numbers.
        SkeletonError: an operation needs feet or legs that are not known.
    """
    settings = settings or PrepareSettings()
    for operation in operations or ():
        if operation not in OPERATIONS:
            raise MotionError(f"no repair is called {operation!r}", key=operation, remedy=f"{', '.join(OPERATIONS)}")
    before = check_motion(motion, settings, roles)
    fault = next((f for f in before if f.severity == "error"), None)
    if fault is not None or motion.frame_count == 0:
        raise MotionError(
            f"the take cannot be repaired: {fault.message if fault else 'it has no frames'}",
            path=motion.source.path,
            joint=fault.joint if fault else None,
            frame=fault.start_frame if fault else None,
        )
    chosen = proposed_operations(before) if operations is None else operations
    rate = next((f.proposal.rate for f in before if f.code == "rate" and f.proposal.rate), motion.rate)
    skeleton = motion.skeleton
    known = detect_roles(skeleton, motion, roles).roles if roles or not skeleton.roles else dict(skeleton.roles)
    whole = replace(motion.with_roles(known), rate=rate)
    trim = usable_range(whole)
    work = whole.slice(trim.start_frame, trim.stop_frame)  # calibration at the ends is no motion to be mended
    steps = []
    lifted = 0.0
    for operation in OPERATIONS:
        if operation not in chosen:
            continue
        if operation == "spikes":
            work, step = _spikes(work, settings)
        elif operation == "floor":
            lift = next((f.proposal.lift for f in before if f.proposal.lift is not None), None)
            work, step = _floor(work, lift)
            lifted += float(step.after["foot height"] - step.before["foot height"])
        elif operation == "feet":
            work, step = _feet(work, settings)
        else:
            work, step = _smooth(work, smooth_window)
        steps.append(step)
    made = _whole(motion, work, trim.start_frame, lifted)
    report = RepairReport(
        name=motion.name,
        frame_count=motion.frame_count,
        rate=motion.rate,
        judged_rate=rate,
        steps=tuple(steps),
        before=tuple(before),
        after=tuple(check_motion(made, settings, roles)),
    )
    return Repaired(made, report)


def _whole(motion: Motion, part: Motion, start: int, lifted: float) -> Motion:
    """The take with a part of it exchanged; what lies outside is lifted with it."""
    positions, rotations = motion.positions.copy(), motion.rotations.copy()
    if lifted:
        positions[:, motion.skeleton.parents < 0, 1] += np.float32(lifted)
    positions[start : start + part.frame_count] = part.positions
    rotations[start : start + part.frame_count] = part.rotations
    return replace(motion, positions=positions, rotations=rotations)


def changed_frames(a: Motion, b: Motion) -> int:
    """Frames in which two motions of one skeleton differ in any bit."""
    same = (a.positions == b.positions).all(axis=(1, 2)) & (a.rotations == b.rotations).all(axis=(1, 2))
    return int(np.count_nonzero(~same))


def _spikes(motion: Motion, settings: PrepareSettings) -> tuple[Motion, Step]:
    done = remove_spikes(motion, speed=settings.glitch_speed)
    joints = sorted({span.joint for span in done.mended})
    named = ", ".join(joints[:4]) + (f" and {len(joints) - 4} more" if len(joints) > 4 else "")
    left = f"; {len(done.after)} are left, as they stay away or last too long" if done.after else ""
    message = (
        f"{len(done.mended)} span{'s' if len(done.mended) > 1 else ''} of {named} laid anew{left}"
        if done.mended
        else f"nothing to lay anew{left}"
    )
    return done.motion, Step(
        operation="spikes",
        changed_frames=changed_frames(motion, done.motion),
        before={"glitches": float(len(done.before))},
        after={"glitches": float(len(done.after))},
        units={"glitches": ""},
        message=message,
    )


def _floor(motion: Motion, lift: float | None) -> tuple[Motion, Step]:
    done = align_floor(motion, lift=lift)
    return done.motion, Step(
        operation="floor",
        changed_frames=changed_frames(motion, done.motion),
        before={"foot height": done.before.foot_height},
        after={"foot height": done.before.foot_height + done.lift},
        units={"foot height": "m"},
        message=f"lifted by {100 * done.lift:+.1f} cm" if done.lift else "the floor is at y = 0 already",
    )


def _feet(motion: Motion, settings: PrepareSettings) -> tuple[Motion, Step]:
    done = hold_feet(motion, speed=settings.contact_speed, window=settings.contact_window)
    left = f"; {done.left} contacts are left as they are, they ask for too much" if done.left else ""
    return done.motion, Step(
        operation="feet",
        changed_frames=changed_frames(motion, done.motion),
        before={"speed of held feet": done.creep_before},
        after={"speed of held feet": done.creep_after, "moved by at most": done.largest, "missed by": done.missed},
        units={"speed of held feet": "m/s", "moved by at most": "m", "missed by": "m"},
        message=f"{int(done.contacts.any(axis=1).sum())} frames with a foot that is held{left}",
    )


def _smooth(motion: Motion, window: float) -> tuple[Motion, Step]:
    roles = motion.skeleton.roles
    legs = all(f"{side}_{part}" in roles for side in ("left", "right") for part in ("upper_leg", "lower_leg", "foot"))
    done = smooth_motion(motion, window=window, keep_contacts=legs)
    return done.motion, Step(
        operation="smooth",
        changed_frames=changed_frames(motion, done.motion),
        before={"jitter": done.jitter_before, "speed of held feet": done.creep_before},
        after={"jitter": done.jitter_after, "speed of held feet": done.creep_after},
        units={"jitter": "m/s3", "speed of held feet": "m/s"},
        message=f"a window of {window:g} s" + ("" if legs else "; the legs are not known, feet were not put back"),
    )

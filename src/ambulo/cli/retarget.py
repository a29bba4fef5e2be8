"""``ambulo retarget``: put a take on another skeleton, with a mapping file and a picture to check it by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ambulo.motion.motion import Motion
    from ambulo.motion.retarget_report import StageNumbers


@dataclass(frozen=True)
class Arguments:
    """Put a humanoid's take on another humanoid skeleton.

    Joints are mapped by what they are (left_foot, chest, ...), whatever they are called, and rest poses may differ.
    Where the guess is wrong, write it into a file with --write-mapping, correct it there, and give it with --mapping.
    """

    source: Path
    """The take."""
    out: Path
    """The file to write; its ending tells the format."""
    target: Path | None = None
    """Needed: a file on the skeleton that the motion is to be put on: a character, or a take."""
    clip: str | None = None
    """Which animation of a file that holds several."""
    mapping: Path | None = None
    """A mapping file: [joints], target joint = source joint or role."""
    write_mapping: Path | None = None
    """Write the mapping that is used here."""
    picture: Path | None = None
    """Write a picture here: both figures side by side with lines between mapped joints."""
    skip: int = 0
    """Frames to leave out at the beginning of the source (a T-pose)."""
    no_fit: bool = False
    """Carry only joint angles over; do not bring the feet to their places."""
    force: bool = False
    """Overwrite the new file where it is there already."""
    json: bool = False
    """Print one JSON object."""


class Stage(msgspec.Struct, frozen=True):
    """Measures of one body."""

    slide_cm_s: float
    penetration_cm: float
    deepest_cm: float
    jumps_per_minute: float


class Outcome(msgspec.Struct, frozen=True):
    """What was written and how good it is."""

    file: str
    frames: int
    rate: float
    scale: float
    before: Stage
    after: Stage
    contact_f1: float
    reach_mm: float
    iterations: float
    mapped: int
    resting: list[str]
    mapping_file: str | None
    picture: str | None


def run(arguments: Arguments) -> Outcome:
    """Load, map, carry over, write."""
    from ambulo.cli.one_take import load_take
    from ambulo.cli.outputs import check_outputs
    from ambulo.errors import AmbuloError, MotionError
    from ambulo.formats.paths import write_whole
    from ambulo.formats.registry import save
    from ambulo.motion.joint_mapping import mapping_text, read_mapping
    from ambulo.motion.retargeting import RetargetSettings, retarget

    if arguments.target is None:
        raise AmbuloError("onto which skeleton?", key="target", remedy="give a file on it with --target FILE")
    check_outputs(
        [arguments.source, arguments.target, arguments.mapping],
        {"out": arguments.out},
        {"write_mapping": arguments.write_mapping, "picture": arguments.picture},
        force=arguments.force,
    )
    wishes = None if arguments.mapping is None else read_mapping(arguments.mapping)
    motion = load_take(arguments.source, arguments.clip)
    if not 0 <= arguments.skip < motion.frame_count:
        raise MotionError(
            f"the take has {motion.frame_count} frames, {arguments.skip} of them cannot be skipped", key="skip"
        )
    motion = motion.slice(arguments.skip, motion.frame_count)
    target = _target(arguments.target)
    settings = RetargetSettings(fit=not arguments.no_fit, heights=not arguments.no_fit)
    done = retarget(motion, target, mapping=wishes, settings=settings)
    save(done.motion, arguments.out)
    if arguments.write_mapping is not None:
        write_whole(arguments.write_mapping, mapping_text(done.mapping).encode())
    if arguments.picture is not None:
        from ambulo.export.retarget_picture import retarget_picture

        retarget_picture(motion, done.motion, done.mapping, arguments.picture)
    report = done.report

    return Outcome(
        str(arguments.out),
        report.frame_count,
        motion.rate,
        round(report.scale, 5),
        _stage(report.before),
        _stage(report.after),
        round(report.contact_f1, 4),
        round(1000 * report.reach, 3),
        round(report.iterations, 2),
        report.mapped,
        list(report.resting),
        None if arguments.write_mapping is None else str(arguments.write_mapping),
        None if arguments.picture is None else str(arguments.picture),
    )


def _stage(numbers: StageNumbers) -> Stage:
    return Stage(
        round(100 * numbers.slide, 3),
        round(100 * numbers.penetration, 3),
        round(100 * numbers.deepest, 3),
        round(numbers.jumps, 2),
    )


def _target(path: Path) -> Motion:
    from ambulo.formats.registry import load_all

    motions = load_all(path)
    return max(motions, key=lambda motion: motion.frame_count)


def show(outcome: Outcome) -> None:
    """Print a small table."""
    print(f"{outcome.file}: {outcome.frames} frames at {100 * outcome.scale:.1f} % of the size")
    rows = (
        ("foot slide in contact", "slide_cm_s", "cm/s"),
        ("mean penetration in contact", "penetration_cm", "cm"),
        ("deepest penetration (99 %)", "deepest_cm", "cm"),
        ("joint-angle jumps", "jumps_per_minute", "a minute"),
    )
    for label, key, unit in rows:
        print(f"  {label:<28} {getattr(outcome.before, key):8.2f} -> {getattr(outcome.after, key):8.2f} {unit}")
    print(f"  {'contacts kept (F1)':<28} {outcome.contact_f1:20.3f}")
    if outcome.resting:
        shown = ", ".join(outcome.resting[:8]) + (
            f" and {len(outcome.resting) - 8} more" if outcome.resting[8:] else ""
        )
        print(f"  {outcome.mapped} joints follow; at rest: {shown}")
    if outcome.mapping_file:
        print(f"  mapping: {outcome.mapping_file}")
    if outcome.picture:
        print(f"  picture: {outcome.picture}")

"""``ambulo stylise``: make another take of a take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from ambulo.prepare.stylise.replant import StyleReport
from ambulo.prepare.stylise.style import Operator

if TYPE_CHECKING:
    from ambulo.formats.tag_file import TagRange


@dataclass(frozen=True)
class Arguments:
    """Make a take that leans, limps or strides of one that does not. Feet that stand keep standing.

    The operators work in the order of the options here; [[stylise]] tables of ambulo.toml give them in any order, for
    all takes of a project at once, without files. The tags of the source are written beside the new file too: those of
    its tag file, and those that its project finds in names of folder and file or gives to its source.
    """

    source: Path
    """The take."""
    out: Path
    """The new file; its extension tells the format."""
    stride: float = 0.0
    """How much longer strides are: 0.2 for a fifth, negative for shorter ones."""
    limp: float = 0.0
    """How badly it limps, 0 to 1."""
    side: Literal["left", "right"] = "left"
    """The leg that hurts."""
    lean: float = 0.0
    """Radians that the trunk leans forward."""
    lean_left: float = 0.0
    """Radians that it leans to the left."""
    arm_swing: float = 0.0
    """How much farther arms swing: 0.5 for half as much again, -1 for not at all."""
    tempo: float = 0.0
    """How much faster all goes: 0.25 for a quarter."""
    tags: tuple[str, ...] = ()
    """Tags that the new take carries from its beginning to its end, beside those of the source and `stylised`."""
    without: tuple[str, ...] = ()
    """Tags of the source that do not hold for the new take any more, such as healthy."""
    unit: str | None = None
    """Length unit of the source; guessed if left out. A BVH has the same."""
    up: str | None = None
    """Up axis of the source; guessed if left out. A BVH has the same."""
    rate: float | None = None
    """True frames a second of the source."""
    json: bool = False
    """Print one JSON object."""


class Stylised(msgspec.Struct, frozen=True):
    """What ``ambulo stylise`` made: the file, its tag file, and what was measured."""

    source: str
    out: str
    tags: str
    operators: tuple[str, ...]
    report: StyleReport


def run(arguments: Arguments) -> Stylised:
    """Load, stylise, write."""
    from ambulo.cli.check import parsed_unit
    from ambulo.errors import AmbuloError
    from ambulo.formats.registry import load, save
    from ambulo.formats.tag_file import COPIES, TagRange, check_tag, tag_file_of, write_tag_file
    from ambulo.motion.resampling import resample
    from ambulo.prepare.stylise.style import STYLISED, stylise, tempo_factor

    source, out = arguments.source, arguments.out
    if out.exists():
        raise AmbuloError("is there already", path=out, key="out", remedy="give another name, or remove it first")
    tag_file = tag_file_of(out)
    if tag_file.exists():
        raise AmbuloError("is there already", path=tag_file, key="out", remedy="give the take another name")
    operators = _operators(arguments)
    if not operators:
        raise AmbuloError("nothing is asked for", key="operators", remedy="for example --limp 0.6")
    for operator in operators:
        fault = operator.fault()
        if fault is not None:
            name = operator.given[0][0]
            raise AmbuloError(
                fault, key=name, remedy=f"give --{name.replace('_', '-')} such a value; --help says what it means"
            )
    given = [TagRange(None, None, check_tag(tag)) for tag in (*arguments.tags, STYLISED)]
    without = {check_tag(tag) for tag in arguments.without}
    motion = load(source, unit=parsed_unit(arguments.unit), up=arguments.up, rate=arguments.rate)
    made, report = stylise(motion, operators)
    made = resample(made, motion.rate)
    factor = tempo_factor(operators)
    kept = [
        entry._replace(**{k: t / factor for k in ("start", "stop") if (t := getattr(entry, k)) is not None})
        for entry in _tags_of(source)
        if entry.tag not in without and entry.tag != COPIES
    ]
    tags = list(dict.fromkeys([*kept, *given]))
    options = {}
    if out.suffix.lower() == ".bvh":
        options = {"unit": motion.source.metres_per_unit, "up": motion.source.up}
    save(made, out, **options)
    write_tag_file(tag_file, tags)
    names = tuple(name for operator in operators for name, _ in operator.given)
    return Stylised(str(source), str(out), str(tag_file), names, report)


def _tags_of(source: Path) -> list[TagRange]:
    """All tags of a take: of its tag file, and those that its project gives it; outside of one, its name's."""
    from ambulo.database.annotate import read_annotations
    from ambulo.database.tags import tags_of_file_name
    from ambulo.database.takes import project_of_take
    from ambulo.formats.tag_file import TagRange, read_tag_file, tag_file_of

    found = project_of_take(source)
    if found is not None:
        project, take = found
        return [note.range for note in read_annotations(project, [take])[0].tags]
    named = [TagRange(None, None, tag) for tag in tags_of_file_name(source.name)]
    file = tag_file_of(source)
    return named + (read_tag_file(file) if file.is_file() else [])


def _operators(arguments: Arguments) -> list[Operator]:
    from ambulo.prepare.stylise.arm_swing import ArmSwing
    from ambulo.prepare.stylise.lean import Lean
    from ambulo.prepare.stylise.limp import Limp
    from ambulo.prepare.stylise.stride import Stride
    from ambulo.prepare.stylise.tempo import Tempo

    found = []
    if arguments.stride:
        found.append(Operator(stride=Stride(amount=arguments.stride)))
    if arguments.limp:
        found.append(Operator(limp=Limp(side=arguments.side, amount=arguments.limp)))
    if arguments.lean or arguments.lean_left:
        found.append(Operator(lean=Lean(forward=arguments.lean, left=arguments.lean_left)))
    if arguments.arm_swing:
        found.append(Operator(arm_swing=ArmSwing(amount=arguments.arm_swing)))
    if arguments.tempo:
        found.append(Operator(tempo=Tempo(amount=arguments.tempo)))
    return found


def show(made: Stylised) -> None:
    """Print what was made, and the numbers before and after."""
    report = made.report
    print(f"{made.source} -> {made.out} ({', '.join(made.operators)}), tags in {made.tags}")
    print(f"  {report.seconds[0]:.2f} -> {report.seconds[1]:.2f} s")
    print(f"  standing toes slide {100 * report.slide[0]:.1f} -> {100 * report.slide[1]:.1f} cm/s")
    print(f"  hips sank by up to {100 * report.sunk:.1f} cm; feet missed their places by {100 * report.missed:.2f} cm")

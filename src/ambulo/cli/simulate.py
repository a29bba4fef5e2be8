"""``ambulo simulate``: run a controller along a script, and write motion, measures and a report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import tyro

if TYPE_CHECKING:
    from ambulo.control.recording import Recording
    from ambulo.control.scripts import Script
    from ambulo.database.database import Database
    from ambulo.evaluation.measure import Measure
    from ambulo.evaluation.punctuality import EventMet
    from ambulo.matching.index import SearchIndex

PATHS = ("idle", "forward", "circle", "square", "star", "wave", "turn_90", "turn_180", "strafe", "random")
"""What --path takes, as its help says it."""

# Other names of the scripts: a short one, and what people try first.
_ALIASES = {"random": "random_sticks", "straight": "forward"}

READS = "project"


@dataclass(frozen=True)
class Arguments:
    """Run a controller along a path, or along sticks that were recorded, and measure what it does.

    The same arguments give the same motion, on any run. With --out, a folder is written: motion.bvh, recording.json
    (the sticks; --input takes it), measures.json and report.html, and motion.mp4 with --video."""

    project: Path
    """Folder of a built project."""
    controller: str | None = None
    """Which controller (mm is motion_matching), or the name of a trained model; the project's first if left out."""
    path: str = "square"
    """What drives it: idle, forward, circle, square, star, wave, turn_90, turn_180, strafe or random."""
    input: Path | None = None
    """A recording of sticks, in place of --path."""
    seconds: float = 30.0
    """How long."""
    speed: float | None = None
    """Metres a second, for the paths that have a speed; a walk if left out."""
    tags: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="TAG[,TAG]")] = ()
    """Tags that every frame shown must carry, or questions such as "before(jump, 0.5)", with commas between them; may
    be given several times."""
    prefer: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="TAG[,TAG]")] = ()
    """Tags that are preferred, as --tags; others may still be shown."""
    event: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="TAG@SECONDS")] = ()
    """A tag whose range shall begin at that second, such as jump@2.0; may be given several times."""
    on_missing: Literal["raise", "report"] = "raise"
    """What happens where nothing carries a tag that is asked for: an error, or go on without it and say so."""
    fallback: Annotated[tuple[Path, ...], tyro.conf.UseAppendAction] = ()
    """Another built project, which answers what this one cannot; may be given several times, in this order. Those that
    the project's own file names come first."""
    count: int = 1
    """Number of characters."""
    seed: int = 0
    """Seed of random sticks and of the controller."""
    rate: float = 60.0
    """Steps a second."""
    out: Path | None = None
    """Folder to write to."""
    video: bool = False
    """Write motion.mp4 too (needs the extra `video`)."""
    json: bool = False
    """Print one JSON object."""


class Simulated(msgspec.Struct, frozen=True):
    """What was run and what was measured.

    Attributes:
        measures: name -> ``{"value", "raw", "unit", "higher_is_better"}``; null where there is no such number.
        definitions: name -> what exactly was computed.
        files: what was written, by kind.
        levels: the databases in the order in which they answer -> part of the steps that each has answered.
        passed_over: what was asked for and is not there.
        events: when each event was asked for, and when it came.
    """

    project: str
    controller: str
    path: str
    seconds: float
    rate: float
    count: int
    seed: int
    frames: int
    measures: dict[str, dict[str, Any]]
    definitions: dict[str, str]
    files: dict[str, str]
    levels: dict[str, float]
    passed_over: list[str]
    events: list[EventMet]


def run(arguments: Arguments) -> Simulated:
    """Simulate, measure, write."""
    import warnings

    from ambulo.control.missing import MissingWarning
    from ambulo.control.simulation import simulate
    from ambulo.errors import AmbuloError
    from ambulo.evaluation.measures import measure
    from ambulo.evaluation.path import script_path
    from ambulo.evaluation.punctuality import events_met
    from ambulo.learning.create import open_stack

    if arguments.video and arguments.out is None:
        raise AmbuloError("a film needs a folder to be written to", key="video", remedy="add --out FOLDER")
    if arguments.seed < 0:
        raise AmbuloError(
            f"a seed of {arguments.seed} is not possible", key="seed", remedy="give a whole number from 0 up"
        )
    script = make_script(arguments)
    events = _events(arguments)
    if arguments.out is not None:
        _check_output(arguments.out, arguments.video)
    stack = open_stack(arguments.project, arguments.controller, arguments.fallback)
    name, database, index = stack.name, stack.database, stack.index
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", MissingWarning)
        recording = simulate(
            stack.controller,
            script,
            arguments.seconds,
            arguments.rate,
            arguments.count,
            arguments.seed,
            name=name,
        )
    passed_over = [str(one.message) for one in told if issubclass(one.category, MissingWarning)]
    for one in told:
        if not issubclass(one.category, MissingWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    recording = stack.as_one(recording)
    path = script_path(script)
    measures = measure(recording, database, path=path, index=index)
    files = {} if arguments.out is None else _write(arguments, recording, measures, database, index, path)
    return Simulated(
        project=database.name or str(arguments.project),
        controller=name,
        path=script.name,
        seconds=arguments.seconds,
        rate=arguments.rate,
        count=arguments.count,
        seed=arguments.seed,
        frames=recording.frame_count,
        measures={name: value.row() for name, value in measures.items()},
        definitions={name: value.definition for name, value in measures.items()},
        files=files,
        levels=stack.answered(recording),
        passed_over=passed_over,
        events=events_met(recording, database, events),
    )


def make_script(arguments: Arguments) -> Script:
    """The script that the arguments name.

    Raises:
        ControlError: no script of that name, or options that it does not take.
        FormatError: the input is no recording.
    """
    from ambulo.cli.tag_lists import split_tags
    from ambulo.control.asking_script import AskingScript

    script = _plain_script(arguments)
    preferred = split_tags(arguments.prefer)
    events = _events(arguments)
    if not preferred and not events and arguments.on_missing == "raise":
        return script
    return AskingScript(script, preferred, events, arguments.on_missing)


def _events(arguments: Arguments) -> tuple[tuple[str, float], ...]:
    from ambulo.control.asking_script import parse_event
    from ambulo.errors import ControlError

    events = tuple(sorted((parse_event(text) for text in arguments.event), key=lambda event: event[1]))
    late = [f"{tag}@{at:g}" for tag, at in events if at >= arguments.seconds > 0.0]
    if late:
        raise ControlError(
            f"{', '.join(late)} comes after the end: {arguments.seconds:g} s are simulated",
            key="event",
            remedy=f"give an earlier second, or --seconds {events[-1][1] + 2.0:g}",
        )
    return events


def _check_output(out: Path, video: bool) -> None:
    """Refuse what could not be written, before the work is done."""
    from ambulo.errors import AmbuloError
    from ambulo.export.page import read_player

    if out.exists() and not out.is_dir():
        raise AmbuloError("is a file, not a folder", path=out, key="out", remedy="give another name")
    read_player()
    if video:
        from ambulo.export.video import check_encoder

        check_encoder()


def _plain_script(arguments: Arguments) -> Script:
    from ambulo.cli.tag_lists import split_tags
    from ambulo.control.scripts import SCRIPTS, create_script, from_file
    from ambulo.errors import ControlError, nearest_names

    if arguments.input is not None:
        return from_file(arguments.input)
    name = _ALIASES.get(arguments.path, arguments.path)
    if name not in SCRIPTS:
        raise ControlError(f"there is no path {arguments.path!r}; {nearest_names(arguments.path, PATHS)}", key="path")
    options: dict[str, Any] = {}
    tags = split_tags(arguments.tags)
    if tags:
        options["tags"] = tags
    if arguments.speed is not None:
        options["speed"] = arguments.speed
    if name == "random_sticks":
        options |= {"seed": arguments.seed, "seconds": arguments.seconds, "count": arguments.count}
    return create_script(name, **options)


def _write(
    arguments: Arguments,
    recording: Recording,
    measures: dict[str, Measure],
    database: Database,
    index: SearchIndex,
    path: Any,
) -> dict[str, str]:
    from ambulo.cli.progress import progress_bars
    from ambulo.control.input_file import save_inputs
    from ambulo.evaluation.measures import TIMINGS
    from ambulo.export.page import write_page
    from ambulo.formats.registry import save

    out = arguments.out or Path()
    out.mkdir(parents=True, exist_ok=True)
    files = {}
    for character in range(recording.count):
        name = "motion.bvh" if recording.count == 1 else f"motion_{character + 1:03d}.bvh"
        save(recording.motion(character), out / name)
        files[name.removesuffix(".bvh")] = str(out / name)
    save_inputs(recording, out / "recording.json")
    lasting = {name: value.row() for name, value in measures.items() if name not in TIMINGS}
    text = msgspec.json.format(msgspec.json.encode(lasting), indent=1)
    (out / "measures.json").write_bytes(text + b"\n")
    times = sorted({time for group in index.feature_set.schema.groups for time in group.times})
    write_page(
        recording,
        measures,
        out / "report.html",
        database=database,
        desired_path=path,
        trajectory_times=times if len(times) == recording.trajectory_positions.shape[2] else None,
        subtitle=f"{database.name} · {recording.frame_count / recording.rate:g} s",
        facts={
            "Database": f"{len(database.clips)} clips, {database.duration / 60:.1f} minutes, {database.digest[:12]}",
            "Characters": str(recording.count),
            "Seed": str(arguments.seed),
        },
    )
    files |= {
        "recording": str(out / "recording.json"),
        "measures": str(out / "measures.json"),
        "report": str(out / "report.html"),
    }
    if arguments.video:
        from ambulo.export.video import write_recording_video

        with progress_bars() as progress:
            write_recording_video(
                recording,
                out / "motion.mp4",
                desired_path=path,
                progress=lambda done, total: progress("film", done, total),
            )
        files["video"] = str(out / "motion.mp4")
    return files


def show(simulated: Simulated) -> None:
    """Print the measures as a table."""
    import sys

    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{simulated.controller} along {simulated.path}, {simulated.seconds:g} s")
    table.add_column("measure")
    for title in ("value", "raw"):
        table.add_column(title, justify="right")
    table.add_column("")
    for name, row in simulated.measures.items():
        table.add_row(name.replace("_", " "), _number(row["value"]), _number(row["raw"]), row["unit"])
    Console().print(table)
    if len(simulated.levels) > 1:
        print("answered by " + ", ".join(f"{name} {part:.0%}" for name, part in simulated.levels.items()))
    for event in simulated.events:
        for character, begins in enumerate(event.begins):
            whose = f" (character {character + 1})" if len(event.begins) > 1 else ""
            came = "did not come" if begins is None else f"came at {begins:.2f} s"
            print(f"event {event.tag}{whose}: asked for at {event.asked:.2f} s, {came}")
    for line in simulated.passed_over:
        print(line, file=sys.stderr)
    for kind, file in simulated.files.items():
        print(f"{kind}: {file}")


def _number(value: float | None) -> str:
    if value is not None and 0.0 < abs(value) < 0.001:
        return "<0.001" if value > 0.0 else ">-0.001"
    return "-" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"

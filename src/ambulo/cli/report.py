"""``ambulo report``: what a database covers, in numbers and as a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ambulo.evaluation.coverage import Coverage

if TYPE_CHECKING:
    from ambulo.database.database import Database
    from ambulo.matching.index import SearchIndex

READS = "database"


@dataclass(frozen=True)
class Arguments:
    """Say what a database covers: speeds and turns, minutes a tag, transitions, near duplicates, memory.

    With --play or --inputs also what of it is never shown.
    """

    database: Path
    """Folder of the project or of the database."""
    html: Path | None = None
    """Write a page to this file."""
    play: float | None = None
    """Steer the project's controller at random for so many seconds, and say what was never shown."""
    inputs: tuple[Path, ...] = ()
    """Recordings of the studio or of `ambulo simulate --out`, to be played again for the same purpose."""
    seed: int = 0
    """Of --play."""
    json: bool = False
    """Print one JSON object."""


def run(arguments: Arguments) -> Coverage:
    """Look over the database."""
    from ambulo.database.database import Database
    from ambulo.evaluation.coverage import coverage
    from ambulo.matching.build import load_index

    database = Database.open(arguments.database)
    _, index = load_index(database)
    shown = _shown(arguments, database, index) if arguments.play is not None or arguments.inputs else None
    found = coverage(database, index, shown)
    if arguments.html is not None:
        from ambulo.export.coverage_page import write_coverage_page

        write_coverage_page(found, arguments.html)
    return found


def _shown(arguments: Arguments, database: Database, index: SearchIndex) -> Any:
    import numpy as np

    from ambulo.control.create import create_controller
    from ambulo.control.project_settings import project_controller, project_settings
    from ambulo.control.scripts import Script, from_file, random_sticks
    from ambulo.control.simulation import simulate
    from ambulo.errors import ControlError

    settings = project_settings(arguments.database, known_tags=database.tags)
    controller = create_controller(project_controller(arguments.database), database, index, settings)
    scripts: list[tuple[Script, float]] = []
    for path in arguments.inputs:
        script = from_file(path)
        times = getattr(script, "times", None)
        if times is None:
            raise ControlError("is no recording of sticks", path=path, remedy="record one in the studio")
        scripts.append((script, max(float(times[-1]), 1.0 / database.rate)))
    if arguments.play is not None:
        if not 0.0 < arguments.play <= 36_000.0:
            raise ControlError(f"{arguments.play:g} seconds are not possible", key="play", remedy="such as 60")
        scripts.append((random_sticks(arguments.seed, arguments.play), arguments.play))
    frames = []
    for script, seconds in scripts:
        recording = simulate(controller, script, seconds, database.rate, 1, arguments.seed)
        frames.append(recording.frames.ravel())
    return np.concatenate(frames)


def show(found: Coverage) -> None:
    """Print the main numbers."""
    print(f"{found.name}: {found.seconds / 60:.1f} minutes in {found.clips} clips")
    print(f"  usable: {found.usable_seconds / 60:.1f} minutes without glitches and junk")
    fastest = found.motion.speeds[-1]
    print(f"  speeds up to {fastest:g} m/s; {len(found.motion.sparse)} combinations of speed and turn are sparse")
    for speed, turn in found.motion.sparse[:8]:
        print(f"    {speed:g} m/s at {turn:+.0f} degrees a second")
    costs = ", ".join(f"{name} %: {cost:.3g}" for name, cost in found.transitions.percentiles.items())
    print(f"  best jumps cost {costs}; {100 * found.transitions.isolated:.1f} % of the frames are hard to leave")
    print(f"  near duplicates: {len(found.duplicates)} stretches, {found.duplicate_seconds:.1f} s")
    for entry in found.duplicates[:5]:
        print(
            f"    {entry.clip} from {entry.start:.2f} s = {entry.other_clip} from {entry.other_start:.2f} s, "
            f"{entry.seconds:.2f} s"
        )
    if found.usage is not None:
        print(f"  shown: {100 * found.usage.share:.1f} % of the usable frames; never, the longest:")
        for unused in found.usage.unused[:5]:
            print(f"    {unused.clip} from {unused.start:.2f} to {unused.stop:.2f} s")
    print("  minutes a tag:")
    for tag in found.tags[:20]:
        print(f"    {tag.tag:<24} {tag.seconds / 60:7.2f}  in {tag.ranges} ranges of {tag.clips} clips")
    whole = found.memory[-1]
    print(f"  memory: {whole.megabytes:.1f} MB, {whole.an_hour:.0f} MB an hour of motion")

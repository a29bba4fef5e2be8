"""Progress on stderr: bars for a person at a terminal, nothing where nobody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_STAGES = {
    "convert": "converting",
    "scan": "looking at takes",
    "prepare": "preparing takes",
    "write": "writing frames",
    "index": "features and index",
    "upload": "sending",
}


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int, int], None]]:
    """A callback ``(stage, done, total)`` that draws one bar a stage while the context lasts."""
    import sys

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    tasks: dict[str, TaskID] = {}
    columns = (TextColumn("{task.description:<20}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    console = Console(stderr=True)
    with Progress(
        *columns, TimeElapsedColumn(), console=console, transient=True, disable=not sys.stderr.isatty()
    ) as bars:

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(_STAGES.get(stage, stage), total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield tell

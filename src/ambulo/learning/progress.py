"""Progress of a training on stderr: a bar with the loss and the time that is left; nothing where nobody looks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TrainProgress:
    """Where a training is.

    Attributes:
        name: of what is trained.
        step: optimiser steps done.
        part: of the whole run, 0 to 1.
        seconds: wall-clock time so far.
        loss: of the last step.
        learning_rate: of the last step.
        validation: the last one, empty before the first.
    """

    name: str
    step: int
    part: float
    seconds: float
    loss: float
    learning_rate: float
    validation: dict[str, float] = field(default_factory=dict)

    @property
    def remaining_seconds(self) -> float | None:
        """Wall-clock time that is left at the present speed; None before there is one."""
        return self.seconds * (1.0 - self.part) / self.part if self.part > 1e-6 else None


@contextmanager
def training_bars() -> Iterator[Callable[[TrainProgress], None]]:
    """A callback for :func:`ambulo.learning.training.train` that draws one bar a model while the context lasts."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    tasks: dict[str, TaskID] = {}
    columns = (
        TextColumn("{task.description:<14}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("loss {task.fields[loss]:.4g} {task.fields[error]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as bars:

        def tell(now: TrainProgress) -> None:
            error = ", ".join(f"{name} {value:.3g}" for name, value in list(now.validation.items())[:2])
            if now.name not in tasks:
                tasks[now.name] = bars.add_task(now.name, total=1.0, loss=now.loss, error=error)
            bars.update(tasks[now.name], completed=now.part, loss=now.loss, error=error)

        yield tell

"""Trials: the scripts that every controller is driven by, so that their measures can be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ambulo.control.scripts import create_script
from ambulo.control.simulation import simulate
from ambulo.evaluation.measures import Measure, measure
from ambulo.evaluation.path import script_path

if TYPE_CHECKING:
    from ambulo.control.controller import Controller
    from ambulo.database.database import Database


@dataclass(frozen=True)
class Trial:
    """One script for some time.

    Attributes:
        script: a key of :data:`ambulo.control.scripts.SCRIPTS`.
        seconds: how long.
        count: characters.
        options: of the script.
    """

    script: str
    seconds: float = 30.0
    count: int = 1
    options: dict[str, Any] = field(default_factory=dict)


TRIALS: tuple[Trial, ...] = (
    Trial("idle", 10.0),
    Trial("forward", 20.0, options={"stop": 15.0}),
    Trial("circle"),
    Trial("square"),
    Trial("star"),
    Trial("wave"),
    Trial("turn_90"),
    Trial("turn_180"),
    Trial("strafe"),
    Trial("random_sticks", 60.0),
)
"""All scripts, short enough for every commit."""


def run_trials(
    controller: Controller,
    database: Database,
    *,
    trials: Sequence[Trial] = TRIALS,
    rate: float = 60.0,
    seed: int = 0,
    index: Any = None,
    progress: Callable[[Trial, dict[str, Measure]], None] | None = None,
) -> dict[str, dict[str, Measure]]:
    """Measures of a controller by script.

    Args:
        controller: the full stack.
        database: what it plays.
        trials: what to drive it by.
        rate: steps a second.
        seed: of the controller, and of the random sticks.
        index: the search index, for the memory.
        progress: called after each trial.
    """
    results = {}
    for trial in trials:
        options = dict(trial.options)
        if trial.script == "random_sticks":
            options = {"seed": seed, "seconds": trial.seconds, "count": trial.count} | options
        script = create_script(trial.script, **options)
        recording = simulate(controller, script, trial.seconds, rate, trial.count, seed)
        results[trial.script] = measure(recording, database, path=script_path(script), index=index)
        if progress is not None:
            progress(trial, results[trial.script])
    return results

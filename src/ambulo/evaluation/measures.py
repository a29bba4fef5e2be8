"""All measures of a recording, each beside the same measure on the capture that it was made from.

``raw`` is taken from the database frames that the recording showed, each counted as often as it was shown, before any
controller touched them: walking is compared with walking, and the difference is what the controller did. Exact
definitions are in each measure's ``definition`` and in the modules of the families.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.evaluation.continuity import measure_continuity
from ambulo.evaluation.feet import measure_feet
from ambulo.evaluation.footage import Footage, database_footage, recording_footage
from ambulo.evaluation.gait import measure_gait
from ambulo.evaluation.measure import Measure as Measure
from ambulo.evaluation.path import measure_path
from ambulo.evaluation.response import measure_response
from ambulo.evaluation.stuck import measure_stuck
from ambulo.evaluation.travel import recording_travels
from ambulo.evaluation.usage import measure_coverage, measure_fallback, measure_latency, measure_memory

if TYPE_CHECKING:
    from ambulo.control.recording import Recording
    from ambulo.database.database import Database

TIMINGS = ("latency_p50", "latency_p99")


def measure(
    recording: Recording, database: Database, *, path: ArrayLike | None = None, index: Any = None
) -> dict[str, Measure]:
    """Measure a recording.

    Args:
        recording: what :func:`ambulo.control.simulation.simulate` returned.
        database: the database that its controller plays.
        path: the asked path ``[M, 3]``, metres, for the path errors; the recording's own where None. Its samples cut
            corners a little: :func:`ambulo.evaluation.path.script_path` gives the exact one.
        index: the search index, for the memory.

    Returns:
        Name -> measure. All but the latencies (:data:`TIMINGS`) are the same for the same recording on any run.
    """
    made = recording_footage(recording, database)
    raw = database_footage(database, recording.frames)
    travels = recording_travels(recording)
    transitioned = np.moveaxis(np.asarray(recording.transitioned, bool), 1, 0).reshape(-1)
    measures = measure_feet(made, raw)
    measures |= measure_gait(made, raw)
    measures |= measure_path(travels, recording.desired_path if path is None else path)
    measures |= measure_response(travels, _stretches(raw), raw.rate)
    measures |= measure_continuity(made, raw, transitioned)
    measures |= measure_stuck(travels)
    measures |= measure_coverage(recording.frames, database)
    measures |= measure_fallback(recording.levels)
    measures |= measure_latency(recording.step_seconds, recording.root_positions.shape[1])
    measures |= measure_memory(database, index)
    return measures


def _stretches(footage: Footage) -> list[NDArray[np.float64]]:
    """Root positions of each unbroken stretch."""
    roots = footage.global_positions[:, 0].astype(np.float64)
    edges = np.flatnonzero(np.diff(footage.stretch)) + 1
    return [
        part
        for part, kind in zip(np.split(roots, edges), np.split(footage.stretch, edges), strict=True)
        if kind[0] >= 0
    ]

"""What a controller costs and how much of the data it uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ambulo.evaluation.measure import Measure

if TYPE_CHECKING:
    from ambulo.database.database import Database


def measure_coverage(shown: ArrayLike, database: Database) -> dict[str, Measure]:
    """Share of the database's valid frames, and of its clips, that were shown at least once."""
    frames = np.unique(np.asarray(shown, np.int64))
    valid = np.asarray(database.valid, bool)
    used = float(valid[frames].sum()) / max(int(valid.sum()), 1)
    clips = len(np.unique(database.clip_of_frame(frames))) / max(len(database.clips), 1)
    return {
        "database_used": Measure(
            used * 100.0, 100.0, "%", None, "Share of the database's valid frames that were shown at least once."
        ),
        "clips_used": Measure(
            clips * 100.0, 100.0, "%", None, "Share of the database's clips that were shown at least once."
        ),
    }


def measure_fallback(levels: ArrayLike | None) -> dict[str, Measure]:
    """Share of the steps that another database than the first of a chain answered; nothing where it is not known."""
    answered = np.zeros(0) if levels is None else np.asarray(levels)
    if not answered.size:
        return {}
    return {
        "fallback_rate": Measure(
            float(np.mean(answered != 0)) * 100.0,
            None,
            "%",
            None,
            "Share of the steps that another database than the first of the chain answered; 0 with one database.",
        )
    }


def measure_latency(step_seconds: ArrayLike, count: int) -> dict[str, Measure]:
    """Median and 99th percentile of the time for one step of all characters; the first tenth is warm-up."""
    seconds = np.asarray(step_seconds, np.float64)
    seconds = seconds[len(seconds) // 10 :]
    text = f"time for one step of {count} character{'s' if count > 1 else ''}, without the first tenth (warm-up)."
    if not len(seconds):
        return {}
    return {
        "latency_p50": Measure(float(np.percentile(seconds, 50.0)) * 1e3, None, "ms", False, f"Median {text}"),
        "latency_p99": Measure(
            float(np.percentile(seconds, 99.0)) * 1e3, None, "ms", False, f"99th percentile of {text}"
        ),
    }


def measure_memory(database: Database, *others: Any) -> dict[str, Measure]:
    """Size of all arrays that a database and other objects (index, features) hold."""
    seen: set[int] = set()
    total = sum(array_bytes(thing, seen) for thing in (database, *others))
    return {
        "memory": Measure(
            total / 1e6, None, "MB", False, "Arrays of database, features and index, mapped or in memory."
        )
    }


def array_bytes(thing: Any, seen: set[int] | None = None, depth: int = 6) -> int:
    """Bytes of the NumPy arrays that an object holds, each buffer counted once, views by what they view."""
    seen = set() if seen is None else seen
    if depth < 0 or id(thing) in seen:
        return 0
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        base = thing
        while isinstance(base.base, np.ndarray):
            base = base.base
        if base is not thing:
            if id(base) in seen:
                return 0
            seen.add(id(base))
        return int(base.nbytes)
    if isinstance(thing, dict):
        return sum(array_bytes(value, seen, depth - 1) for value in thing.values())
    if isinstance(thing, (list, tuple)):
        return sum(array_bytes(value, seen, depth - 1) for value in thing)
    slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    held = [*getattr(thing, "__dict__", {}).values(), *(getattr(thing, name, None) for name in slots)]
    if isinstance(thing, (str, bytes, int, float, type(None), type)) or callable(thing):
        return 0
    return sum(array_bytes(value, seen, depth - 1) for value in held)

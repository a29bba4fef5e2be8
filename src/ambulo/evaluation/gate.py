"""The regression gate: bars that measures must not pass, kept in ``bars.toml`` beside this file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from ambulo.errors import AmbuloError
from ambulo.evaluation.measure import Measure

EMBEDDED = Path(__file__).parent / "bars.toml"


class Bar(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The most that a measure may be.

    Attributes:
        measure: its name.
        at_most: in its unit.
        at_most_times_raw: as a factor of the raw capture's. With both, the larger of the two counts.
        scripts: the scripts that it holds for; all where empty.
        pooled: judge the mean over the scripts beside the mean of their raw values, not every script by itself. One run
            is chaotic: a jump more or less, and its skate is a fifth more or less.
    """

    measure: str
    at_most: float | None = None
    at_most_times_raw: float | None = None
    scripts: tuple[str, ...] = ()
    pooled: bool = False

    def limit(self, measure: Measure) -> float:
        """The most that this measure may be, in its unit; NaN where it depends on a raw value that does not exist."""
        limits = [] if self.at_most is None else [self.at_most]
        if self.at_most_times_raw is not None:
            limits.append(math.nan if measure.raw is None else self.at_most_times_raw * measure.raw)
        known = [limit for limit in limits if math.isfinite(limit)]
        return max(known) if known else math.nan


@dataclass(frozen=True)
class Failure:
    """A measure past its bar.

    Attributes:
        script: what drove the controller.
        measure: name.
        value: what was measured.
        limit: what it may be at most.
        unit: of both.
    """

    script: str
    measure: str
    value: float
    limit: float
    unit: str

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.script}: {self.measure} is {self.value:.3g}{unit}, at most {self.limit:.3g}{unit}"


def load_bars(path: str | Path = EMBEDDED) -> list[Bar]:
    """Read bars from a TOML file with a ``[[bar]]`` table each.

    Raises:
        AmbuloError: the file is missing or says something else.
    """
    path = Path(path)
    try:
        content = msgspec.toml.decode(path.read_bytes(), type=dict[str, list[Bar]])
    except OSError as error:
        raise AmbuloError(f"bars cannot be read: {error.strerror}", path=path) from None
    except msgspec.DecodeError as error:
        raise AmbuloError(f"bars are not as they should be: {error}", path=path) from None
    bars = content.get("bar", [])
    for bar in bars:
        if bar.at_most is None and bar.at_most_times_raw is None:
            raise AmbuloError(
                f"the bar of {bar.measure!r} has no height",
                path=path,
                key=bar.measure,
                remedy="give at_most or at_most_times_raw",
            )
    return bars


def check(results: Mapping[str, Mapping[str, Measure]], bars: Iterable[Bar]) -> list[Failure]:
    """The measures that are past their bars.

    A measure that a script does not give (no turn, no path, no contact) is not judged; a bar that *nothing* was judged
    by is an error, for a gate that looks at nothing lets everything through.

    Args:
        results: script -> name -> measure, see :func:`ambulo.evaluation.trials.run_trials`.
        bars: see :func:`load_bars`.

    Raises:
        AmbuloError: no result for a bar.
    """
    failures = []
    for bar in bars:
        judged = {
            script: measures[bar.measure]
            for script, measures in results.items()
            if bar.measure in measures and (not bar.scripts or script in bar.scripts)
        }
        judged = {
            script: measure
            for script, measure in judged.items()
            if math.isfinite(measure.value) and math.isfinite(bar.limit(measure))
        }
        if not judged:
            raise AmbuloError(
                f"the bar of {bar.measure!r} judged nothing: no script gave that measure", key=bar.measure
            )
        if bar.pooled:
            judged = {f"mean of {len(judged)} scripts": mean_measure(list(judged.values()))}
        for script, measure in judged.items():
            limit = bar.limit(measure)
            if measure.value > limit:
                failures.append(Failure(script, bar.measure, measure.value, limit, measure.unit))
    return failures


def mean_measure(measures: list[Measure]) -> Measure:
    """Mean value beside mean raw value."""
    raws = [measure.raw for measure in measures if measure.raw is not None]
    value = sum(measure.value for measure in measures) / len(measures)
    return replace(measures[0], value=value, raw=sum(raws) / len(raws) if len(raws) == len(measures) else None)

"""Motion quality of the motion-matching controller: every measure beside the same measure on the raw capture.

On the embedded data, driven by every script and by ten minutes of random sticks, with the bars of the regression gate;
and on each set of real capture that is present, where slide may be at most half as much again as in the capture; at
last on one project of five of them, put on the skeleton of a character (``mixed``).

    python benchmarks/quality.py [--quick] [--json] [--data FOLDER] [--set NAME ...] [--controller NAME]
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import warnings
from pathlib import Path

import harness
from harness import Row

harness.one_thread()

from ambulo.control.create import create_controller  # noqa: E402
from ambulo.control.project_settings import project_settings  # noqa: E402
from ambulo.database.database import Database  # noqa: E402
from ambulo.errors import AmbuloError  # noqa: E402
from ambulo.evaluation.gate import Bar, load_bars, mean_measure  # noqa: E402
from ambulo.evaluation.measure import Measure  # noqa: E402
from ambulo.evaluation.trials import TRIALS, Trial, run_trials  # noqa: E402
from ambulo.matching.build import build, load_index  # noqa: E402

SETS = {
    "cmu_loco": "free/cmu_loco",
    "cmu_131": "free/cmu_131",
    "bandai2_loco": "noncommercial/bandai2_loco",
    "bandai1": "noncommercial/bandai1",
    "pfnn": "noncommercial/pfnn",
}
MIXED = ("free/cmu_loco", "free/cmu_salsa_pairs", "noncommercial/bandai1", "noncommercial/bandai2_loco")
MIXED_TARGET = "free/characters/humanoid_50clips.glb"
REAL_BARS = (Bar("contact_slide", at_most_times_raw=1.5), Bar("foot_skate", at_most_times_raw=1.5))
REAL_TRIALS = (Trial("circle"), Trial("square"), Trial("turn_180"), Trial("random_sticks", 120.0))


def project(folder: Path, source: Path | None) -> Path:
    """A new project of a folder of takes, or of the embedded ones, built."""
    from ambulo.cli.new import Arguments, run

    run(Arguments(folder, source=source))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        build(folder)
    return folder


def mixed_project(folder: Path, data: Path) -> Path:
    """A new project of several sets of capture and a character's clips on the character's skeleton, built."""
    folder.mkdir()
    sources = [f'[[sources]]\npath = "{(data / place).as_posix()}"\n' for place in MIXED]
    sources[1] += "rate = 60.0\n"  # these files say 120
    target = (data / MIXED_TARGET).as_posix()
    sources.append(f'[[sources]]\npath = "{target}"\ntravel = "from_feet"\n')
    text = f'name = "mixed"\n{"".join(sources)}[skeleton]\ntarget = "{target}"\n'
    (folder / "ambulo.toml").write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        build(folder)
    return folder


def trials_rows(folder: Path, what: str, controller_name: str, trials: tuple[Trial, ...], bars: list[Bar]) -> list[Row]:
    """A row for each measure of each trial, one for its raw value, and the bar where there is one."""
    database = Database.open(folder)
    _, index = load_index(database)
    controller = create_controller(controller_name, database, index, project_settings(folder))
    rows: list[Row] = []

    def collect(trial: Trial, measures: dict[str, Measure]) -> None:
        print(f"{what}: {trial.script}, {trial.seconds:g} s", file=sys.stderr)
        for name, measure in measures.items():
            limits = [
                bar.limit(measure)
                for bar in bars
                if bar.measure == name and not bar.pooled and (not bar.scripts or trial.script in bar.scripts)
            ]
            rows.extend(measure_rows(f"{what}, {trial.script}: {name}", round(trial.seconds * 60.0), measure, limits))

    results = run_trials(controller, database, trials=trials, index=index, progress=collect)
    for bar in bars:
        if bar.pooled:
            pooled = mean_measure([row[bar.measure] for row in results.values() if is_known(row.get(bar.measure), bar)])
            name = f"{what}, mean of all scripts: {bar.measure}"
            rows += measure_rows(
                name, round(sum(trial.seconds for trial in trials) * 60.0), pooled, [bar.limit(pooled)]
            )
    return rows


def is_known(measure: Measure | None, bar: Bar) -> bool:
    """Whether a bar can judge a measure, as :func:`ambulo.evaluation.gate.check` does."""
    return measure is not None and math.isfinite(measure.value) and math.isfinite(bar.limit(measure))


def measure_rows(name: str, n: int, measure: Measure, limits: list[float]) -> list[Row]:
    """A row for a measure, with the first bar that has a height, and one for its raw value."""
    if not math.isfinite(measure.value):
        return []
    limit = next((limit for limit in limits if math.isfinite(limit)), None)
    better = bool(measure.higher_is_better)
    rows = [Row(name, n, measure.value, measure.unit, limit, better)]
    if measure.raw is not None and math.isfinite(measure.raw):
        rows.append(Row(f"{name} (raw)", n, measure.raw, measure.unit, None, better))
    return rows


def main() -> None:
    def extend(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--data", type=Path, help="folder of the real capture")
        parser.add_argument("--set", nargs="*", choices=["embedded", *SETS, "mixed"], help="only these sets")
        parser.add_argument("--controller", default="motion_matching")

    args = harness.arguments("Motion quality beside the raw capture", extend)
    wanted = args.set or ["embedded", *SETS, "mixed"]
    data = args.data or harness.shared_folder("data")
    sticks = 60.0 if args.quick else 600.0
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as temporary:
        if "embedded" in wanted:
            trials = (*(trial for trial in TRIALS if trial.script != "random_sticks"), Trial("random_sticks", sticks))
            folder = project(Path(temporary) / "embedded", None)
            rows += trials_rows(folder, "embedded", args.controller, trials, load_bars())
        for name, place in {**SETS, "mixed": MIXED_TARGET}.items():
            source = data / place if data else None
            if name not in wanted:
                continue
            if data is None or source is None or not source.exists():
                print(f"{name}: not here (--data names the folder of the real capture)", file=sys.stderr)
                continue
            trials = tuple(
                Trial(trial.script, min(trial.seconds, 20.0) if args.quick else trial.seconds) for trial in REAL_TRIALS
            )
            try:
                new = Path(temporary) / name
                folder = mixed_project(new, data) if name == "mixed" else project(new, source)
                rows += trials_rows(folder, name, args.controller, trials, list(REAL_BARS))
            except AmbuloError as error:
                print(f"{name}: {error}", file=sys.stderr)
                rows.append(Row(f"{name}: failed", 0, 1.0, "", 0.0))
    harness.report(rows, args)


if __name__ == "__main__":
    main()

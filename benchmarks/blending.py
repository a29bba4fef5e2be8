"""What blending the k nearest places does to motion matching: the same trials with k = 1 and with k = 4.

python benchmarks/blending.py [--quick] [--json] [--data FOLDER] [--set NAME ...]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import harness
from harness import Row

harness.one_thread()

from quality import REAL_TRIALS, SETS, project  # noqa: E402

from ambulo.control.create import create_controller  # noqa: E402
from ambulo.control.project_settings import project_settings  # noqa: E402
from ambulo.database.database import Database  # noqa: E402
from ambulo.evaluation.trials import Trial, run_trials  # noqa: E402
from ambulo.matching.build import load_index  # noqa: E402

COMPARED = ("embedded", "cmu_loco", "cmu_131", "bandai1")
MEASURES = (
    "foot_skate", "contact_slide", "path_error", "direction_error", "speed_error", "pose_jump", "jerk",
    "transitions_per_second", "latency_p50",
)  # fmt: skip


def compare(folder: Path, what: str, trials: tuple[Trial, ...]) -> list[Row]:
    """The mean of each measure over the trials, of both controllers."""
    database = Database.open(folder)
    _, index = load_index(database)
    rows = []
    for name in ("motion_matching", "blended_matching"):
        controller = create_controller(name, database, index, project_settings(folder))
        results = list(run_trials(controller, database, trials=trials, index=index).values())
        for measure in MEASURES:
            found = [result[measure] for result in results if measure in result]
            value = sum(one.value for one in found) / len(found)
            frames = round(sum(trial.seconds for trial in trials) * 60.0)
            rows.append(Row(f"{what}: {measure}, {name}", frames, value, found[0].unit, None))
        print(f"{what}: {name}", file=sys.stderr)
    return rows


def main() -> None:
    def extend(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--data", type=Path, help="folder of the real capture")
        parser.add_argument("--set", nargs="*", choices=COMPARED, help="only these sets")

    args = harness.arguments("Motion matching with and without blending", extend)
    data = args.data or harness.shared_folder("data")
    trials = tuple(Trial(one.script, min(one.seconds, 20.0) if args.quick else one.seconds) for one in REAL_TRIALS)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as temporary:
        for name in args.set or COMPARED:
            source = None if name == "embedded" else (data / SETS[name] if data else None)
            if name != "embedded" and (source is None or not source.exists()):
                print(f"{name}: not here (--data names the folder of the real capture)", file=sys.stderr)
                continue
            rows += compare(project(Path(temporary) / name, source), name, trials)
    harness.report(rows, args)


if __name__ == "__main__":
    main()

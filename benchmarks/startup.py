"""How quick ambulo is to begin: its import, the embedded data, a build of nothing new, the first step."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import harness
from harness import Row

IMPORT = "import time; t = time.perf_counter(); import ambulo; print(time.perf_counter() - t)"
NUMPY = "import time; t = time.perf_counter(); import numpy; print(time.perf_counter() - t)"
FIRST_STEP = """
import sys, time
t = time.perf_counter()
import numpy as np
from ambulo import Database, Intent
from ambulo.control.create import create_controller
from ambulo.matching.build import load_index
database = Database.open(sys.argv[1])
controller = create_controller("motion_matching", database, load_index(database)[1])
state, pose = controller.step(controller.start(), Intent(np.array([[0.0, 0.0, 1.0]])), 1 / 60)
print(time.perf_counter() - t)
"""


def seconds(code: str, *arguments: str | Path, repeats: int) -> float:
    """Median of what fresh processes print."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    runs = [
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(repeats + 1)
    ]
    return statistics.median(runs[1:])


def wall(command: list[str], repeats: int) -> float:
    """Median wall time of a whole command."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    args = harness.arguments(__doc__ or "")
    repeats = 3 if args.quick else 9
    rows = [
        Row("import ambulo", 1, seconds(IMPORT, repeats=repeats), "s", 0.3),
        Row("import numpy (for comparison)", 1, seconds(NUMPY, repeats=repeats), "s"),
    ]
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch) / "embedded"
        ambulo = [sys.executable, "-m", "ambulo"]
        start = time.perf_counter()
        subprocess.run([*ambulo, "new", str(project)], check=True, capture_output=True)
        rows.append(Row("ambulo new: 20 minutes synthesized and written", 1, time.perf_counter() - start, "s", 30.0))
        start = time.perf_counter()
        subprocess.run([*ambulo, "build", str(project)], check=True, capture_output=True)
        rows.append(Row("ambulo build of them", 1, time.perf_counter() - start, "s"))
        rows.append(Row("ambulo build, nothing changed", 1, wall([*ambulo, "build", str(project)], repeats), "s", 2.0))
        rows.append(
            Row("open, load, first step (fresh process)", 1, seconds(FIRST_STEP, project, repeats=repeats), "s")
        )
    harness.report(rows, args)


if __name__ == "__main__":
    main()

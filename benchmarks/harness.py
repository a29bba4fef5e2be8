"""What every benchmark shares: its arguments, medians, the machine's description, and the table or JSON at the end.

A benchmark script prints one row for ambulo and one for each peer, all measured in the same run::

    args = harness.arguments("Exact search")
    rows = [Row("ambulo", 82_000, 9.8, "us"), Row("ratio to faiss", 82_000, 52.0, "x", bar=40, higher_is_better=True)]
    harness.report(rows, args)

``bar`` is the value that we stand for; a row that misses it is marked, and the script still ends with exit code 0: a
slow machine is not an error.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
ROOT = Path(__file__).resolve().parents[1]
PEERS_FOLDER = Path(os.environ.get("AMBULO_BENCHMARK_CACHE", Path.home() / ".cache" / "ambulo-benchmarks"))


@dataclass(frozen=True)
class Row:
    """One measured number.

    Attributes:
        name: what was measured, and whose it is.
        n: size of the work (frames, files, characters).
        value: the number, in ``unit``.
        unit: its unit.
        bar: the value that we stand for, where there is one.
        higher_is_better: which side of the bar is good.
    """

    name: str
    n: int
    value: float
    unit: str
    bar: float | None = None
    higher_is_better: bool = False

    @property
    def passes(self) -> bool | None:
        """Whether the value is on the good side of the bar; None without a bar."""
        if self.bar is None:
            return None
        return self.value >= self.bar if self.higher_is_better else self.value <= self.bar


def arguments(description: str, extend: Callable[[argparse.ArgumentParser], None] | None = None) -> argparse.Namespace:
    """Parse ``--quick`` and ``--json`` (and what ``extend`` adds)."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="less data and fewer repeats")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout in place of the table")
    if extend is not None:
        extend(parser)
    return parser.parse_args()


def one_thread() -> None:
    """Hold BLAS and OpenMP to one thread. Call before NumPy is imported."""
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, "1")


def machine() -> dict[str, Any]:
    """Processor, cores, memory, system and versions: what a number means nothing without."""
    import numpy

    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, ValueError, OSError):
        return None


def median_seconds(function: Callable[[], Any], repeats: int = 5, warmup: int = 1) -> float:
    """Median wall time of ``function`` over ``repeats`` calls after ``warmup`` untimed ones."""
    for _ in range(warmup):
        function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def install_peers(name: str, requirements: Sequence[str]) -> Path:
    """Install peers into a folder of their own (kept between runs) and put it *behind* the project's packages.

    The environment is untouched; a peer's NumPy never replaces ours. Each requirement is installed without its
    dependencies, so name those that are needed beyond what the project has. Returns the folder.
    """
    folder = PEERS_FOLDER / f"{name}-py{sys.version_info.major}{sys.version_info.minor}"
    marker = folder / "installed.txt"
    wanted = "\n".join(sorted(requirements))
    if not marker.is_file() or marker.read_text() != wanted:
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", str(folder)]
        subprocess.run([*command, *requirements], check=True, stdout=sys.stderr)
        marker.write_text(wanted)
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
        importlib.invalidate_caches()
    return folder


def shared_folder(name: str) -> Path | None:
    """The real capture (``"data"``) or the probe files (``"cases"``) that the tests use, where they are present."""
    specification = importlib.util.spec_from_file_location("ambulo_tests", ROOT / "tests" / "conftest.py")
    if specification is None or specification.loader is None:
        return None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look their module up
    try:
        specification.loader.exec_module(module)
    except ImportError:
        return None
    folder: Path = module.SHARED / name
    script = folder / "unpack"
    if script.is_file():
        folder = Path(subprocess.run(["sh", str(script)], check=True, capture_output=True, text=True).stdout.strip())
    return folder if folder.is_dir() else None


def report(rows: Sequence[Row], args: argparse.Namespace) -> None:
    """Print the rows as one JSON object (``--json``) or as a Markdown table."""
    if args.json:
        print(json.dumps({"machine": machine(), "rows": [asdict(row) for row in rows]}, indent=1))
        return
    print(", ".join(f"{key} {value}" for key, value in machine().items()), end="\n\n")
    cells = [("what", "n", "value", "unit", "bar", "")]
    for row in rows:
        bar = "" if row.bar is None else f"{'>=' if row.higher_is_better else '<='} {row.bar:g}"
        verdict = {None: "", True: "ok", False: "MISSED"}[row.passes]
        cells.append((row.name, f"{row.n:,}", f"{row.value:.4g}", row.unit, bar, verdict))
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    for index, line in enumerate(cells):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |")
        if index == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")

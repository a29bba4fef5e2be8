"""Building databases: all of the shared locomotion capture from nothing, with nothing changed, with one take touched.

Each time is that of `ambulo build` as a user starts it, the start of Python included, summed over the projects (one a
skeleton). Kernels are compiled beforehand, by a build that is not timed. A first build on a machine compiles them too;
that time is a row of its own where it was measured (--cold).

    python benchmarks/build.py [--quick] [--json] [--data FOLDER] [--jobs N] [--cold]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import harness
from harness import Row

harness.one_thread()

BUILD_BAR, AGAIN_BAR = 60.0, 2.0

# One project a skeleton.
PROJECTS = {
    "cmu": ("free/cmu_loco", "noncommercial/pfnn"),
    "cmu_131": ("free/cmu_131",),
    "bandai": ("noncommercial/bandai1", "noncommercial/bandai2_loco"),
    "salsa": ("free/cmu_salsa_pairs",),
}
QUICK = {"cmu_131": ("free/cmu_131",), "pfnn": ("noncommercial/pfnn",)}


def ambulo(*arguments: str | Path, environment: dict[str, str] | None = None) -> tuple[float, dict[str, Any]]:
    """Run the command line; returns its wall time in seconds and its JSON object."""
    command = [sys.executable, "-m", "ambulo", *map(str, arguments), "--json"]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return seconds, json.loads(done.stdout)


def make_projects(folder: Path, data: Path | None, quick: bool) -> list[Path]:
    """Copies of the capture (so that takes can be touched), each with the project that `ambulo new` writes."""
    if data is None:
        ambulo("new", folder / "embedded", "--minutes", 2 if quick else 20)
        return [folder / "embedded"]
    projects = []
    for name, sets in (QUICK if quick else PROJECTS).items():
        for path in sets:
            shutil.copytree(data / path, folder / name / "takes" / Path(path).name, copy_function=shutil.copyfile)
        ambulo("new", folder / name, "--from", folder / name / "takes")
        projects.append(folder / name)
    return projects


def build_all(
    projects: list[Path], options: list[str], environment: dict[str, str] | None = None
) -> tuple[float, list[dict[str, Any]]]:
    """Build every project, one after the other; returns the sum of their times and their reports."""
    runs = [ambulo("build", project, *options, environment=environment) for project in projects]
    return sum(seconds for seconds, _ in runs), [report for _, report in runs]


def source_frames(projects: list[Path]) -> int:
    """Frames of all takes as their files say."""
    total = 0
    for take in (take for project in projects for take in (project / "takes").rglob("*.bvh")):
        with take.open("rb") as file:
            total += next(int(line.split()[1]) for line in file if line.lower().startswith(b"frames"))
    return total


def main() -> None:
    def extend(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--data", type=Path, help="folder of the real capture")
        parser.add_argument("--jobs", type=int, help="processes at most")
        parser.add_argument("--cold", action="store_true", help="also time a first build, kernels not yet compiled")

    args = harness.arguments("Building databases", extend)
    data = args.data or harness.shared_folder("data")
    if data is None:
        print("the real capture is not here (--data names its folder): the embedded takes are built", file=sys.stderr)
    options = [] if args.jobs is None else ["--jobs", str(args.jobs)]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        projects = make_projects(folder, data, args.quick)
        frames = source_frames(projects)
        if args.cold:
            seconds, _ = build_all(projects, options, os.environ | {"NUMBA_CACHE_DIR": str(folder / "numba")})
            rows.append(Row("first build, kernels compiled on the way", frames, seconds, "s"))
        build_all(projects, options)

        times = []
        for _ in range(1 if args.quick else 3):
            for project in projects:
                shutil.rmtree(project / "database")
            seconds, reports = build_all(projects, options)
            times.append(seconds)
        full_bar = None if args.quick or data is None else BUILD_BAR
        rows.append(Row("build from nothing", frames, statistics.median(times), "s", bar=full_bar))
        built = sum(report["frames"] for report in reports)
        rows.append(Row("database frames, mirrored ones included", built, built / 60 / 60, "minutes"))
        rows.append(Row("size on disk", built, sum(report["megabytes"] for report in reports), "MB"))

        times = [build_all(projects, options)[0] for _ in range(5)]
        again_bar = None if args.quick or data is None else AGAIN_BAR
        rows.append(
            Row(
                f"build again, nothing changed, {len(projects)} projects",
                frames,
                statistics.median(times),
                "s",
                bar=again_bar,
            )
        )
        largest = max(projects, key=lambda project: len(list((project / "takes").rglob("*.bvh"))))
        times = [build_all([largest], options)[0] for _ in range(5)]
        rows.append(
            Row(
                "the same, largest project alone",
                source_frames([largest]),
                statistics.median(times),
                "s",
                bar=AGAIN_BAR,
            )
        )

        take = sorted((largest / "takes").rglob("*.bvh"))[0]
        times = []
        for _ in range(3):
            with take.open("ab") as file:
                file.write(b"\n")
            seconds, (report,) = build_all([largest], options)
            assert report["prepared"] == 1, report["prepared"]
            times.append(seconds)
        rows.append(Row("one take touched, largest project", source_frames([largest]), statistics.median(times), "s"))
    harness.report(rows, args)


if __name__ == "__main__":
    main()

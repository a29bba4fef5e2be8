"""How a database grows: building, opening and asking it with 2,000, 15,000 and 100,000 synthetic clips.

The clips are two seconds each, cut out of the embedded takes at odd places and played a little faster or slower, so
that no two are alike; the build mirrors them. A folder a style gives every clip a tag, and one clip in a hundred is
`rare`. Every measurement is that of a new process: kernels are compiled by a build that is not timed.

Memory is told twice: *resident* counts every page of a mapped file that happens to be in memory, which the system takes
back when it needs them; *own* is what it cannot take back. Searches are asked one at a time, the pose of one frame with
the trajectory of another, nothing playing.

    python benchmarks/scale.py [--quick] [--json] [--clips N ...] [--jobs N] [--folder FOLDER]

`--quick` builds 500 and 2,000 clips. The full run builds 2,000, 15,000 and 100,000; see docs/scale.md for its needs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import harness
from harness import Row

harness.one_thread()

SIZES, QUICK_SIZES = (2_000, 15_000, 100_000), (500, 2_000)
CLIP_SECONDS, RATE = 2.0, 30.0
PROJECT = f"""\
name = "scale"
rate = {RATE:g}
[[sources]]
path = "takes"
tags_from = ["folder"]
"""

MEMORY = """
import resource, threading, time
peak, over = [0], threading.Event()
def watch():
    while not over.wait(0.02):
        for line in open("/proc/self/status"):
            if line.startswith("RssAnon"):
                peak[0] = max(peak[0], int(line.split()[1]))
try:
    open("/proc/self/status").close()
    threading.Thread(target=watch, daemon=True).start()
except OSError:
    pass
def memory():
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {"resident": resident, "own": peak[0] / 1024, "worker": worker}
"""

BUILD = (
    MEMORY
    + """
import json, os, sys
from ambulo.matching.build import build
stages, processor, last = {}, {}, [None, time.perf_counter(), time.process_time()]
def tell(stage, done, total):
    now, spent = time.perf_counter(), time.process_time()
    if last[0] is not None:
        stages[last[0]] = stages.get(last[0], 0.0) + now - last[1]
        processor[last[0]] = processor.get(last[0], 0.0) + spent - last[2]
    last[:] = [stage, now, spent]
report = build(sys.argv[1], jobs=int(sys.argv[2]) or None, progress=tell)
tell("end", 1, 1)
print(json.dumps({"stages": stages, "processor": processor, "clips": report.clips, "frames": report.frames,
    "wall": report.wall_seconds, "cpu": sum(os.times()[:4]), "megabytes": report.megabytes,
    "workers": report.workers, "problems": len(report.problems), **memory()}))
"""
)

ASK = (
    MEMORY
    + """
import json, sys
import numpy as np
from ambulo.database.database import Database
from ambulo.matching.build import load_index
from ambulo.matching.method import typical_queries
begin = time.perf_counter()
database = Database.open(sys.argv[1])
features, index = load_index(database)
found = {"open": time.perf_counter() - begin, "after_open": memory()["own"]}
candidates = np.flatnonzero(index.candidates).astype(np.int32)
queries, _ = typical_queries(features, candidates, int(sys.argv[2]) + 200)
queries = np.split(queries, len(queries))
common = max(set(database.tags) - {"rare", "mirrored"}, key=lambda tag: int(database.mask([tag]).sum()))
for name, tags in (("any", None), ("common", [common]), ("rare", ["rare"])):
    begin = time.perf_counter()
    mask = None if tags is None else index.mask(database.mask(tags))
    first = time.perf_counter() - begin
    count = index.candidate_count if mask is None else mask.candidate_count
    for query in queries[:200]:
        index.search(query, mask=mask)
    times = []
    for query in queries[200:]:
        begin = time.perf_counter_ns()
        index.search(query, mask=mask)
        times.append(time.perf_counter_ns() - begin)
    p50, p99 = np.percentile(times, [50, 99]) / 1e3
    found[name] = {"p50": p50, "p99": p99, "first": first, "candidates": count}
print(json.dumps({**found, "kind": index.kind, "tags": len(database.tags), **memory()}))
"""
)


def run(script: str, *arguments: object) -> dict:
    """What a script prints, run in a process of its own."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def source_takes() -> Iterator[tuple[str, str, list[str]]]:
    """Style, BVH text up to the number of frames, and rows, of every embedded take at the project's rate."""
    from ambulo.formats import bvh_writer
    from ambulo.motion.resampling import resample
    from ambulo.synthesis.performance import synthesize

    for performance in synthesize(0, 10.0):
        text = bvh_writer.write([resample(performance.motion, RATE)]).decode()
        head, _, motion = text.partition("MOTION\n")
        yield Path(performance.folder).name, head, motion.splitlines()[2:]


def make_project(folder: Path, count: int, takes: list[tuple[str, str, list[str]]]) -> Path:
    """A project of so many clips."""
    frames = round(CLIP_SECONDS * RATE)
    (folder / "takes").mkdir(parents=True)
    (folder / "ambulo.toml").write_text(PROJECT)
    for style in {style for style, _, _ in takes}:
        for rare in ("", "rare"):
            (folder / "takes" / style / rare).mkdir(parents=True, exist_ok=True)
    for number in range(count):
        style, head, rows = takes[number % len(takes)]
        # Steps by the golden ratio lie evenly over a take and over the range of speeds, and never repeat.
        start = int((number * 0.6180339887498949) % 1.0 * (len(rows) - frames - 1))
        faster = 0.9 + 0.2 * ((number * 0.7548776662466927) % 1.0)
        # On the grid of frames that a file of this rate has, else each is resampled: retimed by its frame time.
        text = f"{head}MOTION\nFrames: {frames}\nFrame Time: {1.0 / (RATE * faster):.8f}\n"
        rare = "rare/" if number % 100 == 50 else ""
        (folder / "takes" / style / f"{rare}clip_{number:06d}.bvh").write_text(
            text + "\n".join(rows[start : start + frames]) + "\n"
        )
    return folder


def measure(folder: Path, count: int, takes: list[tuple[str, str, list[str]]], jobs: int, queries: int) -> dict:
    """Build and ask a database of so many clips; the folder is gone afterwards."""
    project = make_project(folder / str(count), count, takes)
    try:
        built = run(BUILD, project, jobs)
        if built["problems"] or built["clips"] != 2 * count:
            raise SystemExit(f"{built['problems']} takes cannot be used, {built['clips']} clips")
        return {**built, "ask": run(ASK, project, queries)}
    finally:
        shutil.rmtree(project)


def alone_of(found: dict) -> float:
    """Processor seconds of the stages that are not shared out."""
    return sum(found["processor"].get(stage, 0.0) for stage in ("scan", "write", "index", "end"))


def rows_of(count: int, found: dict) -> list[Row]:
    """The rows of one size."""
    ask, stages = found["ask"], found["stages"]
    rows = [
        Row("build, wall", count, found["wall"], "s"),
        Row("build, processor", count, found["cpu"], "s"),
        Row("build, processor a clip", count, 1e3 * found["cpu"] / count, "ms"),
        *(Row(f"build, {stage}", count, stages[stage], "s") for stage in ("scan", "prepare", "write", "index")),
        # The processor time of what one process does alone, however many prepare.
        Row("build, not shared out, processor", count, alone_of(found), "s"),
        Row("build, own memory at most", count, found["own"], "MB"),
        Row("build, resident memory at most", count, found["resident"], "MB"),
        Row("frames", count, found["frames"], "frames"),
        Row("on the disk", count, found["megabytes"], "MB"),
        Row("open, with its index", count, 1e3 * ask["open"], "ms"),
        Row("open, own memory", count, ask["after_open"], "MB"),
        Row("asking, own memory at most", count, ask["own"], "MB"),
    ]
    for name, label in (("any", "query"), ("common", "query, common tag"), ("rare", "query, rare tag")):
        entry = ask[name]
        rows += [
            Row(f"{label}, frames searched", count, entry["candidates"], "frames"),
            Row(f"{label}, p50", count, entry["p50"], "us"),
            Row(f"{label}, p99", count, entry["p99"], "us"),
        ]
        if name != "any":
            rows.append(Row(f"{label}, first use", count, 1e3 * entry["first"], "ms"))
    return rows


def growth_of(rows: list[Row]) -> list[Row]:
    """How each number grows from one size to the next: the power of the number of clips; 1 is in proportion."""
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(row.name, []).append(row)
    return [
        Row(f"growth of {name}", after.n, math.log(after.value / before.value) / math.log(after.n / before.n), "power")
        for name, found in by_name.items()
        for before, after in pairwise(found)
        if before.value > 0 and after.value > 0
    ]


def extend(parser: argparse.ArgumentParser) -> None:
    """The arguments of this benchmark."""
    parser.add_argument("--clips", type=int, nargs="+", help="sizes to build in place of the usual ones")
    parser.add_argument("--jobs", type=int, default=0, help="processes; as many as there are cores if left out")
    parser.add_argument("--folder", type=Path, help="where to build; a temporary folder by default")


def main() -> None:
    """Run the benchmark."""
    args = harness.arguments(__doc__ or "", extend)
    sizes = tuple(args.clips or (QUICK_SIZES if args.quick else SIZES))
    takes = list(source_takes())
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="ambulo-scale-", dir=args.folder) as name:
        run(BUILD, make_project(Path(name) / "warm", 64, takes), 1)
        run(ASK, Path(name) / "warm", 10)
        for count in sizes:
            found = measure(Path(name), count, takes, args.jobs, 500 if args.quick else 2_000)
            print(f"{count}: {json.dumps(found)}", file=sys.stderr, flush=True)
            rows += rows_of(count, found)
    harness.report(rows + growth_of(rows), args)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    main()

"""Formats: how quickly files load, beside the nearest peer, and what readers do with files that are damaged.

Two parts. Loading: one file a format (real ones where the real capture is here, else made for the purpose), the time
of ``ambulo.load`` or ``load_all`` and of the nearest peer in the same run. Fuzzing: mutated files for *every* format of
the registry (see ``fuzzing.py``), 100,000 a format, loaded in worker processes so that a crash is seen, its file kept.
``faults`` counts crashes, hangs over 2 s, memory over ten times the file (and 48 MB), values that are not finite, and
refusals that are no ``AmbuloError``; its bar is 0.

    python benchmarks/formats.py [--quick] [--json] [--only NAME ...] [--files N] [--workers N] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import harness
from harness import Row

harness.one_thread()

import fuzzing  # noqa: E402
import numpy as np  # noqa: E402

import ambulo  # noqa: E402
from ambulo.formats.registry import FORMATS  # noqa: E402

PEERS = (
    "c3d==0.6.0",
    "pygltflib==1.16.5",
    "dataclasses-json>=0.6",
    "marshmallow<4",
    "typing-inspect",
    "mypy-extensions",
)
DEADLINE = 20.0
"""Seconds of the processor without a word from a worker, after which it hangs for good (a load has two). By the clock
it may be ten minutes: a busy machine is no fault."""
BATCH = 500


@dataclass
class Outcome:
    """What came of one format's files."""

    files: int = 0
    faults: list[dict[str, Any]] = field(default_factory=list)
    slowest: float = 0.0
    largest: int = 0


def fuzz(name: str, count: int, workers: int, keep: Path | None) -> Outcome:
    """Load the mutated files ``0 ... count`` of a format in worker processes."""
    batches: queue.SimpleQueue[tuple[int, int]] = queue.SimpleQueue()
    for start in range(0, count, BATCH):
        batches.put((start, min(start + BATCH, count)))
    outcome, lock = Outcome(), threading.Lock()
    threads = [threading.Thread(target=_work, args=(name, batches, outcome, lock)) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for fault in outcome.faults:
        if keep is not None and fault["number"] >= 0:
            folder = keep / f"{name}_{fault['number']}"
            folder.mkdir(parents=True, exist_ok=True)
            fuzzing.place(folder, fuzzing.mutated(name, fault["number"]))
        print(f"{name} {fault['number']}: {fault['fault']}", file=sys.stderr)
    return outcome


def _work(name: str, batches: queue.SimpleQueue[tuple[int, int]], outcome: Outcome, lock: threading.Lock) -> None:
    """Hand batches to a process, and start another where one dies."""
    process: subprocess.Popen[str] | None = None
    with tempfile.TemporaryDirectory() as folder:
        while True:
            try:
                start, stop = batches.get_nowait()
            except queue.Empty:
                break
            while start < stop:
                if process is None or process.poll() is not None:
                    process = subprocess.Popen(
                        [sys.executable, fuzzing.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                    )
                    watchdog = Watchdog(process)
                assert process.stdin is not None
                process.stdin.write(json.dumps([name, start, stop, folder]) + "\n")
                process.stdin.flush()
                start = _listen(process, watchdog, start, stop, outcome, lock)
    if process is not None and process.stdin is not None:
        process.stdin.close()
        process.wait()


class Watchdog:
    """Ends a process that uses up its time without a word. One thread a process, which looks now and then."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.bit = process, False
        self.spoken, self.before = time.monotonic(), -1.0
        threading.Thread(target=self._watch, daemon=True).start()

    def heard(self) -> None:
        """The process has spoken."""
        self.spoken, self.before = time.monotonic(), -1.0

    def _watch(self) -> None:
        while self.process.poll() is None:
            time.sleep(1.0)
            silent = time.monotonic() - self.spoken
            if silent < 2.0:
                continue
            used = self._used()
            if self.before < 0.0:
                self.before = used
            elif used - self.before > DEADLINE or silent > 30 * DEADLINE:
                self.bit = True
                self.process.kill()

    def _used(self) -> float:
        """Processor seconds so far; by the clock where the system does not tell."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, AttributeError):
            return time.monotonic()


def _listen(
    process: subprocess.Popen[str],
    watchdog: Watchdog,
    start: int,
    stop: int,
    outcome: Outcome,
    lock: threading.Lock,
) -> int:
    """Take a batch's answers. Returns where to go on: at its end, or behind the file that ended the process."""
    assert process.stdout is not None
    last = start - 1
    while True:
        line = process.stdout.readline()
        watchdog.heard()
        with lock:
            if not line:
                code = process.wait()
                what = f"hung for {DEADLINE:g} s" if watchdog.bit else f"ended the process (exit code {code})"
                outcome.faults.append({"number": last, "fault": what})
                outcome.files += max(last + 1 - start, 0)
                return max(last + 1, start + 1)
            if line.startswith("{"):
                answer = json.loads(line)
                outcome.slowest = max(outcome.slowest, answer.get("seconds", 0.0))
                outcome.largest = max(outcome.largest, answer.get("peak", 0))
                if answer["fault"]:
                    outcome.faults.append(answer)
            elif line.startswith("done"):
                outcome.files += stop - start
                return stop
            else:
                last = int(line)


def fuzz_rows(names: list[str], count: int, workers: int, keep: Path | None) -> list[Row]:
    rows = []
    for name in names:
        begun = time.perf_counter()
        outcome = fuzz(name, count, workers, keep)
        seconds = time.perf_counter() - begun
        rows.append(Row(f"fuzz {name}: faults", outcome.files, len(outcome.faults), "files", bar=0))
        rows.append(Row(f"fuzz {name}: slowest of those over 0.5 s", outcome.files, outcome.slowest, "s", bar=2.0))
        print(f"{name}: {outcome.files} files in {seconds:.0f} s, {len(outcome.faults)} faults", file=sys.stderr)
    return rows


def median_ms(function: Callable[[], Any], repeats: int) -> float:
    """Median processor milliseconds, so that other work on the machine does not count."""
    times = []
    for repeat in range(repeats + 1):
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function()
        if repeat:
            times.append(1e3 * (time.process_time() - start))
    return statistics.median(times)


def wall_ms(function: Callable[[], Any], repeats: int) -> float:
    """Median milliseconds by the clock, for readers that use another process."""
    return 1e3 * harness.median_seconds(function, repeats)


def body(frames: int) -> ambulo.Motion:
    """A long take on the joints of the SMPL family."""
    from ambulo.formats.smpl_skeleton import default_joints, family_skeleton
    from ambulo.maths import quaternions

    random = np.random.default_rng(0)
    skeleton = family_skeleton(default_joints(52))
    positions = np.tile(skeleton.offsets, (frames, 1, 1))
    time_axis = np.arange(frames)[:, None, None] / 60.0
    vectors = random.normal(scale=0.5, size=(52, 3)) * np.sin(time_axis * random.uniform(1, 5, (52, 3)))
    return ambulo.Motion(skeleton, positions, quaternions.from_scaled_angle_axis(vectors), 60.0, "take")


def load_rows(folder: Path, data: Path | None, quick: bool) -> list[Row]:
    frames, repeats = (2_000, 5) if quick else (10_000, 11)
    motion = body(frames)
    rows: list[Row] = []
    try:
        harness.install_peers("formats", PEERS)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"peers cannot be installed: {error}", file=sys.stderr)
    rows += amass_rows(folder, motion, repeats)
    rows += c3d_rows(folder, frames, repeats)
    rows += usd_rows(folder, motion, repeats)
    rows += fbx_rows(folder, repeats)
    if data is not None:
        rows += acclaim_rows(data / "free" / "cmu_asf_amc", repeats)
        rows += glb_rows(data / "free" / "characters" / "humanoid_50clips.glb", repeats)
    else:
        print("the real capture is not here: no rows for ASF/AMC and GLB", file=sys.stderr)
    return rows


def amass_rows(folder: Path, motion: ambulo.Motion, repeats: int) -> list[Row]:
    path = folder / "take.npz"
    ambulo.save(motion, path)

    def by_numpy() -> Any:
        from scipy.spatial.transform import Rotation

        with np.load(path) as file:
            return Rotation.from_rotvec(file["poses"].reshape(-1, 3)).as_quat(), file["trans"]

    n = motion.frame_count
    ours, theirs = median_ms(lambda: ambulo.load(path), repeats), median_ms(by_numpy, repeats)
    return [
        Row("load AMASS, 52 joints: ambulo", n, ours, "ms"),
        Row("load AMASS, 52 joints: NumPy and SciPy by hand", n, theirs, "ms"),
        Row("load AMASS, 52 joints: ambulo against them", n, theirs / ours, "x", higher_is_better=True),
    ]


def acclaim_rows(folder: Path, repeats: int) -> list[Row]:
    path = max(folder.glob("*.amc"), key=lambda file: file.stat().st_size)
    n = ambulo.load(path).frame_count
    ours = median_ms(lambda: ambulo.load(path), repeats)
    return [
        Row(f"load {path.name}: ambulo", n, ours, "ms"),
        Row(f"load {path.name}: ambulo, speed", n, path.stat().st_size / 1e3 / ours, "MB/s", higher_is_better=True),
    ]


def c3d_rows(folder: Path, frames: int, repeats: int) -> list[Row]:
    from c3d_files import c3d_bytes

    path = folder / "take.c3d"
    points = np.random.default_rng(0).normal(scale=900.0, size=(frames, 53, 3))
    path.write_bytes(c3d_bytes(points))
    peers: dict[str, Callable[[], Any]] = {}
    try:
        ezc3d = importlib.import_module("ezc3d")
        peers["ezc3d"] = lambda: ezc3d.c3d(str(path))["data"]["points"]
    except ImportError:
        print("ezc3d is not here", file=sys.stderr)
    try:
        c3d = importlib.import_module("c3d")

        def by_c3d() -> Any:
            with path.open("rb") as file:
                return [points for _, points, _ in c3d.Reader(file).read_frames(copy=False)]

        peers["c3d"] = by_c3d
    except ImportError:
        print("c3d is not here", file=sys.stderr)
    return against("load C3D, 53 markers", frames, lambda: ambulo.load(path), peers, median_ms, repeats, bar=1.0)


def usd_rows(folder: Path, motion: ambulo.Motion, repeats: int) -> list[Row]:
    from ambulo.formats.usd_stage import extract

    path = folder / "take.usdc"
    ambulo.save(motion, path)
    peers = {"usd-core, arrays alone": lambda: extract(str(path))}
    n = motion.frame_count
    return against("load USD crate, 52 joints", n, lambda: ambulo.load(path), peers, wall_ms, repeats, bar=None)


def fbx_rows(folder: Path, repeats: int) -> list[Row]:
    form = next((form for form in FORMATS if form.name == "fbx"), None)
    if form is None:
        return []
    from fbx_files import Bone, Key, Scene, Stack, to_bytes

    bones = [Bone("Hips", None)]
    bones += [Bone(f"B{i}", "Hips" if i == 1 else f"B{i - 1}", {"Lcl Translation": (0, 5, 0)}) for i in range(1, 30)]
    frames = 600
    layer = {
        (bone.name, "Lcl Rotation", axis): [Key(t / 30, float(20 * np.sin(t / 9 + i))) for t in range(frames)]
        for i, bone in enumerate(bones)
        for axis in "XYZ"
    }
    path = folder / "take.fbx"
    path.write_bytes(to_bytes(Scene(bones, [Stack("Take", [layer], (0.0, (frames - 1) / 30))]), "7400"))
    return [Row("load binary FBX, 30 joints: ambulo", frames, median_ms(lambda: ambulo.load(path), repeats), "ms")]


def glb_rows(path: Path, repeats: int) -> list[Row]:
    n = len(ambulo.load_all(path))
    peers: dict[str, Callable[[], Any]] = {}
    try:
        gltf = importlib.import_module("pygltflib").GLTF2
        peers["pygltflib, no arrays"] = lambda: gltf().load(str(path))
    except ImportError as error:
        print(f"pygltflib is not here: {error}", file=sys.stderr)
    rows = against(f"load_all {path.name}", n, lambda: ambulo.load_all(path), peers, median_ms, repeats, bar=None)
    return [Row(row.name, row.n, row.value, row.unit, 50.0) if row.name.endswith(": ambulo") else row for row in rows]


def against(
    what: str,
    n: int,
    ours: Callable[[], Any],
    peers: dict[str, Callable[[], Any]],
    clock: Callable[[Callable[[], Any], int], float],
    repeats: int,
    bar: float | None,
) -> list[Row]:
    """Rows for ambulo, for each peer, and for the ratio to the fastest."""
    mine = clock(ours, repeats)
    # A peer that takes seconds is asked once: its place in the table is clear.
    theirs = {}
    for name, function in peers.items():
        first = clock(function, 1)
        theirs[name] = first if first > 1000.0 else clock(function, repeats)
    rows = [Row(f"{what}: ambulo", n, mine, "ms")]
    rows += [Row(f"{what}: {name}", n, value, "ms") for name, value in theirs.items()]
    if theirs:
        best = min(theirs, key=lambda name: theirs[name])
        rows.append(Row(f"{what}: ambulo against {best}", n, theirs[best] / mine, "x", bar, True))
    return rows


def main() -> None:
    def extend(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--data", type=Path, help="folder of the real capture (with manifest.csv)")
        parser.add_argument("--only", nargs="*", help="formats to fuzz (all by default; none with no name)")
        parser.add_argument("--files", type=int, help="mutated files a format (100,000; with --quick 300)")
        parser.add_argument("--workers", type=int, default=2, help="processes that load mutated files")
        parser.add_argument("--keep", type=Path, help="folder for the files of faults")
        parser.add_argument("--no-load", action="store_true", help="fuzz only")

    args = harness.arguments("Formats: loading and damaged files", extend)
    names = [form.name for form in FORMATS] if args.only is None else args.only
    rows: list[Row] = []
    if not args.no_load:
        with tempfile.TemporaryDirectory() as folder:
            rows += load_rows(Path(folder), args.data or harness.shared_folder("data"), args.quick)
    rows += fuzz_rows(names, args.files or (300 if args.quick else 100_000), args.workers, args.keep)
    harness.report(rows, args)


if __name__ == "__main__":
    main()

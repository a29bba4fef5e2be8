"""BVH reading: time per file against the Python peers, and how many files each can open.

ambulo's time is that of ``ambulo.load``: file to unit quaternions and metres, with unit and axis guessed. The peers'
times are those of their readers, which leave Euler angles (pymotion, pybvh) or bare numbers (NumPy). The NumPy row
reads the number block as quickly as NumPy can, ``np.array(block.split(), float)``, and nothing else.

Times are of the processor, so that other work on the machine does not count. The bar holds for files of a megabyte or
more: below that, the fixed cost of a load (one or two milliseconds) is what counts.

    python benchmarks/bvh.py [--quick] [--json] [--data FOLDER]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
from harness import Row

harness.one_thread()

import numpy as np  # noqa: E402

import ambulo  # noqa: E402

PEERS = ("pybvh==0.9.0", "upc-pymotion==0.3.4")
RATIO_BAR = 8.0

# A reader returns (frames, joints) as it sees them, so that a silent misreading does not count as opened.
Reader = Callable[[Path], tuple[int, int | None]]


def read_ambulo(path: Path) -> tuple[int, int | None]:
    motion = ambulo.load(path)
    return motion.frame_count, motion.skeleton.joint_count


def read_numpy(path: Path) -> tuple[int, int | None]:
    data = path.read_bytes()
    start = data.index(b"MOTION")
    start = data.index(b"\n", data.index(b"Frame Time", start)) + 1
    channels = sum(int(part.split(None, 1)[0]) for part in data[:start].split(b"CHANNELS")[1:])
    values = np.array(data[start:].split(), np.float64).reshape(-1, channels)
    return len(values), None


def peers() -> dict[str, Reader]:
    harness.install_peers("bvh", PEERS)
    import pybvh
    from pymotion.io.bvh import BVH

    def read_pybvh(path: Path) -> tuple[int, int | None]:
        loaded = pybvh.read_bvh_file(path)
        return int(loaded.frame_count), None

    def read_pymotion(path: Path) -> tuple[int, int | None]:
        loaded = BVH()
        loaded.load(str(path))
        return len(loaded.data["rotations"]), len(loaded.data["names"])

    return {"pybvh": read_pybvh, "upc-pymotion": read_pymotion, "numpy": read_numpy}


def synthetic(folder: Path, joints: int, frames: int) -> Path:
    """A chain of joints that all turn: numbers of every length, written by ambulo."""
    random = np.random.default_rng(0)
    time_axis = np.arange(frames)[:, None] / 60.0
    angles = random.uniform(0.2, 2.0, (1, joints)) * np.sin(random.uniform(0.5, 6.0, (1, joints)) * time_axis)
    axes = random.normal(size=(joints, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    from ambulo.maths import quaternions
    from ambulo.motion.motion import Motion
    from ambulo.motion.skeleton import Skeleton

    offsets = np.tile(np.array([0.0, 0.05, 0.0], np.float32), (joints, 1))
    positions = np.tile(offsets, (frames, 1, 1))
    positions[:, 0] = np.concatenate([time_axis, np.ones_like(time_axis), np.sin(time_axis)], axis=1)
    rotations = quaternions.from_angle_axis(angles, np.broadcast_to(axes, (frames, joints, 3)))
    parents = np.array([-1, *((joint - 1) // 2 for joint in range(1, joints))])
    skeleton = Skeleton(tuple(f"joint_{joint}" for joint in range(joints)), parents, offsets)
    path = folder / f"synthetic_{joints}x{frames}.bvh"
    ambulo.save(Motion(skeleton, positions, rotations, 60.0), path)
    return path


def attempt(reader: Reader, path: Path, frames: int | None, joints: int | None) -> bool:
    """Whether a reader opens a file and finds the right number of frames (and joints, where it tells)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found_frames, found_joints = reader(path)
    except Exception:  # peers refuse in whatever way they like; any of them is "not opened"
        return False
    right_frames = frames is None or found_frames == frames
    return right_frames and (joints is None or found_joints is None or found_joints == joints)


def time_readers(readers: dict[str, Reader], path: Path, repeats: int) -> dict[str, float]:
    """Median processor seconds of each reader, taken in turns so that a slow moment of the machine hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in readers}
    for repeat in range(repeats + 1):
        for name, reader in readers.items():
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                reader(path)
            if repeat:
                times[name].append(time.process_time() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def parse_rows(readers: dict[str, Reader], files: list[Path], repeats: int) -> list[Row]:
    rows = []
    for path in files:
        frames, joints = read_ambulo(path)
        megabytes = path.stat().st_size / 1e6
        able = {name: reader for name, reader in readers.items() if attempt(reader, path, frames, joints)}
        seconds = time_readers(able, path, repeats)
        for name in readers:
            if name in seconds:
                rows.append(Row(f"parse {path.name}: {name}", frames, 1e3 * seconds[name], "ms"))
        rivals = {name: value for name, value in seconds.items() if name != "ambulo"}
        if rivals:
            best = min(rivals, key=lambda name: rivals[name])
            ratio = rivals[best] / seconds["ambulo"]
            name = f"parse {path.name}: ambulo against {best}"
            bar = RATIO_BAR if megabytes >= 1.0 else None
            rows.append(Row(name, frames, ratio, "x", bar=bar, higher_is_better=True))
        rows.append(
            Row(
                f"parse {path.name}: ambulo, speed",
                frames,
                megabytes / seconds["ambulo"],
                "MB/s",
                higher_is_better=True,
            )
        )
    return rows


def opened_rows(readers: dict[str, Reader], what: str, files: list[tuple[Path, int | None, int | None]]) -> list[Row]:
    rows = []
    for name, reader in readers.items():
        good = sum(attempt(reader, *file) for file in files)
        bar = 100.0 if name == "ambulo" else None
        rows.append(Row(f"opened, {what}: {name}", len(files), 100.0 * good / len(files), "%", bar, True))
    return rows


def real_files(folder: Path) -> list[tuple[Path, int | None, int | None]]:
    """Every BVH file of the real capture, with the frames and joints that its manifest states."""
    import csv

    with (folder / "manifest.csv").open(encoding="utf-8") as file:
        return [
            (folder / row["path"], int(row["frames"]), int(row["joints"]))
            for row in csv.DictReader(file)
            if row["path"].endswith(".bvh")
        ]


def probe_files(folder: Path) -> list[tuple[Path, int | None, int | None]]:
    """The probe files of one actor that a reader should open, with the frames that they hold."""
    expected: dict[str, dict[str, Any]] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return [
        (folder / name, case.get("frames"), len(case["joints"]) if "joints" in case else None)
        for name, case in expected.items()
        if name.endswith(".bvh") and case["verdict"].startswith("load") and "two_roots" not in name
    ]


def main() -> None:
    def extend(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--data", type=Path, help="folder of the real capture (with manifest.csv)")

    args = harness.arguments("BVH reading against the Python peers", extend)
    readers: dict[str, Reader] = {"ambulo": read_ambulo, **peers()}
    data = args.data or harness.shared_folder("data")
    cases = harness.shared_folder("cases")
    repeats = 5 if args.quick else 11
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        files = [synthetic(Path(folder), 75, 2_000 if args.quick else 20_000)]
        everything = real_files(data) if data else []
        largest: dict[Path, Path] = {}
        for path, _, _ in everything:
            kept = largest.get(path.parent)
            if kept is None or path.stat().st_size > kept.stat().st_size:
                largest[path.parent] = path
        files += largest.values()
        rows += parse_rows(readers, files, repeats)
    if everything:
        rows += opened_rows(readers, "real capture", everything[:: 10 if args.quick else 1])
    else:
        print("the real capture is not here: --data names its folder", file=sys.stderr)
    if cases:
        rows += opened_rows(readers, "probe files", probe_files(cases))
    harness.report(rows, args)


if __name__ == "__main__":
    main()

"""glTF reading and writing: time per file against the Python peers that install.

ambulo's time is that of ``ambulo.load_all``: file to poses of every animation at even steps of time, rotations unit and
unrolled, checked number by number. pygltflib parses the JSON into objects and leaves every accessor as bytes; a row
"pygltflib and sampling" adds what its user must do to have the same poses, in plain NumPy. trimesh reads meshes and
drops skins and animations; its row is there for scale.

Times are of the processor, so that other work on the machine does not count.

    python benchmarks/gltf.py [--quick] [--json] [--data FOLDER]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
from harness import Row

harness.one_thread()

import numpy as np  # noqa: E402

import ambulo  # noqa: E402
from ambulo.formats.registry import save  # noqa: E402

PEERS = (
    *("pygltflib==1.16.5", "dataclasses-json==0.6.7", "marshmallow==3.26.2", "typing-inspect==0.9.0"),
    *("mypy-extensions==1.1.0", "deprecated==1.2.18", "wrapt==1.17.2", "trimesh==5.2.0"),
)
BAR_MILLISECONDS = 50.0
_SLOW = 1.0  # seconds

Reader = Callable[[Path], object]


def read_ambulo(path: Path) -> object:
    return ambulo.load_all(path)


def sample_pygltflib(path: Path) -> object:
    """Poses of every animation, the way that a user of pygltflib comes by them."""
    from pygltflib import GLTF2

    gltf = GLTF2().load(str(path))
    blob = gltf.binary_blob()
    widths = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}

    def values(index: int) -> np.ndarray:
        accessor = gltf.accessors[index]
        view = gltf.bufferViews[accessor.bufferView]
        start = (view.byteOffset or 0) + (accessor.byteOffset or 0)
        width = widths[accessor.type]
        return np.frombuffer(blob, np.float32, accessor.count * width, start).reshape(-1, width)

    poses = []
    for animation in gltf.animations:
        tracks = []
        for channel in animation.channels:
            sampler = animation.samplers[channel.sampler]
            tracks.append((channel.target, values(sampler.input)[:, 0], values(sampler.output), sampler.interpolation))
        first = min(float(track[1][0]) for track in tracks)
        last = max(float(track[1][-1]) for track in tracks)
        times = first + np.arange(round((last - first) * 24.0) + 1) / 24.0
        for target, keys, data, how in tracks:
            at = np.clip(np.searchsorted(keys, times + 1e-5, side="right") - 1, 0, len(keys) - 1)
            sampled = data[at]
            if how == "LINEAR" and len(keys) > 1:
                after = np.minimum(at + 1, len(keys) - 1)
                span = np.maximum(keys[after] - keys[at], 1e-9)
                part = np.clip((times - keys[at]) / span, 0.0, 1.0)[:, None]
                sampled = data[at] * (1.0 - part) + data[after] * part
                if target.path == "rotation":
                    sampled = sampled / np.linalg.norm(sampled, axis=1, keepdims=True)
            poses.append(sampled)
    return poses


def peers() -> dict[str, Reader]:
    """Those peers that install."""
    try:
        harness.install_peers("gltf", PEERS)
        import pygltflib
        import trimesh
    except Exception as error:  # whatever keeps them away: the rows of ambulo stand without
        print(f"the peers cannot be installed: {error}", file=sys.stderr)
        return {}

    return {
        "pygltflib, parsing only": lambda path: pygltflib.GLTF2().load(str(path)),
        "pygltflib and sampling": sample_pygltflib,
        "trimesh, meshes only": lambda path: trimesh.load(str(path)),
    }


def character(folder: Path, clips: int, joints: int, frames: int) -> Path:
    """A made-up character of many clips, every joint of which turns: the same for everybody, data set or none."""
    from ambulo.maths import quaternions
    from ambulo.motion.motion import Motion
    from ambulo.motion.skeleton import Skeleton

    random = np.random.default_rng(0)
    parents = np.array([-1, *((joint - 1) // 2 for joint in range(1, joints))])
    offsets = np.tile(np.array([0.0, 0.1, 0.0], np.float32), (joints, 1))
    skeleton = Skeleton(tuple(f"joint_{joint}" for joint in range(joints)), parents, offsets)
    motions = []
    for clip in range(clips):
        times = np.arange(frames)[:, None, None] / 24.0
        spin = random.normal(size=(1, joints, 3)) * np.sin(random.uniform(1, 6, (1, joints, 1)) * times)
        rotations = quaternions.from_scaled_angle_axis(spin)
        positions = np.tile(offsets, (frames, 1, 1))
        motions.append(Motion(skeleton, positions, rotations, 24.0, f"clip_{clip}"))
    path = folder / f"made_up_{clips}_clips.glb"
    save(motions, path)
    return path


def time_readers(readers: dict[str, Reader], path: Path, repeats: int) -> dict[str, float]:
    """Median processor seconds of each reader, taken in turns so that a slow moment of the machine hits all alike.

    A reader that takes a second is timed once after its first time.
    """
    times: dict[str, list[float]] = {name: [] for name in readers}
    for _ in range(repeats + 1):
        for name, reader in readers.items():
            if len(times[name]) >= 2 and times[name][-1] > _SLOW:
                continue
            start = time.process_time()
            reader(path)
            times[name].append(time.process_time() - start)
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def read_rows(readers: dict[str, Reader], files: list[Path], repeats: int) -> list[Row]:
    rows = []
    for path in files:
        motions = ambulo.load_all(path)
        frames = sum(motion.frame_count for motion in motions)
        seconds = time_readers(readers, path, repeats)
        for name, value in seconds.items():
            bar = BAR_MILLISECONDS if name == "ambulo" and len(motions) >= 50 else None
            rows.append(Row(f"read {path.name}, {len(motions)} clips: {name}", frames, 1e3 * value, "ms", bar))
        rival = seconds.get("pygltflib and sampling")
        if rival is not None:
            ratio = rival / seconds["ambulo"]
            name = f"read {path.name}: ambulo against pygltflib and sampling"
            rows.append(Row(name, frames, ratio, "x", higher_is_better=True))
    return rows


def write_rows(path: Path, repeats: int) -> list[Row]:
    motions = ambulo.load_all(path)
    frames = sum(motion.frame_count for motion in motions)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "written.glb"
        times = []
        for _ in range(repeats + 1):
            start = time.process_time()
            save(motions, target)
            times.append(time.process_time() - start)
        size = target.stat().st_size / 1e6
        rows.append(Row(f"write {path.name} again", frames, 1e3 * statistics.median(times[1:]), "ms"))
        rows.append(Row(f"size of {path.name} written again", frames, size, "MB"))
    return rows


def main() -> None:
    def extend(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--data", type=Path, help="folder of the real capture (with free/characters)")

    args: Any = harness.arguments("glTF reading and writing", extend)
    readers: dict[str, Reader] = {"ambulo": read_ambulo, **peers()}
    data = args.data or harness.shared_folder("data")
    repeats = 5 if args.quick else 15
    with tempfile.TemporaryDirectory() as folder:
        files = [character(Path(folder), 50, 53, 40)]
        if data is not None:
            found = sorted((data / "free" / "characters").glob("*.glb"))
            files += [path for path in found if not args.quick or "50clips" in path.name or "robot" in path.name]
        else:
            print("the real characters are not here: --data names their folder", file=sys.stderr)
        rows = read_rows(readers, files, repeats)
        rows += write_rows(files[-1] if data is None else next(p for p in files if "50clips" in p.name), repeats)
    harness.report(rows, args)


if __name__ == "__main__":
    main()

"""Mutated files for every format of the registry, and what a reader does with one.

A reader passes if it gives motions of finite, unit values, or refuses with an :class:`~ambulo.errors.AmbuloError`,
within two seconds and within ten times the file's size in memory (and :data:`MEMORY_FREE` for what does not depend on
the file).

Seeds are what our own writers make, plus small files made by hand for the formats that are only read; formats that the
registry gains are picked up, and a format without any seed is an error. The same format and number give the same bytes,
on every machine.

As a program this is the worker of :mod:`formats`: it takes ``FORMAT START STOP`` lines and answers a line a file.
"""

from __future__ import annotations

import gc
import io
import json
import re
import struct
import sys
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "formats"))

import ambulo  # noqa: E402
from ambulo.errors import AmbuloError  # noqa: E402
from ambulo.formats.format import Format  # noqa: E402
from ambulo.formats.registry import FORMATS  # noqa: E402
from ambulo.motion.markers import Markers  # noqa: E402

SECONDS = 2.0
MEMORY_RATIO = 10
MEMORY_FREE = 48_000_000
"""Bytes: what a load may take whatever the file's size (buffers, the allocator's pages, USD's own pools)."""

_INTERESTING = (0, 1, -1, 2, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, -(2**31), 2**32 - 1, 2**40, -(2**63))
_WORDS = (b"nan", b"inf", b"-1e309", b"1e38", b"-0", b"0", b"999999999999", b"1e-320", b"", b"\xff\xfe", b"'", b"[[[[")

Seed = tuple[str, bytes, dict[str, bytes]]
"""Name of the file, its bytes, and files that must lie beside it."""


def small_motion(names: tuple[str, ...] | None = None) -> ambulo.Motion:
    """A few frames on the joints of the SMPL family, which every writer takes."""
    from ambulo.formats.smpl_skeleton import default_joints, family_skeleton
    from ambulo.maths import quaternions

    random = np.random.default_rng(0)
    skeleton = family_skeleton(default_joints(22))
    positions = np.tile(skeleton.offsets, (4, 1, 1))
    positions[:, 0] += random.normal(size=(4, 3))
    vectors = random.normal(scale=0.3, size=(4, 22, 3))
    rotations = quaternions.unroll(quaternions.from_scaled_angle_axis(vectors))
    return ambulo.Motion(skeleton, positions, rotations, 30.0, "take")


def seeds(form: Format) -> list[Seed]:
    """Sound files of a format."""
    found: list[Seed] = []
    if form.write is not None:
        for extension in form.extensions:
            found.append((f"take{extension}", form.write([small_motion()], {}), {}))
    found += _BY_HAND.get(form.name, lambda: [])()
    if not found:
        raise AmbuloError(
            f"the format {form.name} has no writer and no seed here", remedy="add one to fuzzing._BY_HAND"
        )
    return found


def _acclaim() -> list[Seed]:
    bones = "".join(
        f"  begin\n     id {i}\n     name {name}\n     direction 0 {d} 0.3\n     length 5.5\n     axis 10 {i} 20 XYZ\n"
        f"    dof {dof}\n    limits (-160.0 20.0)\n           (-70 70)\n  end\n"
        for i, (name, d, dof) in enumerate((("thigh", -1, "rx rz"), ("shin", -1, "rx"), ("spine", 1, "rx ry rz")), 1)
    )
    asf = (
        ":version 1.10\n:name VICON\n:units\n  mass 1.0\n  length 0.45\n  angle deg\n:documentation\n   none\n:root\n"
        "   order TX TY TZ RX RY RZ\n   axis XYZ\n   position 0 0 0\n   orientation 0 0 0\n:bonedata\n"
        f"{bones}:hierarchy\n  begin\n    root thigh spine\n    thigh shin\n  end\n"
    ).encode()
    frames = "".join(
        f"{i}\nroot {i}.5 17.8 -21.1 -0.9 -8.3 -7.4e-1\nthigh 5.{i} -3\nshin {i}\nspine 1 2 3.{i}\n"
        for i in range(1, 9)
    )
    amc = f"#!OML:ASF F:\\x\n:FULLY-SPECIFIED\n:DEGREES\n{frames}".encode()
    return [("01_01.amc", amc, {"01.asf": asf}), ("01.asf", asf, {})]


def _c3d() -> list[Seed]:
    from c3d_files import c3d_bytes

    random = np.random.default_rng(0)
    points = random.normal(scale=900.0, size=(9, 5, 3))
    seen = random.random((9, 5)) > 0.1
    kinds: tuple[dict[str, Any], ...] = (
        {},
        {"scale": 0.1, "analog": 3, "up": "+Z"},
        {"processor": 86},
        {"processor": 85, "actual": (1, 9)},
    )
    return [("take.c3d", c3d_bytes(points, seen=seen, **kind), {}) for kind in kinds]


def _fbx() -> list[Seed]:
    from fbx_files import Bone, Key, Scene, Stack, to_bytes

    bones = [
        Bone("Hips", None, {"PreRotation": (10.0, 20.0, 30.0)}),
        Bone("Spine", "Hips", {"Lcl Translation": (0.0, 10.0, 0.0)}),
    ]
    layer = {("Hips", "Lcl Rotation", axis): [Key(t / 30, float(t)) for t in range(8)] for axis in "XYZ"}
    scene = Scene(bones, [Stack("Take 001", [layer], (0.0, 0.25))])
    return [("take.fbx", to_bytes(scene, kind), {}) for kind in ("7400", "7700", "ascii")]


def _usdz() -> list[Seed]:
    crate = next(form for form in FORMATS if form.name == "usdc")
    assert crate.write is not None
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        # A package keeps its members unpacked, at multiples of 64 bytes.
        info = zipfile.ZipInfo("take.usdc")
        info.extra = struct.pack("<HH", 0x1986, 64 - 30 - len("take.usdc") - 4) + bytes(64 - 30 - len("take.usdc") - 4)
        archive.writestr(info, crate.write([small_motion()], {}))
    return [("take.usdz", file.getvalue(), {})]


def _amass() -> list[Seed]:
    file, packed = io.BytesIO(), io.BytesIO()
    random = np.random.default_rng(0)
    arrays: dict[str, Any] = {
        "root_orient": random.normal(size=(3, 3)),
        "pose_body": random.normal(size=(3, 63)).astype(np.float32),
        "trans": random.normal(size=(3, 3)),
        "gender": np.array(b"male"),
        "fps": 30,
    }
    np.savez(file, **arrays)
    np.savez_compressed(packed, poses=random.normal(size=(3, 72)), trans=np.zeros((3, 3)), mocap_framerate=60.0)
    return [("parts.npz", file.getvalue(), {}), ("packed.npz", packed.getvalue(), {})]


_BY_HAND: dict[str, Callable[[], list[Seed]]] = {
    "acclaim": _acclaim,
    "c3d": _c3d,
    "fbx": _fbx,
    "usdz": _usdz,
    "amass": _amass,
}


@lru_cache(maxsize=32)
def _seeds_of(name: str) -> tuple[Seed, ...]:
    return tuple(seeds(next(form for form in FORMATS if form.name == name)))


def mutated(name: str, number: int) -> Seed:
    """The file of that number: its name, its bytes, and what lies beside it."""
    random = np.random.default_rng([zlib.crc32(name.encode()), number])
    known = _seeds_of(name)
    file, data, beside = known[int(random.integers(len(known)))]
    inner = random.random() < 0.6
    if zipfile.is_zipfile(io.BytesIO(data)) and inner:
        return file, _inside_archive(random, data), beside
    if data[:4] == b"glTF" and inner:
        return file, _inside_glb(random, data), beside
    if beside and random.random() < 0.3:
        return file, data, {other: mutate(random, content) for other, content in beside.items()}
    return file, mutate(random, data), beside


def mutate(random: np.random.Generator, data: bytes) -> bytes:
    """One to four small changes of a file."""
    changed = bytearray(data)
    for _ in range(int(random.integers(1, 5))):
        _MUTATIONS[int(random.integers(len(_MUTATIONS)))](random, changed)
    return bytes(changed)


def _at(random: np.random.Generator, data: bytearray) -> int:
    # Headers are short and decide the most, so a third of all changes go there.
    reach = min(len(data), 200) if random.random() < 0.35 else len(data)
    return int(random.integers(max(reach, 1)))


def _flip(random: np.random.Generator, data: bytearray) -> None:
    for _ in range(int(random.integers(1, 9))):
        if data:
            data[_at(random, data)] ^= 1 << int(random.integers(8))


def _integer(random: np.random.Generator, data: bytearray) -> None:
    width = int(random.choice([1, 2, 4, 8]))
    value = int(_INTERESTING[int(random.integers(len(_INTERESTING)))])
    at = _at(random, data)
    raw = (value & (2 ** (8 * width) - 1)).to_bytes(width, "little" if random.random() < 0.8 else "big")
    data[at : at + width] = raw


def _number(random: np.random.Generator, data: bytearray) -> None:
    found = list(re.finditer(rb"-?\d+(\.\d+)?(e-?\d+)?", bytes(data[:200_000])))
    if found:
        start, stop = found[int(random.integers(len(found)))].span()
        data[start:stop] = _WORDS[int(random.integers(len(_WORDS)))]


def _word(random: np.random.Generator, data: bytearray) -> None:
    at = _at(random, data)
    data[at:at] = _WORDS[int(random.integers(len(_WORDS)))]


def _cut(random: np.random.Generator, data: bytearray) -> None:
    del data[_at(random, data) :]


def _drop(random: np.random.Generator, data: bytearray) -> None:
    at = _at(random, data)
    del data[at : at + int(random.integers(1, 64))]


def _repeat(random: np.random.Generator, data: bytearray) -> None:
    at = _at(random, data)
    data[at:at] = data[at : at + int(random.integers(1, 200))]


def _noise(random: np.random.Generator, data: bytearray) -> None:
    at = _at(random, data)
    size = int(random.integers(1, 40))
    data[at : at + size] = random.integers(0, 256, size, dtype=np.uint8).tobytes()


def _move(random: np.random.Generator, data: bytearray) -> None:
    source, target, size = _at(random, data), _at(random, data), int(random.integers(1, 100))
    data[target : target + size] = data[source : source + size]


_MUTATIONS = (_flip, _integer, _number, _word, _cut, _drop, _repeat, _noise, _move)


def _inside_archive(random: np.random.Generator, data: bytes) -> bytes:
    """Change a member of a zip archive and pack it again, so that checksums let the change through."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w") as new:
        entries = old.infolist()
        chosen = int(random.integers(len(entries)))
        for index, entry in enumerate(entries):
            content = old.read(entry)
            new.writestr(entry, mutate(random, content) if index == chosen else content, entry.compress_type)
    return file.getvalue()


def _inside_glb(random: np.random.Generator, data: bytes) -> bytes:
    """Change the JSON or the binary chunk of a GLB and mend the lengths."""
    size = int.from_bytes(data[12:16], "little")
    text, rest = data[20 : 20 + size], data[28 + size :]
    if random.random() < 0.7:
        text = mutate(random, text)
    else:
        rest = mutate(random, rest)
    text += b" " * (-len(text) % 4)
    rest += b"\0" * (-len(rest) % 4)
    body = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(rest), b"BIN\0") + rest
    return struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body


def place(folder: Path, seed: Seed) -> Path:
    """Write a file, and what belongs beside it."""
    name, data, beside = seed
    for other, content in beside.items():
        (folder / other).write_bytes(content)
    path = folder / name
    path.write_bytes(data)
    return path


def attempt(path: Path) -> str | None:
    """Load a file. Returns what is wrong with how that went; None where it is as it should be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            motions = ambulo.load_all(path)
    except AmbuloError as error:
        return None if str(error) and error.path is not None else f"refused without a path: {error}"
    except BaseException as error:  # whatever comes is a fault of the reader, and is told
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        where = f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame is not None else "?"
        return f"{type(error).__name__}: {str(error)[:200]} at {where}"
    for motion in motions:
        positions = motion.positions[motion.valid] if isinstance(motion, Markers) else motion.positions
        rest = (motion.skeleton.offsets, motion.skeleton.rest_rotations)
        if not all(np.isfinite(values).all() for values in (positions, motion.rotations, *rest)):
            return "loaded values that are not finite"
        if motion.rotations.size and np.abs(np.linalg.norm(motion.rotations, axis=-1) - 1.0).max() > 1e-3:
            return "loaded rotations that are not unit"
    return None


class MemoryWatch:
    """How far a load raises the most memory that its process ever held; of USD's worker too. Linux only.

    The system is asked to forget that mark only after a load has raised it: to ask takes longer than most loads.
    """

    def __init__(self) -> None:
        self.known = Path("/proc/self/clear_refs").exists()
        self.marks: dict[str, int] = {}
        self.rest: dict[str, int] = {}
        self.files: dict[str, Any] = {}

    def start(self) -> None:
        """Before a load."""
        if not self.known:
            return
        for process in self._processes():
            if process not in self.marks:
                self._forget(process)

    def peak(self) -> int:
        """Bytes above what the process held at rest, if this load raised the mark; else 0."""
        grown = [0]
        for process in list(self.marks):
            try:
                mark = self._read(process, "VmHWM")
            except (OSError, StopIteration):  # the worker died, which is its job
                del self.marks[process]
                self.files.pop(process).close()
                continue
            if mark > self.marks[process]:
                self.marks[process] = mark
                grown.append(mark - self.rest[process])
        return max(grown)

    def forget(self) -> None:
        """After a load that took too much."""
        self.marks = {}

    def _processes(self) -> list[str]:
        from ambulo.formats import usd_worker

        client = usd_worker._CLIENT
        return ["self"] if client is None else ["self", str(client.process.pid)]

    def _forget(self, process: str) -> None:
        try:
            Path(f"/proc/{process}/clear_refs").write_text("5")
            self.marks[process] = self._read(process, "VmHWM")
            self.rest[process] = self._read(process, "VmRSS")
        except (OSError, StopIteration):
            self.known = process != "self"

    def _read(self, process: str, key: str) -> int:
        # The file stays open: to open it takes longer than most loads.
        if process not in self.files:
            self.files[process] = Path(f"/proc/{process}/status").open("rb", buffering=0)  # noqa: SIM115
        self.files[process].seek(0)
        status = self.files[process].read().decode()
        return 1024 * int(next(line for line in status.splitlines() if line.startswith(key)).split()[1])


def examine(name: str, number: int, folder: Path, watch: MemoryWatch) -> tuple[str | None, float, int]:
    """One mutated file: what is wrong, seconds and bytes. A slow or large one is tried again before it counts.

    Seconds are of the processor, so that other work on the machine does not count; where another process reads (USD)
    they are by the clock.
    """
    seed = mutated(name, number)
    path = place(folder, seed)
    size = len(seed[1]) + sum(map(len, seed[2].values()))
    clock = time.perf_counter if name.startswith("usd") else time.process_time
    fault, seconds, peak = None, 0.0, 0
    for _ in range(3):
        watch.start()
        begun = clock()
        fault = attempt(path)
        seconds, peak = clock() - begun, watch.peak()
        if seconds <= SECONDS and peak <= MEMORY_RATIO * size + MEMORY_FREE:
            return fault, seconds, peak
        gc.collect()
        watch.forget()
    slow = f"took {seconds:.1f} s" if seconds > SECONDS else f"took {peak:,} bytes for a file of {size:,}"
    return fault or slow, seconds, peak


def serve() -> None:
    """Answer ``FORMAT START STOP FOLDER`` lines: a line before each file (its number), and one after it."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    watch = MemoryWatch()
    for line in sys.stdin:
        name, start, stop, folder = json.loads(line)
        for seed in _seeds_of(name):  # what is loaded once (kernels, libraries) is no file's fault
            fault = attempt(place(Path(folder), seed))
            if fault:
                print(json.dumps({"number": -1, "fault": f"the sound file {seed[0]}: {fault}"}))
        for number in range(start, stop):
            print(number)
            fault, seconds, peak = examine(name, number, Path(folder), watch)
            if fault or seconds > 0.5:
                print(json.dumps({"number": number, "fault": fault, "seconds": seconds, "peak": peak}))
        print("done")


if __name__ == "__main__":
    serve()

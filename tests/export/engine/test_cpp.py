"""The C++ example plays exported controllers in onnxruntime's own library, and sees what does not agree."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

SOURCE = Path(__file__).parents[3] / "examples" / "engines" / "cpp" / "replay.cpp"
COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
LIBRARIES = sorted((Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so*"))

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the library is linked as Linux does"),
    pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler"),
    pytest.mark.skipif(not LIBRARIES, reason="this onnxruntime wheel has no shared library of its own"),
]


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled program; every warning is an error."""
    folder = tmp_path_factory.mktemp("cpp")
    for name in ("libonnxruntime.so", "libonnxruntime.so.1"):  # the name to link, and the name to load
        (folder / name).symlink_to(LIBRARIES[-1])
    flags = ["-O1", "-std=c++17", "-Wall", "-Wextra", "-Werror"]
    link = [f"-L{folder}", "-lonnxruntime", f"-Wl,-rpath,{folder}"]
    command = [str(COMPILER), *flags, str(SOURCE), "-o", str(folder / "replay"), *link]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder / "replay"


def played(program: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(program), str(folder)], capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("which", ["matching", "learned"])
def test_it_replays_a_bundle(which: str, replay: Path, request: pytest.FixtureRequest) -> None:
    done = played(replay, Path(request.getfixturevalue(which).folder))
    assert done.returncode == 0, done.stderr
    assert "agrees over 300 frames" in done.stdout and "local_rotations: at most" in done.stdout


def test_it_sees_another_recording(replay: Path, matching: Any, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(matching.folder, folder)
    numbers = np.fromfile(folder / "golden.bin", "<f4")
    with np.load(folder / "golden.npz") as stored:
        assert numbers.size == sum(stored[name].size for name in stored.files)
        places = np.cumsum([0, *(stored[name].size for name in stored.files)])
        start = places[stored.files.index("out_local_positions")]
        shape = stored["out_local_positions"].shape
    numbers[start + np.ravel_multi_index((123, 0, 5, 1), shape)] += 1.0  # a centimetre
    numbers.tofile(folder / "golden.bin")
    done = played(replay, folder)
    assert done.returncode == 2 and "local_positions differs by" in done.stderr and "frame 123" in done.stderr
    (folder / "golden.bin").write_bytes(b"")
    done = played(replay, folder)
    assert done.returncode == 1 and "golden.bin ends within" in done.stderr
    assert played(replay, tmp_path / "none").returncode == 1

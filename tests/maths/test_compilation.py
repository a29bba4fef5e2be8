"""Machine code is kept apart for each version of the kernels, and nobody else's Numba setting is touched."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numba

from ambulo.maths import compilation

PROGRAMME = """
import numpy as np, numba
from ambulo.motion.kinematics import forward
from ambulo.maths.compilation import kernel_folder
forward(np.zeros((1, 1, 3)), np.array([[[0, 0, 0, 1.0]]]), [-1])
print(kernel_folder(), bool(numba.config.CACHE_DIR))
"""


def _run(cache: Path) -> str:
    env = {**os.environ, "AMBULO_CACHE": str(cache)}
    done = subprocess.run([sys.executable, "-c", PROGRAMME], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_code_is_kept_in_one_folder_and_used_again(tmp_path: Path) -> None:
    first = _run(tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")}
    assert kept and all(path.is_relative_to(first.split()[0]) for path in kept)
    assert first.endswith("False")
    assert _run(tmp_path) == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")} == kept


def test_long_unused_folders_are_removed_and_recent_ones_kept(tmp_path: Path) -> None:
    old, recent = tmp_path / "kernels-0000", tmp_path / "kernels-1111"
    for folder, age in ((old, 60), (recent, 1)):
        folder.mkdir()
        os.utime(folder, (time.time() - age * 86400,) * 2)
    _run(tmp_path)
    assert not old.exists() and recent.exists()


def test_an_unusable_cache_does_not_stop_anything(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder", encoding="utf-8")
    assert str(blocked) in _run(blocked)


def test_decorating_leaves_the_setting_of_others_alone() -> None:
    before = numba.config.CACHE_DIR
    compilation.kernel(lambda x: x)
    assert before == numba.config.CACHE_DIR

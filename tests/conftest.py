"""Shared fixtures: where the real capture and the probe files lie, if they are there at all."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import settings

# Kernels compile at their first call, which no deadline of an example may count.
settings.register_profile("ambulo", deadline=None)
settings.load_profile("ambulo")

SHARED = Path(os.environ.get("AMBULO_SHARED", Path(__file__).resolve().parents[2] / "shared"))


@pytest.fixture(scope="session")
def cases() -> Path:
    """Folder of small probe files with known answers."""
    folder = SHARED / "cases"
    if not folder.is_dir():
        pytest.skip(f"the probe files are not here: {folder} (set AMBULO_SHARED)")
    return folder


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of unpacked real motion capture."""
    script = SHARED / "data" / "unpack"
    if not script.is_file() or shutil.which("sh") is None:
        pytest.skip(f"the real capture is not here: {script} (set AMBULO_SHARED)")
    return Path(subprocess.run(["sh", str(script)], check=True, capture_output=True, text=True).stdout.strip())

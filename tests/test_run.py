"""The script that sets ambulo up: what it starts ends with it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CHILD = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signal to pass on")
def test_a_child_ends_with_its_parent() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", f"import run, sys; run.call([sys.executable, '-c', {CHILD!r}])"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    try:
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(timeout=20) == 128 + signal.SIGTERM
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
    finally:
        parent.stdout.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)

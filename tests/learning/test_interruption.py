"""Processes that train beside another one: they end with it, and keep what they have."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ambulo.learning.interruption import end_with_parent, interruptible

WORKER = """
import multiprocessing, os, signal, sys, time
from pathlib import Path

def work(folder):
    from ambulo.learning.interruption import interruptible
    with interruptible() as caught:
        Path(folder, "began").write_text(str(os.getpid()))
        until = time.monotonic() + 20.0
        while not caught and time.monotonic() < until:
            time.sleep(0.02)
        Path(folder, "kept").write_text(str(*caught))

if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=work, args=(sys.argv[1],))
    process.start()
    while not Path(sys.argv[1], "began").exists():
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_worker_whose_parent_is_killed_keeps_what_it_has_and_ends(tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    # Nobody but parent and worker hold the pipe: that it closes says that both have ended.
    ended = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], stdout=subprocess.PIPE, timeout=60, check=False
    )
    assert ended.returncode == -signal.SIGKILL
    assert (tmp_path / "kept").read_text() == str(int(signal.SIGTERM))
    worker = int((tmp_path / "began").read_text())
    for _ in range(500):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{worker}/stat").exists() and Path(f"/proc/{worker}/stat").read_text().split()[2] == "Z":
            return  # ended; whoever adopted it has not asked yet
        time.sleep(0.02)
    pytest.fail("the worker lives on")


def test_who_was_started_by_nobody_watches_nobody() -> None:
    assert end_with_parent() is None
    with interruptible() as caught:
        signal.raise_signal(signal.SIGINT)
    assert caught == [signal.SIGINT]

"""Building a project again while its character walks: in a process of its own, so that no step comes late."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from ambulo.errors import StudioError

RETRIES = 20
"""Times that a build is tried again while another one of the project is running, half a second apart."""


class Rebuilt(NamedTuple):
    """What a build said.

    Attributes:
        report: of ``ambulo build --json``.
        seconds: that it took.
    """

    report: dict[str, Any]
    seconds: float

    @property
    def text(self) -> str:
        """What it made, in a sentence; takes that it left out are named."""
        report = self.report
        text = f"{report['clips']} clips, built in {self.seconds:.1f} s"
        problems = [entry for entry in report["problems"] if entry["kind"] != "skipped"]
        if problems:
            more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
            reason = str(problems[0]["reason"]).partition(" | ")[0]
            text += f"; left out: {problems[0]['take']}{more}: {reason}"
        return text


class Builder:
    """Runs one build at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._stopped = threading.Event()

    def build(self, project: Path) -> Rebuilt:
        """Build a project, and wait for it.

        Raises:
            StudioError: the build refuses, with its reason and remedy; the old database is as it was.
        """
        began = time.perf_counter()
        jobs = max((os.cpu_count() or 2) - 1, 1)  # one core is the character's
        command = [sys.executable, "-m", "ambulo", "build", str(project), "--jobs", str(jobs), "--json"]
        for _ in range(RETRIES):
            told = self._run(command)
            error = told.get("error")
            if error is None:
                return Rebuilt(told, time.perf_counter() - began)
            if "another build" not in error["message"]:
                raise StudioError(error["message"], **_facts(error))
            if self._stopped.wait(0.5):
                break
        raise StudioError("another build of this project is running", path=project, remedy="wait until it is done")

    def stop(self) -> None:
        """End a build that runs; the database stays as it was."""
        self._stopped.set()
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def _run(self, command: list[str]) -> dict[str, Any]:
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        out, err = self._process.communicate()
        try:
            told = json.loads(out)
        except ValueError:
            last = (err.strip().splitlines() or ["no reason was given"])[-1]
            raise StudioError(f"the build ended with code {self._process.returncode}: {last}") from None
        return told if isinstance(told, dict) else {}


def _facts(error: dict[str, Any]) -> dict[str, Any]:
    return {
        key: error[key] for key in ("path", "line", "joint", "frame", "key", "remedy") if error.get(key) is not None
    }

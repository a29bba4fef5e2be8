"""Training learned motion matching while its character walks: in a process of its own, followed by its curves."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ambulo.errors import AmbuloError, StudioError, install_remedy
from ambulo.learning.create import models_folder
from ambulo.learning.curve import CURVE, read_curve
from ambulo.studio import messages

log = logging.getLogger(__name__)

MODEL = "lmm"
NETWORKS = ("decompressor", "stepper", "projector")
TELL_INTERVAL = 0.5
PATIENCE = 20.0
"""Seconds that a stopped training may take to keep what it has; then it is ended."""
CURVE_POINTS = 200

Tell = Callable[[messages.Training], None]


@dataclass(frozen=True)
class LmmTrainer:
    """How a training is run: as ``ambulo train lmm``."""

    presets: tuple[str, ...] = ("quick", "base")

    def missing(self) -> str | None:
        """The package without which nothing can be trained; None where it is there."""
        return None if importlib.util.find_spec("torch") is not None else "torch"

    def steps(self, preset: str) -> dict[str, int]:
        """Steps of each network."""
        from ambulo.learning.lmm_presets import find_preset

        found = find_preset(preset)
        return {network: found.trained(network).steps or 0 for network in NETWORKS}

    def command(self, project: Path, preset: str, resume: bool) -> list[str]:
        """What is run; it prints one JSON object."""
        jobs = 2 if (os.cpu_count() or 1) > 2 else 1  # one core is the character's
        command = [sys.executable, "-m", "ambulo", "train", "lmm", str(project), "--preset", preset]
        return [*command, "--jobs", str(jobs), "--json", *(["--resume"] if resume else [])]


class TrainingDesk:
    """Runs one training at a time, and tells of it.

    Args:
        places: name of a project -> its folder.
        tell: receives what all pages are told.
        finished: called with the name of a project whose model is trained, from this desk's thread; says whether the
            model plays now. A refusal of it is told as what became of the training.
        trainer: how it is done.
    """

    def __init__(
        self,
        places: dict[str, Path],
        tell: Tell,
        finished: Callable[[str], bool],
        trainer: LmmTrainer | None = None,
    ) -> None:
        self._places = places
        self._tell = tell
        self._finished = finished
        self._trainer = trainer or LmmTrainer()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._starting = threading.Lock()
        self.last = self._first()

    def greeting(self) -> messages.Training:
        """What a page is told that comes: the last training, or whether there can be one."""
        if self.last.state in ("none", "impossible"):
            self.last = self._first()  # torch may have been installed in the meantime
        return self.last

    def train(self, project: str, preset: str, *, resume: bool = False) -> None:
        """Begin.

        Raises:
            StudioError: a training is running, nothing can be trained here, or there is no such preset.
        """
        with self._starting:
            if self.last.state == "impossible":
                raise StudioError(self.last.text, remedy=self.last.remedy)
            if self._thread is not None and self._thread.is_alive():
                raise StudioError("a training is running", remedy="stop it first")
            if preset not in self._trainer.presets:
                raise StudioError(f"no preset {preset!r}", key="preset", remedy=", ".join(self._trainer.presets))
            if project not in self._places:
                raise StudioError(f"no project {project!r} can be trained here", key="project")
            self._stopping.clear()
            self._thread = threading.Thread(
                target=self._run, args=(project, preset, resume), name="ambulo-studio-training", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Stop a training that runs; it keeps a checkpoint."""
        self._stopping.set()

    def close(self) -> None:
        """Stop, and wait until it has stopped."""
        self.stop()
        if self._thread is not None:
            self._thread.join(timeout=PATIENCE + 10.0)

    # --- in the thread -----------------------------------------------------------------------------------------------

    def _run(self, project: str, preset: str, resume: bool) -> None:
        began = time.time()
        folder = models_folder(self._places[project]) / MODEL / "training"
        follow = _Follower(folder, self._trainer.steps(preset), 0.0 if resume else began)

        def say(state: str, text: str, remedy: str | None = None) -> None:
            self.last = messages.Training(
                project, state, preset, list(self._trainer.presets), text, remedy, time.time() - began, follow.curves()
            )
            self._tell(self.last)

        try:
            say("running", "reading the database")
            told = self._wait(project, preset, resume, lambda: say("running", follow.stage()))
            error = told.get("error")
            if self._stopping.is_set() and (error is not None or not told):
                say("stopped", "stopped; what it learned so far is kept")
            elif error is not None:
                say("failed", str(error.get("message")), error.get("remedy"))
            else:
                say("running", "getting it ready to play")
                plays = self._finished(project)
                what = "it plays now" if plays else f"choose {MODEL} as the controller"
                say("done", f"trained in {_duration(time.time() - began)}: {what}")
        except AmbuloError as refused:
            say("failed", refused.message, refused.remedy)
        except Exception as broken:  # a bug here must not leave the page waiting for ever
            log.exception("the training of %s failed", project)
            say("failed", f"something is broken in ambulo: {type(broken).__name__}: {broken}")

    def _wait(self, project: str, preset: str, resume: bool, say: Callable[[], None]) -> dict[str, Any]:
        """Run the training to its end. Returns what it printed."""
        command = self._trainer.command(self._places[project], preset, resume)
        if shutil.which("nice") is not None:
            command = ["nice", "-n", "10", *command]  # the character goes first
        flags = getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            self._process = process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, creationflags=flags
            )
            asked: float | None = None
            while process.poll() is None:
                if self._stopping.wait(TELL_INTERVAL):
                    if asked is None:
                        asked = time.monotonic()
                        process.terminate()
                    elif time.monotonic() - asked > PATIENCE:
                        process.kill()
                    time.sleep(0.1)
                say()
            out.seek(0)
            err.seek(0)
            printed, complaint = out.read().decode(errors="replace"), err.read().decode(errors="replace")
        try:
            told = json.loads(printed)
        except ValueError:
            if self._stopping.is_set():
                return {}
            last = (complaint.strip().splitlines() or ["no reason was given"])[-1]
            raise StudioError(f"the training ended with code {process.returncode}: {last}") from None
        return told if isinstance(told, dict) else {}

    def _first(self) -> messages.Training:
        missing = self._trainer.missing()
        presets = list(self._trainer.presets)
        if missing is not None:
            text, remedy = f"training needs the package {missing}", install_remedy("learn")
            return messages.Training("", "impossible", presets[0], presets, text, remedy, 0.0, [])
        if not self._places:
            return messages.Training(
                "",
                "impossible",
                presets[0],
                presets,
                "this studio changes nothing",
                "start it without --frozen",
                0.0,
                [],
            )
        return messages.Training("", "none", presets[0], presets, "", None, 0.0, [])


class _Follower:
    """Reads the curves of a training's networks.

    Args:
        folder: of the training.
        steps: of each network.
        since: curves that were last written before are of an older training.
    """

    def __init__(self, folder: Path, steps: dict[str, int], since: float) -> None:
        self._folder = folder
        self._steps = steps
        self._since = since

    def curves(self) -> list[messages.NetworkCurve]:
        """What there is to tell of each network."""
        return [self._curve(name) for name in NETWORKS]

    def stage(self) -> str:
        """What is done now, in words."""
        running = [curve.name for curve in self.curves() if curve.loss and curve.step < curve.steps]
        return f"training the {' and the '.join(running)}" if running else "getting the next network's data ready"

    def _curve(self, name: str) -> messages.NetworkCurve:
        total = self._steps[name]
        rows = self._rows(name)
        if not rows:
            return messages.NetworkCurve(name, 0, total, None, [], [])
        step, seconds = int(rows[-1]["step"]), float(rows[-1]["seconds"])
        stride = -(-len(rows) // CURVE_POINTS)
        return messages.NetworkCurve(
            name=name,
            step=step,
            steps=max(total, step),
            remaining=seconds * (total - step) / step if 0 < step <= total else None,
            loss=[(int(row["step"]), float(row["loss"])) for row in rows[::-1][::stride][::-1]],
            validation=[(int(row["step"]), row["validation"]) for row in rows if row.get("validation")],
        )

    def _rows(self, name: str) -> list[dict[str, Any]]:
        path = self._folder / name / CURVE
        try:
            if path.stat().st_mtime < self._since:
                return []
        except OSError:
            return []
        return read_curve(path.parent)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.1f} minutes"

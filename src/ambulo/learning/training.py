"""The training loop: one for every model.

A :class:`Task` has a model, draws batches and says how wrong the model is on one; :func:`train` does the rest:
schedule, checkpoints, resuming, early stop, the live curve, several processes. What is random in a step comes from the
seed, the step's number and the process's rank alone, so that there is no random state to keep: a training that was
stopped and resumed ends with the same bytes as one that was not.

    report = train(task, TrainConfig(steps=10_000, batch=512), folder)

Several processes, GPUs or machines: ``torchrun --nproc-per-node 2 SCRIPT``; each draws its share of a batch and
gradients are averaged (DistributedDataParallel). A launcher that has made a process group itself is served too.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ambulo.errors import LearningError
from ambulo.learning.checkpoints import (
    CHECKPOINT,
    CheckpointRecord,
    last_checkpoint,
    optimizer_tensors,
    read_checkpoint,
    restore_optimizer,
    write_checkpoint,
)
from ambulo.learning.config import TrainConfig
from ambulo.learning.curve import append_row, cut_curve
from ambulo.learning.devices import choose_device, held_threads, import_torch, keep_memory
from ambulo.learning.interruption import interruptible
from ambulo.learning.optimizers import make_optimizer, take_moments
from ambulo.learning.processes import Processes, in_group, join_processes
from ambulo.learning.progress import TrainProgress

if TYPE_CHECKING:
    import torch

# Settings that do not change what comes out; a resumed training may have others.
_FREE = frozenset({"device", "threads", "log_every", "checkpoint_seconds"})


class Task(Protocol):
    """What is trained.

    Attributes:
        name: one word, for progress and messages.
        model: its parameters are what is learned.
    """

    name: str
    model: torch.nn.Module

    def place(self, device: torch.device) -> None:
        """Bring the data to a device; the model is moved by the loop."""
        ...

    def batch(self, random: np.random.Generator, size: int) -> Any:
        """Draw ``size`` samples on the placed device, with no other randomness than ``random``."""
        ...

    def loss(self, batch: Any, progress: float) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The loss of a batch, to be made small, and its parts for the curve.

        Args:
            batch: of :meth:`batch`.
            progress: part of the run that is done, 0 to 1, for losses that change on the way.
        """
        ...

    def validate(self) -> dict[str, float]:
        """Errors on held-out data, the one that early stop judges first; empty where nothing is held out. Called with
        the model in evaluation mode and gradients off."""
        ...


@dataclass(frozen=True)
class TrainReport:
    """What a training did.

    Attributes:
        steps: optimiser steps, those before a resume included.
        seconds: wall-clock time, likewise.
        cpu_seconds: processor time of this process, likewise.
        loss: of the last step.
        validation: the last one, or that of the best weights where they were taken.
        finished: False where it was stopped on the way; resume it.
        stopped_early: whether validation had stopped improving.
        checkpoint: the last one; None where no folder was given.
    """

    steps: int
    seconds: float
    cpu_seconds: float
    loss: float
    validation: dict[str, float]
    finished: bool
    stopped_early: bool
    checkpoint: Path | None


def train(
    task: Task,
    config: TrainConfig,
    folder: Path | None = None,
    *,
    resume: bool = False,
    identity: str = "",
    moments: Mapping[str, torch.Tensor] | None = None,
    progress: Callable[[TrainProgress], None] | None = None,
    stop: Callable[[int], bool] | None = None,
) -> TrainReport:
    """Train a task's model, in place. It is left on the device, in evaluation mode.

    Args:
        task: what is trained.
        config: how.
        folder: for checkpoints and the curve; nothing is written without one.
        resume: go on from the folder's checkpoint where there is one.
        identity: what besides the settings must be the same for a resume: the data's digest, the network's sizes.
        moments: of the optimiser, to begin with: those of the training that is gone on from, see
            :func:`~ambulo.learning.optimizers.name_moments`.
        progress: called about ten times a second at most.
        stop: asked after each step, with its number; True stops at once, with a checkpoint to resume from.

    Raises:
        LearningError: the loss is no number (the message names the last good checkpoint), or the checkpoint is of
            another training, or damaged.
    """
    torch = import_torch()
    keep_memory()
    device = choose_device(config.device)
    if device == torch.device("cuda") and in_group():  # no certain one was asked for
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    with join_processes(device) as processes, held_threads(config.threads), torch.random.fork_rng():
        run = _Run(task, config, folder, identity, device, processes)
        if moments:
            take_moments(run.optimizer, task.model, moments)
        if resume and folder is not None and (folder / CHECKPOINT).is_file():
            run.restore()
        elif folder is not None and processes.is_first:
            folder.mkdir(parents=True, exist_ok=True)
            cut_curve(folder, -1)
        return run.go(progress, stop)


class _Run:
    """One training: what the loop and the checkpoints share."""

    def __init__(
        self,
        task: Task,
        config: TrainConfig,
        folder: Path | None,
        identity: str,
        device: torch.device,
        processes: Processes,
    ) -> None:
        import torch

        self.task, self.config, self.folder, self.device, self.processes = task, config, folder, device, processes
        self.identity = f"{task.name} {identity}".strip()
        task.model.to(device)
        task.place(device)
        self.optimizer = make_optimizer(task.model, config)
        self.step, self.seconds, self.cpu_seconds, self.loss = 0, 0.0, 0.0, math.nan
        self.best: float | None = None
        self.best_step, self.waited = 0, 0
        self.best_weights: dict[str, torch.Tensor] = {}
        self.validation: dict[str, float] = {}
        self.last: Path | None = None
        self.objective: torch.nn.Module = _objective(task)
        if processes.count > 1:
            ids = [device.index] if device.type == "cuda" else None
            self.objective = torch.nn.parallel.DistributedDataParallel(self.objective, device_ids=ids)

    def go(self, progress: Callable[[TrainProgress], None] | None, stop: Callable[[int], bool] | None) -> TrainReport:
        config, processes = self.config, self.processes
        began, cpu_began = time.perf_counter() - self.seconds, time.process_time() - self.cpu_seconds
        saved, told = time.perf_counter(), 0.0
        size = max(config.batch // processes.count, 1)
        stopped_early = interrupted = False
        self.task.model.train()
        part = self._part()
        with interruptible() as asked_to_stop:
            while part < 1.0 and not stopped_early:
                parts = self._step(size, part)
                self.step += 1
                self.seconds, self.cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
                rate, part = config.rate(part), self._part()
                logged = self.step % config.log_every == 0 or part >= 1.0
                # Reading a number waits for a GPU; on the processor it costs nothing, and no bad step goes unseen.
                if logged or self.device.type == "cpu":
                    self._check(parts)
                validates = part >= 1.0 or (config.validate_every and self.step % config.validate_every == 0)
                if validates:
                    stopped_early = self._validate()
                if processes.is_first:
                    if logged or validates:
                        self._log(parts, rate, bool(validates))
                    if progress is not None and (time.perf_counter() - told > 0.1 or part >= 1.0):
                        told = time.perf_counter()
                        progress(TrainProgress(
                            self.task.name, self.step, part, self.seconds, self.loss, rate, self.validation
                        ))  # fmt: skip
                interrupted = bool(asked_to_stop) or (stop is not None and stop(self.step))
                if processes.count > 1:
                    interrupted = processes.shared([interrupted])[0]
                if interrupted or time.perf_counter() - saved > config.checkpoint_seconds:
                    self.save()
                    saved = time.perf_counter()
                if interrupted:
                    break
        if not interrupted:
            if not self.validation:  # resumed when all was done
                self._validate()
            self.save()
            if config.patience and self.best_weights:
                self.task.model.load_state_dict(self.best_weights)
        self.task.model.eval()
        processes.wait()
        if asked_to_stop:
            raise KeyboardInterrupt
        return TrainReport(
            self.step, self.seconds, self.cpu_seconds, self.loss, dict(self.validation), not interrupted,
            stopped_early, self.last,
        )  # fmt: skip

    def _part(self) -> float:
        """Which part of the run is done: of its steps or of its time, whichever is more."""
        config = self.config
        done = 0.0 if config.steps is None else self.step / config.steps
        if config.minutes is not None:
            timed = self.seconds / (60.0 * config.minutes)
            done = max(done, self.processes.shared([timed])[0])
        return min(done, 1.0)

    def _step(self, size: int, part: float) -> dict[str, Any]:
        import torch

        config = self.config
        for group in self.optimizer.param_groups:
            group["lr"] = config.rate(part)
        seeds = np.random.SeedSequence([config.seed, self.step, self.processes.rank])
        torch.manual_seed(int(seeds.generate_state(1, np.uint32)[0]))
        batch = self.task.batch(np.random.Generator(np.random.PCG64(seeds)), size)
        half = config.precision == "bfloat16"
        with torch.autocast(self.device.type, torch.bfloat16) if half else nullcontext():
            loss, parts = self.objective(batch, part)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if config.clip_norm:
            torch.nn.utils.clip_grad_norm_(self.task.model.parameters(), config.clip_norm)
        self.optimizer.step()
        return {"loss": loss.detach(), **{name: value.detach() for name, value in parts.items()}}

    def _check(self, parts: dict[str, Any]) -> None:
        self.loss = float(parts["loss"])
        if math.isfinite(self.loss):
            return
        wrong = [name for name, value in parts.items() if name != "loss" and not math.isfinite(float(value))]
        last = self.last if self.processes.is_first or self.folder is None else last_checkpoint(self.folder)
        kept = f"the last good checkpoint is {last}" if last else "no checkpoint was written before it"
        raise LearningError(
            f"the loss of {self.task.name!r} is {self.loss} in step {self.step}"
            f"{' because of ' + ', '.join(wrong) if wrong else ''}; {kept}",
            path=last,
            key="loss",
            remedy="resume from it with a lower learning rate, or look for bad frames in the data",
        )

    def _validate(self) -> bool:
        """Validate; returns whether there was no improvement for too long."""
        import torch

        self.task.model.eval()
        with torch.no_grad():
            self.validation = {name: float(value) for name, value in self.task.validate().items()}
        self.task.model.train()
        if not self.validation:
            return False
        error = self.processes.shared([next(iter(self.validation.values()))])[0]
        if self.best is None or error < self.best:
            self.best, self.best_step, self.waited = error, self.step, 0
            if self.config.patience:
                self.best_weights = {key: value.clone() for key, value in self.task.model.state_dict().items()}
        else:
            self.waited += 1
        return bool(self.config.patience) and self.waited >= self.config.patience

    def _log(self, parts: dict[str, Any], rate: float, validated: bool) -> None:
        if self.folder is None:
            return
        row = {
            "model": self.task.name,
            "step": self.step,
            "seconds": round(self.seconds, 3),
            "cpu_seconds": round(self.cpu_seconds, 3),
            "learning_rate": rate,
            "loss": float(parts["loss"]),
            "parts": {name: float(value) for name, value in parts.items() if name != "loss"},
        }
        append_row(self.folder, row | ({"validation": self.validation} if validated else {}))

    def save(self) -> None:
        """Write a checkpoint, unless a weight is no number: the last good one then stays."""
        import torch

        if self.folder is None or not self.processes.is_first:
            return
        weights = self.task.model.state_dict()
        if not all(bool(torch.isfinite(value).all()) for value in weights.values() if value.is_floating_point()):
            raise LearningError(
                f"a weight of {self.task.name!r} is no finite number after step {self.step}; "
                f"the last good checkpoint is {self.last or 'none'}",
                path=self.last,
                key="loss",
                remedy="resume from it with a lower learning rate",
            )
        tensors, rest = optimizer_tensors(self.optimizer)
        tensors |= {f"model.{name}": value for name, value in weights.items()}
        tensors |= {f"best.{name}": value for name, value in self.best_weights.items()}
        record = CheckpointRecord(
            self.identity, self.step, self.seconds, self.cpu_seconds, self.loss, asdict(self.config), self.best,
            self.best_step, self.waited, rest, "", "", str(torch.__version__),
        )  # fmt: skip
        self.last = self.folder / write_checkpoint(self.folder, record, tensors).file

    def restore(self) -> None:
        """Go on from the folder's checkpoint."""
        assert self.folder is not None
        record, tensors = read_checkpoint(self.folder)
        path = self.folder / CHECKPOINT
        remedy = "train with the settings of the checkpoint, or anew without resuming"
        if record.task != self.identity:
            raise LearningError(
                f"the checkpoint is of {record.task!r}, this is {self.identity!r}", path=path, key="task", remedy=remedy
            )
        for name, value in asdict(self.config).items():
            old = record.config.get(name, value)  # an older version's checkpoint lacks settings that it had not
            old = tuple(old) if isinstance(old, list) else old
            if name not in _FREE and old != value:
                raise LearningError(
                    f"the checkpoint was trained with {name} {old!r}, not {value!r}",
                    path=path,
                    key=name,
                    remedy=remedy,
                )
        own = self.task.model.state_dict()
        weights = {name.removeprefix("model."): value for name, value in tensors.items() if name.startswith("model.")}
        if {name: value.shape for name, value in own.items()} != {name: w.shape for name, w in weights.items()}:
            raise LearningError("the checkpoint has other layers than the model", path=path, remedy=remedy)
        self.task.model.load_state_dict(weights)
        restore_optimizer(self.optimizer, tensors, record.optimizer)
        self.best_weights = {
            name.removeprefix("best."): value.to(self.device)
            for name, value in tensors.items()
            if name.startswith("best.")
        }
        self.step, self.seconds, self.cpu_seconds = record.step, record.seconds, record.cpu_seconds
        self.loss, self.best, self.best_step, self.waited = record.loss, record.best, record.best_step, record.waited
        self.last = self.folder / record.file
        if self.processes.is_first:
            cut_curve(self.folder, record.step)
        self.processes.wait()


def _objective(task: Task) -> torch.nn.Module:
    """The loss as a module: data parallelism averages the gradients of what goes through its ``forward``."""
    import torch

    class Objective(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = task.model

        def forward(self, batch: Any, progress: float) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
            return task.loss(batch, progress)

    return Objective()

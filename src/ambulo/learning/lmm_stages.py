"""The three trainings of learned motion matching in their order, two of them in processes of their own if wanted."""

from __future__ import annotations

import multiprocessing
import queue
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ambulo.errors import AmbuloError, LearningError
from ambulo.learning.checkpoints import read_checkpoint
from ambulo.learning.lmm_data import LmmData, open_data
from ambulo.learning.lmm_decompressor import Autoencoder, DecompressorTask
from ambulo.learning.lmm_finetuning import MOMENTS
from ambulo.learning.lmm_presets import LmmPreset
from ambulo.learning.lmm_projector import ProjectorTask
from ambulo.learning.lmm_queries import Queries, QueryMix, draw_queries, record_queries
from ambulo.learning.lmm_stepper import StepperTask
from ambulo.learning.network import Network
from ambulo.learning.optimizers import name_moments
from ambulo.learning.processes import in_group
from ambulo.learning.progress import TrainProgress
from ambulo.learning.training import TrainReport, train
from ambulo.learning.weights import Layers

Float = NDArray[np.float32]
Weights = dict[str, torch.Tensor]

_HELD_OUT_QUERIES = 2048
_RECORDED_QUERIES = 250_000
_LOOKS = 4
"""How often a training looks at each query at least: answering one by exact search costs as much as learning it."""


@dataclass
class Stages:
    """One training of all three networks.

    Attributes:
        data: what they learn from.
        preset: sizes and settings.
        folder: for checkpoints and curves, one folder a network below it.
        identity: of data and seed, for resuming.
        previous: weights and moments to go on from; None begins anew.
        resume: go on from checkpoints.
        progress, stop: see :func:`ambulo.learning.training.train`.
        reports: of the finished trainings.
        seconds, cpu_seconds: of all that is done, by network, and of ``queries``: drawing and answering them.
        latents: float32 ``[F, L]``, once the decompressor is trained.
    """

    data: LmmData
    preset: LmmPreset
    folder: Path
    identity: str
    previous: Weights | None = None
    resume: bool = False
    progress: Callable[[TrainProgress], None] | None = None
    stop: Callable[[int], bool] | None = None
    reports: dict[str, TrainReport] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    cpu_seconds: dict[str, float] = field(default_factory=dict)
    latents: Float = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    models: dict[str, torch.nn.Module] = field(default_factory=dict)

    def run(self, project: Path | None, tags: Sequence[str], seed: int) -> None:
        """Train all. With a project, the stepper is trained in a second process, which opens it by itself.

        Raises:
            LearningError: one of them failed; KeyboardInterrupt: it was stopped.
        """
        self.train_decompressor()
        if project is None or in_group() or self.previous is not None:
            self.train_stepper()
            self.train_projector()
            return
        other = _Beside(self, project, tuple(tags), seed)
        try:
            self.train_projector()
            report, weights = other.result()
        finally:
            other.end()
        self.report("stepper", report)
        task = self._stepper_task()
        task.model.load_state_dict(weights)
        self.models["stepper"] = task.model

    def train_decompressor(self) -> None:
        """Train compressor and decompressor, and compute all latents.

        Where a model goes on, its compressor stays: latents keep their meaning for stepper and projector, and new poses
        are made of the same components.
        """
        model = Autoencoder(self.data.frames, self.preset.decompressor, self.preset.decompressor_training.seed)
        self._go_on(model, "autoencoder")
        if self.previous is not None:
            model.compressor.requires_grad_(False)
        task = DecompressorTask(self.data.frames, model=model)
        self._train("decompressor", task)
        self.latents = task.latents()

    def train_stepper(self) -> None:
        """Train the stepper."""
        self._train("stepper", self._stepper_task())

    def train_projector(self) -> None:
        """Answer queries by exact search, and train the projector."""
        frames = self.data.frames
        seed = self.preset.projector_training.seed
        count = self.preset.projector.queries
        steps = self.preset.projector_training.steps
        if steps is not None:  # a short training has no time for many
            count = min(count, max(steps * self.preset.projector_training.batch // _LOOKS, 1))
        with self._timed("queries"):
            queries = self._queries(count, 2 * seed, min(count // 2, _RECORDED_QUERIES), None)
            held_out = self._queries(_HELD_OUT_QUERIES, 2 * seed + 1, _HELD_OUT_QUERIES, QueryMix(1.0, 0.0, 0.0))
        task = ProjectorTask(
            frames, self.latents, queries, held_out, self.preset.projector, seed=seed, model=self._known("projector")
        )
        self._train("projector", task)

    def networks(self) -> dict[str, Layers]:
        """The three networks that a runtime needs, as arrays."""
        autoencoder = self.models["autoencoder"]
        assert isinstance(autoencoder, Autoencoder)
        found = {"decompressor": autoencoder.decompressor, "stepper": self.models["stepper"]}
        found["projector"] = self.models["projector"]
        return {name: layers_of(network) for name, network in found.items()}  # type: ignore[arg-type]

    def weights(self) -> Weights:
        """All weights, to go on from."""
        return {f"{name}.{key}": v for name, model in self.models.items() for key, v in model.state_dict().items()}

    def moments(self) -> Weights:
        """The optimisers' moments at the end of each training, from its checkpoint, to go on from."""
        found: Weights = {}
        for stage, report in self.reports.items():
            assert report.checkpoint is not None
            _, tensors = read_checkpoint(report.checkpoint.parent)
            model = self.models["autoencoder" if stage == "decompressor" else stage]
            found |= {f"{MOMENTS}.{stage}.{key}": value for key, value in name_moments(model, tensors).items()}
        return found

    def _queries(self, count: int, seed: int, recorded: int, mix: QueryMix | None) -> Queries:
        """Queries with their answers, some of them recorded while motion matching plays this data."""
        data, springs = self.data, self.data.settings.simulation
        asked = record_queries(data.database, data.index, data.settings, data.tags, recorded, seed)
        return draw_queries(
            data.frames, data.index, data.frame_set.mask, count, seed, mix=mix, simulation=springs, recorded=asked
        )

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        began, cpu_began = time.perf_counter(), time.process_time()
        yield
        self.seconds[name] = time.perf_counter() - began
        self.cpu_seconds[name] = time.process_time() - cpu_began

    def report(self, stage: str, report: TrainReport) -> None:
        """Keep what a training did."""
        self.reports[stage] = report
        self.seconds[stage], self.cpu_seconds[stage] = report.seconds, report.cpu_seconds

    def _stepper_task(self) -> StepperTask:
        seed = self.preset.stepper_training.seed
        return StepperTask(self.data.frames, self.latents, self.preset.stepper, seed=seed, model=self._known("stepper"))

    def _train(self, stage: str, task: Any) -> None:
        config = self.preset.trained(stage)
        report = train(
            task, config, self.folder / stage, resume=self.resume, identity=self.identity,
            moments=self._part_of_previous(f"{MOMENTS}.{stage}"), progress=self.progress, stop=self.stop,
        )  # fmt: skip
        self.report(stage, report)
        self.models["autoencoder" if stage == "decompressor" else stage] = task.model
        if not report.finished:
            raise LearningError(
                f"the training of the {stage} was stopped after {report.steps} steps",
                path=report.checkpoint,
                remedy="go on with --resume",
            )

    def _known(self, name: str) -> Network | None:
        """The network of that name to go on from, its widths read from its weights."""
        if self.previous is None:
            return None
        mine = self._part_of_previous(name)
        widths = [mine["layers.0.weight"].shape[1]]
        while f"layers.{len(widths) - 1}.weight" in mine:
            widths.append(mine[f"layers.{len(widths) - 1}.weight"].shape[0])
        sizes = self.preset.stepper if name == "stepper" else self.preset.projector
        network = Network(widths, sizes.activation)
        network.load_state_dict(mine)
        return network

    def _part_of_previous(self, name: str) -> Weights:
        """What there is of that name to go on from, without the name."""
        known = self.previous or {}
        return {key.removeprefix(f"{name}."): value for key, value in known.items() if key.startswith(f"{name}.")}

    def _go_on(self, model: torch.nn.Module, name: str) -> None:
        if self.previous is None:
            return
        mine = self._part_of_previous(name)
        own = model.state_dict()
        if {key: value.shape for key, value in own.items()} != {key: value.shape for key, value in mine.items()}:
            raise LearningError(
                "the model was trained with other sizes, or joints move now that did not",
                key="preset",
                remedy="fine-tune with the preset that it was trained with, or train anew",
            )
        model.load_state_dict(mine)


def layers_of(network: Network) -> Layers:
    """A torch network as arrays."""

    def array(tensor: Any) -> Float:
        return np.ascontiguousarray(tensor.detach().cpu().numpy(), np.float32)

    return Layers(
        tuple(array(layer.weight) for layer in network.layers),
        tuple(array(layer.bias) for layer in network.layers),
        network.activation,
        array(network.input_mean),
        array(network.input_std),
        array(network.output_mean),
        array(network.output_std),
    )


class _Beside:
    """The stepper's training in a process of its own."""

    def __init__(self, stages: Stages, project: Path, tags: tuple[str, ...], seed: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.told: Any = context.Queue()
        self.progress = stages.progress
        self.process = context.Process(
            target=_train_stepper,
            args=(
                project, tags, seed, stages.preset, stages.folder, stages.identity, stages.resume, stages.latents,
                stages.progress is not None, self.told,
            ),
            daemon=True,
        )  # fmt: skip
        self.process.start()
        if stages.progress is not None:
            stages.progress = self._telling(stages.progress)

    def _telling(self, progress: Callable[[TrainProgress], None]) -> Callable[[TrainProgress], None]:
        """Tell of both trainings from this process, whenever its own has something to tell."""
        self.kept: list[Any] = []

        def tell(now: TrainProgress) -> None:
            progress(now)
            while True:
                try:
                    message = self.told.get_nowait()
                except queue.Empty:
                    return
                if isinstance(message, TrainProgress):
                    progress(message)
                else:
                    self.kept.append(message)
                    return

        return tell

    def result(self) -> tuple[TrainReport, Weights]:
        """Wait for the other process."""
        while True:
            kept: list[Any] = getattr(self, "kept", [])
            if kept:
                message = kept.pop(0)
            else:
                try:
                    message = self.told.get(timeout=1.0)
                except queue.Empty:
                    if self.process.is_alive():
                        continue
                    raise LearningError(
                        f"the process that trains the stepper ended with code {self.process.exitcode}",
                        remedy="go on with --resume",
                    ) from None
            if isinstance(message, TrainProgress):
                if self.progress is not None:
                    self.progress(message)
            elif isinstance(message, AmbuloError):
                raise message
            else:
                report, arrays = message
                return report, {name: torch.from_numpy(array) for name, array in arrays.items()}

    def end(self) -> None:
        """End the process if it still runs; it keeps a checkpoint."""
        if self.process.is_alive():
            self.process.terminate()
        self.process.join(30.0)


def _train_stepper(
    project: Path,
    tags: tuple[str, ...],
    seed: int,
    preset: LmmPreset,
    folder: Path,
    identity: str,
    resume: bool,
    latents: Float,
    telling: bool,
    told: Any,
) -> None:
    """What the other process does."""
    try:
        data = open_data(project, tags, seed=seed)
        stages = Stages(data, preset, folder, identity, resume=resume, progress=told.put if telling else None)
        stages.latents = latents
        stages.train_stepper()
        arrays = {name: value.cpu().numpy() for name, value in stages.models["stepper"].state_dict().items()}
        told.put((stages.reports["stepper"], arrays))
    except AmbuloError as error:
        told.put(error)
    except KeyboardInterrupt:
        sys.exit(130)

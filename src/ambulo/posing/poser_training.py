"""Training of the posing model: projects and folders of takes in, a model out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from ambulo.errors import PosingError, nearest_names
from ambulo.learning.config import TrainConfig
from ambulo.learning.devices import import_torch
from ambulo.posing.points import POINT_COUNT
from ambulo.posing.pose_set import PoseFile, PoseSet, gather_poses
from ambulo.posing.poser import Poser, PoserManifest

if TYPE_CHECKING:
    from ambulo.learning.progress import TrainProgress
    from ambulo.posing.poser_task import PoserSettings

TRAINING = "training"
LEAST_POSES = 3 * POINT_COUNT
"""As many as a pose has numbers: fewer leave the Gaussians without most of their directions."""
_HELD_OUT_EVERY = 10


@dataclass(frozen=True)
class PoserPreset:
    """How large the posing model is and how long it is trained.

    Attributes:
        steps: optimiser steps.
        width: units of each hidden layer.
        batch: poses a step.
    """

    steps: int
    width: int
    batch: int = 512

    def config(self, *, seed: int, device: str) -> TrainConfig:
        """The training's numbers."""
        return TrainConfig(
            steps=self.steps, batch=self.batch, learning_rate=1e-3, weight_decay=0.02, clip_norm=1.0, seed=seed,
            device=device, validate_every=max(self.steps // 10, 1),
        )  # fmt: skip


PRESETS: Mapping[str, PoserPreset] = MappingProxyType(
    {"quick": PoserPreset(1_500, 256, 256), "base": PoserPreset(12_000, 512), "long": PoserPreset(40_000, 512)}
)
"""A processor minute, ten of them, or thirty."""


class PoserReport(msgspec.Struct, frozen=True):
    """What a training made.

    Attributes:
        name: of the model.
        folder: where it lies.
        poses: that it learned from.
        takes: that these are from.
        held_out: takes that it did not learn from, and that the errors are of.
        skipped: file -> why it gave no poses.
        errors: mean distance of the points that are not set, in cm, by which were.
        gaussian_errors: the same for the Gaussians without the network.
        steps: of the training.
        seconds: by the clock.
        cpu_seconds: of the processor.
        megabytes: of the stored model.
    """

    name: str
    folder: str
    poses: int
    takes: int
    held_out: tuple[str, ...]
    skipped: dict[str, str]
    errors: dict[str, float]
    gaussian_errors: dict[str, float]
    steps: int
    seconds: float
    cpu_seconds: float
    megabytes: float


def find_files(sources: Sequence[str | Path]) -> list[PoseFile]:
    """The take files of projects (by their ``ambulo.toml``), folders, and single files.

    Raises:
        PosingError: there is no such file or folder, or no take in it.
        ProjectError: a project that cannot be read.
    """
    from ambulo.database.project import PROJECT_FILE, load_project
    from ambulo.database.takes import find_takes
    from ambulo.formats.registry import motion_files

    files: list[PoseFile] = []
    for source in map(Path, sources):
        if (source / PROJECT_FILE).is_file() or source.name == PROJECT_FILE:
            project = load_project(source)
            for take in find_takes(project):
                spec = project.sources[take.source]
                files.append(PoseFile(take.path, spec.unit, spec.up, spec.rate, spec.licence))
        elif source.is_dir():
            files += [PoseFile(path) for path in motion_files(source, recursive=True)]
        elif source.is_file():
            files.append(PoseFile(source))
        else:
            raise PosingError("there is no such file or folder", path=source)
    if not files:
        raise PosingError("there is no take to learn from", path=sources[0] if sources else None)
    return files


def split_takes(names: Sequence[str], hold_out: Sequence[str] = ()) -> NDArray[np.bool_]:
    """Which takes to learn from, bool by take: not those whose name fits a pattern, or without patterns not every
    tenth one.

    Raises:
        PosingError: a pattern fits no take, or all takes are held out.
    """
    learned = np.ones(len(names), bool)
    for pattern in hold_out:
        fits = np.array([fnmatch(name.lower(), pattern.lower()) for name in names], bool)
        if not fits.any():
            raise PosingError(f"no take is called {pattern!r}; {nearest_names(pattern, names)}", key="hold_out")
        learned &= ~fits
    if not hold_out and len(names) >= 3:
        step = min(_HELD_OUT_EVERY, len(names))
        learned[np.argsort(names)[step - 1 :: step]] = False
    if not learned.any():
        raise PosingError("no take is left to learn from", key="hold_out", remedy="hold out fewer takes")
    return learned


def train_poser(
    sources: Sequence[str | Path],
    out: str | Path,
    *,
    name: str = "poser",
    preset: str | PoserPreset = "base",
    settings: PoserSettings | None = None,
    hold_out: Sequence[str] = (),
    rate: float = 15.0,
    seed: int = 0,
    precision: str = "float16",
    device: str = "auto",
    resume: bool = False,
    data: str = "",
    progress: Callable[[TrainProgress], None] | None = None,
    tell: Callable[[int, int], None] | None = None,
) -> PoserReport:
    """Train a posing model.

    Args:
        sources: projects, folders of takes, files.
        out: folder of the model; checkpoints and the curve lie below, in ``training``, and need not be shipped.
        name: of the model.
        preset: a name of :data:`PRESETS`, or one of your own.
        settings: of the task; the width is the preset's.
        hold_out: patterns of names of takes to measure on; every tenth take if left out.
        rate: poses a second to take.
        seed: of everything random.
        precision: of the stored weights: ``float32`` or ``float16``.
        device: see :class:`~ambulo.learning.config.TrainConfig`.
        resume: go on where a training was interrupted.
        data: what is learned from, in words, for the manifest.
        progress: called while the network is trained.
        tell: called while takes are read, with how many are done and all.

    Raises:
        PosingError: nothing to learn from, or too little, or an unknown preset.
        LearningError: the loss is no number, or a checkpoint does not fit.
    """
    chosen = _find_preset(preset) if isinstance(preset, str) else preset
    import_torch()
    files = find_files(sources)
    poses = gather_poses(files, rate=rate, tell=tell)
    learned = split_takes(poses.names, hold_out)
    count = len(poses.of_takes(learned))
    if count < LEAST_POSES:
        raise PosingError(
            f"{count} poses are too few to learn from; {LEAST_POSES} are the least, thousands are good",
            path=sources[0],
            remedy="give more takes, or hold out fewer",
        )
    licences = tuple(sorted({file.licence for file in files if file.licence}))
    report, _ = train_on(
        poses.of_takes(learned), None if learned.all() else poses.of_takes(~learned), Path(out), name=name,
        preset=chosen, settings=settings, seed=seed, precision=precision, device=device, resume=resume,
        manifest=PoserManifest(data=data or ", ".join(str(Path(s).name) for s in sources), licences=licences),
        progress=progress,
    )  # fmt: skip
    held_out = tuple(name for name, keep in zip(poses.names, learned, strict=True) if not keep)
    return msgspec.structs.replace(report, takes=int(learned.sum()), held_out=held_out, skipped=poses.skipped)


def train_on(
    training: PoseSet,
    held_out: PoseSet | None,
    out: Path,
    *,
    name: str = "poser",
    preset: PoserPreset,
    settings: PoserSettings | None = None,
    seed: int = 0,
    precision: str = "float16",
    device: str = "auto",
    resume: bool = False,
    manifest: PoserManifest | None = None,
    progress: Callable[[TrainProgress], None] | None = None,
) -> tuple[PoserReport, Poser]:
    """The same on poses that were gathered already; see :func:`train_poser`. Returns the model as well."""
    from ambulo.learning.training import train
    from ambulo.posing.poser_task import PoserSettings, PoserTask

    task = PoserTask(training, held_out, replace(settings or PoserSettings(), width=preset.width), seed=seed)
    gaussian_errors = task.errors_of(replace(task.completion(), network=None, passes=1))
    digest = hashlib.sha256(training.points.tobytes()).hexdigest()[:16]
    done = train(
        task, preset.config(seed=seed, device=device), out / TRAINING, resume=resume,
        identity=f"{digest} {task.settings}", progress=progress,
    )  # fmt: skip
    record = msgspec.structs.replace(
        manifest or PoserManifest(),
        name=name,
        poses=len(training),
        takes=len(np.unique(training.takes)),
        errors={key: round(value, 3) for key, value in done.validation.items()},
        seconds=round(done.seconds, 1),
        cpu_seconds=round(done.cpu_seconds, 1),
        seed=seed,
    )
    poser = Poser(task.completion(), record).save(out, precision)
    size = sum(path.stat().st_size for path in out.iterdir() if path.is_file())
    report = PoserReport(
        name, str(out), len(training), record.takes, (), {}, done.validation, gaussian_errors, done.steps,
        done.seconds, done.cpu_seconds, size / 1e6,
    )  # fmt: skip
    return report, poser


def _find_preset(name: str) -> PoserPreset:
    if name not in PRESETS:
        raise PosingError(f"no preset {name!r}; {nearest_names(name, PRESETS)}", key="preset")
    return PRESETS[name]

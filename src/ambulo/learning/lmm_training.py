"""Training of learned motion matching: a built database in, a model out.

The decompressor (with its compressor) comes first; its latents are what stepper and projector learn from, which can
then be trained beside each other, one process each. With ``finetune`` a trained model goes on with clips that were
added, of which a batch has many at first and their own share in the end; the rest is replayed (S0.59).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from ambulo import __version__
from ambulo.database.manifest import SkeletonRecord
from ambulo.errors import LearningError
from ambulo.learning.devices import choose_device, import_torch
from ambulo.learning.lmm_data import LmmData, open_data, refuse_stale, with_fresh
from ambulo.learning.lmm_finetuning import MOMENTS, finetuned
from ambulo.learning.lmm_model import (
    TRAINING,
    ClipRecord,
    LmmManifest,
    LmmModel,
    NetworkRecord,
    load_model,
    save_model,
)
from ambulo.learning.lmm_presets import LmmPreset, find_preset
from ambulo.learning.processes import join_processes
from ambulo.learning.progress import TrainProgress

if TYPE_CHECKING:
    import torch

    from ambulo.learning.lmm_stages import Stages

Progress = Callable[[TrainProgress], None]

MODELS = "models"
WEIGHTS = "weights.safetensors"


class LmmReport(msgspec.Struct, frozen=True):
    """What a training made.

    Attributes:
        name: of the model.
        folder: where it lies.
        preset: that it was trained with.
        finetuned: whether it went on from a trained model.
        frames: that it was trained on.
        minutes: of motion.
        errors: on held-out data, by network and measure.
        steps: by network.
        seconds: wall-clock time by network, and of ``data`` (opening it) and ``queries`` (asking and answering them).
        cpu_seconds: processor time, likewise.
        megabytes: of the stored weights.
    """

    name: str
    folder: str
    preset: str
    finetuned: bool
    frames: int
    minutes: float
    errors: dict[str, dict[str, float]]
    steps: dict[str, int]
    seconds: dict[str, float]
    cpu_seconds: dict[str, float]
    megabytes: float


def model_folder(project: Path, name: str = "lmm") -> Path:
    """Where a project's model of that name lies."""
    folder = project if project.is_dir() else project.parent
    return folder / MODELS / name


def train_lmm(
    project: str | Path,
    *,
    preset: str | LmmPreset = "base",
    name: str = "lmm",
    tags: Sequence[str] = (),
    resume: bool = False,
    finetune: bool = False,
    precision: str = "float16",
    device: str = "auto",
    seed: int = 0,
    jobs: int = 1,
    up_to_date: bool = False,
    progress: Progress | None = None,
    stop: Callable[[int], bool] | None = None,
) -> LmmReport:
    """Train a model on a built project, into ``PROJECT/models/NAME``.

    Args:
        project: its folder or file.
        preset: a name of :data:`ambulo.learning.lmm_presets.PRESETS`, or one of your own.
        name: of the model.
        tags: that all frames shall carry; the project's default tags where empty.
        resume: go on where a training was interrupted.
        finetune: go on from the trained model, with the clips that were added since.
        precision: of the stored weights: ``float32``, ``float16`` or ``int8``.
        device: see :class:`~ambulo.learning.config.TrainConfig`.
        seed: of everything random.
        jobs: 2 trains stepper and projector beside each other, each in a process of its own.
        up_to_date: the database was compared with its project already; the takes need not be here then.
        progress: called while networks are trained.
        stop: asked after each step of the network in this process; True interrupts.

    Raises:
        LearningError: the data is refused (stale, too small, no contacts, another schema), the loss is no number, or a
            checkpoint does not fit.
    """
    import_torch()
    began = time.perf_counter(), time.process_time()
    project = Path(project)
    chosen = find_preset(preset) if isinstance(preset, str) else preset
    label = preset if isinstance(preset, str) else "own"
    folder = model_folder(project, name)
    if not finetune:
        data = open_data(project, tags, seed=seed, up_to_date=up_to_date)
        return _train(
            data, folder, chosen, label, name, tags, None, resume=resume, precision=precision, device=device,
            seed=seed, project=project if jobs > 1 else None, began=began, progress=progress, stop=stop,
        )  # fmt: skip
    if not up_to_date:
        refuse_stale(project)
    begun = load_model(folder)
    tags = tags or begun.manifest.tags
    data = open_data(project, tags, seed=seed, begun=begun.manifest, up_to_date=True)
    data = keep_features(data, begun)
    data = with_fresh(data, {clip.name: clip.frames for clip in begun.manifest.clips})
    chosen = with_activations(chosen, begun.manifest)
    previous = load_weights(folder / TRAINING / WEIGHTS)
    chosen = finetuned(chosen, any(key.startswith(f"{MOMENTS}.") for key in previous))
    return _train(
        data, folder, chosen, label, name, tags, previous, resume=resume, precision=precision, device=device,
        seed=seed, project=None, began=began, progress=progress, stop=stop,
    )  # fmt: skip


def with_activations(preset: LmmPreset, begun: LmmManifest) -> LmmPreset:
    """The preset with the activations of a trained model's networks: a preset may have had others then."""
    names = {name: record.activation for name, record in begun.networks.items()}
    return replace(
        preset,
        decompressor=replace(preset.decompressor, activation=names["decompressor"]),
        stepper=replace(preset.stepper, activation=names["stepper"]),
        projector=replace(preset.projector, activation=names["projector"]),
    )


def keep_features(data: LmmData, begun: LmmModel) -> LmmData:
    """The data with features scaled as a trained model knows them: a database that grew has other means and scales.

    Scales are the same within a group of features, so the search compares as the model does if its weights are changed
    by their ratio.
    """
    features = data.index.feature_set
    firsts = [group.start for group in features.schema.groups]
    weights = (begun.feature_coefficients.astype(np.float64) * features.scale)[firsts].astype(np.float32)
    rows = (features.raw[data.frames.frames] - begun.feature_mean) * begun.feature_coefficients
    frames = replace(
        data.frames,
        features=np.ascontiguousarray(rows, np.float32),
        weights=weights,
        mean=begun.feature_mean,
        coefficients=begun.feature_coefficients,
    )
    return replace(data, frames=frames)


def _train(
    data: LmmData,
    folder: Path,
    preset: LmmPreset,
    label: str,
    name: str,
    tags: Sequence[str],
    previous: dict[str, torch.Tensor] | None,
    *,
    resume: bool,
    precision: str,
    device: str,
    seed: int,
    project: Path | None,
    began: tuple[float, float],
    progress: Progress | None,
    stop: Callable[[int], bool] | None,
) -> LmmReport:
    from ambulo.learning.lmm_stages import Stages

    preset = preset.changed(device=device, seed=seed)
    training = folder / TRAINING
    stages = Stages(
        data,
        preset,
        training / "finetune" if previous is not None else training,
        identity=f"{data.database.digest} {sorted(tags)} {seed}",
        previous=previous,
        resume=resume,
        progress=progress,
        stop=stop,
    )
    stages.seconds["data"] = time.perf_counter() - began[0]
    stages.cpu_seconds["data"] = time.process_time() - began[1]
    with join_processes(choose_device(device)) as processes:
        stages.run(project, tuple(tags), seed)
        model = _make_model(data, stages, name, tags, label, time.perf_counter() - began[0])
        if processes.is_first:
            save_weights(training / WEIGHTS, stages.weights() | stages.moments())
            save_model(model, folder, precision)
        # What was written is read again, by the process that wrote it: others may lie on machines without that file.
        megabytes = processes.shared([load_model(folder).megabytes if processes.is_first else 0.0])[0]
    reports = stages.reports
    return LmmReport(
        name=name,
        folder=str(folder),
        preset=label,
        finetuned=previous is not None,
        frames=len(data.frames.frames),
        minutes=len(data.frames.frames) / data.frames.rate / 60.0,
        errors=model.manifest.errors,
        steps={stage: report.steps for stage, report in reports.items()},
        seconds=dict(stages.seconds),
        cpu_seconds=dict(stages.cpu_seconds),
        megabytes=megabytes,
    )


def _make_model(data: LmmData, stages: Stages, name: str, tags: Sequence[str], label: str, seconds: float) -> LmmModel:
    database, frames, latents = data.database, data.frames, stages.latents
    networks, reports = stages.networks(), stages.reports
    values = np.concatenate([frames.features, latents], axis=1)
    # A little room beyond what was seen: the stepper overshoots where a limb turns round.
    room = 0.05 * (values.max(axis=0) - values.min(axis=0)) + 1e-3
    manifest = LmmManifest(
        name=name,
        database=database.name,
        database_digest=database.digest,
        rate=database.rate,
        skeleton=SkeletonRecord.of(database.skeleton),
        schema=data.index.feature_set.schema.to_dict(),
        weights=[float(weight) for weight in frames.weights],
        tags=list(tags),
        latent_count=latents.shape[1],
        moving=[int(joint) for joint in frames.layout.moving],
        networks={n: NetworkRecord(list(layers.sizes), layers.activation) for n, layers in networks.items()},
        precision="float32",
        clips=[ClipRecord(c.name, c.stop - c.start, c.licence, c.attribution) for c in database.clips],
        preset=label,
        errors={stage: {k: float(v) for k, v in report.validation.items()} for stage, report in reports.items()},
        seconds=seconds,
        cpu_seconds=sum(stages.cpu_seconds.values()),
        files={},
        ambulo=__version__,
    )
    return LmmModel(
        manifest=manifest,
        skeleton=database.skeleton,
        schema=data.index.feature_set.schema,
        layout=frames.layout,
        decompressor=networks["decompressor"],
        stepper=networks["stepper"],
        projector=networks["projector"],
        feature_mean=frames.mean,
        feature_coefficients=frames.coefficients,
        start=values[_stillest(data)],
        lowest=values.min(axis=0) - room,
        highest=values.max(axis=0) + room,
    )


def _stillest(data: LmmData) -> int:
    """The row in which a body stands most quietly and goes nowhere in the next second."""
    schema = data.index.feature_set.schema
    raw = np.asarray(data.index.feature_set.raw[data.frames.frames], np.float64)
    motion = np.zeros(len(raw))
    for group in schema.groups:
        if group.kind == "trajectory_direction":
            motion += np.square(1.0 - raw[:, group.start + 1 : group.stop : 2]).sum(axis=1)
        elif group.kind != "position":
            motion += np.square(raw[:, group.start : group.stop]).sum(axis=1)
    return int(np.argmin(motion))


def save_weights(path: Path, weights: dict[str, torch.Tensor]) -> None:
    """Write the float32 weights and moments that a later training goes on from, whole."""
    from safetensors.torch import save

    from ambulo.formats.paths import write_whole

    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, save({key: value.detach().cpu().contiguous() for key, value in weights.items()}))


def load_weights(path: Path) -> dict[str, Any]:
    """Inverse of :func:`save_weights`.

    Raises:
        LearningError: they are missing or damaged.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return dict(load(path.read_bytes()))
    except (OSError, SafetensorError) as error:
        raise LearningError(
            f"the weights that a training goes on from cannot be read: {error}",
            path=path,
            remedy="train anew with `ambulo train lmm PROJECT`",
        ) from None

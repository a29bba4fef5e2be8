"""``ambulo train``: train a model on a project, or on takes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro


@dataclass(frozen=True)
class Arguments:
    """Train a model, into the folder `models` of the project. Stopped by Ctrl+C, it goes on with --resume.

    Models: lmm (learned motion matching: motion matching without the database at run time), on a built project; it is
    then a controller of that name, for `ambulo simulate --controller lmm` and the studio. poser (full poses from any
    few points, for `ambulo pose --model`), on projects or folders of takes; nothing need be built."""

    model: str
    """What to train: lmm or poser."""
    project: Path
    """Folder of a project; for poser also a folder of takes."""
    more: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """More projects or folders of takes, for poser."""
    preset: str = "base"
    """How long and how large. lmm: quick (a minute or two), base, or paper (the published recipe: a day). poser: quick,
    base or long (one, ten or thirty processor minutes)."""
    out: Path | None = None
    """Folder of the model, for poser; PROJECT/models/NAME if left out."""
    hold_out: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="PATTERN")] = ()
    """Takes to measure errors on and not to learn from, such as '*punch*', for poser; every tenth if left out."""
    name: str | None = None
    """Name of the trained model; the kind's own if left out."""
    tags: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="TAG[,TAG]")] = ()
    """Tags of the frames to learn from, with commas between them; those that the project shows by default if left
    out."""
    resume: bool = False
    """Go on where a training was interrupted."""
    finetune: bool = False
    """Go on from the trained model with clips that were added since: a tenth of the time."""
    precision: str = "float16"
    """How weights are stored: float32, float16 or int8."""
    device: str = "auto"
    """Where to train: auto (CUDA where there is one), cpu, cuda."""
    seed: int = 0
    """Seed of everything random."""
    jobs: int = 2
    """Processes: with 2, stepper and projector are trained beside each other."""
    engine: str = "local"
    """Who trains lmm: local, ray (workers of a Ray cluster of this machine), or ray://HOST:PORT."""
    workers: int | None = None
    """Workers of the engine ray, each with a share of every batch; 2 if left out."""
    json: bool = False
    """Print one JSON object."""


def _tell(text: str) -> None:
    """Say something on stderr; of several processes the first speaks."""
    from ambulo.learning.processes import speaks

    if speaks():
        print(text, file=sys.stderr)


def _model_name(arguments: Arguments) -> str:
    """The name of the model: the kind's own where none is given."""
    return arguments.model if arguments.name is None else arguments.name


def _model_folder(arguments: Arguments) -> Path:
    """Where the model will lie."""
    from ambulo.learning.create import models_folder

    if arguments.model == "poser" and arguments.out is not None:
        return arguments.out
    return models_folder(arguments.project) / _model_name(arguments)


def _lmm(arguments: Arguments, tags: tuple[str, ...], progress: Any) -> Any:
    from ambulo.database.engines.engine import cluster_address
    from ambulo.learning.devices import import_torch
    from ambulo.learning.lmm_presets import find_preset
    from ambulo.learning.lmm_requests import look_at_request

    import_torch()
    find_preset(arguments.preset)
    name = _model_name(arguments)
    notes = look_at_request(
        arguments.project, name=name, tags=tags, precision=arguments.precision, seed=arguments.seed,
        resume=arguments.resume, finetune=arguments.finetune,
    )  # fmt: skip
    for note in notes:
        _tell(f"note: {note}")
    options: dict[str, Any] = {
        "preset": arguments.preset,
        "name": name,
        "tags": tags,
        "resume": arguments.resume,
        "finetune": arguments.finetune,
        "precision": arguments.precision,
        "device": arguments.device,
        "seed": arguments.seed,
        "progress": progress,
    }
    if cluster_address(arguments.engine) is None:
        from ambulo.learning.lmm_training import train_lmm

        return train_lmm(arguments.project, jobs=arguments.jobs, up_to_date=True, **options)
    from ambulo.learning.ray_launcher import train_lmm_on_ray

    workers = 2 if arguments.workers is None else arguments.workers
    return train_lmm_on_ray(arguments.project, engine=arguments.engine, workers=workers, **options)


def _poser(arguments: Arguments, tags: tuple[str, ...], progress: Any) -> Any:
    from ambulo.errors import LearningError
    from ambulo.learning.lmm_requests import refuse_name, refuse_precision
    from ambulo.learning.progress import TrainProgress
    from ambulo.posing.poser_training import train_poser

    for option, given in (("tags", tags), ("finetune", arguments.finetune), ("engine", arguments.engine != "local")):
        if given:
            raise LearningError(f"poser is trained without --{option}", key=option, remedy="leave it out")
    name = _model_name(arguments)
    refuse_name(name, controller=False)
    refuse_precision(arguments.precision)

    def tell(done: int, total: int) -> None:
        progress(TrainProgress("reading takes", done, done / total, 0.0, 0.0, 0.0, {}))

    return train_poser(
        (arguments.project, *arguments.more),
        _model_folder(arguments),
        name=name,
        preset=arguments.preset,
        hold_out=arguments.hold_out,
        seed=arguments.seed,
        precision=arguments.precision,
        device=arguments.device,
        resume=arguments.resume,
        progress=progress,
        tell=tell,
    )


TRAINERS: dict[str, Callable[[Arguments, tuple[str, ...], Any], Any]] = {"lmm": _lmm, "poser": _poser}
"""Kind of model -> what trains it."""


def run(arguments: Arguments) -> Any:
    """Train, and return the report; None in all but the first of several processes, which alone speaks."""
    from ambulo.cli.tag_lists import split_tags
    from ambulo.errors import LearningError, nearest_names
    from ambulo.learning.processes import speaks
    from ambulo.learning.progress import training_bars

    if arguments.model not in TRAINERS:
        raise LearningError(
            f"there is no model {arguments.model!r}; {nearest_names(arguments.model, TRAINERS)}", key="model"
        )
    if arguments.seed < 0:
        raise LearningError(
            f"a seed of {arguments.seed} is not possible", key="seed", remedy="give a whole number from 0 up"
        )
    if arguments.workers is not None and arguments.engine == "local":
        raise LearningError(
            "workers are of the engine ray",
            key="workers",
            remedy="add --engine ray, or start several processes with torchrun --nproc-per-node N -m ambulo train ...",
        )
    tags = split_tags(arguments.tags)
    began = time.time()
    try:
        with training_bars() as progress:
            report = TRAINERS[arguments.model](arguments, tags, progress)
    except KeyboardInterrupt:
        if _has_checkpoint(_model_folder(arguments), began):
            _tell("what was trained so far is kept: go on with the same command and --resume")
        raise
    return report if speaks() else None


def _has_checkpoint(folder: Path, since: float) -> bool:
    """Whether a checkpoint was written below a folder since a time."""
    from ambulo.learning.checkpoints import CHECKPOINT

    return any(path.stat().st_mtime >= since - 1.0 for path in folder.rglob(CHECKPOINT))


def show(report: Any) -> None:
    """Print the report."""
    if report is None:
        return
    if hasattr(report, "gaussian_errors"):
        return _show_poser(report)
    what = "trained on" if not report.finetuned else "fine-tuned with"
    print(f"{report.name}: {report.folder} {what} {report.frames:,} frames ({report.minutes:.1f} minutes)")
    for stage, errors in report.errors.items():
        measures = ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in errors.items())
        print(
            f"  {stage}: {report.steps[stage]:,} steps, {report.cpu_seconds[stage] / 60:.1f} processor minutes"
            f" ({report.seconds[stage] / 60:.1f} by the clock): {measures}"
        )
    print(f"  {report.megabytes:.2f} MB of weights; try `ambulo simulate --controller {report.name}`")


def _show_poser(report: Any) -> None:
    print(
        f"{report.name}: {report.folder} trained on {report.poses:,} poses of {report.takes} takes:"
        f" {report.steps:,} steps, {report.cpu_seconds / 60:.1f} processor minutes"
        f" ({report.seconds / 60:.1f} by the clock)"
    )
    if report.errors:
        print(f"  on {len(report.held_out)} held-out takes, points that are not set (without the network):")
    for measure, error in report.errors.items():
        what = measure.removesuffix("_cm").replace("_", " ")
        print(f"    {what:<10} {error:6.2f} cm  ({report.gaussian_errors[measure]:.2f} cm)")
    if report.skipped:
        name, why = next(iter(report.skipped.items()))
        print(f"  {len(report.skipped)} files gave no poses, such as {name}: {why}")
    print(f"  {report.megabytes:.2f} MB; try `ambulo pose --model {report.folder}`")

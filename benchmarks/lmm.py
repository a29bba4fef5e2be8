"""Learned motion matching: training time, errors, size and speed, and its motion beside that of motion matching.

    python benchmarks/lmm.py [--quick] [--json] [--preset NAME] [--project FOLDER [--name NAME]] [--beside LABEL=FOLDER]

Twenty minutes of embedded takes are trained on with the preset ``base``; ``--quick`` takes six with the preset
``quick``, unless the larger model is there already. What was trained before by the same code on the same data is used
again, see lmm_models.py. Training time is processor time, all processes together, answering of queries included: it
does not depend on what else the machine does. ``--beside`` adds the table of another built project with a trained
model.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import harness
from harness import Row
from lmm_finetune import CASES, Addition, before_adding, finetune_rows
from lmm_models import built, embedded, is_trained, say, trained

harness.one_thread()

import numpy as np  # noqa: E402

FIRST = ("foot_skate", "contact_slide", "hover", "penetration", "path_error", "response_90", "response_180",
         "pose_jump", "jerk_ratio", "stuck", "transitions_per_second")  # fmt: skip
CROWD = 256
MINUTES, QUICK_MINUTES = 20.0, 6.0


def training_rows(model: Any, frames: int) -> list[Row]:
    errors, manifest = model.manifest.errors, model.manifest
    what = f"preset {manifest.preset}"
    return [
        Row(f"training, {what}: processor minutes", frames, manifest.cpu_seconds / 60.0, "min", 60.0),
        Row(f"training, {what}: minutes by the clock", frames, manifest.seconds / 60.0, "min"),
        Row("held out: mean joint error", frames, errors["decompressor"]["centimetres"], "cm", 1.5),
        Row("held out: mean joint error, in the parent's frame", frames, errors["decompressor"]["degrees"], "deg", 2.5),
        Row("held out: stepper's error after 20 frames, of standing still", frames,
            errors["stepper"]["of_standing_still"], "x"),
        Row(f"weights, {manifest.precision}", 1, model.megabytes, "MB", 10.0),
    ]  # fmt: skip


def asked_queries(data: Any, seconds: float) -> np.ndarray:
    """Normalised queries that motion matching asks while random sticks drive sixteen characters."""
    from ambulo.control.motion_matching import MotionMatching
    from ambulo.control.scripts import random_sticks

    controller = MotionMatching(data.database, data.index, data.settings)
    script = random_sticks(5, seconds, 16)
    state = controller.start(16, seed=3)
    where, ahead = np.zeros((16, 3), np.float32), np.tile(np.array([0, 0, 1], np.float32), (16, 1))
    kept = []
    for step in range(round(seconds * 60)):
        before = state.query
        state, pose = controller.step(state, script.intent(step / 60, where, ahead), 1 / 60)
        changed = (state.query != before).any(axis=1)
        kept.append(state.query[changed])
        where = pose.root_position
    raw = np.concatenate(kept)
    return (raw - data.frames.mean) * data.frames.coefficients


def projector_rows(model: Any, data: Any, seconds: float) -> list[Row]:
    from ambulo.learning.lmm_projector import nearest_rows

    asked = asked_queries(data, seconds).astype(np.float32)
    width = asked.shape[1]
    mask, frames = data.frame_set.mask, data.frames
    found = data.index.search(asked / frames.coefficients + frames.mean, mask=mask, weights=frames.weights)
    best = np.maximum(found.costs.astype(np.float64), 1e-6)
    landed = np.ascontiguousarray(model.projector(asked)[:, :width])
    own = np.square(asked - landed).sum(axis=1) / best
    near = nearest_rows(frames.features, landed)
    snapped = np.square(asked - frames.features[near]).sum(axis=1) / best
    off = np.sqrt(np.square(landed - frames.features[near]).sum(axis=1) / best)
    n = len(asked)
    return [
        Row("projector: cost where it lands over exact search's, median", n, float(np.median(own)), "x", 1.05),
        Row("projector: cost of the frame nearest to where it lands, median", n, float(np.median(snapped)), "x", 1.05),
        Row("projector: the same, 90th percentile", n, float(np.quantile(snapped, 0.9)), "x"),
        Row("projector: how far off the data it lands, of the query's own distance", n, float(np.median(off)), "x"),
    ]


def step_seconds(controller: Any, count: int, steps: int, passes: int) -> np.ndarray:
    """Least seconds of each step over several passes, float64 ``[steps]``."""
    import time

    from ambulo.control.scripts import random_sticks

    script = random_sticks(1, steps / 60 + 1, count)
    still = np.zeros((count, 3), np.float32)
    intents = [script.intent(step / 60, still, still) for step in range(steps)]
    least = np.full(steps, np.inf)
    for _ in range(passes):
        state = controller.start(count)
        for step, intent in enumerate(intents):
            start = time.perf_counter()
            state, _ = controller.step(state, intent, 1 / 60)
            least[step] = min(least[step], time.perf_counter() - start)
    return least


def speed_rows(model: Any, data: Any, models: Path, quick: bool) -> list[Row]:
    from ambulo.learning.create import create_controller
    from ambulo.learning.lmm_controller import LearnedMotionMatching

    steps, passes = (240, 3) if quick else (900, 5)
    stack = create_controller(models.name, data.database, data.index, data.settings, models.parent)
    alone = step_seconds(stack, 1, steps, passes) * 1e6
    bare = step_seconds(LearnedMotionMatching(model, data.settings), 1, steps, passes) * 1e6
    crowd = step_seconds(stack, CROWD, max(steps // 8, 30), passes) * 1e6 / CROWD
    return [
        Row("step of one character, whole stack: median", 1, float(np.median(alone)), "us", 1000.0),
        Row("step of one character, whole stack: 99th percentile", 1, float(np.quantile(alone, 0.99)), "us"),
        Row("step of one character, networks and joints: median", 1, float(np.median(bare)), "us", 200.0),
        Row("step a character in a crowd, whole stack: mean", CROWD, float(np.mean(crowd)), "us"),
    ]


def precision_rows(model: Any, data: Any, folder: Path) -> list[Row]:
    """How far joints are from those of the float32 networks, for each precision of the stored weights."""
    from ambulo.control.kernel_arrays import empty_pose
    from ambulo.control.scripts import random_sticks
    from ambulo.learning.lmm_controller import LearnedMotionMatching
    from ambulo.learning.lmm_model import save_model
    from ambulo.learning.lmm_training import WEIGHTS, load_weights
    from ambulo.learning.weights import unpack_layers

    weights = {k: v.numpy() for k, v in load_weights(folder / "training" / WEIGHTS).items()}
    places = {"decompressor": "autoencoder.decompressor", "stepper": "stepper", "projector": "projector"}
    layers = {
        name: unpack_layers(place, weights, getattr(model, name).sizes, getattr(model, name).activation)
        for name, place in places.items()
    }
    true = replace(model, **layers)
    controller = LearnedMotionMatching(true, data.settings)
    script, still = random_sticks(2, 11.0, 16), np.zeros((16, 3), np.float32)
    state, states = controller.start(16), []
    for step in range(600):
        state, _ = controller.step(state, script.intent(step / 60, still, still), 1 / 60)
        if step % 6 == 0:
            states.append(state.values)
    values = np.concatenate(states)

    def places_of(chosen: Any) -> np.ndarray:
        runner = LearnedMotionMatching(chosen, data.settings)
        count = len(values)
        arrays = empty_pose(count, chosen.skeleton.joint_count)
        runner._kernels.show(
            runner._decompressor(values), runner._blocks, runner._places, chosen.layout.offsets, runner._parents,
            np.zeros((count, 6)), np.zeros((count, 10)), runner._constants, 1 / 60, arrays, np.empty((count, 6)),
            np.empty((count, 2), np.uint8),
        )  # fmt: skip
        return arrays.global_positions - arrays.global_positions[:, :1]

    reference, rows = places_of(true), []
    for precision, bar in (("float32", None), ("float16", 0.1), ("int8", None)):
        with tempfile.TemporaryDirectory() as temporary:
            small = save_model(true, Path(temporary), precision)
        gap = np.linalg.norm(places_of(small) - reference, axis=-1)
        rows.append(
            Row(f"weights as {precision}: size", 1, small.megabytes, "MB", 3.5 if precision != "float32" else None)
        )
        rows.append(Row(f"weights as {precision}: joints moved by", len(values), float(gap.mean()) * 100, "cm", bar))
    return rows


def quality_rows(data: Any, models: Path, quick: bool) -> list[Row]:
    """Every trial under motion matching and under the model."""
    from ambulo.evaluation.trials import TRIALS, Trial, run_trials
    from ambulo.learning.create import create_controller

    trials = [Trial(t.script, min(t.seconds, 12.0), 1, t.options) for t in TRIALS] if quick else list(TRIALS)
    rows = []
    for name in ("motion_matching", models.name):
        say(f"{name}: trials")
        controller = create_controller(name, data.database, data.index, data.settings, models.parent)
        for script, measures in run_trials(controller, data.database, trials=trials, index=data.index).items():
            for measure, value in measures.items():
                if measure in FIRST and value.value is not None and math.isfinite(value.value):
                    better = bool(value.higher_is_better)
                    rows.append(Row(f"{name}, {script}: {measure}", 1, value.value, value.unit, None, better))
                    if value.raw is not None and math.isfinite(value.raw):
                        rows.append(Row(f"{name}, {script}: {measure} (raw)", 1, value.raw, value.unit, None, better))
    return rows


def side_by_side(label: str, quality: list[Row], model: Any, data: Any, models: Path, quick: bool) -> list[Row]:
    """Motion matching and the model on one set: motion (means over scripts that move, since beside the jerk of somebody
    who stands anything is much), megabytes, microseconds, minutes."""
    from ambulo.evaluation.coverage_motion import memory_parts
    from ambulo.learning.create import create_controller

    preset, n = model.manifest.preset, len(data.frames.frames)
    minutes = {"motion_matching": 0.0, models.name: model.manifest.cpu_seconds / 60.0}
    megabytes = {
        "motion_matching": memory_parts(data.database, data.index)[-1].megabytes,
        models.name: model.megabytes,
    }
    rows = []
    for name in minutes:
        for measure in ("foot_skate", "contact_slide", "jerk_ratio", "pose_jump", "path_error", "response_90"):
            mine = [r for r in quality if r.name.startswith(f"{name}, ") and ", idle: " not in r.name]
            found = [r for r in mine if r.name.endswith(f": {measure}")]
            if found:
                mean = float(np.mean([row.value for row in found]))
                rows.append(
                    Row(f"{label}, {name}: {measure}, mean of scripts that move", len(found), mean, found[0].unit)
                )
        controller = create_controller(name, data.database, data.index, data.settings, models.parent)
        alone = float(np.median(step_seconds(controller, 1, 240 if quick else 600, 3))) * 1e6
        rows += [
            Row(f"{label}, {name}: step of one character", 1, alone, "us"),
            Row(f"{label}, {name}: what a game must hold", n, megabytes[name], "MB"),
            Row(f"{label}, {name}: training, processor time, preset {preset}", n, minutes[name], "min"),
        ]
    return rows


def beside_rows(label: str, folder: Path, name: str, quick: bool) -> list[Row]:
    """The same table of another built project with a trained model."""
    model, data, models = opened(folder, name)
    return side_by_side(label, quality_rows(data, models, quick), model, data, models, quick)


def opened(folder: Path, name: str) -> tuple[Any, Any, Path]:
    """Model, data and the model's folder of a project."""
    from ambulo.control.project_settings import project_settings
    from ambulo.database.database import Database
    from ambulo.learning.lmm_data import make_data
    from ambulo.learning.lmm_model import load_model
    from ambulo.learning.lmm_training import model_folder
    from ambulo.matching.build import load_index

    models = model_folder(folder, name)
    model, database = load_model(models), Database.open(folder)
    settings = project_settings(folder, known_tags=database.tags)
    return model, make_data(database, load_index(database)[1], settings, model.manifest.tags), models


def endurance_rows(model: Any, data: Any, steps: int) -> list[Row]:
    """Long runs under sticks that mean no harm and sticks that do."""
    from ambulo.control.intent import Intent
    from ambulo.learning.lmm_controller import LearnedMotionMatching
    from ambulo.learning.lmm_projector import nearest_rows

    controller, rows = LearnedMotionMatching(model, data.settings), []
    values = data.frames.features
    sample = values[:: max(len(values) // 4000, 1)]
    near = nearest_rows(values, sample[1:] * 0.5 + sample[:-1] * 0.5)
    between = float(np.median(np.linalg.norm(values[near] - 0.5 * (sample[1:] + sample[:-1]), axis=1)))
    for kind in ("random sticks", "adversarial sticks"):
        random, state, off, broken, furthest = np.random.default_rng(1), controller.start(8), [], 0, 0.0
        velocity, facing = np.zeros((8, 3), np.float32), np.zeros((8, 3), np.float32)
        for step in range(steps):
            if kind == "random sticks":
                if step % 40 == 0:
                    velocity[:, [0, 2]] = random.normal(size=(8, 2)) * 1.5
            else:
                velocity[:, 0], velocity[:, 2] = 6.0 * np.sin(step * np.arange(8)), 6.0 * np.cos(step * 0.9)
                velocity[::2] *= step // 5 % 2
                facing[:, 0], facing[:, 2] = np.cos(0.7 * step), np.sin(0.7 * step * np.arange(8))
            state, pose = controller.step(state, Intent(velocity.copy(), facing.copy()), 1 / 60)
            body = np.abs(pose.global_positions - pose.root_position[:, None]).max(axis=(1, 2))
            broken += int((~np.isfinite(body)).sum())
            furthest = max(furthest, float(body.max()))
            if step % 50 == 0:
                mine = np.ascontiguousarray(state.values[:, : values.shape[1]])
                off.append(np.linalg.norm(values[nearest_rows(values, mine)] - mine, axis=1))
        n = steps * 8
        late = np.concatenate(off[len(off) // 2 :])
        rows += [
            Row(f"{n} frames of {kind}: frames with a number that is not finite", n, broken, "", 0.0),
            Row(f"{n} frames of {kind}: furthest joint from the root", n, furthest, "m", 2.5),
            Row(f"{n} frames of {kind}: distance to the nearest frame, 99th percentile, second half", n,
                float(np.quantile(late, 0.99)) / between, "x between two frames"),
        ]  # fmt: skip
    return rows


@dataclass(frozen=True)
class Measured:
    """The built project that is measured, the preset of its models, and the same before takes were added to it."""

    folder: Path
    preset: str
    additions: tuple[Addition, ...] = ()


def prepare(args: argparse.Namespace, pairs: list[tuple[str, Path]]) -> Measured:
    """Build and train what is not there yet."""
    from ambulo.learning.lmm_model import load_model
    from ambulo.learning.lmm_training import model_folder

    wanted = [(place, args.preset or "base") for _, place in pairs if not has_model(place, args.name)]
    if args.project is not None:  # whoever names one keeps it up to date
        trained(wanted)
        return Measured(args.project, load_model(model_folder(args.project, args.name)).manifest.preset)
    large = embedded(MINUTES)
    kept = is_trained(large, "base") and (
        args.no_finetune or all(is_trained(large.with_name(name), "base") for name in CASES)
    )
    if args.quick and not (args.preset is None and kept):
        folder, preset = built(embedded(QUICK_MINUTES), QUICK_MINUTES), args.preset or "quick"
    else:
        folder, preset = built(large, MINUTES), args.preset or "base"
    found = Measured(folder, preset)
    if not args.no_finetune:
        found = Measured(folder, preset, tuple(before_adding(folder)))
        wanted = [*((addition.before, preset) for addition in found.additions), *wanted]
    trained([(folder, preset), *wanted])
    return found


def has_model(project: Path, name: str) -> bool:
    """Whether a built project has a model of that name and of its database; raises AmbuloError if it is not built."""
    from ambulo.database.database import Database
    from ambulo.errors import LearningError
    from ambulo.learning.lmm_model import load_model
    from ambulo.learning.lmm_training import model_folder

    digest = Database.open(project).digest
    try:
        return load_model(model_folder(project, name)).manifest.database_digest == digest
    except LearningError:
        return False


def main() -> None:
    from ambulo.errors import AmbuloError

    def extend(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--project", type=Path, help="a built project with a trained model, in place of our own")
        parser.add_argument("--name", default="lmm", help="name of that model, and of those beside")
        parser.add_argument("--preset", help="to train with; base, or quick with --quick, if left out")
        parser.add_argument(
            "--beside",
            action="append",
            default=[],
            metavar="LABEL=FOLDER",
            help="another built project, for the table beside motion matching; trained if it has no model",
        )
        parser.add_argument("--no-finetune", action="store_true", help="leave out adding takes to a trained model")

    args = harness.arguments("Learned motion matching", extend)
    pairs = []
    for beside in args.beside:
        label, _, place = beside.partition("=")
        if not place:
            raise SystemExit(f"--beside wants LABEL=FOLDER, not {beside!r}")
        pairs.append((label, Path(place)))
    try:
        harness.report(all_rows(args, pairs), args)
    except AmbuloError as error:
        raise SystemExit(str(error)) from None


def all_rows(args: argparse.Namespace, pairs: list[tuple[str, Path]]) -> list[Row]:
    """Everything."""
    measured = prepare(args, pairs)
    folder, name = measured.folder, args.name if args.project is not None else "lmm"
    model, data, models = opened(folder, name)
    rows = training_rows(model, len(data.frames.frames))
    say("projector: queries that motion matching asks, and how both answer")
    rows += projector_rows(model, data, 20.0 if args.quick else 120.0)
    say("speed")
    rows += speed_rows(model, data, models, args.quick)
    rows += precision_rows(model, data, models)
    quality = quality_rows(data, models, args.quick)
    label = "embedded" if args.project is None else folder.name
    rows += quality + side_by_side(label, quality, model, data, models, args.quick)
    for label, place in pairs:
        say(f"{label}: {place}")
        rows += beside_rows(label, place, args.name, args.quick)
    say("endurance")
    rows += endurance_rows(model, data, 1250 if args.quick else 10_000)
    for addition in measured.additions:
        rows += finetune_rows(folder, addition, measured.preset)
    return rows


if __name__ == "__main__":
    main()

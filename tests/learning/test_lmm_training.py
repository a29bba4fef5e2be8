"""Training of learned motion matching: it learns, resumes, goes on with new clips, and refuses what it cannot use."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ambulo.cli.main import run
from ambulo.database.database import Database
from ambulo.errors import LearningError
from ambulo.learning.checkpoints import read_checkpoint
from ambulo.learning.curve import read_curve
from ambulo.learning.lmm_data import make_data, refuse_other_schema
from ambulo.learning.lmm_decompressor import DecompressorTask
from ambulo.learning.lmm_finetuning import finetuned
from ambulo.learning.lmm_model import MANIFEST, NETWORKS, load_model, save_model
from ambulo.learning.lmm_presets import PRESETS, find_preset
from ambulo.learning.lmm_queries import QueryMix, draw_queries, record_queries
from ambulo.learning.lmm_stages import Stages
from ambulo.learning.lmm_training import WEIGHTS, load_weights, train_lmm, with_activations


@pytest.fixture
def own_project(project: Path, tmp_path: Path) -> Path:
    """A copy of the project that a test may change."""
    return Path(shutil.copytree(project, tmp_path / "walker", ignore=shutil.ignore_patterns("models")))


def test_it_learns(trained: Any, data: Any, preset: Any) -> None:
    untrained = DecompressorTask(data.frames, preset.decompressor)
    untrained.place(__import__("torch").device("cpu"))
    before = untrained.errors(untrained.held)
    after = trained.errors["decompressor"]
    assert after["centimetres"] < 0.6 * before["centimetres"] and after["degrees"] < before["degrees"]
    assert trained.errors["stepper"]["of_standing_still"] < 1.0
    assert trained.errors["projector"]["cost_ratio"] >= 1.0
    assert trained.frames == len(data.frames.frames) and set(trained.steps.values()) == {60}


def test_all_time_is_counted(trained: Any, model: Any) -> None:
    kinds = {"data", "queries", "decompressor", "stepper", "projector"}
    assert set(trained.seconds) == set(trained.cpu_seconds) == kinds and min(trained.cpu_seconds.values()) > 0.0
    assert model.manifest.cpu_seconds == pytest.approx(sum(trained.cpu_seconds.values()))
    assert model.manifest.seconds >= 0.99 * sum(trained.seconds.values())  # one process, one after the other


def test_a_short_training_asks_few_queries(project: Path, data: Any, preset: Any, tmp_path: Path) -> None:
    asked: list[int] = []

    class Asked(Stages):
        def _queries(self, count: int, *rest: Any) -> Any:
            asked.append(count)
            return super()._queries(min(count, 50), *rest)

    for steps, count in ((60, 60 * 64 // 4), (4000, preset.projector.queries)):
        training = replace(preset.projector_training, steps=steps)
        stages = Asked(data, replace(preset, projector_training=training), tmp_path, "x", stop=lambda step: step >= 2)
        stages.latents = np.zeros((len(data.frames.frames), 12), np.float32)
        with pytest.raises(LearningError, match="projector was stopped"):
            stages.train_projector()
        assert asked.pop(0) == count and asked.pop(0) == 2048


def test_going_on_keeps_the_activations_of_the_model(model: Any) -> None:
    preset = find_preset("base")
    other = replace(preset, decompressor=replace(preset.decompressor, activation="tanh"))
    kept = with_activations(other, model.manifest)
    for name in ("decompressor", "stepper", "projector"):
        assert getattr(kept, name).activation == model.manifest.networks[name].activation


def test_a_model_is_what_was_trained(trained: Any, model: Any, data: Any) -> None:
    manifest = model.manifest
    assert manifest.database_digest == data.database.digest and manifest.preset == "own"
    assert [clip.name for clip in manifest.clips] == [clip.name for clip in data.database.clips]
    assert model.skeleton.names == data.database.skeleton.names
    assert model.decompressor.sizes == (39, 96, data.frames.layout.size)
    assert model.stepper.sizes == (39, 64, 64, 39) and model.projector.sizes == (27, 64, 64, 39)
    assert (model.lowest < model.start).all() and (model.start < model.highest).all()
    assert model.megabytes == pytest.approx(manifest_size(model) * 4 / 1e6)
    for stage in ("decompressor", "stepper", "projector"):
        rows = read_curve(Path(trained.folder) / "training" / stage)
        assert [row["step"] for row in rows] == [20, 40, 60] and "validation" in rows[-1]


def manifest_size(model: Any) -> int:
    return sum(
        a * b + b
        for record in model.manifest.networks.values()
        for a, b in zip(record.sizes[:-1], record.sizes[1:], strict=True)
    )


def test_stopped_and_resumed_is_as_if_never_stopped(project: Path, trained: Any, preset: Any) -> None:
    counts: list[int] = []

    def stop(step: int) -> bool:
        counts.append(step)
        return len(counts) == 90  # in the middle of the second network

    with pytest.raises(LearningError, match=r"stepper was stopped after 30 steps.*--resume"):
        train_lmm(project, preset=preset, name="parts", precision="float32", stop=stop)
    train_lmm(project, preset=preset, name="parts", precision="float32", resume=True)
    whole, parts = Path(trained.folder), Path(trained.folder).parent / "parts"
    assert (whole / NETWORKS).read_bytes() == (parts / NETWORKS).read_bytes()
    assert load_model(parts).manifest.errors == load_model(whole).manifest.errors


def test_two_processes_make_the_same_model(project: Path, trained: Any, preset: Any) -> None:
    seen: set[str] = set()
    train_lmm(
        project, preset=preset, name="beside", precision="float32", jobs=2, progress=lambda now: seen.add(now.name)
    )
    folder = Path(trained.folder)
    assert (folder / NETWORKS).read_bytes() == (folder.parent / "beside" / NETWORKS).read_bytes()
    assert seen == {"decompressor", "stepper", "projector"}


def test_it_goes_on_with_clips_that_were_added(own_project: Path, preset: Any) -> None:
    takes = sorted((own_project / "takes").rglob("*.bvh"))
    added = takes[-1]
    away = own_project.parent / added.name
    shutil.move(added, away)
    assert run(["build", str(own_project), "--jobs", "1", "--json"]) == 0
    train_lmm(own_project, preset=preset)
    with pytest.raises(LearningError, match="knows every clip"):
        train_lmm(own_project, preset=preset, finetune=True)
    shutil.move(away, added)
    with pytest.raises(LearningError, match="1 take was added"):
        train_lmm(own_project, preset=preset, finetune=True)
    assert run(["build", str(own_project), "--jobs", "1", "--json"]) == 0
    before = load_model(own_project / "models" / "lmm")
    shutil.copytree(own_project / "models" / "lmm", own_project / "models" / "parts")
    known = load_weights(own_project / "models" / "lmm" / "training" / WEIGHTS)
    report = train_lmm(own_project, preset=preset, finetune=True)
    after = load_model(own_project / "models" / "lmm")
    goes_on = finetuned(preset, moments=True)
    assert report.finetuned
    assert report.steps == {name: goes_on.trained(name).steps for name in ("decompressor", "stepper", "projector")}
    # Features are compared as before, although the database has other means and scales now.
    assert_array_equal(after.feature_mean, before.feature_mean)
    assert_array_equal(after.feature_coefficients, before.feature_coefficients)
    assert len(after.manifest.clips) > len(before.manifest.clips)
    assert after.manifest.database_digest == Database.open(own_project).digest
    # Latents keep their meaning: the compressor stays as it was, the decompressor does not.
    weights = load_weights(own_project / "models" / "lmm" / "training" / WEIGHTS)
    for key, value in known.items():
        if key.startswith("autoencoder.compressor."):
            assert_array_equal(weights[key], value)
    learned = "autoencoder.decompressor.layers.0.weight"
    assert not np.array_equal(weights[learned], known[learned])
    # Stopped on the way and resumed, it ends with the same bytes.
    with pytest.raises(LearningError, match="stopped after 3 steps"):
        train_lmm(own_project, preset=preset, name="parts", finetune=True, stop=lambda step: step == 3)
    train_lmm(own_project, preset=preset, name="parts", finetune=True, resume=True)
    models = own_project / "models"
    assert (models / "lmm" / NETWORKS).read_bytes() == (models / "parts" / NETWORKS).read_bytes()


def test_going_on_begins_with_the_moments(trained: Any, data: Any, preset: Any, tmp_path: Path) -> None:
    weights = load_weights(Path(trained.folder) / "training" / WEIGHTS)
    kept = {key.removeprefix("moments.stepper."): v for key, v in weights.items() if key.startswith("moments.stepper.")}
    assert {key.rpartition(".")[2] for key in kept} == {"exp_avg", "exp_avg_sq", "step"}
    goes_on = finetuned(preset, moments=True)
    stages = Stages(data, goes_on, tmp_path, "x", previous=weights, stop=lambda step: True)
    stages.latents = np.zeros((len(data.frames.frames), 12), np.float32)
    with pytest.raises(LearningError, match="stepper was stopped after 1 step"):
        stages.train_stepper()
    _, tensors = read_checkpoint(tmp_path / "stepper")
    steps = {float(value) for key, value in tensors.items() if key.endswith(".step")}
    assert steps == {preset.stepper_training.steps + 1.0}
    # A model that was trained before they were kept goes on without.
    bare = {key: value for key, value in weights.items() if not key.startswith("moments.")}
    stages = Stages(data, finetuned(preset, moments=False), tmp_path, "x", previous=bare, stop=lambda step: True)
    stages.latents = np.zeros((len(data.frames.frames), 12), np.float32)
    with pytest.raises(LearningError, match="stepper was stopped after 1 step"):
        stages.train_stepper()
    _, tensors = read_checkpoint(tmp_path / "stepper")
    assert {float(value) for key, value in tensors.items() if key.endswith(".step")} == {1.0}


def test_a_preset_to_go_on_with_takes_a_tenth(preset: Any) -> None:
    for name in PRESETS:
        whole, part = find_preset(name), finetuned(find_preset(name), moments=True)
        windows = part.stepper.window / whole.stepper.window
        for stage in ("decompressor", "stepper", "projector"):
            one, other = whole.trained(stage), part.trained(stage)
            work = other.steps * other.batch / (one.steps * one.batch) * (windows if stage == "stepper" else 1.0)
            assert work < 0.11, (name, stage)
            assert other.rate(0.0) > other.rate(0.5) > other.rate(1.0) > 0.0
    assert finetuned(preset, moments=False).stepper_training.rate(0.0) < finetuned(preset, True).stepper_training.rate(
        0
    )


def test_stale_databases_are_refused(own_project: Path, preset: Any) -> None:
    file = own_project / "ambulo.toml"
    file.write_text(file.read_text().replace("mirror = true", "mirror = false"))
    with pytest.raises(LearningError, match="not up to date: the project file changed: mirror"):
        train_lmm(own_project, preset=preset)
    assert not (own_project / "models").exists()


def test_too_little_motion_is_refused(data: Any) -> None:
    with pytest.raises(LearningError, match=r"seconds of motion.*at least 20") as refusal:
        make_data(data.database, data.index, tags=("strafe_left",))
    assert refusal.value.key == "frames"


def test_motion_without_contacts_is_refused(data: Any) -> None:
    database = Database.open(data.database.folder)
    contacts = np.array(database.contacts)
    contacts[:, 1] = 0
    database.contacts = contacts
    with pytest.raises(LearningError, match="the right foot never touches the ground"):
        make_data(database, data.index)


def test_another_schema_or_skeleton_is_refused(data: Any, model: Any) -> None:
    schema, database, manifest = data.index.feature_set.schema, data.database, model.manifest
    refuse_other_schema(schema, database, manifest)
    groups = [dict(group) for group in manifest.schema["groups"]]
    groups[0]["name"] = "head position"
    other = msgspec.structs.replace(manifest, schema=manifest.schema | {"groups": groups})
    with pytest.raises(LearningError, match="other features: left_foot position"):
        refuse_other_schema(schema, database, other)
    record = msgspec.structs.replace(manifest.skeleton, names=["root", *reversed(manifest.skeleton.names[1:])])
    with pytest.raises(LearningError, match="another skeleton"):
        refuse_other_schema(schema, database, msgspec.structs.replace(manifest, skeleton=record))


def test_damaged_models_are_refused(model: Any, tmp_path: Path) -> None:
    save_model(model, tmp_path)
    data = bytearray((tmp_path / NETWORKS).read_bytes())
    data[-3] ^= 4
    (tmp_path / NETWORKS).write_bytes(data)
    with pytest.raises(LearningError, match="hash") as refusal:
        load_model(tmp_path)
    assert refusal.value.key == "files"
    save_model(model, tmp_path)
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    (tmp_path / MANIFEST).write_text(json.dumps(manifest | {"version": 9}))
    with pytest.raises(LearningError, match="layout version 9"):
        load_model(tmp_path)
    manifest["networks"]["stepper"]["sizes"][1] = 65
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(LearningError, match=r"stepper\.layers\.0"):
        load_model(tmp_path)
    with pytest.raises(LearningError, match="no trained model"):
        load_model(tmp_path / "nowhere")


def test_smaller_weights_say_nearly_the_same(model: Any, tmp_path: Path) -> None:
    values = np.repeat(model.start[None], 4, axis=0) + np.random.default_rng(0).normal(size=(4, 39)) * 0.2
    true = model.decompressor(values)
    sizes = {}
    for precision, error in (("float16", 0.02), ("int8", 0.3)):
        small = save_model(model, tmp_path / precision, precision)
        sizes[precision] = small.megabytes
        assert np.abs(small.decompressor(values) - true).max() < error
    assert sizes["float16"] == pytest.approx(model.megabytes / 2) and sizes["int8"] < 0.3 * model.megabytes


@pytest.mark.parametrize(
    "mix", [QueryMix(1.0, 0.0, 0.0), QueryMix(0.0, 1.0, 0.0), QueryMix(0.0, 0.0, 1.0), QueryMix(0.0, 0.0, 0.0)]
)
def test_answers_to_queries_are_exact(data: Any, mix: QueryMix) -> None:
    recorded = record_queries(data.database, data.index, data.settings, data.tags, 300, 1)
    assert recorded.shape == (300, 27)
    queries = draw_queries(data.frames, data.index, data.frame_set.mask, 200, 3, mix=mix, recorded=recorded)
    again = draw_queries(data.frames, data.index, data.frame_set.mask, 200, 3, mix=mix, recorded=recorded)
    assert_array_equal(queries.queries, again.queries)
    mask = data.frame_set.mask
    allowed = data.index.whole.frames if mask is None else mask.frames
    rows = np.searchsorted(data.frames.frames, allowed)
    costs = np.square(queries.queries[:, None] - data.frames.features[rows]).sum(axis=2)
    mine = np.square(queries.queries - data.frames.features[queries.rows]).sum(axis=1)
    assert (mine <= costs.min(axis=1) * 1.0001 + 1e-4).all()
    assert np.isfinite(queries.queries).all()


def test_fresh_rows_begin_half_of_the_queries(data: Any) -> None:
    fresh = np.zeros(len(data.frames.frames), np.bool_)
    fresh[:300] = True
    frames = replace(data.frames, fresh=fresh)
    starts = frames.window_pools(2)
    assert len(starts) == 2 and starts[0].max() < 300 <= starts[1].min()
    with_noise = draw_queries(frames, data.index, data.frame_set.mask, 400, 1, mix=QueryMix(0.0, 0.0, 0.0))
    assert len(with_noise.queries) == 400


def test_presets_are_found_by_name() -> None:
    assert set(PRESETS) == {"quick", "base", "paper"}
    paper = find_preset("paper")
    assert paper.trained("projector").steps == 500_000 and paper.decompressor.hidden == (512,)
    with pytest.raises(LearningError, match="did you mean 'base'"):
        find_preset("bas")

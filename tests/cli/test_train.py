"""`ambulo train`: what it refuses before it begins; trainings themselves are tested with the learning room."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ambulo.cli.main import run
from ambulo.database.database import Database
from ambulo.learning.lmm_requests import low_rate_note

pytest.importorskip("torch", reason="the extra `learn` is not installed")


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run(["train", *arguments, "--json"]) == 2
    return json.loads(capsys.readouterr().out)["error"]


def test_a_model_of_another_kind_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = refusal(capsys, "lmn", str(tmp_path))
    assert "did you mean 'lmm'" in error["message"] and error["key"] == "model"


def test_an_unknown_preset_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean 'quick'" in refusal(capsys, "lmm", str(tmp_path), "--preset", "quik")["message"]


def test_a_project_that_was_not_built_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = refusal(capsys, "lmm", str(tmp_path))
    assert "no database here" in error["message"] and "ambulo build" in error["remedy"]
    assert not (tmp_path / "models").exists()


def test_a_negative_seed_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(capsys, "lmm", str(tmp_path), "--seed", "-1")["key"] == "seed"


def test_fine_tuning_needs_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new", str(tmp_path / "p"), "--minutes", "0.5", "--json"]) == 0
    assert run(["build", str(tmp_path / "p"), "--jobs", "1", "--json"]) == 0
    capsys.readouterr()
    assert "no trained model here" in refusal(capsys, "lmm", str(tmp_path / "p"), "--finetune")["message"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of half a minute at 30 frames a second, built."""
    folder = tmp_path_factory.mktemp("train") / "p"
    assert run(["new", str(folder), "--minutes", "0.5", "--json"]) == 0
    file = folder / "ambulo.toml"
    file.write_text("rate = 30.0\n" + re.sub(r"(?m)^rate = .*\n", "", file.read_text()))
    assert run(["build", str(folder), "--jobs", "1", "--json"]) == 0
    return folder


@pytest.mark.parametrize("name", ["../x", "a/b", "a\\b", "..", ".", "", " ", ".hidden", "a:b", "a\nb", "x" * 300])
@pytest.mark.parametrize("model", ["lmm", "poser"])
def test_names_that_lie_elsewhere_are_refused(
    model: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refusal(capsys, model, str(tmp_path / "p"), "--name", name)
    assert error["key"] == "name" and "cannot be called" in error["message"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["mm", "motion_matching", "blocks", "blended_matching"])
def test_names_of_controllers_are_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = refusal(capsys, "lmm", str(tmp_path), "--name", name)
    assert error["key"] == "name" and "a controller is called so" in error["message"]


@pytest.mark.parametrize("model", ["lmm", "poser"])
def test_an_unknown_precision_is_refused(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = refusal(capsys, model, str(tmp_path), "--precision", "float8")
    assert error["key"] == "precision" and "float16" in error["message"]


def test_a_checkpoint_of_another_training_is_refused_by_what_differs(
    built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    digest = Database.open(built).digest
    folder = built / "models" / "other" / "training" / "decompressor"
    folder.mkdir(parents=True)

    def resume(task: str, *more: str) -> Any:
        (folder / "checkpoint.json").write_text(json.dumps({"task": task}))
        return refusal(capsys, "lmm", str(built), "--name", "other", "--resume", *more)

    error = resume(f"decompressor {digest} [] 0", "--seed", "5")
    assert error["key"] == "seed" and "trained with seed 0, not 5" in error["message"]
    error = resume(f"decompressor {digest} ['run', 'walk'] 0", "--tags", "walk")
    assert error["key"] == "tags" and "['run', 'walk'], not ['walk']" in error["message"]
    error = resume("decompressor 0123abcd [] 0")
    assert error["key"] == "database" and "features" in error["message"]
    # The same training again is judged by whoever reads the whole checkpoint: this one is damaged.
    assert "checkpoint of version" in resume(f"decompressor {digest} [] 0")["message"]


def test_few_frames_a_second_are_told(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "lmm", str(built), "--tags", "idle", "--name", "slow"]) == 2  # too little motion: no training
    said = capsys.readouterr().err
    assert "note: the database has 30 frames a second" in said and "`rate = 60` in ambulo.toml" in said
    assert low_rate_note(60.0) is None and low_rate_note(50.0) is None and low_rate_note(49.9) is not None


def test_who_interrupts_is_told_how_to_go_on(
    built: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(project: Path, **options: Any) -> None:
        if kept:
            folder = Path(project) / "models" / options["name"] / "training" / "decompressor"
            folder.mkdir(parents=True)
            (folder / "checkpoint.json").write_text("{}")
        raise KeyboardInterrupt

    monkeypatch.setattr("ambulo.learning.lmm_training.train_lmm", interrupted)
    for kept in (False, True):
        assert run(["train", "lmm", str(built), "--name", "cut"]) == 130
        assert ("--resume" in capsys.readouterr().err) is kept

"""`ambulo train`: what it refuses before it begins; trainings themselves are tested with the learning room."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ambulo.cli.main import run

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

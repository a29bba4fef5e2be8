"""Errors of a trained model on rows of one's choosing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ambulo.learning.lmm_judge import joint_errors, model_errors


@pytest.fixture(scope="module")
def errors(data: Any, trained: Any) -> dict[str, dict[str, float]]:
    return model_errors(Path(trained.folder), data, np.arange(0, len(data.frames.frames), 7), queries=512)


def test_all_three_networks_are_judged(errors: dict[str, dict[str, float]]) -> None:
    assert set(errors) == {"decompressor", "stepper", "projector"}
    assert all(np.isfinite(value) for found in errors.values() for value in found.values())


def test_joints_are_as_wrong_as_the_decompressor_alone_says(
    errors: dict[str, dict[str, float]], data: Any, trained: Any
) -> None:
    rows = np.arange(0, len(data.frames.frames), 7)
    alone = joint_errors(Path(trained.folder), data, rows)
    assert errors["decompressor"] == pytest.approx(alone)
    few = joint_errors(Path(trained.folder), data, rows[:40])
    assert few["centimetres"] != pytest.approx(alone["centimetres"])


def test_no_projection_beats_exact_search(errors: dict[str, dict[str, float]]) -> None:
    assert 0.999 <= errors["projector"]["cost_ratio"] <= errors["projector"]["cost_ratio_p90"]

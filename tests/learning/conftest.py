"""What the tests of learning share: torch, or a reason why it is not there; a model that trains in a blink."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra `learn` is not installed")


class Regression:
    """Learn y = sin(a x) with noise from the loop's generator and dropout from torch's: all that must be repeatable."""

    def __init__(self, *, seed: int = 3, fail_after: int | None = None) -> None:
        self.name = "regression"
        torch.manual_seed(seed)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(16, 2)
        )
        random = np.random.default_rng(0)
        self.inputs = torch.from_numpy(random.standard_normal((256, 4)).astype(np.float32))
        self.outputs = torch.sin(self.inputs[:, :2] * 1.5)
        self.fail_after = fail_after
        self.calls = 0
        self.errors: list[float] | None = None

    def place(self, device: Any) -> None:
        self.inputs, self.outputs = self.inputs.to(device), self.outputs.to(device)

    def batch(self, random: np.random.Generator, size: int) -> Any:
        index = random.integers(0, 200, size)
        noise = torch.from_numpy(random.standard_normal((size, 4)).astype(np.float32)) * 0.01
        return self.inputs[index] + noise, self.outputs[index]

    def loss(self, batch: Any, progress: float) -> Any:
        self.calls += 1
        inputs, outputs = batch
        fit = (self.model(inputs) - outputs).abs().mean()
        if self.fail_after is not None and self.calls > self.fail_after:
            fit = fit * float("nan")
        return fit, {"fit": fit}

    def validate(self) -> dict[str, float]:
        if self.errors is not None:
            return {"error": self.errors.pop(0)}
        with torch.no_grad():
            return {"error": float((self.model(self.inputs[200:]) - self.outputs[200:]).abs().mean())}


@pytest.fixture
def regression() -> type[Regression]:
    return Regression


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built project of two minutes of embedded takes and their mirrored copies."""
    from ambulo.cli.main import run

    folder = tmp_path_factory.mktemp("learning") / "walker"
    assert run(["new", str(folder), "--minutes", "2", "--json"]) == 0
    assert run(["build", str(folder), "--jobs", "1", "--json"]) == 0
    return folder


@pytest.fixture(scope="session")
def preset() -> Any:
    """Networks and trainings that take a second or two."""
    from ambulo.learning.config import TrainConfig
    from ambulo.learning.lmm_presets import DecompressorSizes, LmmPreset, ProjectorSizes, StepperSizes

    short = TrainConfig(steps=60, batch=64, learning_rate=2e-3, log_every=20, device="cpu")
    return LmmPreset(
        DecompressorSizes(latent=12, hidden=(96,), compressor=(32,)),
        short,
        StepperSizes(hidden=(64, 64), window=8),
        short,
        ProjectorSizes(hidden=(64, 64), queries=4000),
        short,
    )


@pytest.fixture(scope="session")
def trained(project: Path, preset: Any) -> Any:
    """The report of a short training of that project, into ``models/lmm``."""
    from ambulo.learning.lmm_training import train_lmm

    return train_lmm(project, preset=preset, precision="float32")


@pytest.fixture(scope="session")
def model(trained: Any) -> Any:
    """The trained model."""
    from ambulo.learning.lmm_model import load_model

    return load_model(Path(trained.folder))


@pytest.fixture(scope="session")
def data(project: Path) -> Any:
    """What that project offers to learn from."""
    from ambulo.learning.lmm_data import open_data

    return open_data(project)

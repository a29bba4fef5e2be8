"""A built project whose takes are non-commercial, a model trained in a blink, and their exports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx", reason="the extra `learn` is not installed")
pytest.importorskip("onnxruntime", reason="the extra `learn` is not installed")


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A minute or two of embedded takes, as if somebody had licensed them for research alone."""
    from ambulo.cli.main import run

    folder = tmp_path_factory.mktemp("engine") / "walker"
    assert run(["new", str(folder), "--minutes", "1.5", "--json"]) == 0
    text = (folder / "ambulo.toml").read_text()
    assert 'licence = "Apache-2.0"' in text
    (folder / "ambulo.toml").write_text(text.replace('licence = "Apache-2.0"', 'licence = "CC BY-NC 4.0"'))
    assert run(["build", str(folder), "--jobs", "1", "--json"]) == 0
    return folder


@pytest.fixture(scope="session")
def trained(project: Path) -> Path:
    """The same project with a model."""
    pytest.importorskip("torch", reason="the extra `learn` is not installed")
    from ambulo.learning.config import TrainConfig
    from ambulo.learning.lmm_presets import DecompressorSizes, LmmPreset, ProjectorSizes, StepperSizes
    from ambulo.learning.lmm_training import train_lmm

    short = TrainConfig(steps=60, batch=64, learning_rate=2e-3, log_every=20, device="cpu")
    preset = LmmPreset(
        DecompressorSizes(latent=12, hidden=(96,), compressor=(32,)), short,
        StepperSizes(hidden=(64, 64), window=8), short,
        ProjectorSizes(hidden=(64, 64), queries=4000), short,
    )  # fmt: skip
    train_lmm(project, preset=preset, precision="float32")
    return project


@pytest.fixture(scope="session")
def matching(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Motion matching for two characters, in Unreal's axes."""
    from ambulo.export.engine.bundle import export_controller

    return export_controller(
        project, tmp_path_factory.mktemp("mm") / "out", controller="mm", target="unreal", characters=2
    )


@pytest.fixture(scope="session")
def learned(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Learned motion matching, in our own axes, with a page."""
    from ambulo.export.engine import web_page
    from ambulo.export.engine.bundle import export_controller

    target = "web" if web_page.LIVE.is_file() else "onnx"  # a page is the same graph beside a script that is built
    return export_controller(trained, tmp_path_factory.mktemp("lmm") / "out", controller="lmm", target=target)

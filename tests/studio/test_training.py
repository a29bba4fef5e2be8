"""Training from the studio: real trainings of tiny networks, in a process of their own."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

from ambulo.errors import StudioError
from ambulo.learning.create import trained_models
from ambulo.studio import messages
from ambulo.studio.training import NETWORKS, LmmTrainer, TrainingDesk

from .tiny_training import TinyTrainer

pytest.importorskip("torch")

Desk = tuple[TrainingDesk, SimpleQueue[messages.Training], list[str]]


@pytest.fixture
def make_desk(project: Path, tmp_path: Path) -> Callable[..., Desk]:
    folder = tmp_path / "copy"
    shutil.copytree(project, folder)

    def make(trainer: LmmTrainer | None = None) -> Desk:
        told: SimpleQueue[messages.Training] = SimpleQueue()
        finished: list[str] = []

        def finish(name: str) -> bool:
            finished.append(name)
            return True

        return TrainingDesk({"copy": folder}, told.put, finish, trainer), told, finished

    return make


def until(told: SimpleQueue[messages.Training], *states: str, seconds: float = 120.0) -> messages.Training:
    end = time.monotonic() + seconds
    last: messages.Training | None = None
    while time.monotonic() < end:
        try:
            last = told.get(timeout=1.0)
        except Empty:
            continue
        if last.state in states:
            return last
    raise AssertionError(f"never {states}: {last}")


def test_a_training_is_followed_to_its_model(make_desk: Callable[..., Desk], tmp_path: Path) -> None:
    desk, told, finished = make_desk(TinyTrainer(count=60))
    assert desk.last.state == "none"
    desk.train("copy", "tiny")
    with pytest.raises(StudioError, match="is running"):
        desk.train("copy", "tiny")
    done = until(told, "done", "failed")
    assert done.state == "done", done.text
    assert finished == ["copy"]
    assert done.text.endswith("it plays now")
    assert trained_models(tmp_path / "copy" / "models") == ["lmm"]
    assert [curve.name for curve in done.networks] == list(NETWORKS)
    for curve in done.networks:
        steps = [step for step, _ in curve.loss]
        assert steps == sorted(steps)
        assert (curve.step, curve.steps) == (60, 60)
        assert curve.remaining == 0
        assert curve.validation[-1][0] == 60
        assert all(value >= 0 for value in curve.validation[-1][1].values())


def test_a_stopped_training_goes_on(make_desk: Callable[..., Desk], tmp_path: Path) -> None:
    desk, told, finished = make_desk(TinyTrainer(count=3000))
    desk.train("copy", "tiny")
    running = until(told, "running")
    while not running.networks[0].loss:
        running = until(told, "running", "failed", "done")
        assert running.state == "running", running.text
    assert running.networks[0].remaining is not None
    desk.stop()
    stopped = until(told, "stopped", "failed", "done")
    assert stopped.state == "stopped", stopped.text
    assert finished == []
    assert trained_models(tmp_path / "copy" / "models") == []
    reached = stopped.networks[0].step
    assert 0 < reached < 3000
    desk.train("copy", "tiny", resume=True)
    again = until(told, "running")
    assert again.networks[0].step >= reached - 20
    desk.close()
    assert desk.last.state == "stopped"


def test_a_refusal_is_told_with_its_remedy(make_desk: Callable[..., Desk], tmp_path: Path) -> None:
    desk, told, finished = make_desk()
    take = next((tmp_path / "copy").rglob("*.bvh"))
    take.unlink()
    desk.train("copy", "quick")
    failed = until(told, "failed", "done")
    assert failed.state == "failed"
    assert "not up to date" in failed.text
    assert failed.remedy == "run `ambulo build` first"
    assert finished == []


def test_what_cannot_be_trained_is_refused(make_desk: Callable[..., Desk]) -> None:
    desk, _, _ = make_desk()
    with pytest.raises(StudioError, match="preset"):
        desk.train("copy", "paper")
    with pytest.raises(StudioError, match="project"):
        desk.train("other", "quick")


def test_without_torch_it_says_how_to_get_it() -> None:
    class Bare(LmmTrainer):
        def missing(self) -> str | None:
            return "torch"

    desk = TrainingDesk({}, lambda _: None, lambda _: False, Bare())
    assert desk.last.state == "impossible"
    assert "ambulo[learn]" in str(desk.last.remedy)
    with pytest.raises(StudioError, match="torch"):
        desk.train("copy", "quick")

"""The training loop: it learns, it resumes to the bit, it stops when it should, and it refuses what it cannot do."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ambulo.errors import LearningError
from ambulo.learning.checkpoints import CHECKPOINT, read_checkpoint
from ambulo.learning.config import TrainConfig
from ambulo.learning.curve import CURVE, read_curve
from ambulo.learning.optimizers import name_moments
from ambulo.learning.training import train

torch = pytest.importorskip("torch", reason="the extra `learn` is not installed")

CONFIG = TrainConfig(steps=20, batch=32, learning_rate=1e-2, seed=5, device="cpu", log_every=5, amsgrad=True)


def tensors_of(folder: Path) -> dict[str, Any]:
    return read_checkpoint(folder)[1]


def test_it_learns(regression: Any) -> None:
    task = regression()
    before = task.validate()["error"]
    report = train(task, replace(CONFIG, steps=300, batch=64))
    assert report.finished and report.steps == 300 and report.checkpoint is None
    assert report.validation["error"] < 0.5 * before


def test_twenty_steps_are_ten_and_ten(regression: Any, tmp_path: Path) -> None:
    whole = train(regression(), CONFIG, tmp_path / "whole")
    half = train(regression(), CONFIG, tmp_path / "parts", stop=lambda step: step >= 10)
    assert whole.finished and not half.finished and half.steps == 10
    # Another initialisation: everything must come from the checkpoint.
    rest = train(regression(seed=99), CONFIG, tmp_path / "parts", resume=True)
    assert rest.steps == 20 and rest.finished
    a, b = tensors_of(tmp_path / "whole"), tensors_of(tmp_path / "parts")
    assert a.keys() == b.keys() and any(name.startswith("optimizer.") for name in a)
    assert all(torch.equal(a[name], b[name]) for name in a)
    files = [next((tmp_path / name).glob("*.safetensors")).read_bytes() for name in ("whole", "parts")]
    assert files[0] == files[1]
    assert rest.loss == whole.loss


def test_the_curve_goes_on_where_the_checkpoint_is(regression: Any, tmp_path: Path) -> None:
    train(regression(), CONFIG, tmp_path / "whole")
    train(regression(), CONFIG, tmp_path / "parts", stop=lambda step: step >= 13)
    train(regression(), CONFIG, tmp_path / "parts", resume=True)
    kept = [[(row["step"], row["loss"], row["parts"]) for row in read_curve(tmp_path / n)] for n in ("whole", "parts")]
    assert kept[0] == kept[1] and [row[0] for row in kept[0]] == [5, 10, 15, 20]
    with (tmp_path / "whole" / CURVE).open("a") as file:
        file.write('{"step": 2')  # being written
    assert len(read_curve(tmp_path / "whole")) == 4
    assert [row["step"] for row in read_curve(tmp_path / "whole", after_step=10)] == [15, 20]


def test_a_new_training_forgets_the_old_curve(regression: Any, tmp_path: Path) -> None:
    train(regression(), CONFIG, tmp_path)
    train(regression(), replace(CONFIG, steps=5), tmp_path)
    assert [row["step"] for row in read_curve(tmp_path)] == [5]
    assert len(list(tmp_path.glob("*.safetensors"))) == 1


def test_other_seeds_other_weights(regression: Any, tmp_path: Path) -> None:
    train(regression(), CONFIG, tmp_path / "a")
    train(regression(), replace(CONFIG, seed=6), tmp_path / "b")
    a, b = tensors_of(tmp_path / "a"), tensors_of(tmp_path / "b")
    assert not torch.equal(a["model.0.weight"], b["model.0.weight"])


def test_early_stop_takes_the_best_weights(regression: Any, tmp_path: Path) -> None:
    task = regression()
    task.errors = [3.0, 1.0, 2.0, 2.5, 0.1]
    seen: list[Any] = []
    config = replace(CONFIG, steps=100, validate_every=5, patience=2)
    stop = lambda step: seen.append({k: v.clone() for k, v in task.model.state_dict().items()}) or False  # noqa: E731
    report = train(task, config, tmp_path, stop=stop)
    assert report.stopped_early and report.finished and report.steps == 20
    assert all(torch.equal(value, seen[9][name]) for name, value in task.model.state_dict().items())
    assert any(row.get("validation") == {"error": 1.0} for row in read_curve(tmp_path))


def test_a_loss_that_is_no_number_names_the_last_good_checkpoint(regression: Any, tmp_path: Path) -> None:
    train(regression(), CONFIG, tmp_path, stop=lambda step: step >= 7)
    with pytest.raises(LearningError, match=r"in step 10 because of fit; .*checkpoint-7\.safetensors") as refusal:
        train(regression(fail_after=2), CONFIG, tmp_path, resume=True)
    assert refusal.value.path is not None and refusal.value.path.is_file()
    record, tensors = read_checkpoint(tmp_path)
    assert record.step == 7 and all(bool(torch.isfinite(value).all()) for value in tensors.values())
    with pytest.raises(LearningError, match="no checkpoint was written"):
        train(regression(fail_after=0), CONFIG)


def test_weights_that_are_no_numbers_never_become_a_checkpoint(regression: Any, tmp_path: Path) -> None:
    task = regression()

    def spoil(step: int) -> bool:
        if step == 4:
            with torch.no_grad():
                task.model[0].weight[0, 0] = float("inf")
        return step == 4

    train(regression(), CONFIG, tmp_path, stop=lambda step: step >= 3)
    with pytest.raises(LearningError, match="no finite number"):
        train(task, CONFIG, tmp_path, resume=True, stop=spoil)
    assert read_checkpoint(tmp_path)[0].step == 3


def test_a_resume_must_be_of_the_same_training(regression: Any, tmp_path: Path) -> None:
    train(regression(), CONFIG, tmp_path, identity="database abc", stop=lambda step: step >= 5)
    with pytest.raises(LearningError, match="database abc"):
        train(regression(), CONFIG, tmp_path, identity="database xyz", resume=True)
    with pytest.raises(LearningError, match=r"learning_rate 0\.01, not 0\.5"):
        train(regression(), replace(CONFIG, learning_rate=0.5), tmp_path, identity="database abc", resume=True)
    # What does not change the result may change.
    train(regression(), replace(CONFIG, log_every=1), tmp_path, identity="database abc", resume=True)


def test_damaged_checkpoints_are_refused(regression: Any, tmp_path: Path) -> None:
    train(regression(), CONFIG, tmp_path)
    arrays = next(tmp_path.glob("*.safetensors"))
    data = bytearray(arrays.read_bytes())
    data[-1] ^= 1
    arrays.write_bytes(data)
    with pytest.raises(LearningError, match="hash"):
        read_checkpoint(tmp_path)
    record = json.loads((tmp_path / CHECKPOINT).read_text())
    (tmp_path / CHECKPOINT).write_text(json.dumps(record | {"file": "../evil.safetensors"}))
    with pytest.raises(LearningError, match="outside"):
        read_checkpoint(tmp_path)
    (tmp_path / CHECKPOINT).write_text("{")
    with pytest.raises(LearningError, match="damaged"):
        read_checkpoint(tmp_path)
    with pytest.raises(LearningError, match="no checkpoint"):
        read_checkpoint(tmp_path / "nowhere")


def test_an_interrupted_training_leaves_a_checkpoint(regression: Any, tmp_path: Path) -> None:
    def interrupt(step: int) -> bool:
        if step == 6:
            os.kill(os.getpid(), signal.SIGTERM)
        return False

    with pytest.raises(KeyboardInterrupt):
        train(regression(), CONFIG, tmp_path / "parts", stop=interrupt)
    assert 6 <= read_checkpoint(tmp_path / "parts")[0].step <= 7
    train(regression(), CONFIG, tmp_path / "parts", resume=True)
    train(regression(), CONFIG, tmp_path / "whole")
    a, b = tensors_of(tmp_path / "whole"), tensors_of(tmp_path / "parts")
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_minutes_end_a_training(regression: Any) -> None:
    report = train(regression(), replace(CONFIG, steps=None, minutes=0.002))
    assert report.finished and report.steps > 0 and report.seconds >= 0.12


def test_progress_says_what_is_left(regression: Any) -> None:
    seen: list[Any] = []
    train(regression(), CONFIG, progress=seen.append)
    assert seen[-1].part == 1.0 and seen[-1].step == 20 and "error" in seen[-1].validation
    assert seen[-1].remaining_seconds == 0.0


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({}, "steps or of minutes"),
        ({"steps": 0}, "at least 1"),
        ({"steps": 5, "optimizer": "adma"}, "did you mean 'adam'"),
        ({"steps": 5, "schedule": "cosin"}, "did you mean 'cosine'"),
        ({"steps": 5, "learning_rate": float("nan")}, "positive"),
        ({"steps": 5, "patience": 2}, "patience"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(LearningError, match=match):
        TrainConfig(**settings)


def test_a_device_that_is_not_there_is_refused(regression: Any) -> None:
    with pytest.raises(LearningError, match="no device 'nonsense'"):
        train(regression(), replace(CONFIG, device="nonsense"))


def test_one_cycle_rises_and_falls() -> None:
    config = TrainConfig(steps=1, learning_rate=2.0, warmup=0.25, final_rate=0.01)
    rates = [config.rate(part) for part in (0.0, 0.125, 0.25, 0.625, 1.0)]
    assert rates[0] < rates[1] < rates[2] == 2.0 and rates[2] > rates[3] > rates[4] == pytest.approx(0.02)


def test_wsd_rises_stays_and_falls_in_a_line() -> None:
    config = TrainConfig(steps=1, learning_rate=2.0, schedule="wsd", warmup=0.25, decay=0.5, final_rate=0.01)
    rates = [config.rate(part) for part in (0.0, 0.125, 0.25, 0.5, 0.75, 1.0)]
    assert rates[0] < rates[1] < rates[2] == rates[3] == 2.0
    assert rates[4] == pytest.approx(0.5 * (2.0 + 0.02)) and rates[5] == pytest.approx(0.02)


def test_another_training_begins_with_the_moments_of_what_it_still_learns(regression: Any, tmp_path: Path) -> None:
    first = regression()
    train(first, CONFIG, tmp_path / "first")
    moments = name_moments(first.model, tensors_of(tmp_path / "first"))
    task = regression()
    task.model.load_state_dict(first.model.state_dict())
    for parameter in task.model[0].parameters():
        parameter.requires_grad_(False)
    train(task, replace(CONFIG, steps=1), tmp_path / "next", moments=moments)
    assert torch.equal(task.model[0].weight, first.model[0].weight)
    after = name_moments(task.model, tensors_of(tmp_path / "next"))
    assert {name.split(".")[0] for name in after} == {"3"} and float(after["3.weight.step"]) == 21.0
    # exp_avg moves by a tenth of its way to one gradient: it was not nothing before.
    assert float((after["3.weight.exp_avg"] - 0.9 * moments["3.weight.exp_avg"]).abs().max()) > 0.0
    same = torch.nn.functional.cosine_similarity(
        after["3.weight.exp_avg"].flatten(), moments["3.weight.exp_avg"].flatten(), dim=0
    )
    assert float(same) > 0.5
    train(task, replace(CONFIG, steps=1), moments={"3.weight.exp_avg": torch.zeros(7)})  # of another shape: not taken


SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from conftest import Regression, torch
from pathlib import Path
from ambulo.learning.config import TrainConfig
from ambulo.learning.training import train
task = Regression(seed=3)
out = Path({out!r})
report = train(task, TrainConfig(steps=12, batch=64, learning_rate=1e-2, seed=5, device="cpu", log_every=4), out)
import os
from safetensors.torch import save_file
save_file(task.model.state_dict(), out / f"rank{{os.environ['RANK']}}.weights")
"""


def test_two_processes_train_one_model(tmp_path: Path) -> None:
    """torchrun's environment, gloo: both end with the same weights, one checkpoint, one curve."""
    from safetensors.torch import load_file

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code = SCRIPT.format(folder=str(Path(__file__).parent), out=str(tmp_path))
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            env=os.environ | shared | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.PIPE,
        )
        for rank in range(2)
    ]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors.decode()[-2000:]
    a, b = load_file(tmp_path / "rank0.weights"), load_file(tmp_path / "rank1.weights")
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert [row["step"] for row in read_curve(tmp_path)] == [4, 8, 12]
    assert all(torch.equal(tensors_of(tmp_path)[f"model.{name}"], value) for name, value in a.items())
    assert not torch.equal(a["0.weight"], torch.nn.Linear(4, 16).weight)

"""Several processes that train learned motion matching, started by torchrun and by Ray Train: the same model."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ambulo.cli.main import run
from ambulo.errors import LearningError
from ambulo.learning.carried_files import Mirror, at_home, pieces, place, receive
from ambulo.learning.checkpoints import last_checkpoint, read_checkpoint
from ambulo.learning.lmm_model import NETWORKS, load_model
from ambulo.learning.ray_launcher import train_lmm_on_ray

pytest.importorskip("torch", reason="the extra `learn` is not installed")

SCRIPT = """
import pickle, sys
from pathlib import Path
from ambulo.learning import lmm_presets
lmm_presets.PRESETS = {**lmm_presets.PRESETS, "tiny": pickle.loads(Path(sys.argv[1]).read_bytes())}
from ambulo.cli.main import main
main(sys.argv[2:])
"""


@pytest.fixture(scope="session")
def script(tmp_path_factory: pytest.TempPathFactory, preset: Any) -> list[str]:
    """``ambulo`` with the preset ``tiny``, as arguments of Python."""
    folder = tmp_path_factory.mktemp("script")
    (folder / "ambulo_tiny.py").write_text(SCRIPT)
    (folder / "preset").write_bytes(pickle.dumps(preset))
    return [str(folder / "ambulo_tiny.py"), str(folder / "preset")]


@pytest.fixture(scope="session")
def by_torchrun(project: Path, script: list[str]) -> Path:
    """The model that two processes of torchrun have trained."""
    options = ["train", "lmm", str(project), "--preset", "tiny", "--name", "torchrun", "--precision", "float32"]
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]  # noqa: RUF005
        + [*script, *options, "--json"],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)  # one object: only the first process speaks
    assert report["steps"] == {"decompressor": 60, "stepper": 60, "projector": 60}
    return Path(report["folder"])


def test_torchrun_trains_from_the_command_line(by_torchrun: Path, model: Any) -> None:
    theirs = load_model(by_torchrun)
    assert theirs.decompressor.sizes == model.decompressor.sizes
    # Half a batch each, with gradients averaged: another model than that of one process, and as good.
    assert (by_torchrun / NETWORKS).read_bytes() != (by_torchrun.parent / "lmm" / NETWORKS).read_bytes()
    error, alone = (m.manifest.errors["decompressor"]["centimetres"] for m in (theirs, model))
    assert error < 1.5 * alone


def test_ray_train_makes_the_model_of_torchrun(project: Path, preset: Any, by_torchrun: Path, ray_nodes: Any) -> None:
    """On two machines of one processor each."""
    seen: dict[str, float] = {}
    report = train_lmm_on_ray(
        project, workers=2, preset=preset, name="ray", precision="float32",
        progress=lambda now: seen.update({now.name: now.part}),
    )  # fmt: skip
    assert report.folder == str(project / "models" / "ray") and set(report.steps.values()) == {60}
    assert seen == {"decompressor": 1.0, "stepper": 1.0, "projector": 1.0}
    assert (project / "models" / "ray" / NETWORKS).read_bytes() == (by_torchrun / NETWORKS).read_bytes()
    assert not list(project.glob(".ambulo-*"))


@pytest.mark.cluster
def test_a_worker_that_dies_leaves_a_checkpoint_to_go_on_from(project: Path, preset: Any, ray_nodes: Any) -> None:
    longer = replace(
        preset, decompressor_training=replace(preset.decompressor_training, steps=400, checkpoint_seconds=0.05)
    )
    folder = project / "models" / "killed" / "training" / "decompressor"
    finished = threading.Event()

    def hunt() -> None:
        while not finished.wait(0.01):
            if last_checkpoint(folder) is not None:
                for process, _ in ray_nodes.running("RayTrainWorker")[:1]:
                    os.kill(process, signal.SIGKILL)
                    finished.set()

    hunter = threading.Thread(target=hunt)
    hunter.start()
    try:
        with pytest.raises(LearningError, match=r"worker.* failed: .*the last checkpoint is .*checkpoint-\d+") as error:
            train_lmm_on_ray(project, workers=2, preset=longer, name="killed")
        assert finished.is_set()
    finally:
        finished.set()
        hunter.join()
    assert "--resume" in str(error.value.remedy) and error.value.path == last_checkpoint(folder)
    assert 0 < read_checkpoint(folder)[0].step < 400
    report = train_lmm_on_ray(project, workers=2, preset=longer, name="killed", resume=True)
    assert report.steps == {"decompressor": 400, "stepper": 60, "projector": 60}


@pytest.mark.cluster
def test_machines_that_see_no_files_are_sent_the_database(
    project: Path, script: list[str], by_torchrun: Path, far_cluster: str, far_token: dict[str, str]
) -> None:
    options = ["train", "lmm", str(project), "--preset", "tiny", "--name", "far", "--precision", "float32"]
    done = subprocess.run(
        [sys.executable, *script, *options, "--engine", f"ray://{far_cluster}", "--workers", "2", "--json"],
        env=os.environ | far_token,
        capture_output=True,
        text=True,
        timeout=240,
    )
    report = json.loads(done.stdout)
    assert done.returncode == 0, report
    far = project / "models" / "far"
    assert report["folder"] == str(far)
    assert (far / NETWORKS).read_bytes() == (by_torchrun / NETWORKS).read_bytes()
    names = [{path.relative_to(f).as_posix() for path in f.rglob("*")} for f in (far, by_torchrun)]
    assert names[0] == names[1]


def test_what_a_cluster_lacks_is_said_before_it_begins(project: Path, ray_nodes: Any) -> None:
    with pytest.raises(LearningError, match=r"2 CPUs.* too few for 3 workers"):
        train_lmm_on_ray(project, workers=3)
    with pytest.raises(LearningError, match="0 GPUs") as refused:
        train_lmm_on_ray(project, device="cuda")
    assert "fewer --workers" in str(refused.value.remedy)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (["--engine", "rey"], "did you mean 'ray'"),
        (["--workers", "2"], "of the engine ray"),
        (["--engine", "ray", "--workers", "0"], "0 workers"),
        (["--engine", "ray", "--device", "cuda:1"], "no device 'cuda:1'"),
        (["--engine", "ray", "--preset", "quik"], "did you mean 'quick'"),
    ],
)
def test_wrong_options_are_refused(
    project: Path, options: list[str], match: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", "lmm", str(project), *options, "--json"]) == 2
    assert match in json.loads(capsys.readouterr().out)["error"]["message"]


@pytest.mark.parametrize(("option", "value"), [("name", "../x"), ("name", "mm"), ("precision", "float8")])
def test_what_a_model_cannot_be_is_refused_before_a_cluster_is_asked(option: str, value: str, tmp_path: Path) -> None:
    with pytest.raises(LearningError, match=value) as caught:
        train_lmm_on_ray(tmp_path, **{option: value})  # type: ignore[arg-type]
    assert caught.value.key == option


def test_a_stale_database_is_refused_before_it_begins(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="no database here"):
        train_lmm_on_ray(tmp_path)


def test_what_is_sent_arrives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ambulo.learning.carried_files.PIECE", 10)
    files = {"ambulo.toml": b"x" * 25, "database/a/b": b"y" * 20, "database/empty": b"", "models/m/c.json": b"{}"}
    home, away, back = (tmp_path / name for name in ("home", "away", "back"))
    for name, data in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(data)
    (home / "takes").mkdir()
    (home / "takes" / "left.bvh").write_text("not needed")
    place(away, pieces(home, home / "models" / "m"))
    assert {p.relative_to(away).as_posix(): p.read_bytes() for p in away.rglob("*") if p.is_file()} == files
    assert not any(piece.file.match("models/*/*") for piece in pieces(home, None))

    sent: list[str] = []
    model = away / "models" / "m"
    mirror = Mirror(model, lambda name, data: (sent.append(name), receive(back, name, data)))  # type: ignore[func-returns-value, arg-type, return-value]
    mirror.update()
    assert sent == []  # what came from home is there
    (model / "training").mkdir()
    (model / "training" / "new.safetensors").write_bytes(b"1")
    (model / "c.json").write_bytes(b"{2}")
    mirror.update()
    mirror.update()
    assert sent == ["training/new.safetensors", "c.json"]  # that which says what counts comes last
    (model / "training" / "new.safetensors").unlink()
    mirror.update()
    assert [p.relative_to(back).as_posix() for p in back.rglob("*") if p.is_file()] == ["c.json"]
    for name, data in (("checkpoint-2.safetensors", b""), ("checkpoint-3.safetensors", b"")):
        receive(back, name, data)
    receive(back, "checkpoint.json", b'{"file": "checkpoint-3.safetensors"}')
    assert sorted(path.name for path in back.glob("check*")) == ["checkpoint-3.safetensors", "checkpoint.json"]
    with pytest.raises(LearningError, match="outside"):
        receive(back, "../evil", b"")


def test_errors_name_files_as_they_are_called_at_home(tmp_path: Path) -> None:
    error = LearningError("see /tmp/x/p/a", path="/tmp/x/p/a", key="loss", remedy="look at /tmp/x/p/a")
    told = at_home(error, Path("/tmp/x/p"), Path("/home/p"))
    assert type(told) is LearningError and str(told.path) == "/home/p/a"
    assert told.message == "see /home/p/a" and told.remedy == "look at /home/p/a" and told.key == "loss"

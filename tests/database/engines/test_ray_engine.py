"""A build on a Ray cluster of two workers: the bytes of a local build, also where a worker is killed on the way."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ambulo.database.engines import ray_engine
from ambulo.database.engines.shipment import contents, pack, unpack_and_run
from ambulo.database.prepare_jobs import PrepareJob, run_job
from ambulo.errors import DatabaseError
from ambulo.matching.build import build
from ambulo.prepare.settings import PrepareSettings

from ..conftest import write_take

NAMES = [f"walk_{letter}.bvh" for letter in "abcdefgh"]


@pytest.fixture(scope="session")
def cluster() -> Iterator[None]:
    pytest.importorskip("ray")
    ray = ray_engine._import_ray()
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()


def content(folder: Path) -> dict[str, bytes]:
    """Every file of a database but what only speaks of this machine."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if name != "stamps.json"}


def worker_processes() -> list[int]:
    """Processes of this user that run one of our tasks; Ray names them after it."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if b"ray::unpack_and_run" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def job_of(path: Path, output: Path) -> PrepareJob:
    settings = PrepareSettings()
    return PrepareJob(0, "key", path, path.stat().st_size, None, None, None, {}, settings, True, output)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="finds the worker in /proc")
def test_a_cluster_builds_the_same_bytes_though_a_worker_is_killed(
    cluster: None, make_project: Callable[..., Path]
) -> None:
    project = make_project(*NAMES)
    (project / "takes" / "broken.bvh").write_text("HIERARCHY\nnonsense")
    build(project, folder=project / "local", jobs=1)
    killed: list[int] = []
    finished = threading.Event()

    def hunt() -> None:
        """Kill the first worker that is seen at work."""
        while not killed and not finished.wait(0.001):
            for process in worker_processes()[:1]:
                os.kill(process, signal.SIGKILL)
                killed.append(process)

    hunter = threading.Thread(target=hunt)
    hunter.start()
    try:
        report = build(project, folder=project / "cluster", jobs=2, engine="ray")
    finally:
        finished.set()
        hunter.join()
    assert killed, "no worker was seen at work"
    assert report.prepared == len(NAMES) + 1
    assert [problem.take for problem in report.problems] == ["takes/broken.bvh"]
    local, cluster_files = content(project / "local"), content(project / "cluster")
    assert local.keys() == cluster_files.keys()
    assert [name for name in local if local[name] != cluster_files[name]] == []
    assert not list(project.glob("*.building"))


def test_a_machine_that_sees_no_files_is_sent_them(tmp_path: Path) -> None:
    take = write_take(tmp_path / "here" / "takes" / "walk.bvh", 3)
    output = tmp_path / "there" / "0.safetensors"  # no such folder, so no token: as on a machine of its own
    job = job_of(take, output)
    shipment = pack(job, "token")
    files = contents(shipment)
    take.unlink()
    assert unpack_and_run(shipment).result is None
    shipped = unpack_and_run(shipment, files)
    take.write_bytes(files[take])
    mine = tmp_path / "mine.safetensors"
    assert shipped.result == run_job(job._replace(output=mine))
    assert shipped.frames == mine.read_bytes()


def test_an_error_elsewhere_names_the_file_here(tmp_path: Path) -> None:
    take = tmp_path / "broken.bvh"
    take.write_text("HIERARCHY\nnonsense")
    job = job_of(take, tmp_path / "nowhere" / "0.safetensors")
    shipment = pack(job, "token")
    shipped = unpack_and_run(shipment, contents(shipment))
    assert shipped.result == run_job(job)
    assert shipped.result.record.failure is not None and shipped.result.record.failure.facts["path"] == str(take)
    assert shipped.frames is None


def test_a_worker_of_another_version_is_refused(tmp_path: Path) -> None:
    take = write_take(tmp_path / "walk.bvh")
    shipment = pack(job_of(take, tmp_path / "0.safetensors"), "token")._replace(code="another")
    with pytest.raises(DatabaseError, match="another version"):
        unpack_and_run(shipment)

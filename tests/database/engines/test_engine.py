"""Engines by name, and a local pool whose worker dies."""

from __future__ import annotations

import multiprocessing
import threading
from pathlib import Path

import pytest

from ambulo.database.engines import local
from ambulo.database.engines.engine import create_engine
from ambulo.database.prepare_jobs import JobResult, PrepareJob, run_job
from ambulo.database.workers import WorkerDied
from ambulo.errors import ProjectError
from ambulo.prepare.settings import PrepareSettings

from ..conftest import write_take


def job(number: int, folder: Path) -> PrepareJob:
    return PrepareJob(
        number,
        f"key{number}",
        folder / f"{number}.bvh",
        1,
        None,
        None,
        None,
        {},
        PrepareSettings(),
        False,
        folder / f"{number}.safetensors",
    )


def test_engines_are_known_by_name() -> None:
    assert type(create_engine("local")).__name__ == "LocalEngine"
    assert create_engine("ray://host:10001").address == "host:10001"  # type: ignore[attr-defined]
    for wrong in ("rai", "local://x", "ray://", "ray:head", ""):
        with pytest.raises(ProjectError, match="no engine") as raised:
            create_engine(wrong)
        assert "ray://HOST:PORT" in str(raised.value.remedy)


def run_and_kill(work: list[PrepareJob], kills: int) -> tuple[list[JobResult], int]:
    """Run jobs in two processes while workers are killed, so many; the results, and how many were."""
    results: list[JobResult] = []
    finished, killed = threading.Event(), 0

    def hunt() -> None:
        nonlocal killed
        while killed < kills and not finished.wait(0.02):
            for process in multiprocessing.active_children()[:1]:
                process.kill()
                process.join()
                killed += 1

    hunter = threading.Thread(target=hunt)
    hunter.start()
    try:
        local.LocalEngine().run(work, 2, results.append)
    finally:
        finished.set()
        hunter.join()
    return results, killed


def test_what_a_dead_worker_left_is_tried_again(tmp_path: Path) -> None:
    work = [job(number, tmp_path) for number in range(4)]
    for task in work:
        write_take(task.path, task.number)
    results, killed = run_and_kill(work, 1)
    assert killed == 1
    assert sorted((r.number, r.record.key, r.record.failure) for r in results) == [
        (n, f"key{n}", None) for n in range(4)
    ]
    for task in work:
        output = task.output.read_bytes()
        run_job(task._replace(output=tmp_path / "again"))
        assert (tmp_path / "again").read_bytes() == output


def test_workers_that_keep_dying_end_the_build(tmp_path: Path) -> None:
    with pytest.raises(WorkerDied, match="want of memory"):
        run_and_kill([job(0, tmp_path), job(1, tmp_path)], 1000)

"""Crashes: whenever a build dies, the old database or the new one is there, whole, and the next build goes through."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ambulo.database.build import build_frames
from ambulo.database.database import Database
from ambulo.database.manifest import read_manifest
from ambulo.database.swap import BuildLock, previous_of, recover, staging_of, swap_in
from ambulo.errors import DatabaseError

from .conftest import write_take
from .test_build import content

Make = Callable[..., Path]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked builds; Windows has no fork")
def test_kill_9_at_random_moments_leaves_a_usable_database(make_project: Make) -> None:
    project = make_project("walk_a.bvh", "run_b.bvh", "jump_c.bvh")
    build_frames(project, jobs=1)  # also loads every kernel, so that the forked builds begin at once
    begin = time.perf_counter()
    build_frames(project, jobs=1, force=True)
    duration = time.perf_counter() - begin
    context = multiprocessing.get_context("fork")
    rng = np.random.default_rng(0)
    killed = 0
    for turn in range(20):
        before = read_manifest(project / "database").digest
        write_take(project / "takes" / "run_b.bvh", seed=turn + 10)
        child = context.Process(target=build_frames, args=(project,), kwargs={"jobs": 1, "force": turn % 2 == 0})
        child.start()
        child.join(timeout=float(rng.uniform(0.0, 1.3 * duration)))
        if child.is_alive():
            assert child.pid is not None
            os.kill(child.pid, signal.SIGKILL)
            killed += 1
        child.join()
        database = Database.open(project)
        assert len(database.clips) == 6
        assert np.isfinite(database.positions).all() and np.isfinite(database.angular_velocities).all()
        assert np.allclose(np.linalg.norm(database.rotations, axis=-1), 1.0, atol=1e-3)
        if child.exitcode != 0:
            assert database.digest == before or not staging_of(project / "database").exists()
        del database
    assert killed >= 10
    build_frames(project, jobs=1)
    fresh = make_project("walk_a.bvh", "run_b.bvh", "jump_c.bvh", folder="fresh")
    write_take(fresh / "takes" / "run_b.bvh", seed=29)
    build_frames(fresh, jobs=1)
    assert content(project / "database") == content(fresh / "database")
    assert sorted(path.name for path in project.iterdir()) == ["ambulo.toml", "database", "database.lock", "takes"]


def test_death_between_the_two_renames_of_a_swap(make_project: Make) -> None:
    project = make_project("walk_a.bvh")
    build_frames(project)
    folder = project / "database"
    before = content(folder)
    folder.rename(previous_of(folder))
    assert Database.open(project).frame_count > 0
    assert content(folder) == before and not previous_of(folder).exists()
    folder.rename(previous_of(folder))
    assert build_frames(project).up_to_date
    assert content(folder) == before


def test_recover_does_nothing_where_a_database_is(tmp_path: Path) -> None:
    folder = tmp_path / "database"
    recover(folder)
    assert not folder.exists()
    for path, text in ((folder, "new"), (previous_of(folder), "old")):
        path.mkdir()
        (path / "manifest.json").write_text(text)
    recover(folder)
    assert (folder / "manifest.json").read_text() == "new"


def test_swap_replaces_whatever_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "database"
    for turn in ("first", "second"):
        staging_of(folder).mkdir()
        (staging_of(folder) / "manifest.json").write_text(turn)
        swap_in(staging_of(folder), folder)
        assert (folder / "manifest.json").read_text() == turn
        assert list(tmp_path.iterdir()) == [folder]


def test_a_database_can_be_opened_while_it_is_replaced(make_project: Make) -> None:
    project, other = make_project("walk_a.bvh"), make_project("walk_a.bvh", "run_b.bvh", folder="other")
    folder = project / "database"
    build_frames(project)
    build_frames(other)
    finished = threading.Event()

    def replace() -> None:
        for turn in range(60):
            shutil.copytree((project, other)[turn % 2] / "original", staging_of(folder))
            swap_in(staging_of(folder), folder)
        finished.set()

    shutil.copytree(folder, project / "original")
    shutil.copytree(other / "database", other / "original")
    builder = threading.Thread(target=replace)
    builder.start()
    opened = []
    while not finished.is_set():
        database = Database.open(project)
        opened.append(len(database.clips))
        assert database.clips[-1].stop == database.frame_count
    builder.join()
    assert set(opened) == {2, 4}


def test_what_a_dead_build_left_is_cleared(make_project: Make) -> None:
    project = make_project("walk_a.bvh")
    left = staging_of(project / "database")
    (left / "work").mkdir(parents=True)
    (left / "work" / "0.safetensors").write_bytes(b"half")
    (left / "manifest.json").write_text("half")
    build_frames(project)
    assert not left.exists()
    assert Database.open(project).frame_count > 0


def test_two_builds_at_once_are_refused_and_a_dead_one_holds_nothing(make_project: Make) -> None:
    project = make_project("walk_a.bvh")
    with BuildLock(project / "database"), pytest.raises(DatabaseError, match="another build"):
        build_frames(project)
    (project / "database.lock").write_text("left by a dead process")
    assert build_frames(project).used == 1


SCRIPT = """
import sys
from ambulo.database import prepare_jobs
from ambulo.database.build import build_frames
prepare_jobs._BYTES_PER_WORKER = 1  # else such small takes are not worth a second process
print(build_frames(sys.argv[1], jobs=2).workers)
"""


def test_a_script_without_main_guard_may_build_with_several_processes(make_project: Make, tmp_path: Path) -> None:
    project = make_project("walk_a.bvh", "run_b.bvh")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(script), str(project)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "2", "")


def children_of(pid: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(status.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_workers_die_with_a_killed_build(make_project: Make, tmp_path: Path) -> None:
    project = make_project(*(f"walk_{i}.bvh" for i in range(30)))
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    build = subprocess.Popen([sys.executable, str(script), str(project)])
    deadline = time.monotonic() + 30
    work = staging_of(project / "database") / "work"
    while not (work.is_dir() and any(work.iterdir())):  # until a worker has written its first take
        assert time.monotonic() < deadline and build.poll() is None
        time.sleep(0.005)
    workers = children_of(build.pid)
    assert len(workers) >= 2
    build.kill()
    build.wait()
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert build_frames(project, jobs=1).used == 30

"""A build on Ray clusters of several machines: the bytes of a local build, whoever dies on the way; and what is
refused."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ambulo
from ambulo.database.engines import ray_cluster
from ambulo.database.engines.shipment import contents, pack, unpack_and_run
from ambulo.database.prepare_jobs import PrepareJob, run_job
from ambulo.errors import DatabaseError
from ambulo.matching.build import build
from ambulo.prepare.settings import PrepareSettings

from ..conftest import write_take

NAMES = [f"walk_{letter}.bvh" for letter in "abcdefgh"]


def content(folder: Path) -> dict[str, bytes]:
    """Every file of a database but what only speaks of this machine."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if name != "stamps.json"}


def job_of(path: Path, output: Path) -> PrepareJob:
    settings = PrepareSettings()
    return PrepareJob(0, "key", path, path.stat().st_size, None, None, None, {}, settings, True, output)


def build_and_hunt(project: Path, folder: Path, hunt: Callable[[], bool]) -> Any:
    """Build on the cluster while ``hunt`` is called until it has hit something; its error if it is refused."""
    finished = threading.Event()
    hit: list[bool] = []

    def look() -> None:
        while not hit and not finished.wait(0.001):
            if hunt():
                hit.append(True)

    hunter = threading.Thread(target=look)
    hunter.start()
    try:
        return build(project, folder=folder, engine="ray", force=True)
    except DatabaseError as error:
        return error
    finally:
        finished.set()
        hunter.join()
        assert hit, "nobody was seen at work"


def differing(one: Path, other: Path) -> list[str]:
    """Names of files of two databases that are not the same bytes."""
    a, b = content(one), content(other)
    return [name for name in a.keys() | b.keys() if a.get(name) != b.get(name)]


def test_a_cluster_builds_the_same_bytes_though_a_worker_is_killed(
    ray_nodes: Any, make_project: Callable[..., Path]
) -> None:
    project = make_project(*NAMES)
    (project / "takes" / "broken.bvh").write_text("HIERARCHY\nnonsense")
    build(project, folder=project / "local", jobs=1)

    def kill_worker() -> bool:
        found = ray_nodes.running("unpack_and_run")[:1]
        for process, _ in found:
            os.kill(process, signal.SIGKILL)
        return bool(found)

    report = build_and_hunt(project, project / "cluster", kill_worker)
    assert report.prepared == len(NAMES) + 1
    assert [problem.take for problem in report.problems] == ["takes/broken.bvh"]
    assert differing(project / "local", project / "cluster") == []
    assert not list(project.glob("*.building"))


def test_a_cluster_builds_the_same_bytes_though_a_machine_dies(
    ray_nodes: Any, make_project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project(*NAMES)
    build(project, folder=project / "local", jobs=1)

    def kill_node() -> bool:
        found = ray_nodes.running("unpack_and_run")[:1]
        for _, node in found:
            ray_nodes.kill(node)
        return bool(found)

    assert build_and_hunt(project, project / "cluster", kill_node).prepared == len(NAMES)
    assert len(ray_nodes.nodes) == 1
    assert differing(project / "local", project / "cluster") == []
    # When the last one dies, there is nobody left to wait for: refused, and the database is as it was.
    monkeypatch.setattr(ray_cluster, "_BARE_SECONDS", 0.5)
    refused = build_and_hunt(project, project / "cluster", kill_node)
    assert "has had no processor" in refused.message and "ray start" in refused.remedy
    assert differing(project / "local", project / "cluster") == []


def command(project: Path, *options: str, before: str = "", **environment: str) -> tuple[int, Any]:
    """``ambulo build`` in a process of its own, as a program must that is a client; its exit code and JSON."""
    code = f"{before}\nimport sys\nfrom ambulo.cli.main import main\nmain(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, "build", str(project), "--json", *options],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.cluster
def test_a_cluster_that_sees_no_files_is_reached_by_its_client_server(
    far_cluster: str, far_token: dict[str, str], make_project: Callable[..., Path]
) -> None:
    project = make_project(*NAMES[:4])
    (project / "takes" / "broken.bvh").write_text("HIERARCHY\nnonsense")
    build(project, folder=project / "local", jobs=1)
    engine = f"ray://{far_cluster}"
    code, report = command(project, "--folder", str(project / "far"), "--engine", engine, **far_token)
    assert code == 0 and report["prepared"] == 5, report
    assert [problem["take"] for problem in report["problems"]] == ["takes/broken.bvh"]
    assert differing(project / "local", project / "far") == []
    other = "import ray; ray.__version__ = '2.0.0'"
    code, refused = command(project, "--force", "--engine", engine, before=other, **far_token)
    assert code == 2 and "ersion mismatch" in refused["error"]["message"] and "2.0.0" in refused["error"]["message"]
    assert "same versions" in refused["error"]["remedy"]
    code, refused = command(project, "--force", "--engine", engine)
    assert code == 2 and "wants a token" in refused["error"]["message"]


@pytest.mark.cluster
def test_a_cluster_whose_head_dies_ends_the_build(ray_head: Any, make_project: Callable[..., Path]) -> None:
    project = make_project(*NAMES)
    build(project, jobs=1)
    before = content(project / "database")
    dead = threading.Event()

    def kill_head() -> None:
        while not dead.wait(0.001):
            if ray_head.running("unpack_and_run"):
                ray_head.kill(ray_head.nodes[0])
                dead.set()

    hunter = threading.Thread(target=kill_head)
    hunter.start()
    try:
        impatient = "from ambulo.database.engines import ray_cluster; ray_cluster._LOST_SECONDS = 1.0"
        address = ray_head.cluster.address
        code, refused = command(project, "--engine", "ray", "--force", before=impatient, RAY_ADDRESS=address)
    finally:
        dead.set()
        hunter.join()
    assert not ray_head.nodes, "nobody was seen at work"
    assert code == 2 and "the head of the Ray cluster" in refused["error"]["message"]
    assert "run the same command again" in refused["error"]["remedy"]
    assert content(project / "database") == before


@pytest.mark.cluster
def test_a_machine_without_ambulo_is_refused(ray_nodes: Any, make_project: Callable[..., Path]) -> None:
    project = make_project(*NAMES)
    with (
        ray_nodes.without(Path(ambulo.__file__).parent),
        pytest.raises(DatabaseError, match="has no ambulo") as refused,
    ):
        build(project, engine="ray")
    assert "install the same version" in str(refused.value.remedy)


def refusal(place: str) -> DatabaseError:
    """What comes of asking for a cluster there."""
    with pytest.raises(DatabaseError) as refused, ray_cluster.connected(ray_cluster.import_ray(), place, 1):
        pass
    assert refused.value.key == "engine" and "ray://HOST:10001" in str(refused.value.remedy)
    return refused.value


def test_an_address_where_nobody_answers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{probe.getsockname()[1]}"
    assert "nobody answers" in refusal(nobody).message
    assert "no address" in refusal("head").message
    monkeypatch.setenv("RAY_ADDRESS", nobody)
    assert f"{nobody} cannot be reached" in refusal("").message
    monkeypatch.setattr(ray_cluster, "_ANSWER_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as other:  # listens, and says nothing
        assert "is no Ray" in refusal(f"127.0.0.1:{other.getsockname()[1]}").message


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

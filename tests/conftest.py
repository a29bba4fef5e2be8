"""Shared fixtures: where the real capture and the probe files lie, if they are there at all, and clusters of several
machines that this one plays."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Kernels compile at their first call, which no deadline of an example may count.
settings.register_profile("ambulo", deadline=None)
settings.load_profile("ambulo")

SHARED = Path(os.environ.get("AMBULO_SHARED", Path(__file__).resolve().parents[2] / "shared"))


@pytest.fixture(scope="session")
def cases() -> Path:
    """Folder of small probe files with known answers."""
    folder = SHARED / "cases"
    if not folder.is_dir():
        pytest.skip(f"the probe files are not here: {folder} (set AMBULO_SHARED)")
    return folder


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of unpacked real motion capture."""
    script = SHARED / "data" / "unpack"
    if not script.is_file() or shutil.which("sh") is None:
        pytest.skip(f"the real capture is not here: {script} (set AMBULO_SHARED)")
    return Path(subprocess.run(["sh", str(script)], check=True, capture_output=True, text=True).stdout.strip())


_START_SECONDS = 120.0
# As root and as an ordinary user: a process with mounts and processes of its own, that ends with its parent.
_APART = ("unshare", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
_TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef0123456789abcdef"}


@dataclass
class RayNodes:
    """A cluster of a head without processors, and nodes with one each.

    Attributes:
        cluster: Ray's own object.
        nodes: those with a processor.
    """

    cluster: Any
    nodes: list[Any] = field(default_factory=list)

    def add(self) -> None:
        """Start a node."""
        self.nodes.append(self.cluster.add_node(num_cpus=1, object_store_memory=100 << 20))

    def kill(self, node: Any) -> None:
        """End a node as a power cut would."""
        self.nodes.remove(node)
        self.cluster.remove_node(node, allow_graceful=False)

    @contextmanager
    def without(self, folder: Path) -> Iterator[None]:
        """While the context lasts, one more node with eight processors, for which a folder is empty."""
        address = self.cluster.address
        with _apart(folder, f"--address={address} --num-cpus=8", Path(tempfile.gettempdir()) / "ray-node.log"):
            self.wait(8 + len(self.nodes))
            yield
        self.wait(len(self.nodes))

    def wait(self, processors: int) -> None:
        """Wait until the cluster has so many processors."""
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end:
            alive = [node for node in self.cluster.global_state.node_table() if node["Alive"]]
            if sum(node["Resources"].get("CPU", 0) for node in alive) == processors:
                return
            time.sleep(0.1)
        raise TimeoutError(f"the cluster has not {processors} processors")

    def running(self, name: str) -> list[tuple[int, Any]]:
        """Processes that run a task or actor of that name (Ray names them after it), each with its node."""
        raylets = {node.all_processes["raylet"][0].process.pid: node for node in self.nodes}
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if f"ray::{name}".encode() in (entry / "cmdline").read_bytes():
                        parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                        found.append((int(entry.name), raylets[parent]))
                except (OSError, KeyError):  # gone, or of somebody else's cluster
                    continue
        return found


@pytest.fixture(scope="session")
def all_ray_nodes() -> Iterator[RayNodes]:
    """One cluster for all tests; see ``ray_nodes``."""
    with _head(0) as cluster:
        yield RayNodes(cluster)


@contextmanager
def _head(processors: int) -> Iterator[Any]:
    pytest.importorskip("ray", reason="the extra `scale` is not installed")
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("finds workers in /proc")
    from ambulo.database.engines.ray_cluster import import_ray

    import_ray()
    from ray.cluster_utils import Cluster

    head = {"num_cpus": processors, "include_dashboard": False, "object_store_memory": 100 << 20}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        yield cluster
    finally:
        cluster.shutdown()


@pytest.fixture
def ray_head() -> Iterator[RayNodes]:
    """A cluster of a test's own: a head with one processor, which may be killed."""
    with _head(1) as cluster:
        yield RayNodes(cluster, [cluster.head_node])


@pytest.fixture
def ray_nodes(all_ray_nodes: RayNodes, monkeypatch: pytest.MonkeyPatch) -> RayNodes:
    """A cluster of a head and two nodes with one processor each: what the engine ``ray`` finds."""
    while len(all_ray_nodes.nodes) < 2:
        all_ray_nodes.add()
    monkeypatch.setenv("RAY_ADDRESS", all_ray_nodes.cluster.address)
    return all_ray_nodes


@pytest.fixture(scope="session")
def far_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``HOST:PORT`` of the client server of a cluster that sees none of the tests' files: where it runs, another file
    system lies over their folder. It wants the token of the fixture ``far_token``."""
    pytest.importorskip("ray", reason="the extra `scale` is not installed")
    ports = []
    for _ in range(2):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            ports.append(probe.getsockname()[1])
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as sockets:
        options = (
            f"--head --port={ports[0]} --ray-client-server-port={ports[1]} --num-cpus=2 --include-dashboard=false"
            f" --temp-dir={sockets}"
        )
        patience = {"RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "120"}  # on a busy machine Ray's half minute is short
        with _apart(tmp_path_factory.getbasetemp(), options, Path(sockets) / "log", **_TOKEN, **patience):
            _wait_for(ports[1], Path(sockets))
            yield f"127.0.0.1:{ports[1]}"


@pytest.fixture
def far_token() -> dict[str, str]:
    """Environment of a process that may use the ``far_cluster``."""
    return dict(_TOKEN)


@contextmanager
def _apart(hidden: Path, options: str, log: Path, **environment: str) -> Iterator[None]:
    """While the context lasts, a machine of a Ray cluster for which a folder is empty."""
    if shutil.which("unshare") is None or subprocess.run([*_APART, "true"], capture_output=True).returncode:
        pytest.skip("cannot take files away from a process here (unshare)")
    start = (
        f"mount -t tmpfs none {hidden} && exec {sys.executable} -m ray.scripts.scripts start --block {options}"
        f" --object-store-memory={200 << 20} --disable-usage-stats"
    )
    with log.open("wb") as file:
        machine = subprocess.Popen([*_APART, "sh", "-c", start], stdout=file, stderr=file, env=os.environ | environment)
    try:
        yield
    finally:
        machine.kill()
        machine.wait()


def _wait_for(port: int, folder: Path) -> None:
    """Wait until a head that keeps its sockets in that folder listens on a port, and can start servers for clients."""
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
            if b"Ray runtime started" in (folder / "log").read_bytes():
                agent = folder / "session_latest" / "logs" / "runtime_env_agent.log"
                if agent.is_file() and agent.stat().st_size:
                    return
        except OSError:
            pass
        time.sleep(0.1)
    raise TimeoutError(f"nobody listens on port {port}")

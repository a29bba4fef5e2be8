"""What prepares takes: an engine by its name. The same takes give the same bytes, whoever prepares them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ambulo.database.prepare_jobs import JobResult, PrepareJob
from ambulo.errors import ProjectError, nearest_names

ENGINES = ("local", "ray")
"""The engines by name; ``ray`` may be followed by ``://`` and the address of a cluster."""


class Engine(Protocol):
    """Prepares takes. A job is idempotent: what it writes depends on its key only, so that any may be run again."""

    def worker_count(self, jobs: int | None, work: Sequence[PrepareJob]) -> int:
        """How many workers a build will use.

        Args:
            jobs: workers at most, None for as many as there are cores.
            work: what is to be done.

        Raises:
            ProjectError: fewer than one was asked for.
        """
        ...

    def run(self, work: Sequence[PrepareJob], workers: int, done: Callable[[JobResult], None]) -> None:
        """Run all jobs, and again those whose worker died; hand over each result as it comes, in any order.

        Args:
            work: the jobs; afterwards the output file of each that did not fail is there.
            workers: how many at a time.
            done: called in this process, once a job.

        Raises:
            DatabaseError: workers keep dying, or the cluster cannot be reached.
        """
        ...


def create_engine(name: str) -> Engine:
    """The engine of a name: ``local``, ``ray``, or ``ray://HOST:PORT`` for a cluster that runs.

    Raises:
        ProjectError: there is no such engine.
    """
    address = cluster_address(name)
    if address is None:
        from ambulo.database.engines.local import LocalEngine

        return LocalEngine()
    from ambulo.database.engines.ray_engine import RayEngine

    return RayEngine(address)


def cluster_address(name: str) -> str | None:
    """The address of an engine's Ray cluster, empty for ``ray`` alone; None for the engine ``local``.

    Raises:
        ProjectError: there is no such engine.
    """
    kind, colon, address = name.partition("://")
    if kind == "ray" and bool(colon) == bool(address):
        return address
    if name == "local":
        return None
    raise ProjectError(
        f"there is no engine {name!r}; {nearest_names(kind, ENGINES)}",
        key="engine",
        remedy="say local, ray, or ray://HOST:PORT",
    )

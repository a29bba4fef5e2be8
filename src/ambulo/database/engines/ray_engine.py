"""Preparing takes on a Ray cluster: one of this machine, or one that runs elsewhere."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ambulo.database.engines.shipment import TOKEN, Shipment, Shipped, contents, pack, unpack_and_run
from ambulo.database.prepare_jobs import JobResult, PrepareJob, worker_count
from ambulo.database.workers import core_count
from ambulo.errors import AmbuloError, DatabaseError

# How often a task is tried again whose worker or machine died.
_RETRIES = 3
# Tasks that wait at the cluster for each that runs: enough that no worker is ever idle, few enough that the files that
# are sent along fit into memory.
_AHEAD = 2


class RayEngine:
    """Tasks of a Ray cluster.

    Args:
        address: ``HOST:PORT`` of a cluster's client server; ``auto`` for the one that this machine is part of; empty
            for what ``RAY_ADDRESS`` names, and without that for one of this machine alone that ends with the build.
    """

    def __init__(self, address: str = "") -> None:
        self.address = address

    def worker_count(self, jobs: int | None, work: Sequence[PrepareJob]) -> int:
        """As many as asked for; 0 for as many as the cluster has cores, which is known when it is reached."""
        worker_count(jobs, work)
        return 0 if jobs is None else max(1, min(jobs, len(work)))

    def run(self, work: Sequence[PrepareJob], workers: int, done: Callable[[JobResult], None]) -> None:
        """Run all jobs as tasks of the cluster.

        Raises:
            DatabaseError: no Ray, no cluster, a worker of another version, or a task whose workers keep dying.
        """
        if not work:
            return
        ray = _import_ray()
        token = secrets.token_hex(16)
        (work[0].output.parent / TOKEN).write_text(token)
        try:
            with self._cluster(ray, workers):
                at_once = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
                _run(ray, [pack(job, token) for job in sorted(work, key=lambda job: -job.size)], at_once, done)
        finally:
            (work[0].output.parent / TOKEN).unlink(missing_ok=True)

    @contextmanager
    def _cluster(self, ray: Any, workers: int) -> Iterator[None]:
        if ray.is_initialized():  # a program that uses Ray already
            yield
            return
        options: dict[str, Any] = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
        address = self.address or os.environ.get("RAY_ADDRESS", "")
        if address in ("", "local"):
            options |= {"address": "local", "num_cpus": workers or core_count()}
        elif address == "auto" or "://" in address:
            options = {"address": address, "log_to_driver": False, "logging_level": "error"}
        else:
            options = {"address": f"ray://{address}", "logging_level": "error"}
        try:
            ray.init(**options)
        except Exception as error:  # of many kinds: refused, unreachable, of another Ray or Python version
            raise DatabaseError(
                f"the Ray cluster {address or 'of this machine'} cannot be reached: {str(error).splitlines()[0]}",
                key="engine",
                remedy="check the address (ray://HOST:10001, a cluster's client server), or build with --engine local",
            ) from None
        try:
            yield
        finally:
            ray.shutdown()


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise DatabaseError(
            "the engine ray needs Ray, which is not installed", key="engine", remedy='pip install "ambulo[scale]"'
        ) from None
    return ray


def _run(ray: Any, shipments: Sequence[Shipment], at_once: int, done: Callable[[JobResult], None]) -> None:
    task = ray.remote(num_cpus=1, max_retries=_RETRIES)(unpack_and_run)
    waiting = iter(shipments)
    running: dict[Any, Shipment] = {}
    try:
        while True:
            for shipment in waiting:
                running[task.remote(shipment)] = shipment
                if len(running) >= at_once * _AHEAD:
                    break
            if not running:
                return
            ready, _ = ray.wait(list(running), num_returns=1)
            shipment = running.pop(ready[0])
            shipped = _result(ray, ready[0], shipment)
            if shipped.result is None:
                # Not in the loop above: what is sent along must not wait behind what is not even asked yet.
                running[task.remote(shipment, contents(shipment))] = shipment
                continue
            if shipped.frames is not None:
                shipment.job.output.write_bytes(shipped.frames)
            done(shipped.result)
    except BaseException:
        for reference in running:
            ray.cancel(reference, force=True)
        raise


def _result(ray: Any, reference: Any, shipment: Shipment) -> Shipped:
    path = shipment.job.path
    try:
        shipped: Shipped = ray.get(reference)
        return shipped
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, AmbuloError | OSError):
            raise cause from None
        raise DatabaseError(f"a worker failed: {cause!r}", path=path) from None
    except ray.exceptions.RayError as error:
        raise DatabaseError(
            f"the workers that prepared it died {_RETRIES + 1} times, perhaps for want of memory: "
            f"{str(error).splitlines()[0]}",
            path=path,
            remedy="build with fewer --jobs, or exclude the take",
        ) from None

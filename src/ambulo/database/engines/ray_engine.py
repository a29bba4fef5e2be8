"""Preparing takes on a Ray cluster: one of this machine, or one that runs elsewhere."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from ambulo.database.engines.ray_cluster import Watch, connected, explain, import_ray, is_of_ray, one_line
from ambulo.database.engines.shipment import TOKEN, Shipment, Shipped, contents, pack, unpack_and_run
from ambulo.database.prepare_jobs import JobResult, PrepareJob, worker_count
from ambulo.errors import DatabaseError

# How often a task is tried again whose worker or machine died.
_RETRIES = 3
# Tasks that wait at the cluster for each that runs: enough that no worker is ever idle, few enough that the files that
# are sent along fit into memory.
_AHEAD = 2
# How often the cluster is looked after while nothing comes back.
_LOOK_SECONDS = 2.0


class RayEngine:
    """Tasks of a Ray cluster.

    Args:
        address: see :func:`ambulo.database.engines.ray_cluster.connected`.
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
        ray = import_ray()
        token = secrets.token_hex(16)
        (work[0].output.parent / TOKEN).write_text(token)
        try:
            with connected(ray, self.address, workers):
                _run(ray, [pack(job, token) for job in sorted(work, key=lambda job: -job.size)], workers, done)
        finally:
            (work[0].output.parent / TOKEN).unlink(missing_ok=True)


def _run(ray: Any, shipments: Sequence[Shipment], workers: int, done: Callable[[JobResult], None]) -> None:
    """Run shipments, at most so many at a time; 0 for as many as the cluster has processors, now and later."""
    task = ray.remote(num_cpus=1, max_retries=_RETRIES)(unpack_and_run)
    watch = Watch(ray)
    waiting = iter(shipments)
    running: dict[Any, Shipment] = {}
    try:
        while True:
            watch.look()
            room = _AHEAD * (workers or max(1, watch.processors)) - len(running)
            for shipment in islice(waiting, max(0, room)):
                running[task.remote(shipment)] = shipment
            if not running:
                return
            ready, _ = ray.wait(list(running), num_returns=1, timeout=_LOOK_SECONDS)
            for reference in ready:
                shipment = running.pop(reference)
                shipped = _result(ray, reference, shipment)
                if shipped.result is None:
                    # Not among those above: what is sent along must not wait behind what is not even asked yet.
                    running[task.remote(shipment, contents(shipment))] = shipment
                    continue
                if shipped.frames is not None:
                    shipment.job.output.write_bytes(shipped.frames)
                done(shipped.result)
    except BaseException as error:
        with suppress(Exception):  # no cluster any more, perhaps
            for reference in running:
                ray.cancel(reference, force=True)
        if is_of_ray(error):
            raise explain(error) from None
        raise


def _result(ray: Any, reference: Any, shipment: Shipment) -> Shipped:
    lost = (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError, ray.exceptions.NodeDiedError)
    try:
        shipped: Shipped = ray.get(reference)
        return shipped
    except lost as error:
        raise DatabaseError(
            f"the workers that prepared it died {_RETRIES + 1} times, perhaps for want of memory: {one_line(error)}",
            path=shipment.job.path,
            remedy="build with fewer --jobs, or exclude the take",
        ) from None

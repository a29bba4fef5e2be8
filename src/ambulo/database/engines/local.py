"""Preparing takes in processes of this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ambulo.database.prepare_jobs import JobResult, PrepareJob, run_jobs, worker_count
from ambulo.database.workers import WorkerDied


class LocalEngine:
    """Processes that end when the build ends. One worker is this process itself."""

    def worker_count(self, jobs: int | None, work: Sequence[PrepareJob]) -> int:
        """As many as are worth starting: see :func:`ambulo.database.prepare_jobs.worker_count`."""
        return worker_count(jobs, work)

    def run(self, work: Sequence[PrepareJob], workers: int, done: Callable[[JobResult], None]) -> None:
        """Run all jobs. When a worker dies, what has no result yet is tried once more by half as many.

        Raises:
            DatabaseError: a worker died again.
        """
        finished: set[int] = set()

        def keep(result: JobResult) -> None:
            finished.add(result.number)
            done(result)

        try:
            run_jobs(work, workers, keep)
        except WorkerDied:
            # Never in this process: what killed a worker would kill the build.
            run_jobs([job for job in work if job.number not in finished], max(workers // 2, 2), keep)

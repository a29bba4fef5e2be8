"""Work on many takes in parallel, in processes that end when the one that started them ends, however it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Protocol, TypeVar

from ambulo.errors import DatabaseError


class Sized(Protocol):
    """A piece of work that knows about how much it is."""

    @property
    def size(self) -> int:
        """Bytes to read."""
        ...


class WorkerDied(DatabaseError):
    """A worker process died; what it worked on may be tried again."""


Job = TypeVar("Job", bound=Sized)
Result = TypeVar("Result")


def core_count() -> int:
    """Cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # absent on macOS and Windows
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def run_tasks(task: Callable[[Job], Result], work: Sequence[Job], workers: int, done: Callable[[Result], None]) -> None:
    """Run a task over all jobs and hand over each result as it comes, in any order.

    Args:
        task: a function of a module, so that another process finds it.
        work: the jobs; they and the results must pickle.
        workers: number of processes; 1 runs them in this one.
        done: called in this process.

    Raises:
        WorkerDied: a worker process died.
    """
    if workers == 1:
        for job in work:
            done(task(job))
        return
    with _worker_environment():
        pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_watch_parent)
        try:
            # The longest first: a long one at the end would keep one core busy and the others idle.
            futures: list[Future[Result]] = [pool.submit(task, job) for job in sorted(work, key=lambda job: -job.size)]
            for future in as_completed(futures):
                done(future.result())
        except BrokenProcessPool:
            raise WorkerDied(
                "a process that prepared takes died, perhaps for want of memory", remedy="build again with --jobs 1"
            ) from None
        except BaseException:
            for process in list((pool._processes or {}).values()):
                process.kill()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _watch_parent() -> None:
    """End this worker when the build's process dies, even by kill -9; else it would wait for work for ever."""
    parent = parent_process()

    def wait() -> None:
        assert parent is not None
        parent.join()
        os._exit(1)

    if parent is not None:
        Thread(target=wait, daemon=True).start()


@contextmanager
def _worker_environment() -> Iterator[None]:
    """While workers start: one BLAS thread each, and no second run of the caller's script.

    A spawned process runs the main script again to find what it is to call. Ours is to call this module only, and a
    user's script without ``if __name__ == "__main__":`` would start the build within the build.
    """
    main = sys.modules["__main__"]
    hidden = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
    threads = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    try:
        for name in hidden:
            setattr(main, name, None)
        os.environ.update(dict.fromkeys(threads, "1"))
        yield
    finally:
        for name, value in hidden.items():
            setattr(main, name, value)
        for name, text in threads.items():
            if text is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = text

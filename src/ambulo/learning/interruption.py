"""Signals that would end a process, held back until the work at hand is kept."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_WATCH = "ends with its parent"


@contextmanager
def interruptible() -> Iterator[list[int]]:
    """Signals that end a process (Ctrl+C, SIGTERM), collected: the step in progress is finished and kept first.

    In a process that another one started (multiprocessing), the end of that one counts as such a signal.
    """
    end_with_parent()
    caught: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield caught
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda received, _frame: caught.append(received))
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_with_parent() -> threading.Thread | None:
    """End this process by SIGTERM as soon as the one that started it has ended, however that came about.

    Returns:
        The thread that waits for it; None where this process was not started by multiprocessing.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return None
    for thread in threading.enumerate():
        if thread.name == _WATCH:
            return thread

    def wait() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=wait, name=_WATCH, daemon=True)
    thread.start()
    return thread

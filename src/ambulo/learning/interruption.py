"""Signals that would end a process, held back until the work at hand is kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interruptible() -> Iterator[list[int]]:
    """Signals that end a process (Ctrl+C, SIGTERM), collected: the step in progress is finished and kept first."""
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

"""The thread that moves a session sixty times a second, whatever the sockets do.

Messages come in through :meth:`Clock.post` and are taken between two steps; frames and messages go out through two
callbacks, called in this thread. While nobody watches, the session stands still and costs nothing.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue

import numpy as np

from ambulo.errors import AmbuloError
from ambulo.studio import messages
from ambulo.studio.session import STEP_RATE, Session

log = logging.getLogger(__name__)

Tell = Callable[[messages.ServerMessage], None]

CHOICE_INTERVAL = 0.15
STATS_INTERVAL = 0.5
LATE = 0.25
"""Seconds behind which the clock gives up catching up: a laptop that slept must not run through the night's steps."""


@dataclass(frozen=True)
class _Posted:
    message: messages.ClientMessage | Callable[[], None]
    tell: Tell


def problem_of(error: AmbuloError) -> messages.Problem:
    """The message that tells a page of a refusal."""
    return messages.Problem(error.message, error.key, error.remedy)


class _Explainer:
    """A thread that works out explanations: each costs several steps' time, and only the newest asked for matters."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._asked: SimpleQueue[Callable[[], messages.Choice] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="ambulo-studio-explainer", daemon=True)
        self._thread.start()

    def ask(self, explanation: Callable[[], messages.Choice]) -> None:
        self._asked.put(explanation)

    def stop(self) -> None:
        self._asked.put(None)
        self._thread.join(timeout=5.0)

    def _run(self) -> None:
        while (asked := self._asked.get()) is not None:
            with contextlib.suppress(Empty):
                while (newer := self._asked.get_nowait()) is not None:
                    asked = newer
                return
            try:
                self._tell(asked())
            except AmbuloError as error:
                self._tell(problem_of(error))
            except Exception as error:
                log.exception("an explanation failed")
                self._tell(_broken(error))


def _broken(error: Exception) -> messages.Problem:
    return messages.Problem(f"something is broken in ambulo: {type(error).__name__}: {error}")


class Clock:
    """Moves a session in a thread of its own.

    Args:
        session: belongs to the clock's thread from :meth:`start` on.
        on_frame: receives the binary frame of every moment that is shown.
        on_message: receives what all pages are told.
    """

    def __init__(self, session: Session, on_frame: Callable[[bytes], None], on_message: Tell) -> None:
        self.session = session
        self._on_frame = on_frame
        self._on_message = on_message
        self._posted: SimpleQueue[_Posted] = SimpleQueue()
        self._explainer = _Explainer(on_message)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._watchers = 0
        self._costs: deque[float] = deque(maxlen=240)

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="ambulo-studio-clock", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for it."""
        self._stop.set()
        self._posted.put(_Posted(lambda: None, lambda _: None))
        if self._thread is not None:
            self._thread.join(timeout=5.0)
        self._explainer.stop()

    def post(self, message: messages.ClientMessage, tell: Tell) -> None:
        """Hand in a message from a page; ``tell`` answers that page alone where it is refused."""
        self._posted.put(_Posted(message, tell))

    def greet(self, tell: Tell) -> None:
        """Count a watcher and tell it all that a page needs to know."""

        def greeting() -> None:
            self._watchers += 1
            tell(self.session.hello())
            tell(self.session.status())
            tell(self.session.choice())
            self._on_frame(self.session.frame())

        self._posted.put(_Posted(greeting, tell))

    def leave(self) -> None:
        """A watcher went; the last one takes its wish along."""

        def leaving() -> None:
            self._watchers -= 1
            if self._watchers == 0:
                self.session.release()

        self._posted.put(_Posted(leaving, lambda _: None))

    def do(
        self,
        task: Callable[[Session], list[messages.ServerMessage]],
        done: Callable[[], None],
        failed: Callable[[AmbuloError], None],
    ) -> None:
        """Let something happen to the session between two steps; all pages are told what it returns.

        Args:
            task: what happens; where it raises, nothing must have changed.
            done: called after it, in the clock's thread.
            failed: called in its place where it was refused.
        """

        def doing() -> None:
            try:
                told = task(self.session)
            except AmbuloError as error:
                failed(error)
                return
            for message in told:
                self._on_message(message)
            done()
            if self._watchers:
                self._on_frame(self.session.frame())

        self._posted.put(_Posted(doing, lambda _: None))

    # --- in the thread -----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        session = self.session
        due = time.perf_counter()
        next_choice = next_stats = due
        stats_began, stats_steps = due, 0
        while not self._stop.is_set():
            standing = session.paused or self._watchers == 0
            self._take_messages(wait=0.1 if standing else 0.0)
            now = time.perf_counter()
            if session.paused or self._watchers == 0:
                due, stats_began, stats_steps = now, now, 0
                continue
            if now < due:
                time.sleep(due - now)
                continue
            due = now if now - due > LATE else due
            due += 1.0 / (STEP_RATE * session.rate)
            if not self._advance():
                continue
            stats_steps += 1
            self._on_frame(session.frame())
            if now >= next_choice:
                next_choice = now + CHOICE_INTERVAL
                self._explainer.ask(session.explanation())
            if now >= next_stats:
                next_stats = now + STATS_INTERVAL
                self._tell_stats(stats_steps, now - stats_began)
                stats_began, stats_steps = now, 0

    def _take_messages(self, wait: float) -> None:
        changed = False
        try:
            posted = self._posted.get(timeout=wait) if wait else self._posted.get_nowait()
            while True:
                changed |= self._take(posted)
                posted = self._posted.get_nowait()
        except Empty:
            pass
        if changed and self._watchers:
            self._on_frame(self.session.frame())

    def _take(self, posted: _Posted) -> bool:
        """Do what one message says. Returns whether what is shown may have changed."""
        if callable(posted.message):
            posted.message()
            return False
        try:
            for reply in self.session.apply(posted.message):
                if isinstance(reply, messages.InputFile):
                    posted.tell(reply)
                else:
                    self._on_message(reply)
        except AmbuloError as error:
            posted.tell(problem_of(error))
        except Exception as error:  # a bug must not take the studio down; it is told and logged
            log.exception("the studio could not do %s", type(posted.message).__name__)
            posted.tell(_broken(error))
        return not isinstance(posted.message, messages.Input)

    def _advance(self) -> bool:
        session = self.session
        try:
            session.advance()
        except AmbuloError as error:
            # A wish that cannot be followed any more: drop what can be the cause, and say so.
            self._on_message(problem_of(error))
            if session.required_tags:
                session.required_tags = ()
            else:
                session.paused = True
            self._on_message(session.status())
            return False
        except Exception as error:
            log.exception("a step failed")
            session.paused = True
            self._on_message(_broken(error))
            self._on_message(session.status())
            return False
        self._costs.append(session.now.microseconds)
        return True

    def _tell_stats(self, steps: int, seconds: float) -> None:
        costs = np.array(self._costs) if self._costs else np.zeros(1)
        self._on_message(
            messages.Stats(
                asked_hz=STEP_RATE * self.session.rate,
                hz=steps / seconds if seconds > 0 else 0.0,
                step_p50=float(np.quantile(costs, 0.5)),
                step_p99=float(np.quantile(costs, 0.99)),
                client_count=self._watchers,
            )
        )

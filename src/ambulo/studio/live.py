"""Projects that are built again when their files change, and played on from where the character is."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

from ambulo.errors import AmbuloError
from ambulo.studio import messages
from ambulo.studio.clock import Clock
from ambulo.studio.open_project import open_project
from ambulo.studio.rebuild import Builder
from ambulo.studio.watch import ProjectWatch

log = logging.getLogger(__name__)


class LiveProjects:
    """Watches projects, builds them again in the background, and puts the new databases under the session.

    A build that fails leaves everything as it was, and says why.

    Args:
        places: name of a project in the session -> its folder.
        clock: of the session.
        tell: receives what all pages are told.
    """

    def __init__(self, places: dict[str, Path], clock: Clock, tell: Callable[[messages.ServerMessage], None]) -> None:
        self.places = places
        self.last: messages.Rebuild | None = None
        self._clock = clock
        self._tell_all = tell
        self._builder = Builder()
        self._asked: SimpleQueue[str | None] = SimpleQueue()
        self._watch = ProjectWatch(places, self.request)
        self._thread = threading.Thread(target=self._run, name="ambulo-studio-rebuild", daemon=True)

    def start(self) -> None:
        """Start watching and building."""
        self._thread.start()
        self._watch.start()

    def stop(self) -> None:
        """Stop; a build that runs is ended, and its project's database stays as it was."""
        self._watch.stop()
        self._builder.stop()
        self._asked.put(None)
        self._thread.join(timeout=5.0)

    def request(self, name: str) -> None:
        """Ask for a project to be built again, from any thread. Requests that wait for the same project are one."""
        self._asked.put(name)

    def _run(self) -> None:
        while True:
            waiting = [self._asked.get()]
            while not self._asked.empty():
                waiting.append(self._asked.get())
            if None in waiting:
                return
            for name in dict.fromkeys(entry for entry in waiting if entry is not None):
                try:
                    self._rebuild(name)
                except AmbuloError as error:
                    self._say(name, "failed", _reason(error), error.remedy)
                except Exception as error:  # a bug here must not end the live reload of the whole evening
                    log.exception("%s could not be built again", name)
                    self._say(name, "failed", f"something is broken in ambulo: {type(error).__name__}: {error}")

    def _rebuild(self, name: str) -> None:
        self._say(name, "building", "building")
        built = self._builder.build(self.places[name])
        if built.report["up_to_date"]:
            self._say(name, "ready", "nothing to build")
            return
        played = self._clock.session.project
        project = open_project(self.places[name], name, played.also)

        def failed(error: AmbuloError) -> None:
            self._say(name, "failed", _reason(error), error.remedy)

        def swapped() -> None:
            self._say(name, "ready", built.text)

        project.controller(self._clock.session.controller_name)  # what takes long is done in this thread
        self._clock.do(lambda session: session.replace_project(project), swapped, failed)

    def _say(self, name: str, state: str, text: str, remedy: str | None = None) -> None:
        self.last = messages.Rebuild(name, state, text, remedy)
        self._tell_all(self.last)


def _reason(error: AmbuloError) -> str:
    return str(error).partition(" | ")[0]

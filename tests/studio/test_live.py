"""Live reload: which files matter, what a failed build does, and that the character goes on where it is."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from ambulo.studio import messages
from ambulo.studio.clock import Clock
from ambulo.studio.launch import make_session as make_real_session
from ambulo.studio.launch import project_places
from ambulo.studio.live import LiveProjects
from ambulo.studio.open_project import OpenProject
from ambulo.studio.session import Session
from ambulo.studio.watch import matters, source_places


def root_of(session: Session) -> np.ndarray:
    return np.frombuffer(session.now.body, "<f4", 3)


def walk(session: Session, steps: int) -> None:
    session.apply(messages.Input((0.0, 1.3), sequence=1))
    for _ in range(steps):
        session.advance()


def test_the_character_goes_on_where_it_is(make_session: Callable[..., Session], opened: OpenProject) -> None:
    session = make_session()
    session.apply(messages.SetTags(["mirrored"]))
    walk(session, 120)
    before, tick, epoch = root_of(session).copy(), session.now.tick, session.epoch
    assert np.linalg.norm(before[[0, 2]]) > 1.0
    told = session.replace_project(OpenProject("small", opened.database, opened.index))
    assert [type(message) for message in told] == [messages.Hello, messages.Status]
    assert np.abs(root_of(session) - before).max() < 0.06  # a step further
    assert session.now.tick == tick + 1
    assert session.epoch == epoch + 1
    assert session.required_tags == ("mirrored",)
    walk(session, 60)
    assert np.linalg.norm(root_of(session) - before) > 0.5


def test_a_project_that_is_not_shown_waits(make_session: Callable[..., Session], opened: OpenProject) -> None:
    session = make_session()
    now = session.now
    assert session.replace_project(OpenProject("twin", opened.database, opened.index)) == []
    assert session.now is now


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("ambulo.toml", True),
        ("takes/a.bvh", True),
        ("takes/deep/a.fbx", True),
        ("takes/a.tags.csv", True),
        ("takes/a.channels.csv", True),
        ("takes/notes.txt", False),
        ("takes/.a.bvh.part", False),
        ("takes/.dropped-1/a.bvh", False),
        ("database/manifest.json", False),
        ("database.building/work/a.bvh", False),
        ("elsewhere/a.bvh", False),
        ("other.toml", False),
    ],
)
def test_which_files_matter(tmp_path: Path, path: str, expected: bool) -> None:
    (tmp_path / "takes").mkdir()
    (tmp_path / "ambulo.toml").write_text('name = "p"\n[[sources]]\npath = "takes"\n')
    sources = source_places(tmp_path)
    assert matters(tmp_path / path, tmp_path, sources) is expected
    everything = [tmp_path]  # a project whose source is its own folder
    if path.startswith("database"):
        assert not matters(tmp_path / path, tmp_path, everything)


class Running:
    """A live project without a server: its clock runs, and what pages would be told is kept."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.told: list[messages.ServerMessage] = []
        self.session = make_real_session([project])
        self.clock = Clock(self.session, lambda frame: None, self.told.append)
        self.live = LiveProjects(project_places([project]), self.clock, self.told.append)
        self.clock.start()
        self.live.start()
        self.clock.greet(lambda message: None)
        time.sleep(0.5)  # the watch has begun

    def until(self, state: str, seconds: float = 90.0) -> messages.Rebuild:
        """The next message of a rebuild in that state; what came before it is forgotten."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for place, message in enumerate(self.told):
                if isinstance(message, messages.Rebuild) and message.state == state:
                    del self.told[: place + 1]
                    return message
            time.sleep(0.02)
        raise AssertionError(f"no {state}: {[m for m in self.told if isinstance(m, messages.Rebuild)]}")

    def stop(self) -> None:
        self.live.stop()
        self.clock.stop()


@pytest.fixture
def running(project: Path, tmp_path: Path) -> Iterator[Running]:
    shutil.copytree(project, tmp_path / "live")
    started = Running(tmp_path / "live")
    yield started
    started.stop()


def test_edits_are_built_and_failures_leave_what_is_there(running: Running) -> None:
    project, session = running.project, running.session
    take = next((project / "takes").rglob("*.bvh"))
    tags = take.with_name(take.stem + ".tags.csv")
    sound = tags.read_bytes() if tags.exists() else b"start,stop,tag\n"
    database = session.project.database
    tags.write_bytes(sound + b"5.0,1.0,upside_down\n")
    running.until("building")
    failed = running.until("failed")
    assert tags.name in failed.text
    assert session.project.database is database
    tags.write_bytes(sound + b"1.0,3.0,brand_new\n")
    ready = running.until("ready")
    assert "clips" in ready.text
    assert session.project.database is not database
    assert "brand_new" in session.project.database.tags
    tick = session.now.tick
    time.sleep(0.3)
    assert session.now.tick > tick

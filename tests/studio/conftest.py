"""A small project with embedded takes, built once, and sessions that play it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from ambulo.cli import main
from ambulo.studio.open_project import OpenProject, open_project
from ambulo.studio.session import Session


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a built project: two minutes of embedded takes."""
    folder = tmp_path_factory.mktemp("studio") / "small"
    assert main.run(["new", str(folder), "--minutes", "2", "--json"]) == 0
    assert main.run(["build", str(folder), "--jobs", "1", "--json"]) == 0
    return folder


@pytest.fixture(scope="session")
def opened(project: Path) -> OpenProject:
    """The same, opened."""
    return open_project(project, "small")


@pytest.fixture
def make_session(opened: OpenProject) -> Callable[..., Session]:
    """Makes sessions on the small project, which can be chosen as ``small`` and as ``twin``."""

    def make(**options: object) -> Session:
        def opener(name: str) -> OpenProject:
            return OpenProject(name, opened.database, opened.index)

        return Session(["small", "twin"], opener, **options)  # type: ignore[arg-type]

    return make


@pytest.fixture
def session(make_session: Callable[..., Session]) -> Session:
    """A session that has just begun."""
    return make_session()


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A static folder with a page and an asset, and a secret beside it that must never be served."""
    folder = tmp_path_factory.mktemp("page")
    static = folder / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text("<!doctype html><title>studio</title>", encoding="utf-8")
    (static / "assets" / "index-abc.js").write_text("export {}", encoding="utf-8")
    (folder / "secret.txt").write_text("secret", encoding="utf-8")
    with contextlib.suppress(OSError):  # Windows lets only some users make links
        (static / "link.txt").symlink_to(folder / "secret.txt")
    return static

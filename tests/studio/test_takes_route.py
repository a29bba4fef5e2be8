"""``POST /takes``: only the studio's own page may, and only where the studio takes files."""

from __future__ import annotations

import http.client
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvicorn

from ambulo.studio import server, uploads
from ambulo.studio.session import Session


@pytest.fixture
def served(
    make_session: Callable[..., Session], project: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[int, Path]]:
    """A port, and the folder of the project that is played there."""
    folder = tmp_path / "small"
    shutil.copytree(project, folder, ignore=shutil.ignore_patterns("database"))
    page = tmp_path / "page"
    page.mkdir()
    (page / "index.html").write_text("page")
    listener = server.bind()
    port = int(listener.getsockname()[1])
    places = {"small": folder} if getattr(request, "param", True) else None
    app = server.create_app(make_session(), port=port, static=page, places=places)
    running = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="websockets-sansio"))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield port, folder
    running.should_exit = True
    thread.join(timeout=10)


def post(port: int, name: str, body: bytes, **headers: str) -> tuple[int, dict[str, object]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", f"/takes?name={name}", body, headers)
    answer = connection.getresponse()
    text = answer.read()
    return answer.status, json.loads(text) if text.startswith(b"{") else {"text": text.decode()}


def own(port: int) -> dict[str, str]:
    return {"Origin": f"http://127.0.0.1:{port}"}


def test_other_pages_may_not(served: tuple[int, Path]) -> None:
    port, folder = served
    before = sorted(folder.rglob("*"))
    take = next(folder.rglob("*.bvh")).read_bytes()
    for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {**own(port), "Host": "evil.example"}):
        status, _ = post(port, "new.bvh", take, **headers)
        assert status == 403
    assert sorted(folder.rglob("*")) == before


def test_refusals_have_reasons(served: tuple[int, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    port, folder = served
    status, told = post(port, "..%2Fambulo.toml", b"name = 1", **own(port))
    assert status == 400
    assert "cannot be a file's name" in str(told["message"])
    assert told["remedy"]
    monkeypatch.setattr(uploads, "MAXIMUM_BYTES", 10)
    status, told = post(port, "long.bvh", b"x" * 100, **own(port))
    assert status == 400
    assert "long" not in [path.stem for path in folder.rglob("*")]


@pytest.mark.parametrize("served", [False], indirect=True)
def test_a_frozen_studio_takes_nothing(served: tuple[int, Path]) -> None:
    port, _ = served
    status, told = post(port, "a.bvh", b"HIERARCHY", **own(port))
    assert status == 400
    assert "takes no files" in str(told["message"])

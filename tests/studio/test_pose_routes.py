"""The posing page's WebSocket and its files: only the studio's own page may, and what is malformed is answered."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

import ambulo
from ambulo.studio import messages, server
from ambulo.studio.session import Session


@pytest.fixture(scope="module")
def port(opened: Any, page: Path) -> Iterator[int]:
    def opener(name: str) -> Any:
        return opened

    listener = server.bind()
    port = int(listener.getsockname()[1])
    app = server.create_app(Session(["small"], opener), port=port, static=page)
    running = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="websockets-sansio"))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield port
    running.should_exit = True
    thread.join(timeout=10)


@pytest.fixture
def ask(port: int) -> Iterator[Callable[[str], dict[str, Any]]]:
    with connect(f"ws://127.0.0.1:{port}/pose/ws", origin=own(port)["Origin"]) as socket:  # type: ignore[arg-type]
        assert json.loads(socket.recv(timeout=60))["type"] == "pose_hello"

        def asking(text: str) -> dict[str, Any]:
            socket.send(text)
            return dict(json.loads(socket.recv(timeout=60)))

        yield asking


def own(port: int) -> dict[str, str]:
    return {"Origin": f"http://127.0.0.1:{port}"}


def post(port: int, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/pose/save", body, headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example"])
def test_other_pages_may_not(port: int, origin: str | None) -> None:
    with pytest.raises(InvalidStatus), connect(f"ws://127.0.0.1:{port}/pose/ws", origin=origin):  # type: ignore[arg-type]
        pass
    keys = json.dumps({"keys": [{"time": 0, "pins": {"hips": [0, 1, 0]}}], "format": "bvh"}).encode()
    assert post(port, keys, {} if origin is None else {"Origin": origin})[0] == 403


def test_a_pose_is_answered(ask: Callable[[str], dict[str, Any]]) -> None:
    answer = ask('{"type": "solve_pose", "pins": {"hips": [0, 0.9, 0]}, "sequence": 3}')
    assert (answer["type"], answer["sequence"]) == ("posed", 3)
    assert len(answer["rotations"]) * 3 == len(answer["positions"]) * 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense", "not understood"),
        ('{"type": "solve_pose", "pins": {}}', "not understood"),
        ('{"type": "solve_pose", "pins": {"hips": [0, 1e6, 0]}}', "not understood"),
        ('{"type": "solve_pose", "pins": {"hips": [0, NaN, 0]}}', "not understood"),
        ('{"type": "solve_pose", "pins": {"hops": [0, 1, 0]}}', "hips"),
        ('{"type": "solve_pose", "pins": {"hips": [0, 1, 0]}, "more": 1}', "more"),
    ],
)
def test_what_is_malformed_is_said_and_the_page_stays(
    ask: Callable[[str], dict[str, Any]], text: str, said: str
) -> None:
    answer = ask(text)
    assert answer["type"] == "problem"
    assert said in answer["message"]
    assert ask('{"type": "solve_pose", "pins": {"hips": [0, 0.9, 0]}}')["type"] == "posed"


def test_keys_are_saved(port: int, tmp_path: Path) -> None:
    keys = [{"time": t, "pins": {"hips": [0, 0.9, 0.2 * t]}} for t in (0, 1)]
    status, data = post(port, json.dumps({"keys": keys, "format": "glb", "rate": 10}).encode(), own(port))
    assert status == 200
    (tmp_path / "saved.glb").write_bytes(data)
    assert ambulo.load(tmp_path / "saved.glb").frame_count == 11


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "not understood"),
        (b'{"keys": [], "format": "bvh"}', "not understood"),
        (b'{"keys": [{"time": 0, "pins": {"hips": [0, 1, 0]}}], "format": "../../x"}', "not understood"),
        (b'{"keys": [{"time": 0, "pins": {"hops": [0, 1, 0]}}], "format": "bvh"}', "hips"),
        (b"x" * (3 * 1024 * 1024), "too many"),
    ],
)
def test_keys_that_cannot_be_saved_are_refused(port: int, body: bytes, said: str) -> None:
    status, answer = post(port, body, own(port))
    assert status == 400
    assert said in json.loads(answer)["message"]


def test_an_oversized_message_closes_the_page(port: int) -> None:
    with connect(f"ws://127.0.0.1:{port}/pose/ws", origin=own(port)["Origin"]) as socket:  # type: ignore[arg-type]
        socket.recv(timeout=60)
        socket.send(" " * (messages.MAXIMUM_MESSAGE_BYTES + 1))
        with pytest.raises(ConnectionClosed, match="over"):
            socket.recv(timeout=60)

"""The server on a real socket: who is let in, what is served, and that nothing a page sends can hurt it."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from ambulo.errors import StudioError
from ambulo.studio import messages, server
from ambulo.studio.session import Session


@pytest.fixture
def port(make_session: Callable[..., Session], page: Path) -> Iterator[int]:
    """Port of a running studio."""
    listener = server.bind()
    number = int(listener.getsockname()[1])
    app = server.create_app(make_session(), port=number, static=page)
    config = uvicorn.Config(
        app, log_level="error", ws="websockets-sansio", ws_max_size=4 * messages.MAXIMUM_MESSAGE_BYTES
    )
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield number
    running.should_exit = True
    thread.join(timeout=10)
    assert not thread.is_alive()


def get(port: int, path: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    """A GET of exactly that path: unlike in most clients, dots and escapes reach the server as they are."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.putrequest("GET", path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    body = response.read()
    found = {name.lower(): value for name, value in response.getheaders()}
    connection.close()
    return response.status, body, found


def open_page(port: int, **options: Any) -> ClientConnection:
    options.setdefault("origin", f"http://127.0.0.1:{port}")
    return connect(f"ws://127.0.0.1:{port}/ws", max_size=None, **options)


class Page:
    """A page without a browser: reads, acknowledges, remembers."""

    def __init__(self, socket: ClientConnection, acknowledge: bool = True) -> None:
        self.socket = socket
        self.acknowledge = acknowledge
        self.frames = 0
        self.last_frame = b""

    def send(self, **message: Any) -> None:
        self.socket.send(json.dumps(message))

    def read(self, timeout: float = 5.0) -> dict[str, Any] | bytes:
        received = self.socket.recv(timeout)
        if isinstance(received, str):
            return dict(json.loads(received))
        self.frames += 1
        self.last_frame = received
        if self.acknowledge:
            self.send(type="seen", frames=self.frames)
        return received

    def until(self, **wanted: Any) -> dict[str, Any]:
        """The next message with these values."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            message = self.read()
            if isinstance(message, dict) and all(message.get(key) == value for key, value in wanted.items()):
                return message
        raise AssertionError(f"no message with {wanted}")

    def next_frames(self, count: int) -> list[bytes]:
        frames: list[bytes] = []
        while len(frames) < count:
            message = self.read()
            if isinstance(message, bytes):
                frames.append(message)
        return frames


@pytest.fixture
def page_socket(port: int) -> Iterator[Page]:
    with open_page(port) as connection:
        yield Page(connection)


def tick_of(frame: bytes) -> int:
    return int(struct.unpack_from("<I", frame, 4)[0])


# --- files -----------------------------------------------------------------------------------------------------------


def test_the_page_is_served_with_its_headers(port: int) -> None:
    status, body, headers = get(port, "/")
    assert (status, b"studio" in body) == (200, True)
    assert "script-src 'self'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-cache"
    status, _, headers = get(port, "/assets/index-abc.js")
    assert status == 200
    assert "immutable" in headers["cache-control"]


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "/assets/../../secret.txt",
        "/assets/..%2f..%2fsecret.txt",
        "/..%5csecret.txt",
        "//secret.txt",
        "/link.txt",
        "/%00",
        "/assets",
        "/nothing.html",
        "/etc/passwd",
        "//etc/passwd",
    ],
)
def test_nothing_outside_the_folder_is_served(port: int, path: str) -> None:
    status, body, _ = get(port, path)
    assert status in (400, 404, 405)
    assert b"secret" not in body
    assert b"root:" not in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_only_reading_is_allowed(port: int, method: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, "/")
    assert connection.getresponse().status == 405
    connection.close()


# --- who is let in ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
def test_foreign_pages_get_no_files(port: int, headers: dict[str, str]) -> None:
    status, body, _ = get(port, "/", **headers)
    assert status == 403
    assert b"<title>" not in body


@pytest.mark.parametrize("origin", [None, "http://evil.example", "null", "http://127.0.0.1:1"])
def test_foreign_pages_get_no_socket(port: int, origin: str | None) -> None:
    with pytest.raises(InvalidStatus) as refused, open_page(port, origin=origin):
        pass
    assert refused.value.response.status_code == 403


def test_a_rebound_host_gets_no_socket(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    evil = f"evil.example:{port}"
    handshake = {
        "Host": evil,
        "Origin": f"http://{evil}",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version": "13",
    }
    connection.request("GET", "/ws", headers=handshake)
    assert connection.getresponse().status == 403
    connection.close()


# --- what is said ----------------------------------------------------------------------------------------------------


def test_a_page_is_greeted_and_then_sees_poses(page_socket: Page) -> None:
    hello = page_socket.until(type="hello")
    assert hello["version"] == messages.PROTOCOL_VERSION
    status = page_socket.until(type="status")
    assert status["controller"] == "motion_matching"
    page_socket.until(type="choice")
    ticks = [tick_of(frame) for frame in page_socket.next_frames(10)]
    assert ticks == sorted(ticks)
    assert ticks[-1] > ticks[0]


def test_the_character_goes_where_it_is_told(page_socket: Page) -> None:
    page_socket.until(type="status")
    page_socket.send(type="input", velocity=[0, 1.4], sequence=5)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        (frame,) = page_socket.next_frames(1)
        x, _, z = struct.unpack_from("<3f", frame, 64)
        if z > 1.0:
            break
    assert z > 1.0
    assert abs(x) < 0.5
    assert struct.unpack_from("<I", frame, 36)[0] == 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "{}",
        '{"type": "fly"}',
        '{"type": "input", "velocity": [1e9, 0]}',
        '{"type": "input", "velocity": [NaN, 0]}',
        '{"type": "rewind", "tick": -1}',
        "[" * 8000,
        '{"x": ' + "[" * 8000,
        "\N{GRINNING FACE}",
    ],
    ids=lambda text: text[:40] or "empty",
)
def test_what_is_not_understood_is_answered_and_survived(page_socket: Page, text: str) -> None:
    page_socket.until(type="status")
    page_socket.socket.send(text)
    problem = page_socket.until(type="problem")
    assert "not understood" in problem["message"]
    page_socket.send(type="rate", rate=0.5)
    assert page_socket.until(type="status")["rate"] == 0.5


def test_binary_messages_are_answered(page_socket: Page) -> None:
    page_socket.until(type="status")
    page_socket.socket.send(b"\x00\x01")
    assert "binary" in page_socket.until(type="problem")["message"]


def test_a_refusal_reaches_only_the_page_that_asked(port: int) -> None:
    with open_page(port) as first, open_page(port) as second:
        asking, other = Page(first), Page(second)
        asking.until(type="status")
        other.until(type="status")
        asking.send(type="set_tags", required=["levitation"])
        problem = asking.until(type="problem")
        assert problem["key"] == "levitation"
        asking.send(type="rate", rate=0.25)
        seen: list[str] = []
        while True:
            message = other.read()
            if isinstance(message, dict):
                seen.append(message["type"])
                if message["type"] == "status":
                    break
        assert message["rate"] == 0.25
        assert "problem" not in seen


def test_an_oversize_message_closes_the_connection_alone(port: int) -> None:
    with open_page(port) as connection:
        page = Page(connection)
        page.until(type="status")
        page.send(type="set_tags", required=["x" * messages.MAXIMUM_MESSAGE_BYTES])
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                page.read()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
    with open_page(port) as connection:
        Page(connection).until(type="hello")


def test_a_flood_closes_the_connection(port: int) -> None:
    with open_page(port) as connection:
        page = Page(connection, acknowledge=False)
        page.until(type="status")
        with pytest.raises(ConnectionClosed) as closed:
            for _ in range(2000):
                page.send(type="input", velocity=[0, 0])
            while True:
                page.read()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1008


def test_a_page_that_does_not_acknowledge_gets_no_backlog(port: int) -> None:
    with open_page(port) as connection:
        page = Page(connection, acknowledge=False)
        page.until(type="status")
        page.next_frames(server.FRAMES_IN_FLIGHT)
        with pytest.raises(TimeoutError):
            while True:
                assert not isinstance(page.read(timeout=0.5), bytes)
        stale = tick_of(page.last_frame)
        time.sleep(0.2)
        page.send(type="seen", frames=page.frames)
        (fresh,) = page.next_frames(1)
        assert tick_of(fresh) - stale > 10


def test_pages_over_the_limit_are_turned_away(port: int) -> None:
    with contextlib.ExitStack() as crowd:
        for _ in range(server.MAXIMUM_CONNECTIONS):
            Page(crowd.enter_context(open_page(port))).until(type="hello")
        with pytest.raises(InvalidStatus), open_page(port):
            pass
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try:
            with open_page(port) as connection:
                Page(connection).until(type="hello")
                return
        except InvalidStatus:
            time.sleep(0.05)
    raise AssertionError("no page is let in after the others have gone")


def test_rewind_and_resume_over_the_wire(page_socket: Page) -> None:
    page_socket.until(type="status")
    frames = page_socket.next_frames(40)
    target = tick_of(frames[10])
    page_socket.send(type="rewind", tick=target)
    assert page_socket.until(type="status")["paused"]
    (shown,) = page_socket.next_frames(1)
    assert tick_of(shown) == target
    assert shown[64:] == frames[10][64:]
    page_socket.send(type="pause", paused=False)
    assert not page_socket.until(type="status")["paused"]
    assert tick_of(page_socket.next_frames(3)[-1]) > target


def test_nobody_watching_stops_the_clock(port: int) -> None:
    with open_page(port) as connection:
        page = Page(connection)
        page.until(type="status")
        page.send(type="input", velocity=[0, 1.4])
        last = tick_of(page.next_frames(5)[-1])
    time.sleep(0.5)
    with open_page(port) as connection:
        page = Page(connection)
        page.until(type="status")
        (frame,) = page.next_frames(1)
        assert tick_of(frame) - last < 15


# --- starting --------------------------------------------------------------------------------------------------------


def test_a_taken_port_is_refused() -> None:
    with server.bind() as listener:
        taken = listener.getsockname()[1]
        with pytest.raises(StudioError, match="cannot be opened") as refused:
            server.bind(taken)
        assert refused.value.remedy is not None


def test_a_port_that_cannot_be_is_refused() -> None:
    with pytest.raises(StudioError, match="70000"):
        server.bind(70000)


def test_listens_on_the_loopback_interface_only() -> None:
    with server.bind() as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_accepted_sockets_do_not_wait_to_send() -> None:
    """What asyncio looks at before it switches Nagle's algorithm off must hold for the sockets that it accepts."""
    with server.bind() as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert (accepted.type, accepted.proto) == (socket.SOCK_STREAM, socket.IPPROTO_TCP)


def test_a_page_that_was_not_built_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(server, "STATIC", tmp_path)
    with pytest.raises(StudioError, match="has not been built") as refused:
        server.static_folder()
    assert "web/build.py" in str(refused.value.remedy)

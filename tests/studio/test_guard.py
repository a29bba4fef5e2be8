"""Who may talk to the studio."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from ambulo.studio.guard import Budget, refusal


def headers(**values: str) -> Headers:
    return Headers(values)


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765"])
def test_the_own_page_passes(host: str) -> None:
    assert refusal(headers(host=host), 8765, websocket=False) is None
    assert refusal(headers(host=host, origin=f"http://{host}"), 8765, websocket=True) is None
    assert refusal(headers(host=host, origin=f"http://{host}"), 8765, websocket=False) is None


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:8765",
        "127.0.0.1",
        "127.0.0.1:8766",
        "localhost.evil.example:8765",
        "0.0.0.0:8765",
        "127.0.0.1:8765.evil.example",
        "user@127.0.0.1:8765",
        "192.168.0.7:8765",
    ],
)
@pytest.mark.parametrize("websocket", [False, True])
def test_foreign_hosts_are_refused(host: str, websocket: bool) -> None:
    reason = refusal(headers(host=host, origin="http://127.0.0.1:8765"), 8765, websocket=websocket)
    assert reason is not None
    assert "Host" in reason


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "https://127.0.0.1:8765",
        "http://127.0.0.1:80",
        "http://127.0.0.1:8765.evil.example",
        "http://localhost",
        "file://",
        "",
    ],
)
@pytest.mark.parametrize("websocket", [False, True])
def test_foreign_origins_are_refused(origin: str, websocket: bool) -> None:
    reason = refusal(headers(host="127.0.0.1:8765", origin=origin), 8765, websocket=websocket)
    assert reason is not None
    assert "origin" in reason


def test_a_websocket_without_origin_is_refused() -> None:
    assert refusal(headers(host="127.0.0.1:8765"), 8765, websocket=True) is not None
    assert refusal(headers(host="127.0.0.1:8765"), 8765, websocket=False) is None


def test_two_hosts_are_refused() -> None:
    twice = Headers(raw=[(b"host", b"127.0.0.1:8765"), (b"host", b"evil.example")])
    assert refusal(twice, 8765, websocket=False) is not None


def test_the_default_port_need_not_be_named() -> None:
    assert refusal(headers(host="localhost"), 80, websocket=False) is None


def test_budget_allows_a_burst_and_then_no_more() -> None:
    budget = Budget(rate=1e-9, burst=5)
    assert [budget.spend() for _ in range(7)] == [True] * 5 + [False] * 2

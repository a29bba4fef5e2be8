"""Who may talk to the studio: pages that the studio itself served, on this machine.

The server listens on the loopback interface, but any page in the browser could still send requests there, and a page
that rebinds its own host name to 127.0.0.1 would even read the answers. So the Host header must name the loopback
interface and our port, and an Origin header, which browsers add to every WebSocket, must be that of our own page.
"""

from __future__ import annotations

import time

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


def security_headers(port: int) -> list[tuple[bytes, bytes]]:
    """Headers of every answer: the page may run its own scripts and talk to its own server, and nothing else."""
    sockets = f"ws://127.0.0.1:{port} ws://localhost:{port}"
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        f"connect-src 'self' {sockets}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return [
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"cross-origin-opener-policy", b"same-origin"),
    ]


def refusal(headers: Headers, port: int, *, websocket: bool) -> str | None:
    """Why a request with these headers is refused; None where it may pass."""
    hosts = {f"{name}:{port}" for name in LOOPBACK_NAMES} | (set(LOOPBACK_NAMES) if port == 80 else set())
    if headers.get("host", "") not in hosts or len(headers.getlist("host")) != 1:
        return "this Host is not served here; open the address that `ambulo play` printed"
    origins = headers.getlist("origin")
    if websocket and not origins:
        return "a WebSocket needs the Origin of the studio's own page"
    if any(origin not in {f"http://{host}" for host in hosts} for origin in origins):
        return "pages of another origin may not talk to the studio"
    return None


class LoopbackGuard:
    """ASGI middleware: refuses foreign Host and Origin headers and adds security headers to every answer."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self.app = app
        self.port = port
        self._headers = security_headers(port)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        reason = refusal(Headers(scope=scope), self.port, websocket=scope["type"] == "websocket")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *self._headers]}
            await send(message)

        if reason is None:
            await self.app(scope, receive, send_with_headers)
        elif scope["type"] == "http":
            await PlainTextResponse(reason + "\n", status_code=403)(scope, receive, send_with_headers)
        else:
            # Closing before accepting makes the server answer the handshake with 403.
            await send({"type": "websocket.close", "code": 1008, "reason": reason[:120]})


class Budget:
    """A token bucket: ``rate`` messages a second in the long run, ``burst`` at once."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._last = time.monotonic()

    def spend(self) -> bool:
        """Take one message's worth; False where nothing is left."""
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._last) * self._rate)
        self._last = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True

"""A server on this machine that stands in for the web, and what it serves."""

from __future__ import annotations

import io
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """What the server does: files by path, and how it misbehaves."""

    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    tag: str = '"v1"'
    cut: list[int] = field(default_factory=list)
    """Bytes after which each of the next answers breaks off."""
    status: list[int] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""


@contextmanager
def serve() -> Iterator[Site]:
    """Serve until the context is left."""
    state = Site()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            wanted = self.headers.get("Range", "")
            state.asked.append((self.path, wanted))
            if state.status:
                self.send_error(state.status.pop(0))
                return
            data = state.files.get(self.path)
            if data is None:
                self.send_error(404)
                return
            begin = 0
            if wanted and state.ranges and self.headers.get("If-Range", state.tag) == state.tag:
                begin = int(wanted.removeprefix("bytes=").rstrip("-"))
                if begin >= len(data):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(data)}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
            else:
                self.send_response(200)
            self.send_header("Content-Length", str(len(data) - begin))
            if state.tag:
                self.send_header("ETag", state.tag)
            self.end_headers()
            stop = begin + state.cut.pop(0) if state.cut else len(data)
            self.wfile.write(data[begin:stop])

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


def zipped(files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()

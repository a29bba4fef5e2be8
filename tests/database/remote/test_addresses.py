"""What is a URL, and what is said when one does not answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from ambulo.database.database import Database
from ambulo.database.remote.addresses import as_url, open_address, shown
from ambulo.errors import DatabaseError, ProjectError


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("s3://bucket/takes/", "s3://bucket/takes"),
        (Path("s3://bucket/takes"), "s3://bucket/takes"),
        ("S3://Bucket/Takes", "s3://Bucket/Takes"),
        ("gcs://b", "gcs://b"),
        (Path("file:///data/takes"), "file:///data/takes"),
        (Path("memory://database"), "memory://database"),
        ("takes", None),
        ("../takes", None),
        ("/data/takes", None),
        ("C:/data/takes", None),
        ("C:\\data", None),
        ("s3://", None),
    ],
)
def test_urls_are_told_from_paths(text, url):
    assert as_url(text) == url


def test_passwords_are_refused_and_never_shown():
    assert shown("ftp://me:secret@host/takes") == "ftp://host/takes"
    with pytest.raises(ProjectError) as raised:
        open_address("ftp://me:secret@host/takes", "sources.path")
    assert "secret" not in str(raised.value) and "password" in str(raised.value)


def test_an_unknown_protocol_is_named():
    pytest.importorskip("fsspec")
    with pytest.raises(ProjectError, match="no protocol 's4'"):
        open_address("s4://bucket", "sources.path")


class _Forbidding(BaseHTTPRequestHandler):
    def _refuse(self) -> None:
        body = b"<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_PUT = do_POST = _refuse

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def forbidding() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Forbidding)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_what_may_not_be_read_says_so(environment, forbidding, monkeypatch):
    pytest.importorskip("s3fs")
    monkeypatch.setenv("AWS_ENDPOINT_URL", forbidding)
    import fsspec

    fsspec.filesystem("s3").clear_instance_cache()
    with pytest.raises(DatabaseError, match="access is denied") as raised:
        Database.open("s3://closed/database")
    assert "AWS_PROFILE" in str(raised.value.remedy) and "testing-secret" not in str(raised.value)

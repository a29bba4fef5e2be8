"""A bucket of a local S3 server, and a cache of its own for every test."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ambulo.database.remote import databases, sources


@pytest.fixture(scope="session")
def s3_server() -> Iterator[Any]:
    pytest.importorskip("s3fs")
    server_of = pytest.importorskip("moto.server").ThreadedMotoServer
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = server_of(ip_address="127.0.0.1", port=0)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials and a cache that are nobody's."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing-secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("COPIES", str(tmp_path / "cache"))
    for module in (sources, databases):  # not $AMBULO_CACHE: compiled kernels are kept there as well
        monkeypatch.setattr(module, "user_cache", lambda: Path(os.environ["COPIES"]))


@pytest.fixture
def bucket(s3_server: Any, environment: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The file system of a server with an empty bucket ``moves``."""
    import fsspec

    host, port = s3_server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    files = fsspec.filesystem("s3", skip_instance_cache=True)
    files.clear_instance_cache()
    if files.exists("moves"):
        files.rm("moves", recursive=True)
    files.mkdir("moves")
    return files

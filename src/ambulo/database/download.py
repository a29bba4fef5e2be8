"""Fetching a file over HTTP: resumed where it was broken off, checked, and in its place only when whole.

What has arrived lies beside its place in ``NAME.part``; ``NAME.part.json`` says which version of the file it is of, so
that parts of two versions are never put together.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

import ambulo
from ambulo.errors import ProjectError
from ambulo.formats.paths import write_whole

_BLOCK = 1 << 18
_TRIES = 5
_PAUSES = (0.0, 0.5, 1.0, 2.0, 4.0)
_TIMEOUT = 60.0
_LFS_POINTER = b"version https://git-lfs"

Progress = Callable[[int, int], None]
"""Called with bytes that are here and bytes in all (0 where not known)."""


class _Version(msgspec.Struct, frozen=True):
    """Which version of a file a part is of."""

    url: str
    tag: str


class _Reply(NamedTuple):
    """What a server answers: where its content begins, how long the whole is (0 where not known), which version."""

    begin: int
    total: int
    tag: str
    body: Any


def download(
    url: str, path: Path, *, sha256: str = "", size: int | None = None, progress: Progress | None = None
) -> str:
    """Fetch a file. Returns its SHA-256.

    Args:
        url: http or https.
        path: where to; a part of an earlier try beside it is gone on with.
        sha256: checksum that it must have; ``""`` takes any.
        size: bytes that it must have; None takes any.
        progress: told how far it is.

    Raises:
        ProjectError: the address does not answer or refuses, the transfer breaks off again and again (what came is
            kept for the next time), or the file is another than it should be (then nothing is kept).
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise ProjectError(f"{url!r} is no address of the web", key="url", remedy="it begins with https:// or http://")
    part, about = path.with_name(path.name + ".part"), path.with_name(path.name + ".part.json")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _fetch(url, path, part, about, size, progress or (lambda done, total: None))
        found, length = _digest(part)
        with part.open("rb") as file:
            head = file.read(len(_LFS_POINTER))
    except OSError as error:
        raise ProjectError(f"cannot be written: {error.strerror or error}", path=path) from None
    wrong = ""
    if head == _LFS_POINTER:
        wrong = "what came is a Git LFS pointer, not the file itself"
    elif size is not None and length != size:
        wrong = f"what came has {length} bytes, it should have {size}"
    elif sha256 and found != sha256.lower():
        wrong = f"what came has the checksum {found}, it should have {sha256.lower()}"
    about.unlink(missing_ok=True)
    if wrong:
        part.unlink(missing_ok=True)
        raise ProjectError(
            f"{wrong} ({url})",
            path=path,
            key="sha256" if "checksum" in wrong else "url",
            remedy="the file was changed at its source, or on its way; look at its home page before you trust it",
        )
    part.replace(path)
    return found


def _fetch(url: str, path: Path, part: Path, about: Path, size: int | None, progress: Progress) -> None:
    """Bring the part to the whole; several tries, each of which goes on where the last one ended."""
    reason = ""
    for pause in _PAUSES[:_TRIES]:
        time.sleep(pause)
        try:
            reply = _ask(url, _length(part), _read_version(about, url))
            if reply is None:  # nothing is left to send
                return
            with contextlib.closing(reply.body):
                if reply.begin == 0:
                    write_whole(about, msgspec.json.encode(_Version(url, reply.tag)))
                if size is not None and reply.total and reply.total != size:
                    raise ProjectError(
                        f"the file at {url} has {reply.total} bytes, it should have {size}",
                        path=path,
                        key="size",
                        remedy="the file was changed at its source; look at its home page before you trust it",
                    )
                with part.open("r+b" if reply.begin else "wb") as file:
                    file.seek(reply.begin)
                    file.truncate()
                    done = _copy(reply, file, size, progress)
            if not reply.total or done == reply.total:
                return
            reason = f"the transfer ended after {done} of {reply.total} bytes"
        except (urllib.error.HTTPError, urllib.error.URLError, http.client.HTTPException, OSError) as error:
            reason = _reason(error, url, path)
    raise ProjectError(
        f"{reason} ({url}); {_length(part)} bytes are kept",
        path=path,
        remedy="run the same command again, it goes on where it ended",
    )


def _ask(url: str, have: int, version: _Version | None) -> _Reply | None:
    """Ask for what is not here yet; None where all is here."""
    headers = {"User-Agent": f"ambulo/{ambulo.__version__}", "Accept-Encoding": "identity"}
    if have and version is not None:
        headers["Range"] = f"bytes={have}-"
        if version.tag:
            headers["If-Range"] = version.tag
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        total = re.fullmatch(r"bytes \*/(\d+)", error.headers.get("Content-Range", "") if error.headers else "")
        if error.code == 416 and total is not None and int(total[1]) == have:
            return None
        if error.code == 416:
            return _ask(url, 0, None)
        raise
    tag = answer.headers.get("ETag", "") or answer.headers.get("Last-Modified", "")
    if tag.startswith("W/"):  # a weak tag does not say that the bytes are the same
        tag = ""
    length = answer.headers.get("Content-Length")
    whole = int(length) if length and length.isdigit() else 0
    if answer.status != 206:
        return _Reply(0, whole, tag, answer)
    span = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", answer.headers.get("Content-Range", ""))
    if span is None or int(span[1]) != have:
        answer.close()
        return _ask(url, 0, None)
    return _Reply(have, int(span[2]) if span[2] != "*" else have + whole, tag, answer)


def _copy(reply: _Reply, file: IO[bytes], size: int | None, progress: Progress) -> int:
    """Write what comes; returns the bytes that are there then."""
    done = reply.begin
    while block := reply.body.read(_BLOCK):
        done += len(block)
        if size is not None and done > size:
            break  # more than there should be; refused when it is checked
        file.write(block)
        progress(done, reply.total or size or 0)
    if size is not None and done > size:
        file.write(b"\0")
    return done


def _reason(error: Exception, url: str, path: Path) -> str:
    """Why a try failed, where another may help.

    Raises:
        ProjectError: where it may not.
    """
    if isinstance(error, urllib.error.HTTPError):
        if error.code in (408, 425, 429) or error.code >= 500:
            return f"the server answers {error.code} {error.reason}"
        what = (
            "there is no such file" if error.code in (404, 410) else f"the server refuses: {error.code} {error.reason}"
        )
        raise ProjectError(
            f"{what} ({url})",
            path=path,
            key="url",
            remedy="look for the new address at the data set's home page and put it into a preset of your own",
        ) from None
    if isinstance(error, urllib.error.URLError):
        return f"the address cannot be reached: {error.reason}"
    if isinstance(error, http.client.HTTPException):
        return f"the transfer broke off: {type(error).__name__}"
    if isinstance(error, ConnectionError | TimeoutError):
        return f"the transfer broke off: {error}"
    raise error


def _read_version(about: Path, url: str) -> _Version | None:
    """The version of the part; None where it is not known, or of another address."""
    try:
        version = msgspec.json.decode(about.read_bytes(), type=_Version)
    except (OSError, msgspec.DecodeError):
        return None
    return version if version.url == url else None


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _digest(path: Path) -> tuple[str, int]:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), file.tell()

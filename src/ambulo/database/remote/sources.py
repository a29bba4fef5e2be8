"""Sources at a URL: takes are read from a folder of this user's cache that is kept like the one at the URL."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from ambulo.database.remote.addresses import open_address, shown, speaking_to
from ambulo.errors import ProjectError, printable
from ambulo.formats.channel_file import CHANNEL_FILE_ENDING
from ambulo.formats.paths import write_whole
from ambulo.formats.tag_file import TAG_FILE_ENDING
from ambulo.maths.user_cache import user_cache

# Transfers at a time: small files spend their time waiting.
_THREADS = 8
_KEY = "sources.path"


def mirror_folder(url: str) -> Path:
    """Where the files of a source at a URL are kept on this machine."""
    return user_cache() / "sources" / hashlib.blake2b(url.encode(), digest_size=16).hexdigest()


def mirror_source(url: str) -> Path:
    """Bring this machine's copy of a source up to date; returns its folder, or the file where it is one.

    Files that changed at the URL (by their ETag, else by size and time) are fetched again, those that are gone there
    are removed here. A file is here whole or not at all. Only motion files and what lies beside them are fetched.

    Raises:
        ProjectError: the URL does not exist, may not be read, or the connection broke; what came is kept.
    """
    files, root = open_address(url, _KEY)
    folder = mirror_folder(url)
    record = folder.with_name(f"{folder.name}.json")
    with speaking_to(url, ProjectError, _KEY):
        found = files.find(root, detail=True) or {info["name"]: info for info in files.ls(root, detail=True)}
        entries = {_relative(name, root, url): info for name, info in found.items() if info.get("type") != "directory"}
    entries = {name: info for name, info in entries.items() if _is_wanted(name)}
    versions = {name: _version(info) for name, info in entries.items()}
    known = _read(record)
    missing = [
        name
        for name, info in entries.items()
        if known.get(name) != versions[name] or _size(folder / name) != info["size"]
    ]
    kept = {name: version for name, version in known.items() if name in entries and name not in missing}
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with speaking_to(url, ProjectError, _KEY), ThreadPoolExecutor(_THREADS) as pool:
            fetches = {name: pool.submit(_fetch, files, entries[name], folder / name) for name in missing}
            try:
                for name, fetch in fetches.items():
                    fetch.result()
                    kept[name] = versions[name]
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    finally:
        write_whole(record, msgspec.json.encode(kept, order="sorted"))
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if path.relative_to(folder).as_posix() not in entries:
            path.unlink(missing_ok=True)
    return folder / next(iter(entries)) if set(found) == {root} and entries else folder


def _relative(name: str, root: str, url: str) -> str:
    relative = name.removeprefix(root).lstrip("/") or PurePosixPath(name).name
    if any(part in ("", ".", "..") for part in relative.split("/")) or "\\" in relative or "\0" in relative:
        raise ProjectError(
            f"{shown(url)} holds {printable(relative)!r}, which cannot be the name of a file here",
            key=_KEY,
            remedy="rename it there",
        )
    return relative


def _is_wanted(name: str) -> bool:
    from ambulo.formats.registry import FORMATS

    if any(part.startswith(".") for part in name.split("/")):
        return False
    suffix = PurePosixPath(name).suffix.lower()
    return name.endswith((TAG_FILE_ENDING, CHANNEL_FILE_ENDING)) or any(suffix in form.extensions for form in FORMATS)


def _version(info: Mapping[str, Any]) -> str:
    """What tells one content of a file from another."""
    for key in ("ETag", "etag", "md5Hash", "content_md5", "checksum"):
        if info.get(key):
            return str(info[key])
    times = [str(info[key]) for key in ("LastModified", "mtime", "updated", "last_modified", "created") if key in info]
    return f"{info['size']} {' '.join(times[:1])}"


def _fetch(files: Any, info: Mapping[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        files.get_file(info["name"], str(temporary))
        if temporary.stat().st_size != info["size"]:
            raise OSError("shorter than announced")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _read(record: Path) -> dict[str, str]:
    with suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(record.read_bytes(), type=dict[str, str])
    return {}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1

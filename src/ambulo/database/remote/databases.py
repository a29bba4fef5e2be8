"""Databases at a URL: written there in parts with their list last, read from a copy in this user's cache.

At the URL lie ``parts/HASH``, pieces of the database's files named by their content, and ``published.json``, which says
which parts make up which file. Parts never change, and the list is one small file that comes last: so whoever reads
sees the old database or the new one, and what broke off half-way is never seen. Parts that the copy here has already,
from an older version, are not fetched again; parts that lie there already are not sent again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from ambulo.database.manifest import MANIFEST, check_files, read_manifest, verify_files
from ambulo.database.remote.addresses import is_bucket_path, make_folder, open_address, shown, speaking_to
from ambulo.database.storage import CHECKSUM_BYTES
from ambulo.database.swap import BuildLock, recover, staging_of, swap_in
from ambulo.errors import DatabaseError
from ambulo.formats.paths import write_whole
from ambulo.maths.user_cache import user_cache

PUBLISHED = "published.json"
PARTS = "parts"
FORMAT = "ambulo published database"
VERSION = 1
PART_BYTES = 32 << 20
"""Bytes of a part at most: what is held in memory for each transfer."""

_THREADS = 4
_KEY = "database"

Tell = Callable[[int, int], None]
"""Called with the bytes that are done and that there are."""


class Part(msgspec.Struct, frozen=True, array_like=True):
    """A piece of a file: hash and size."""

    name: str
    size: int


class Published(msgspec.Struct, frozen=True):
    """The content of ``published.json``: file -> its parts in order."""

    digest: str
    files: dict[str, list[Part]]
    format: str = FORMAT
    version: int = VERSION

    @property
    def byte_count(self) -> int:
        """Bytes of all files."""
        return sum(part.size for parts in self.files.values() for part in parts)


def copy_folder(url: str) -> Path:
    """Where the copy of a database at a URL is kept on this machine."""
    return user_cache() / "databases" / hashlib.blake2b(url.encode(), digest_size=16).hexdigest()


def fetch_database(url: str, tell: Tell = lambda done, total: None) -> Path:
    """Bring this machine's copy of a database up to date; returns its folder.

    Raises:
        DatabaseError: there is none, it may not be read, it is damaged, or the connection broke; the copy is then as it
            was before.
    """
    files, root = open_address(url, _KEY)
    published = _read_published(files, root, url)
    folder = copy_folder(url)
    folder.parent.mkdir(parents=True, exist_ok=True)
    if _is_current(folder, published):
        return folder
    with BuildLock(folder):
        recover(folder)
        if _is_current(folder, published):
            return folder
        staging = staging_of(folder)
        _clear(staging)
        try:
            with speaking_to(url, DatabaseError, _KEY):
                _assemble(files, root, url, published, _parts_here(folder), staging, tell)
            write_whole(staging / PUBLISHED, msgspec.json.encode(published))
            check_files(staging, read_manifest(staging))
            swap_in(staging, folder)
        finally:
            _clear(staging)
    return folder


def verify_published(url: str, tell: Tell = lambda done, total: None) -> int:
    """Read every part of the database at a URL, and this machine's copy, and compare them with their checksums.

    A copy that is damaged is fetched again.

    Returns:
        The number of files.

    Raises:
        DatabaseError: what lies at the URL is damaged or missing, or cannot be reached.
    """
    files, root = open_address(url, _KEY)
    published = _read_published(files, root, url)
    done, total = 0, published.byte_count
    with speaking_to(url, DatabaseError, _KEY):
        for name, parts in published.files.items():
            for part in parts:
                try:
                    data = files.cat_file(f"{root}/{PARTS}/{part.name}")
                except FileNotFoundError:
                    data = b""
                if _hash(data) != part.name:
                    raise DatabaseError(
                        f"{name} of the database at {shown(url)} is damaged: part {part.name} is not what was written",
                        key=_KEY,
                        remedy="`ambulo build PROJECT --folder URL --force` sends every part again",
                    )
                done += part.size
                tell(done, total)
    folder = fetch_database(url, tell)
    try:
        verify_files(folder, read_manifest(folder))
    except DatabaseError:
        (folder / PUBLISHED).unlink(missing_ok=True)
        folder = fetch_database(url, tell)
        verify_files(folder, read_manifest(folder))
    return len(published.files)


def prepare_copy(url: str) -> Path:
    """The folder of this machine's copy, for a build: as it is at the URL, where there is a database that can be read.

    Raises:
        DatabaseError: the URL cannot be reached, which is better known before the build than after it.
    """
    try:
        return fetch_database(url)
    except DatabaseError as error:
        if "there is no database" not in error.message and "damaged" not in error.message:
            raise
        files, root = open_address(url, _KEY)
        if is_bucket_path(root):
            with speaking_to(url, DatabaseError, _KEY):
                _make_folder(files, root, url)
    folder = copy_folder(url)
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder


def publish_database(folder: Path, url: str, tell: Tell = lambda done, total: None, *, force: bool = False) -> None:
    """Write a built database to a URL, its list of parts last. Does nothing where just that lies there.

    Args:
        folder: the database's, here.
        url: where to.
        tell: is told how much is sent.
        force: send also the parts that lie there already, which may be damaged.

    Raises:
        DatabaseError: it may not be written there, or the connection broke; what lies there is then as it was before.
    """
    files, root = open_address(url, _KEY)
    manifest = read_manifest(folder)
    names = [*manifest.files, MANIFEST]
    new = Published(manifest.digest, {name: [part for part, _ in _cut(folder / name)] for name in names})
    with speaking_to(url, DatabaseError, _KEY):
        old = None
        with suppress(DatabaseError, FileNotFoundError):
            old = _read_published(files, root, url)
        there = {} if force else _parts_there(files, root)
        if old == new and all(there.get(part.name) == part.size for parts in new.files.values() for part in parts):
            return
        _make_folder(files, root, url)
        done, total = 0, new.byte_count
        with ThreadPoolExecutor(_THREADS) as pool:
            for name in names:
                waiting = []
                for part, data in _cut(folder / name):
                    if there.get(part.name) != part.size:
                        there[part.name] = part.size
                        waiting.append((pool.submit(_send, files, f"{root}/{PARTS}/{part.name}", data), part))
                    else:
                        done += part.size
                    if len(waiting) >= _THREADS:
                        sent, part = waiting.pop(0)
                        sent.result()
                        done += part.size
                        tell(done, total)
                for sent, part in waiting:
                    sent.result()
                    done += part.size
                    tell(done, total)
        _send(files, f"{root}/{PUBLISHED}", msgspec.json.encode(new))
    if folder == copy_folder(url):
        write_whole(folder / PUBLISHED, msgspec.json.encode(new))
    # Readers that are half-way through the version before find its parts still there; older ones go.
    wanted = {part.name for version in (new, old) if version for parts in version.files.values() for part in parts}
    with suppress(Exception):
        for name in there.keys() - wanted:
            files.rm_file(f"{root}/{PARTS}/{name}")


def _send(files: Any, path: str, data: bytes) -> None:
    files.pipe_file(path, data)


def _make_folder(files: Any, root: str, url: str) -> None:
    try:
        make_folder(files, f"{root}/{PARTS}")
    except FileNotFoundError:
        bucket = root.partition("/")[0]
        raise DatabaseError(
            f"{shown(url)}: there is no bucket {bucket!r}",
            key=_KEY,
            remedy="correct the address, or make the bucket with the tools of its provider; ambulo makes none",
        ) from None


def _cut(path: Path) -> Iterator[tuple[Part, bytes]]:
    with path.open("rb") as file:
        while data := file.read(PART_BYTES):
            yield Part(_hash(data), len(data)), data


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=CHECKSUM_BYTES).hexdigest()


def _parts_there(files: Any, root: str) -> dict[str, int]:
    try:
        found = files.find(f"{root}/{PARTS}", detail=True)
    except FileNotFoundError:
        return {}
    return {name.rpartition("/")[2]: info["size"] for name, info in found.items()}


def _read_published(files: Any, root: str, url: str) -> Published:
    try:
        with speaking_to(url, DatabaseError, _KEY):
            data = files.cat_file(f"{root}/{PUBLISHED}")
    except DatabaseError as error:
        if "does not exist" in error.message:
            raise DatabaseError(
                f"there is no database at {shown(url)}",
                key=_KEY,
                remedy="check the address, or build one with `ambulo build PROJECT --folder URL`",
            ) from None
        raise
    try:
        published = msgspec.json.decode(data, type=Published)
    except msgspec.DecodeError as error:
        raise DatabaseError(f"the list of the database at {shown(url)} is damaged: {error}", key=_KEY) from None
    if published.format != FORMAT or published.version != VERSION:
        raise DatabaseError(
            f"the database at {shown(url)} is of version {published.version}, this ambulo reads {VERSION}",
            key=_KEY,
            remedy="update ambulo, or build the database again",
        )
    if any(name.startswith(("/", "\\")) or ".." in name.split("/") or ":" in name for name in published.files):
        raise DatabaseError(f"the list of the database at {shown(url)} names files outside of it", key=_KEY)
    return published


def _read_own(folder: Path) -> Published | None:
    with suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode((folder / PUBLISHED).read_bytes(), type=Published)
    return None


def _is_current(folder: Path, published: Published) -> bool:
    if _read_own(folder) != published:
        return False
    try:
        check_files(folder, read_manifest(folder))
    except DatabaseError:
        return False
    return True


def _parts_here(folder: Path) -> dict[str, tuple[Path, int]]:
    """Part -> file and offset, of the copy that is here."""
    own = _read_own(folder)
    found: dict[str, tuple[Path, int]] = {}
    for name, parts in own.files.items() if own else ():
        offset = 0
        for part in parts:
            found[part.name] = (folder / name, offset)
            offset += part.size
    return found


def _assemble(
    files: Any,
    root: str,
    url: str,
    published: Published,
    here: dict[str, tuple[Path, int]],
    staging: Path,
    tell: Tell,
) -> None:
    def bring(part: Part, path: Path, offset: int) -> int:
        data = _copied(here, part)
        if data is None:
            data = files.cat_file(f"{root}/{PARTS}/{part.name}")
            if _hash(data) != part.name:
                raise DatabaseError(
                    f"part {part.name} of the database at {shown(url)} is damaged", key=_KEY, remedy="build it again"
                )
        with path.open("rb+") as file:
            file.seek(offset)
            file.write(data)
        return part.size

    done, total = 0, published.byte_count
    with ThreadPoolExecutor(_THREADS) as pool:
        waiting = []
        for name, parts in published.files.items():
            path = staging / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            offset = 0
            for part in parts:
                waiting.append(pool.submit(bring, part, path, offset))
                offset += part.size
        try:
            for brought in waiting:
                done += brought.result()
                tell(done, total)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    for name in published.files:
        descriptor = os.open(staging / name, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _copied(here: dict[str, tuple[Path, int]], part: Part) -> bytes | None:
    if part.name not in here:
        return None
    path, offset = here[part.name]
    try:
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read(part.size)
    except OSError:
        return None
    return data if _hash(data) == part.name else None


def _clear(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)

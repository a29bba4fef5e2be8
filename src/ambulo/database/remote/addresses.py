"""URLs: which text is one, what answers there, and what went wrong in words.

Any protocol that fsspec knows will do. Credentials are found by fsspec's own means (the environment, its configuration
files, those of the cloud's tools); ambulo neither reads nor stores nor prints them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ambulo.errors import AmbuloError, DatabaseError, ProjectError, printable

# Two letters at least: one is a Windows drive.
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)", re.DOTALL)
_LOCAL = frozenset({"file", "local", "memory"})


def as_url(path: str | Path) -> str | None:
    """The URL that a text is, also one that went through a :class:`~pathlib.Path`, which drops slashes; else None."""
    found = _URL.fullmatch(str(path).replace("\\", "/").rstrip("/"))
    if found is None or not found[2]:
        return None
    scheme, rest = found[1].lower(), found[2]
    return f"{scheme}:///{rest}" if scheme in _LOCAL - {"memory"} else f"{scheme}://{rest}"


def shown(url: str) -> str:
    """A URL for messages: without the name and password that it may carry."""
    return re.sub(r"(?<=://)[^/@]*@", "", url)


def open_address(url: str, key: str) -> tuple[Any, str]:
    """The fsspec file system of a URL, and the path in it.

    Raises:
        ProjectError: fsspec or the package for this protocol is missing, there is no such protocol, or the URL has a
            password in it.
    """
    scheme = url.partition(":")[0]
    if re.search(r"://[^/@]*:[^/@]*@", url):
        raise ProjectError(
            f"{shown(url)} has a password in it, which others would read",
            key=key,
            remedy="give it in the environment or in fsspec's configuration",
        )
    try:
        import fsspec
        from fsspec.core import url_to_fs
    except ImportError:
        raise ProjectError(
            f"{shown(url)} needs fsspec, which is not installed", key=key, remedy='pip install "ambulo[scale]"'
        ) from None
    try:
        files, path = url_to_fs(url)
    except ImportError as error:
        raise ProjectError(
            f"{scheme}:// needs a package that is not installed: {printable(str(error).splitlines()[0])}",
            key=key,
            remedy='pip install "ambulo[scale]" for s3, or the package that is named',
        ) from None
    except ValueError:
        raise ProjectError(
            f"there is no protocol {scheme!r}",
            key=key,
            remedy=f"known: {', '.join(sorted(p for p in fsspec.available_protocols() if p not in _LOCAL))[:200]}",
        ) from None
    files.invalidate_cache()  # what was listed a minute ago may have changed
    return files, str(path).rstrip("/")


def is_bucket_path(path: str) -> bool:
    """Whether a file system's path begins with a bucket, whose name is all that must exist: there are no folders."""
    return not path.startswith("/") and ":" not in path.partition("/")[0]


def make_folder(files: Any, path: str) -> None:
    """Make a folder of a file system with those above it, but never a bucket: who pays for one makes it.

    Raises:
        FileNotFoundError: there is no such bucket.
    """
    if not is_bucket_path(path):
        files.makedirs(path, exist_ok=True)
        return
    parts = path.split("/")
    for count in range(2, len(parts) + 1):
        # Keys that may write, but not look at their bucket, are not held up here.
        with suppress(FileExistsError, PermissionError):
            files.mkdir("/".join(parts[:count]), create_parents=False)


@contextmanager
def speaking_to(url: str, kind: type[AmbuloError] = DatabaseError, key: str | None = None) -> Iterator[None]:
    """What a file system raises, as an error that says what to do. Errors of ambulo pass."""
    place = shown(url)

    def refusal(what: str, remedy: str) -> AmbuloError:
        return kind(f"{place} {what}", key=key, remedy=remedy)

    try:
        yield
    except AmbuloError:
        raise
    except FileNotFoundError:
        raise refusal("does not exist", "check the address: the bucket, and the folder in it") from None
    except PermissionError:
        raise refusal(
            "may not be used: access is denied",
            "give credentials by the means of this protocol (such as AWS_PROFILE, ~/.aws, or fsspec's configuration)",
        ) from None
    except Exception as error:  # every protocol brings errors of its own
        name = type(error).__name__
        if "Credential" in name:
            raise refusal(
                "needs credentials, and none are found", "give them in the environment or its files"
            ) from None
        raise refusal(
            f"cannot be reached, or the connection broke ({name})", "check the network and try again; nothing is lost"
        ) from None

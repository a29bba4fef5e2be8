"""Files dropped on the page: checked, and put into the project's folder of takes. Nothing is ever overwritten."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

from ambulo.database.project import load_project
from ambulo.database.takes import ANNOTATION_ENDINGS, compile_glob
from ambulo.errors import AmbuloError, ProjectError, StudioError
from ambulo.formats.channel_file import CHANNEL_FILE_ENDING, read_channel_rows
from ambulo.formats.paths import is_file, is_folder
from ambulo.formats.registry import accepted, is_motion_file, load_all, motion_files
from ambulo.formats.tag_file import read_tag_file

MAXIMUM_BYTES = 512 * 1024 * 1024
"""A larger file is refused; an hour of one person in BVH has about 300 MB."""

MAXIMUM_NAME = 120
_NAME = re.compile(r"[^\W_][\w .+()@-]*", re.UNICODE)
_DEVICES = {"con", "prn", "aux", "nul", *(f"{kind}{number}" for kind in ("com", "lpt") for number in range(1, 10))}


class Received(NamedTuple):
    """A file that was taken: its name, and whether that is another one than it came with."""

    file: str
    renamed: bool


def safe_name(name: str) -> str:
    """The name of a dropped file, where it can be a name in every file system.

    Raises:
        StudioError: it cannot: it has a path, a leading dot, or characters that mean something somewhere.
    """
    text = unicodedata.normalize("NFC", name)
    if not _NAME.fullmatch(text) or len(text.encode()) > MAXIMUM_NAME or text != text.strip() or ".." in text:
        raise StudioError(
            f"{name[:80]!r} cannot be a file's name here",
            key="name",
            remedy=f"use letters, digits, blanks and _-+.@(), at most {MAXIMUM_NAME} bytes, a letter or digit first",
        )
    if text.partition(".")[0].strip().lower() in _DEVICES:
        raise StudioError(f"{name!r} is the name of a device on Windows", key="name", remedy="give it another name")
    return text


def folder_for(project_folder: Path, name: str) -> Path:
    """The first folder among the sources of a project whose takes a file of this name would be one of.

    Raises:
        StudioError: no source is a folder that takes such files.
        ProjectError: the project cannot be read.
    """
    project = load_project(project_folder)
    for source in project.sources:
        root = project.folder / source.path
        unwanted = any(compile_glob(pattern).fullmatch(name) for pattern in source.exclude)
        if is_folder(root) and not unwanted and (name.endswith(ANNOTATION_ENDINGS) or _fits(source.glob, name)):
            return root
    raise StudioError(
        f"no source of the project takes {name!r} from its own folder",
        path=project.path,
        key="sources",
        remedy="add a [[sources]] table with a folder as its path",
    )


def _fits(pattern: str, name: str) -> bool:
    return compile_glob(pattern).fullmatch(name) is not None


async def receive(project_folder: Path, name: str, chunks: AsyncIterator[bytes]) -> Received:
    """Take a dropped file: written aside, read as what it says it is, then given its name in the folder of takes.

    A take whose name is taken gets another one (``walk_2.bvh``); tags and numbers never do: they belong to a take.

    Args:
        project_folder: of the project.
        name: as the page gives it.
        chunks: the content.

    Raises:
        StudioError: the name is not safe, the file too large, there already, or of no use.
        FormatError, ProjectError: it cannot be read; with the line.
    """
    import asyncio

    name = safe_name(name)
    folder = folder_for(project_folder, name)
    ending = next((end for end in ANNOTATION_ENDINGS if name.endswith(end)), None)
    aside = folder / f".dropped-{secrets.token_hex(6)}"
    held = aside / name  # under its own name: readers go by it
    try:
        aside.mkdir()
        await _write(held, chunks)
        await asyncio.to_thread(_check, held, folder, ending)
        return await asyncio.to_thread(_settle, held, folder, ending)
    except OSError as error:
        raise StudioError(f"the file cannot be kept: {error.strerror}", path=folder / name) from None
    finally:
        held.unlink(missing_ok=True)
        if aside.is_dir():
            aside.rmdir()


async def _write(held: Path, chunks: AsyncIterator[bytes]) -> None:
    size = 0
    with held.open("xb") as file:
        async for chunk in chunks:
            size += len(chunk)
            if size > MAXIMUM_BYTES:
                raise StudioError(
                    f"{held.name} is larger than {MAXIMUM_BYTES // 2**20} MB",
                    key="size",
                    remedy="copy it into the project's folder of takes yourself",
                )
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    if size == 0:
        raise StudioError(f"{held.name} is empty", key="size")


def _check(held: Path, folder: Path, ending: str | None) -> None:
    """Refuse what is not what its name says."""
    try:
        if ending is None:
            if not is_motion_file(held):
                raise StudioError(f"{held.name} is no file of motion", key="name", remedy=accepted())
            if not load_all(held):
                raise StudioError(f"{held.name} holds no motion", key="name")
            return
        if ending == CHANNEL_FILE_ENDING:
            read_channel_rows(held)
        else:
            read_tag_file(held)
    except AmbuloError as error:
        facts = {key: value for key, value in error.facts().items() if key != "path"}
        raise type(error)(f"{held.name}: {error.message}", **facts) from None
    stem = held.name.removesuffix(ending)
    if not any(file.stem == stem for file in motion_files(folder)):
        raise ProjectError(f"{held.name} belongs to no take here", remedy=f"drop {stem}.bvh (or the like) before it")


def _settle(held: Path, folder: Path, ending: str | None) -> Received:
    """Give the file its name, in one step that fails where the name is taken."""
    name, number = held.name, 1
    while True:
        place = folder / name
        try:
            os.link(held, place)
            return Received(name, name != held.name)
        except FileExistsError:
            if is_file(place) and _same(held, place):
                raise StudioError(f"{name} is there already, with the same content", path=place) from None
            if ending is not None:
                raise StudioError(
                    f"{name} is there already, and is not overwritten",
                    path=place,
                    remedy="edit it there, or remove it first",
                ) from None
        number += 1
        name = f"{held.stem}_{number}{held.suffix}"


def _same(one: Path, other: Path) -> bool:
    if one.stat().st_size != other.stat().st_size:
        return False
    digests = []
    for path in (one, other):
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").digest())
    return digests[0] == digests[1]

"""A known data set, from its home to a project: download, unpack, and a project file that reads it right."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from ambulo.database.archives import extract, is_archive
from ambulo.database.download import download
from ambulo.database.preset import Preset, PresetFile, apply_preset
from ambulo.database.project import PROJECT_FILE
from ambulo.errors import ProjectError
from ambulo.formats.paths import write_whole

TAKES_FOLDER = "takes"
DOWNLOADS_FOLDER = "downloads"
LOCK_FILE = "fetch.lock.json"

Progress = Callable[[str, int, int], None]
"""Stage, done, total."""


class LockedFile(msgspec.Struct, frozen=True):
    """A file that was fetched once: it must be the same when it is fetched again.

    Attributes:
        sha256: what it was.
        size: bytes.
        trust: ``preset`` where the preset knew the checksum, ``first_use`` where the first download was believed.
    """

    sha256: str
    size: int
    trust: str


class Fetched(msgspec.Struct, frozen=True):
    """What a fetch did.

    Attributes:
        name: of the preset.
        project: the project file.
        takes: the folder of takes.
        files: address -> what was fetched.
        extracted: files in the folder of takes.
        unmatched: patterns of the preset that no file matches.
        licence: of the data.
        non_commercial: it forbids use for money.
    """

    name: str
    project: str
    takes: str
    files: dict[str, LockedFile]
    extracted: int
    unmatched: tuple[str, ...]
    licence: str
    non_commercial: bool


def fetch(
    preset: Preset, folder: Path, *, name: str | None = None, progress: Progress | None = None, keep: bool = False
) -> Fetched:
    """Fetch a data set into a folder and make a project of it.

    A fetch that was broken off goes on where it ended. Takes are in their place all or not at all, and the project file
    comes last.

    Args:
        preset: the data set.
        folder: of the project; made if need be.
        name: of the project; the preset's where left out.
        progress: told how far it is.
        keep: leave the downloaded archives in ``downloads``.

    Raises:
        ProjectError: the preset has nothing to fetch, there is a project or takes already, or a file cannot be fetched,
            is another than it should be, or cannot be unpacked.
    """
    if not preset.files:
        raise ProjectError(
            f"the preset {preset.name!r} has nothing to fetch",
            key="files",
            remedy=f"apply it to a folder that you have: ambulo new FOLDER --from TAKES --preset {preset.name}",
        )
    takes = folder / TAKES_FOLDER
    for path, what in ((folder / PROJECT_FILE, "there is a project already"), (takes, "there are takes already")):
        if path.exists():
            raise ProjectError(
                what, path=path, remedy="choose another folder, or apply the preset with `ambulo new --preset`"
            )
    downloads = folder / DOWNLOADS_FOLDER
    lock = _read_lock(folder / LOCK_FILE)
    made = not folder.exists()
    for file in preset.files:
        try:
            lock[file.url] = _get(file, downloads, lock.get(file.url), folder / LOCK_FILE, progress)
        except ProjectError:
            with suppress(OSError):  # folders that hold no part of a download to go on from
                downloads.rmdir()
                if made:
                    folder.rmdir()
            raise
        write_whole(
            folder / LOCK_FILE, msgspec.json.format(msgspec.json.encode(lock, order="sorted"), indent=1) + b"\n"
        )
    staging = folder / f".{TAKES_FOLDER}.{secrets.token_hex(4)}.part"
    try:
        count = 0
        for file in preset.files:
            archive = downloads / file.file_name
            if is_archive(archive):
                count += len(extract(archive, staging, file.members, file.strip))
            else:
                staging.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(archive, staging / file.file_name)
                count += 1
        staging.replace(takes)
    except OSError as error:
        raise ProjectError(f"cannot be written: {error.strerror or error}", path=takes) from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    try:
        project, unmatched = make_project(preset, takes, folder, name or preset.name)
    except ProjectError:
        shutil.rmtree(takes, ignore_errors=True)  # ours, made just now; the archives are still there
        raise
    if not keep:
        shutil.rmtree(downloads, ignore_errors=True)
    return Fetched(
        name=preset.name,
        project=str(project),
        takes=str(takes),
        files={file.url: lock[file.url] for file in preset.files},
        extracted=count,
        unmatched=tuple(unmatched),
        licence=preset.licence,
        non_commercial=preset.non_commercial,
    )


def make_project(preset: Preset, takes: Path, folder: Path, name: str) -> tuple[Path, list[str]]:
    """Write the project file for takes that are there. Returns it, and the preset's patterns that no file matches."""
    from ambulo.database.discover import discover, source_notes
    from ambulo.database.project_text import write_project

    project, unmatched = apply_preset(preset, takes, folder, name)
    found = discover(takes)
    notes = [*source_notes(found), f"read by the preset {preset.name!r} ({preset.title})", *preset.notes]
    path = write_project(project, folder, source_notes={0: notes}, detected_roles=found.roles)
    return path, unmatched


def _get(
    file: PresetFile, downloads: Path, known: LockedFile | None, lock_path: Path, progress: Progress | None
) -> LockedFile:
    """Fetch one file, or take the one that is there already and is what it should be."""
    path = downloads / file.file_name
    expected = file.sha256.lower() or (known.sha256 if known is not None else "")
    trust = "preset" if file.sha256 else "first_use"
    if path.is_file() and expected:
        import hashlib

        with path.open("rb") as opened:
            if hashlib.file_digest(opened, "sha256").hexdigest() == expected:
                return LockedFile(expected, path.stat().st_size, trust)

    def tell(done: int, total: int) -> None:
        if progress is not None:
            progress(f"fetch {file.file_name}", done, max(total, done, 1))

    try:
        digest = download(file.url, path, sha256=expected, size=file.size, progress=tell)
    except ProjectError as error:
        if error.key == "sha256" and not file.sha256:
            error.remedy = f"the file changed since it was first fetched; if that is right, remove {lock_path}"
            raise ProjectError(error.message, **error.facts()) from None
        raise
    return LockedFile(digest, path.stat().st_size, trust)


def _read_lock(path: Path) -> dict[str, LockedFile]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, LockedFile])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError) as error:
        message = f"cannot be read: {error}"
        raise ProjectError(message, path=path, remedy="remove it to trust the next download") from None

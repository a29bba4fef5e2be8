"""Finding the takes that a project names, and telling whether they changed: by size and time first, then by content."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import msgspec

from ambulo.database.project import PROJECT_FILE, Project, SourceSpec, load_project
from ambulo.database.remote.addresses import as_url
from ambulo.errors import ProjectError, nearest_names, printable
from ambulo.formats.channel_file import CHANNEL_FILE_ENDING, channel_file_of
from ambulo.formats.paths import is_file, is_folder
from ambulo.formats.tag_file import TAG_FILE_ENDING, tag_file_of

# A file written in the same instant as it is hashed may change again without its time changing.
_SETTLED_NS = 2_000_000_000

ANNOTATION_ENDINGS = (TAG_FILE_ENDING, CHANNEL_FILE_ENDING)


class Take(NamedTuple):
    """One file of motion that a source names.

    Attributes:
        source: index of the source in the project.
        relative: path in the source's folder, with ``/``.
        path: where it lies.
        label: how the project names it, the same on every machine: ``takes/walk_01.bvh``.
        size: bytes.
        style: index of the style that makes it of the file; None for what the file itself holds.
    """

    source: int
    relative: str
    path: Path
    label: str
    size: int
    style: int | None = None


def compile_glob(pattern: str) -> re.Pattern[str]:
    """A pattern over ``/``-separated relative paths: ``**/`` any folders, ``*`` and ``?`` inside one name, any case."""
    text = ""
    for piece in re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern.replace("\\", "/").removeprefix("./")):
        text += {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(piece, re.escape(piece))
    return re.compile(text, re.IGNORECASE)


def walk_files(folder: Path) -> Iterator[tuple[str, Path, int]]:
    """Relative path, path and size of every file under a folder; hidden ones are skipped, links to folders followed.

    A link that leads nowhere is a file of no bytes, so that it is reported and not lost; pipes and devices, whose
    reading may never end, are no files.
    """
    seen: set[str] = set()
    for root, names, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(root)
        if real in seen:  # a link that leads back
            names.clear()
            continue
        seen.add(real)
        names[:] = [name for name in names if not name.startswith(".")]
        for name in files:
            if not name.startswith("."):
                path = Path(root, name)
                try:
                    info = path.stat()
                except OSError:
                    yield path.relative_to(folder).as_posix(), path, 0
                    continue
                if stat.S_ISREG(info.st_mode):
                    yield path.relative_to(folder).as_posix(), path, info.st_size


def find_takes(project: Project) -> list[Take]:
    """The takes of all sources, in the sources' order and by path within one. A file is taken once.

    Raises:
        ProjectError: a source's folder is missing, or none of its files match.
    """
    takes: list[Take] = []
    seen: set[str] = set()
    for number, source in enumerate(project.sources):
        found = [take for take in _takes_of(project, number, source) if os.path.realpath(take.path) not in seen]
        seen.update(os.path.realpath(take.path) for take in found)
        takes += found
    return takes


def _takes_of(project: Project, number: int, source: SourceSpec) -> Sequence[Take]:
    url = as_url(source.path)
    root = project.folder / source.path
    if url is not None:
        from ambulo.database.remote.sources import mirror_source

        root = mirror_source(url)
    shown = source.path.replace("\\", "/").rstrip("/") or "."
    if is_file(root):
        return [Take(number, printable(root.name), root, shown, root.stat().st_size)]
    if not is_folder(root):
        siblings: list[str] = []
        with suppress(OSError, ValueError):
            siblings += [p.name for p in root.parent.iterdir() if is_folder(p)]
        hint = f"; {nearest_names(root.name, siblings)}" if siblings else ""
        raise ProjectError(
            f"the folder {str(root)!r} does not exist{hint}",
            path=project.path,
            key="sources.path",
            remedy="correct the path of the source; it is relative to the project file",
        )
    from ambulo.formats.registry import is_motion_file

    # `**/*` means the takes, not the notes and pictures beside them; `**/*.bvh` means just that.
    any_kind = "*" not in (extension := PurePosixPath(source.glob).suffix) and extension != ""
    wanted, unwanted = compile_glob(source.glob), [compile_glob(pattern) for pattern in source.exclude]
    # Not Path.resolve: it raises where links lead in a circle.
    skip = Path(os.path.realpath(project.database_folder))
    files = sorted(
        (relative, path, size)
        for relative, path, size in walk_files(root)
        if wanted.fullmatch(relative)
        and (any_kind or is_motion_file(path))
        and not any(pattern.fullmatch(relative) for pattern in unwanted)
        and skip not in Path(os.path.realpath(path)).parents
    )
    if not files:
        raise ProjectError(
            f"no file in {str(root)!r} matches {source.glob!r}",
            path=project.path,
            key="sources.glob",
            remedy="check path, glob and exclude of the source",
        )
    prefix = "" if shown == "." else f"{shown}/"
    return [
        Take(number, printable(relative), path, printable(prefix + relative), size) for relative, path, size in files
    ]


def project_of_take(path: Path) -> tuple[Project, Take] | None:
    """The project, in a folder above a file, that names it as a take; None where none that can be read does."""
    real = os.path.realpath(path)
    for folder in Path(real).parents:
        if not is_file(folder / PROJECT_FILE):
            continue
        with suppress(ProjectError):
            project = load_project(folder)
            for take in find_takes(project):
                if os.path.realpath(take.path) == real:
                    return project, take
    return None


class Orphan(NamedTuple):
    """A file of annotations that belongs to no take.

    Attributes:
        label: the file, as the project would name it.
        path: where it lies.
        remedy: what can be done.
        why: what is wrong with it.
    """

    label: str
    path: Path
    remedy: str
    why: str = "there is no take beside this file"


_MISNAMED = re.compile(r"\.(tag|channel)s?\.(?:csv|tsv|txt)$", re.IGNORECASE)


def find_orphans(project: Project) -> list[Orphan]:
    """Files of tags and numbers in the sources' folders that belong to no file of motion, in the project or not."""
    from ambulo.formats.registry import is_motion_name

    found: dict[str, Orphan] = {}
    for source in project.sources:
        url = as_url(source.path)
        root = project.folder / source.path
        if url is not None:
            from ambulo.database.remote.sources import mirror_folder

            root = mirror_folder(url)
        if not is_folder(root):
            continue
        shown = source.path.replace("\\", "/").rstrip("/")
        prefix = "" if shown in ("", ".") else f"{shown}/"
        stems: dict[Path, set[str]] = {}
        annotated: list[tuple[str, Path, str]] = []
        for relative, path, _ in walk_files(root):
            ending = next((end for end in ANNOTATION_ENDINGS if path.name.endswith(end)), None)
            slip = None if ending else _MISNAMED.search(path.name)
            if slip is not None:
                meant = f"{path.name[: slip.start()]}.{slip[1].lower()}s.csv"
                label = printable(prefix + relative)
                why = "its name ends like that of a file of annotations, but is none, and nobody reads it"
                found.setdefault(label, Orphan(label, path, f"call it {meant}", why))
            elif ending is None:
                if is_motion_name(path):
                    stems.setdefault(path.parent, set()).add(path.stem)
            else:
                annotated.append((relative, path, path.name.removesuffix(ending)))
        for relative, path, stem in annotated:
            beside = stems.get(path.parent, set())
            if stem not in beside:
                label = printable(prefix + relative)
                near = nearest_names(stem, beside) if beside else "there is no file of motion beside it"
                remedy = f"bring the take back, or give the file the take's name or remove it ({near})"
                found.setdefault(label, Orphan(label, path, remedy))
    return [found[label] for label in sorted(found)]


class Stamp(msgspec.Struct, frozen=True, array_like=True):
    """What a file looked like when it was hashed."""

    size: int
    modified_ns: int
    sha256: str


class Hasher:
    """Content hashes of files; a file whose size and time are as they were is not read again.

    Attributes:
        stamps: path -> stamp, of every file asked for, to be kept for the next time.
    """

    def __init__(self, known: dict[str, Stamp]) -> None:
        self._known = known
        self.stamps: dict[str, Stamp] = {}

    def sha256(self, path: Path) -> str | None:
        """The hash of a file; None where there is no such file."""
        try:
            info = path.stat()
            if not stat.S_ISREG(info.st_mode):  # reading a pipe may never end
                raise ProjectError("cannot be read: it is no regular file", path=path)
            stamp = self._known.get(printable(str(path)))
            if stamp is None or (stamp.size, stamp.modified_ns) != (info.st_size, info.st_mtime_ns):
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                stamp = Stamp(info.st_size, info.st_mtime_ns, digest)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ProjectError(f"cannot be read: {error.strerror}", path=path) from None
        if info.st_mtime_ns < time.time_ns() - _SETTLED_NS:
            self.stamps[printable(str(path))] = stamp
        return stamp.sha256


class TakeInput(msgspec.Struct, frozen=True, array_like=True):
    """The content that one take brings into a build: hashes of its file and of the files with its annotations.

    The file's is empty where it cannot be read: such a take is a problem of its own, not of the whole build. Files that
    the take is made of beside its own (the ``.asf`` of an ``.amc``) have one hash together, empty where there are none.
    """

    label: str
    sha256: str
    tags_sha256: str | None
    channels_sha256: str | None
    companions_sha256: str = ""


def hash_takes(takes: Sequence[Take], hasher: Hasher) -> list[TakeInput]:
    """The inputs of all takes.

    Raises:
        ProjectError: a tag file or channel file cannot be read.
    """
    from ambulo.formats.registry import companion_files

    inputs = []
    for take in takes:
        try:
            digest = hasher.sha256(take.path) or ""
        except ProjectError:  # the preparation meets it again, and says so of this take
            digest = ""
        tags, channels = hasher.sha256(tag_file_of(take.path)), hasher.sha256(channel_file_of(take.path))
        beside = "".join(hasher.sha256(file) or "" for file in companion_files(take.path))
        inputs.append(TakeInput(take.label, digest, tags, channels, beside))
    return inputs

"""One door for all formats: ``load``, ``load_all`` and ``save`` pick the format by the file's extension."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ambulo.errors import AmbuloError, FormatError, NoMotionError
from ambulo.formats import acclaim, amass, bvh, c3d, fbx, gltf, usd
from ambulo.formats.format import Format, ReadOptions, read_head
from ambulo.formats.paths import is_file, is_folder, write_whole
from ambulo.motion.markers import SOLVE_FIRST, Markers
from ambulo.motion.motion import Motion

FORMATS: tuple[Format, ...] = (
    bvh.FORMAT,
    gltf.GLB,
    gltf.GLTF,
    amass.FORMAT,
    acclaim.FORMAT,
    c3d.FORMAT,
    fbx.FORMAT,
    usd.TEXT,
    usd.CRATE,
    usd.PACKAGE,
)


def load(
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    rate: float | None = None,
    strict: bool = False,
    lenient: bool = False,
    skeleton: str | Path | None = None,
) -> Motion:
    """Read one motion from a file.

    Args:
        path: the file; its extension tells the format.
        unit: the file's length unit (``"centimetre"``, ``"cm"``, ``"cmu"``, ... or metres a unit); None to guess.
        up: the file's up axis (``"y"``, ``"+Z"``, ...); None to guess.
        rate: the true frames a second, where the file's own is wrong.
        strict: refuse whatever would be read with a warning.
        lenient: read what can be read of a damaged file, each damage noted as a warning.
        skeleton: the file that holds the skeleton where the motion's own does not (the ``.asf`` of an ``.amc``, a body
            model for SMPL poses); None to look beside the file, or to take a default.

    Returns:
        The motion in metres and +Y up, without roles; guesses and oddities are in ``motion.source``.

    Raises:
        FormatError: the file cannot be read, or holds several actors or animations (use :func:`load_all`).
    """
    path = Path(path)
    motions = _read(path, _options(unit, up, rate, strict, lenient, skeleton))
    if len(motions) != 1:
        line = next((note.line for note in motions[1].source.notes if note.code == "actor"), None)
        animations = any(note.code == "animation" for note in motions[1].source.notes)
        names = ", ".join(repr(m.name if animations else m.skeleton.names[0]) for m in motions[:10])
        more = ", ..." if len(motions) > 10 else ""
        raise FormatError(
            f"the file holds {len(motions)} {'animations' if animations else 'actors'} ({names}{more})",
            path=path,
            line=line,
            remedy="use ambulo.load_all to read them all",
        )
    return motions[0]


def load_all(
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    rate: float | None = None,
    strict: bool = False,
    lenient: bool = False,
    skeleton: str | Path | None = None,
    recursive: bool = False,
    on_error: Callable[[AmbuloError], None] | None = None,
) -> list[Motion]:
    """Read every actor of a file, or every motion file of a folder in the order of their names.

    Args:
        path: a file or a folder.
        unit: as in :func:`load`, for all files.
        up: as in :func:`load`, for all files.
        rate: as in :func:`load`, for all files.
        strict: as in :func:`load`.
        lenient: as in :func:`load`.
        skeleton: as in :func:`load`, for all files.
        recursive: descend into the folders below.
        on_error: called with the error of each file that cannot be read, which is then left out. Without it all files
            are tried, and one error lists those that failed; a sound file without motion (a body's shape) is left out
            with a Python warning.

    Raises:
        FormatError: a file cannot be read, or the folder has no motion file.
    """
    path = Path(path)
    options = _options(unit, up, rate, strict, lenient, skeleton)
    if not is_folder(path):
        return _read(path, options)
    files = motion_files(path, recursive=recursive)
    if not files:
        raise FormatError(
            f"no motion file in this folder ({accepted()})",
            path=path,
            remedy=None if recursive else "give recursive=True to look into the folders below",
        )
    motions: list[Motion] = []
    errors: list[AmbuloError] = []
    for file in files:
        try:
            motions += _read(file, options)
        except AmbuloError as error:
            if on_error is not None:
                on_error(error)
            elif isinstance(error, NoMotionError):
                warnings.warn(f"left out: {error}", stacklevel=2)
            else:
                errors.append(error)
    if errors:
        listed = "\n".join(f"  {error}" for error in errors)
        raise FormatError(
            f"{len(errors)} of {len(files)} files cannot be read:\n{listed}\n",
            path=path,
            remedy="mend or remove them, or give on_error to go on without them",
        )
    return motions


def save(motion: Motion | Sequence[Motion], path: str | Path, **options: Any) -> None:
    """Write a motion (or several actors of one take) to a file, whole or not at all.

    The file is written beside its place and then moved there, so that a crash leaves the old one as it was.

    Args:
        motion: one motion, or several with the same rate and length where the format can hold them.
        path: the file; its extension tells the format.
        options: of the format, see e.g. :func:`ambulo.formats.bvh_writer.write`.

    Raises:
        FormatError: the format cannot be written or cannot hold the motion, or the file cannot be written.
    """
    path = Path(path)
    write = check_writable(path)
    motions = [motion] if isinstance(motion, Motion) else list(motion)
    for one in motions:
        if isinstance(one, Markers):
            raise FormatError(f"{one.skeleton.joint_count} markers are no skeleton", path=path, remedy=SOLVE_FIRST)
    try:
        data = write(motions, options)
    except FormatError as error:
        error.path = path
        raise type(error)(error.message, **error.facts()) from None
    try:
        write_whole(path, data)
    except OSError as error:
        raise _cannot_write(path, error) from None


def check_writable(path: Path, *, key: str | None = None) -> Callable[[Sequence[Motion], dict[str, Any]], bytes]:
    """How a file of that name is written; to be asked before the work whose result it shall hold.

    Args:
        path: of the file, which need not be there.
        key: the option that named it, for the error.

    Raises:
        FormatError: files of that extension cannot be written; lists those that can.
    """
    chosen = _by_extension(path)
    if chosen is None or chosen.write is None:
        writable = sorted(ext for form in FORMATS if form.write is not None for ext in form.extensions)
        raise FormatError(
            f"{path.suffix!r} cannot be written", path=path, key=key, remedy=f"use one of {', '.join(writable)}"
        )
    return chosen.write


def writable_format(name: str) -> Format:
    """The format of that name or extension (``"glb"``, ``".glb"``) that can be written.

    Raises:
        FormatError: there is none; lists those that there are.
    """
    wanted = name.strip().lower()
    for form in FORMATS:
        if form.write is not None and (wanted == form.name or f".{wanted.lstrip('.')}" in form.extensions):
            return form
    writable = ", ".join(form.name for form in FORMATS if form.write is not None)
    known = any(wanted == form.name or f".{wanted.lstrip('.')}" in form.extensions for form in FORMATS)
    what = f"{name!r} can be read but not written" if known else f"no format is called {name!r}"
    raise FormatError(what, key="to", remedy=f"use one of {writable}")


def motion_files(folder: str | Path, *, recursive: bool = False) -> list[Path]:
    """The files of a folder that are meant as motion, sorted by path; see :func:`is_motion_file`.

    Raises:
        FormatError: the folder cannot be read.
    """
    try:
        next(Path(folder).iterdir(), None)  # rglob passes over what it may not read
        found = Path(folder).rglob("*") if recursive else Path(folder).iterdir()
        files = [file for file in found if is_motion_file(file) and is_file(file)]
    except OSError as error:
        raise FormatError(f"the folder cannot be read: {error.strerror or error}", path=folder) from None
    return sorted(file for file in files if not file.name.startswith("."))


def is_motion_file(path: Path) -> bool:
    """Whether a file found in a folder is meant as motion: by its extension, and where that says too little (``.npz``,
    ``.asf``) by a short look inside or beside it. Whether it can be read is another matter."""
    chosen = _by_extension(path)
    return chosen is not None and (chosen.meant is None or chosen.meant(path))


def is_motion_name(path: Path) -> bool:
    """Whether a file of that name would be taken for motion, whatever is in it."""
    return _by_extension(path) is not None


def companion_files(path: Path) -> list[Path]:
    """Other files that a motion file is made of, such as the ``.asf`` of an ``.amc``: when they change, it changes."""
    chosen = _by_extension(path)
    return [] if chosen is None or chosen.companions is None else chosen.companions(path)


def _options(
    unit: str | float | None,
    up: str | None,
    rate: float | None,
    strict: bool,
    lenient: bool,
    skeleton: str | Path | None,
) -> ReadOptions:
    return ReadOptions(unit, up, rate, strict, lenient, None if skeleton is None else Path(skeleton))


def _by_extension(path: Path) -> Format | None:
    suffix = path.suffix.lower()
    return next((form for form in FORMATS if suffix in form.extensions), None)


def accepted() -> str:
    """The extensions that are read, as a phrase."""
    return "accepted: " + ", ".join(sorted(ext for form in FORMATS for ext in form.extensions))


def _read(path: Path, options: ReadOptions) -> list[Motion]:
    if options.strict and options.lenient:
        raise FormatError("strict and lenient exclude each other", path=path, key="strict", remedy="give one of them")
    head = read_head(path)
    chosen = _by_extension(path)
    if chosen is None:
        alike = next((form for form in FORMATS if form.sniff(head)), None)
        hint = f"; its content looks like {alike.name}: name it {alike.extensions[0]}" if alike else ""
        raise FormatError(f"files of type {path.suffix!r} are not read", path=path, remedy=f"{accepted()}{hint}")
    if not chosen.sniff(head):
        other = next((form for form in FORMATS if form is not chosen and form.sniff(head)), None)
        if other is not None:
            raise FormatError(
                f"the file is called {path.suffix} but looks like {other.name}",
                path=path,
                line=1,
                remedy=f"name it {other.extensions[0]}",
            )
    return chosen.read(path, options)


def _cannot_write(path: Path, error: OSError) -> FormatError:
    reason = "its folder does not exist" if not path.parent.is_dir() else str(error.strerror or error)
    return FormatError(f"the file cannot be written: {reason}", path=path, remedy="check the path and its permissions")

"""Files of one format to files of another: one, or a whole tree of folders.

- A take that cannot be read or written does not stop the others: it is listed with its reason.
- Nothing is overwritten unless asked for, and every file appears whole or not at all.
- Several motions of a file stay together where the new format can hold them, else they become ``NAME_MOTION``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ambulo.errors import AmbuloError, FormatError, printable
from ambulo.formats.format import Format
from ambulo.formats.paths import is_folder
from ambulo.formats.registry import load_all, motion_files, save, writable_format
from ambulo.motion.motion import Motion

_UNSAFE = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]+')
_LISTED = 5


@dataclass(frozen=True)
class ConvertedFile:
    """One file that was written.

    Attributes:
        source: where it came from.
        target: the new file.
        motions: how many motions it holds.
        frames: their frames together.
        seconds: their time together.
    """

    source: Path
    target: Path
    motions: int
    frames: int
    seconds: float


@dataclass(frozen=True)
class FailedTake:
    """One take that could not be converted, or not wholly.

    Attributes:
        source: the file.
        reason: why.
        remedy: what to do, where known.
    """

    source: Path
    reason: str
    remedy: str | None = None


@dataclass(frozen=True)
class Conversion:
    """Outcome of :func:`convert`.

    Attributes:
        written: the new files, in the order of their sources.
        failed: the takes that are missing among them.
        warnings: source and message of whatever was read with a warning.
    """

    written: tuple[ConvertedFile, ...]
    failed: tuple[FailedTake, ...]
    warnings: tuple[tuple[Path, str], ...]


@dataclass(frozen=True)
class ConvertSettings:
    """How to read, and how to write.

    Attributes:
        to: name or extension of the new format; None for that of the target's extension.
        unit: as in :func:`ambulo.load`, for all files.
        up: as in :func:`ambulo.load`, for all files.
        rate: as in :func:`ambulo.load`, for all files.
        lenient: as in :func:`ambulo.load`.
        resample: frames a second of the new files; None to keep those of the old.
        strict: refuse to write anything if any take cannot be read.
        force: overwrite what is there.
        options: of the new format, e.g. ``{"unit": "metre"}`` for BVH.
    """

    to: str | None = None
    unit: str | float | None = None
    up: str | None = None
    rate: float | None = None
    lenient: bool = False
    resample: float | None = None
    strict: bool = False
    force: bool = False
    options: Mapping[str, Any] | None = None


def convert(
    source: str | Path,
    target: str | Path,
    settings: ConvertSettings | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Conversion:
    """Convert a file, or every motion file of a folder and the folders below.

    Args:
        source: a file or a folder.
        target: for a file the new file, or a folder that exists; for a folder the folder of the new files, which get
            the same places in it.
        settings: how.
        progress: called with ``("convert", done, total)``.

    Raises:
        FormatError: the format cannot be written; a single file cannot be converted; no file of a folder can; with
            ``strict``, any file cannot be read.
    """
    source, target = Path(source), Path(target)
    settings = settings or ConvertSettings()
    if is_folder(source):
        return _convert_folder(source, target, settings, progress or (lambda *_: None))
    if is_folder(target) or (settings.to is not None and not target.suffix):
        if settings.to is None:
            raise FormatError("the target is a folder: which format?", path=target, key="to", remedy="give --to glb")
        form = writable_format(settings.to)
        target = target / f"{source.stem}{form.extensions[0]}"
    else:
        form = writable_format(settings.to or target.suffix or target.name)
        if target.suffix.lower() not in form.extensions:
            raise FormatError(
                f"the target is called {target.suffix!r}, but {form.name} was asked for",
                path=target,
                key="to",
                remedy=f"call it {target.stem}{form.extensions[0]}, or leave --to out",
            )
    work = _Work(form, settings)
    work.take(source, target)
    return work.result()


def _convert_folder(
    source: Path, target: Path, settings: ConvertSettings, progress: Callable[[str, int, int], None]
) -> Conversion:
    if settings.to is None:
        raise FormatError("a folder is converted: to which format?", path=source, key="to", remedy="give --to bvh")
    form = writable_format(settings.to)
    inside = target.resolve()
    files = [file for file in motion_files(source, recursive=True) if inside not in file.resolve().parents]
    if inside == source.resolve():  # beside the old files, which are not converted to themselves
        files = [file for file in motion_files(source, recursive=True) if file.suffix.lower() not in form.extensions]
    if not files:
        raise FormatError("no motion file in this folder or below", path=source, remedy="check the path")
    if settings.strict:
        _read_all(files, settings)
    work = _Work(form, settings)
    for done, file in enumerate(files):
        progress("convert", done, len(files))
        place = target / file.relative_to(source).with_suffix(form.extensions[0])
        try:
            work.take(file, place)
        except AmbuloError as error:
            work.failed.append(FailedTake(file, _reason(error, file), error.remedy))
        except Exception as error:  # one odd take must not end the conversion of ten thousand good ones
            work.failed.append(FailedTake(file, f"{type(error).__name__}: {error}"))
    progress("convert", len(files), len(files))
    if not work.written:
        raise FormatError(f"none of {len(files)} files was converted:{_list(work.failed)}", path=source)
    return work.result()


def _read_all(files: Sequence[Path], settings: ConvertSettings) -> None:
    """Refuse if any file cannot be read."""
    failed = []
    for file in files:
        try:
            _load(file, settings)
        except AmbuloError as error:
            failed.append(FailedTake(file, _reason(error, file)))
    if failed:
        raise FormatError(
            f"{len(failed)} of {len(files)} files cannot be read, so nothing is written:{_list(failed)}",
            remedy="mend or remove them, or leave --strict out",
        )


class _Work:
    """What has been written so far, and what not."""

    def __init__(self, form: Format, settings: ConvertSettings) -> None:
        self.form, self.settings = form, settings
        self.written: list[ConvertedFile] = []
        self.failed: list[FailedTake] = []
        self.warnings: list[tuple[Path, str]] = []
        self._taken: dict[Path, Path] = {}

    def result(self) -> Conversion:
        return Conversion(tuple(self.written), tuple(self.failed), tuple(dict.fromkeys(self.warnings)))

    def take(self, source: Path, target: Path) -> None:
        """Convert one file."""
        motions = _load(source, self.settings)
        self.warnings += [(source, note.message) for motion in motions for note in motion.source.warnings]
        if self.settings.resample is not None:
            from ambulo.motion.resampling import resample

            motions = [resample(motion, self.settings.resample) for motion in motions]
        places: set[Path] = set()
        plan: list[tuple[Path, list[Motion]]] = []
        for label, together in _parts(motions, self.form):
            place = target if label is None else target.with_name(f"{target.stem}_{_safe(label)}{target.suffix}")
            number = 1
            while place in places:
                number += 1
                place = target.with_name(f"{target.stem}_{_safe(label or '')}_{number}{target.suffix}")
            places.add(place)
            plan.append((place, together))
        for place, _ in plan:  # before anything is written
            self._check(source, place)
        for place, together in plan:
            place.parent.mkdir(parents=True, exist_ok=True)
            save(together, place, **(self.settings.options or {}))
            self._taken[place] = source
            frames = sum(motion.frame_count for motion in together)
            seconds = sum(motion.duration for motion in together)
            self.written.append(ConvertedFile(source, place, len(together), frames, round(seconds, 6)))

    def _check(self, source: Path, place: Path) -> None:
        other = self._taken.get(place)
        if other is not None:
            raise FormatError(
                f"{place.name} was already made from {printable(other.name)}",
                path=source,
                remedy="rename one of them, or convert them apart",
            )
        if place.exists() and place.samefile(source):
            raise FormatError("the source is never written to", path=source, remedy="give another target")
        if place.exists() and not self.settings.force:
            raise FormatError(f"{place} is there already", path=source, remedy="give --force to overwrite it")


def _load(file: Path, settings: ConvertSettings) -> list[Motion]:
    return load_all(file, unit=settings.unit, up=settings.up, rate=settings.rate, lenient=settings.lenient)


def _parts(motions: list[Motion], form: Format) -> list[tuple[str | None, list[Motion]]]:
    """The motions of one file as the files that they become, each with what tells it from the others."""
    if len(motions) == 1:
        return [(None, motions)]
    if form.several == "animations":
        bodies: dict[tuple[Any, ...], list[Motion]] = {}
        for motion in motions:
            bodies.setdefault((motion.skeleton.names, tuple(motion.skeleton.parents)), []).append(motion)
        if len(bodies) == 1:
            return [(None, motions)]
        return [(key[0][0], together) for key, together in bodies.items()]
    codes = [{note.code for note in motion.source.notes} for motion in motions]
    first = motions[0]
    shared = all((m.rate, m.frame_count) == (first.rate, first.frame_count) for m in motions)
    if form.several == "actors" and shared and all("actor" in code and "animation" not in code for code in codes):
        return [(None, motions)]
    # A body's name begins with the file's where the file has one animation of several bodies.
    stem = f"{first.source.path.stem}_" if first.source.path else ""
    return [(motion.name.removeprefix(stem), [motion]) for motion in motions]


def _safe(name: str) -> str:
    """A motion's name as part of a file's name on any system."""
    return _UNSAFE.sub("_", printable(name)).strip(" .")[:100] or "motion"


def _reason(error: AmbuloError, file: Path) -> str:
    """The error without its file's path, which is told beside it."""
    text = str(type(error)(error.message, **{**error.facts(), "remedy": None}))
    return text.removeprefix(f"{file}: ").replace(f"{file}:", "line ", 1)


def _list(failed: Sequence[FailedTake]) -> str:
    lines = [f"\n  {take.source}: {take.reason}" for take in failed[:_LISTED]]
    more = f"\n  and {len(failed) - _LISTED} more" if len(failed) > _LISTED else ""
    return "".join(lines) + more + "\n"

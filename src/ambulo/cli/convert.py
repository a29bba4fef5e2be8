"""``ambulo convert``: files of motion from one format to another, one file or a whole tree of folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import tyro

from ambulo.cli.progress import progress_bars
from ambulo.errors import AmbuloError


@dataclass(frozen=True)
class Arguments:
    """Convert a file of motion, or every one in a folder and below. Takes that cannot be read are listed at the end;
    nothing is overwritten without --force."""

    source: Path
    """File or folder to read."""
    target: Path
    """New file, or folder of the new files; its extension tells the format."""
    to: str | None = None
    """Format to write (bvh, glb, gltf, ...); needed for a folder."""
    unit: str | None = None
    """Length unit of the files read, by name or in metres, where the guess is wrong."""
    up: str | None = None
    """Up axis of the files read, where the guess is wrong."""
    rate: float | None = None
    """True frames a second of the files read, where they lie."""
    resample: float | None = None
    """Frames a second of the new files."""
    option: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """KEY=VALUE for the new format, e.g. unit=metre for BVH; may be given several times."""
    lenient: bool = False
    """Read what can be read of damaged files."""
    strict: bool = False
    """Write nothing if any file cannot be read."""
    force: bool = False
    """Overwrite files that are there."""
    json: bool = False
    """Print one JSON object."""


class FileRow(msgspec.Struct, frozen=True):
    """One new file."""

    source: str
    target: str
    motions: int
    frames: int
    seconds: float


class FailureRow(msgspec.Struct, frozen=True):
    """One take that was not converted."""

    source: str
    reason: str
    remedy: str | None


class WarningRow(msgspec.Struct, frozen=True):
    """Something odd in a take that was converted."""

    source: str
    message: str


class Converted(msgspec.Struct, frozen=True):
    """What ``ambulo convert`` did."""

    written: tuple[FileRow, ...]
    failed: tuple[FailureRow, ...]
    warnings: tuple[WarningRow, ...]


def run(arguments: Arguments) -> Converted:
    """Convert, and say what became of every file."""
    from ambulo.formats.conversion import ConvertSettings, convert

    settings = ConvertSettings(
        to=arguments.to,
        unit=_number(arguments.unit),
        up=arguments.up,
        rate=arguments.rate,
        lenient=arguments.lenient,
        resample=arguments.resample,
        strict=arguments.strict,
        force=arguments.force,
        options=dict(_pair(text) for text in arguments.option),
    )
    with progress_bars() as progress:
        done = convert(arguments.source, arguments.target, settings, progress)
    return Converted(
        tuple(FileRow(str(f.source), str(f.target), f.motions, f.frames, f.seconds) for f in done.written),
        tuple(FailureRow(str(f.source), f.reason, f.remedy) for f in done.failed),
        tuple(WarningRow(str(path), message) for path, message in done.warnings),
    )


def _number(text: str | None) -> str | float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _pair(text: str) -> tuple[str, Any]:
    """``KEY=VALUE`` with the value as a truth, a number or text."""
    key, sign, value = text.partition("=")
    if not (key and sign):
        raise AmbuloError(f"{text!r} is no KEY=VALUE", key="option", remedy="write e.g. --option unit=metre")
    truth = {"true": True, "false": False}.get(value.lower())
    return key, _number(value) if truth is None else truth


def show(result: Converted) -> None:
    """Print what was written, what looked odd, and what could not be converted."""
    motions = sum(file.motions for file in result.written)
    seconds = sum(file.seconds for file in result.written)
    for file in result.written[:10]:
        several = f" ({file.motions} motions)" if file.motions > 1 else ""
        print(f"{file.target}{several}")
    if len(result.written) > 10:
        print(f"... and {len(result.written) - 10} more")
    print(f"{len(result.written)} files, {motions} motions, {seconds / 60:.1f} minutes")
    if result.warnings:
        print(f"{len(result.warnings)} warnings:")
        for warning in result.warnings[:5]:
            print(f"  {warning.source}: {warning.message}")
        if len(result.warnings) > 5:
            print(f"  ... and {len(result.warnings) - 5} more (--json lists them)")
    if result.failed:
        print(f"{len(result.failed)} files were not converted:")
        for failure in result.failed:
            print(f"  {failure.source}: {failure.reason}" + (f"\n    -> {failure.remedy}" if failure.remedy else ""))

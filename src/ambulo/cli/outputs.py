"""What a verb is about to write, looked at before any work is done: takes are never lost to a slip of the hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ambulo.errors import AmbuloError


def check_outputs(
    inputs: Iterable[Path | None],
    takes: Mapping[str, Path | None],
    reports: Mapping[str, Path | None],
    *,
    force: bool,
) -> None:
    """Refuse outputs that would destroy something, or that cannot be written anyway.

    Args:
        inputs: what is read; never written to.
        takes: option -> a new file of motion; one that is there already is replaced with ``force`` only.
        reports: option -> a page, picture or table; an older one is replaced, a file of motion never.
        force: the user allows takes to be replaced.

    Raises:
        FormatError: a take is to be written in a format that cannot be written.
        AmbuloError: an output is an input, another output, a folder, lies in no folder, or is there and must not be
            replaced. ``key`` is the option.
    """
    from ambulo.formats.registry import check_writable, is_motion_name

    read = [path for path in inputs if path is not None]
    used: dict[Path, str] = {}
    for key, path in [*takes.items(), *reports.items()]:
        if path is None:
            continue
        place = path.absolute().resolve()
        if any(_same(path, source) for source in read):
            raise AmbuloError("the source is never written to", path=path, key=key, remedy="give another file")
        if place in used:
            raise AmbuloError(f"{used[place]} is written there as well", path=path, key=key, remedy="give another file")
        used[place] = key
        if path.is_dir():
            raise AmbuloError("this is a folder, not a file", path=path, key=key, remedy="add a file's name")
        if not path.parent.is_dir():
            raise AmbuloError(
                "the file cannot be written: its folder does not exist", path=path, key=key, remedy="make the folder"
            )
        if key in reports and is_motion_name(path):
            raise AmbuloError(
                f"this is the name of a take, but the {key} is none", path=path, key=key, remedy="give another file"
            )
        if key in takes and path.exists() and not force:
            raise AmbuloError("it is there already", path=path, key=key, remedy="give --force to overwrite it")
    for key, path in takes.items():
        if path is not None:
            check_writable(path, key=key)


def _same(path: Path, source: Path) -> bool:
    if path.exists() and source.exists():
        return path.samefile(source)
    return path.absolute().resolve() == source.absolute().resolve()

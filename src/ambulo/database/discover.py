"""Looking at a folder of motion capture: how many takes, in which unit, which way up, on which skeleton."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ambulo.database.project import SourceSpec
from ambulo.errors import AmbuloError, ProjectError
from ambulo.formats.paths import is_file, is_folder
from ambulo.motion.motion import Motion

_SAMPLE = 16


class Discovery(msgspec.Struct, frozen=True):
    """What a folder holds, judged from a sample of its files.

    Attributes:
        files: motion files found.
        sampled: files of them that were read.
        units: ``unit (metres a unit), guessed or not`` -> files.
        ups: up axis, guessed or not -> files.
        rates: frames a second -> files.
        skeletons: number of joints -> files, by skeleton.
        roles: role -> joint name, on the skeleton of most files.
        missing_roles: roles without a joint.
        errors: files of the sample that cannot be read, and why.
        notes: the guesses in words.
        guesses: ``unit``, ``up`` and ``rate`` where all files of the sample agree.
        extensions: ending of the files' names -> files.
    """

    files: int
    sampled: int
    units: dict[str, int]
    ups: dict[str, int]
    rates: dict[str, int]
    skeletons: dict[str, int]
    roles: dict[str, str]
    missing_roles: tuple[str, ...]
    errors: dict[str, str]
    notes: tuple[str, ...]
    guesses: dict[str, str | float]
    extensions: dict[str, int] = {}


def discover(folder: Path) -> Discovery:
    """Look at the motion files of a folder and the folders below.

    Raises:
        ProjectError: the folder is missing or has no motion file, or none of the sample can be read.
    """
    from ambulo.formats.registry import accepted, load_all, motion_files

    if not is_folder(folder):
        raise ProjectError(
            "this is a file, not a folder" if is_file(folder) else "there is no such folder",
            path=folder,
            remedy="give the folder that holds the takes",
        )
    files = motion_files(folder, recursive=True)
    if not files:
        raise ProjectError("there is no motion file in this folder or below", path=folder, remedy=accepted())
    motions: list[Motion] = []
    errors: dict[str, str] = {}
    sample = spread(files, _SAMPLE)
    for file in sample:
        try:
            motions += load_all(file)
        except AmbuloError as error:
            errors[file.relative_to(folder).as_posix()] = str(error)
    if not motions:
        first = next(iter(errors.values()))
        raise ProjectError(f"none of the {len(sample)} files that were tried can be read: {first}", path=folder)
    extensions = Counter(file.suffix.lower() for file in files)
    described = _describe(len(files), len(sample), motions, errors)
    return msgspec.structs.replace(described, extensions=dict(extensions.most_common()))


def spread(files: Sequence[Path], count: int) -> list[Path]:
    """At most ``count`` of the files, evenly spread, the first and the last included."""
    if len(files) <= count:
        return list(files)
    return [files[round(i * (len(files) - 1) / (count - 1))] for i in range(count)]


def _describe(files: int, sampled: int, motions: Sequence[Motion], errors: dict[str, str]) -> Discovery:
    from ambulo.motion.humanoid import detect_roles

    def guessed(flag: bool) -> str:
        return "guessed" if flag else "given by the file"

    units = Counter(
        f"{m.source.unit} ({m.source.metres_per_unit:g} m), {guessed(m.source.unit_guessed)}" for m in motions
    )
    ups = Counter(f"{m.source.up}, {guessed(m.source.up_guessed)}" for m in motions)
    rates = Counter(f"{m.rate:.4g}" for m in motions)
    by_skeleton = Counter((m.skeleton.names, tuple(m.skeleton.parents.tolist())) for m in motions)
    (names, parents), _ = by_skeleton.most_common(1)[0]
    body = next(m for m in motions if (m.skeleton.names, tuple(m.skeleton.parents.tolist())) == (names, parents))
    report = detect_roles(body.skeleton, body)
    notes: dict[tuple[str, str], str] = {}
    for m in motions:
        for note in m.source.notes:
            if "guess" in note.code:
                notes.setdefault((note.code, f"{m.source.unit} {m.source.up}"), f"{m.name}: {note.message}")
    guesses: dict[str, str | float] = {}
    for key, values in (
        ("unit", {m.source.unit for m in motions}),
        ("up", {m.source.up for m in motions}),
        ("rate", {round(m.rate, 3) for m in motions}),
    ):
        if len(values) == 1:
            guesses[key] = values.pop()
    return Discovery(
        files=files,
        sampled=sampled,
        units=dict(units.most_common()),
        ups=dict(ups.most_common()),
        rates=dict(rates.most_common()),
        skeletons=_skeleton_counts([(n, count) for (n, _), count in by_skeleton.most_common()]),
        roles={role: names[joint] for role, joint in report.roles.items()},
        missing_roles=report.missing,
        errors=errors,
        notes=tuple(dict.fromkeys(notes.values())),
        guesses=guesses,
    )


def _skeleton_counts(counts: Sequence[tuple[tuple[str, ...], int]]) -> dict[str, int]:
    """A phrase for each skeleton; those that begin and end alike are told apart by a joint that only one has."""
    shown: dict[str, int] = {}
    for names, count in counts:
        text = f"{len(names)} joints from {names[0]!r} to {names[-1]!r}"
        if text in shown:
            others = {name for other, _ in counts if other != names for name in other}
            own = next((name for name in names if name not in others), names[0])
            text = f"{text} with {own!r}"
        while text in shown:
            text += " in another order"
        shown[text] = count
    return shown


def source_of(takes: Path, project_folder: Path) -> SourceSpec:
    """The source entry for a folder of takes; its path is relative where both lie near each other."""
    takes, home = takes.absolute().resolve(), project_folder.absolute().resolve()
    common = next((parent for parent in (home, *home.parents[:2]) if takes.is_relative_to(parent)), None)
    if common is None or common == Path(takes.anchor):
        return SourceSpec(path=takes.as_posix())
    return SourceSpec(path=Path(os.path.relpath(takes, home)).as_posix())


def source_notes(found: Discovery) -> list[str]:
    """Comment lines for the project file."""

    def listed(counts: dict[str, int]) -> str:
        return "; ".join(f"{name}" + (f" in {n} takes" if len(counts) > 1 else "") for name, n in counts.items())

    lines = [
        f"{found.files} files found, {found.sampled} looked at:",
        f"  unit {listed(found.units)}",
        f"  up {listed(found.ups)}",
        f"  frames a second {listed(found.rates)}",
        f"  skeleton {listed(found.skeletons)}",
    ]
    if len(found.skeletons) > 1:
        lines.append("A build puts people on one skeleton, that of most motion where [skeleton] names no target;")
        lines.append(
            "bodies that cannot be put on it, such as animals, are left out: give them a project of their own."
        )
    return lines

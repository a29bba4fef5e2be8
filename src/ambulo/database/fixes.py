"""Write what a check proposes into ``ambulo.toml``, and leave every other character of it as it was."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from ambulo.database.checking import find_jobs
from ambulo.database.project import load_project, project_file
from ambulo.database.project_text import toml_value
from ambulo.database.takes import find_takes
from ambulo.errors import ProjectError
from ambulo.formats.paths import write_whole
from ambulo.prepare.quality.finding import CheckReport, Proposal

_TABLE = re.compile(r"^\s*\[")
_TAKES = re.compile(r"^\s*\[\[\s*takes\s*\]\]\s*(#.*)?$")


class Fixes(msgspec.Struct, frozen=True):
    """What was written.

    Attributes:
        project: the project file.
        written: take -> keys and values that are new in its ``[[takes]]`` entry.
        kept: take -> keys that the project gives already, with its own values, which were left as they were.
        outside: files that were checked, but are no takes of the project.
        split: takes whose file holds several motions that need different corrections; only what all of them need alike
            was written.
    """

    project: str
    written: dict[str, dict[str, object]]
    kept: dict[str, list[str]]
    outside: list[str]
    split: list[str]


def write_fixes(report: CheckReport, project_path: str | Path) -> Fixes:
    """Write the proposals of a report into a project's ``[[takes]]`` entries; never into a take.

    What the project says of a take already stays. Frames to skip are added to those that are listed.

    Args:
        report: what :func:`ambulo.database.checking.check` returned.
        project_path: the project's folder or its ``ambulo.toml``.

    Raises:
        ProjectError: the project cannot be read or written, or has its takes as one array in a line.
    """
    project = load_project(project_path)
    file = project_file(project_path)
    labels = {os.path.realpath(take.path): take.label for take in find_takes(project)}
    places = {job.label: os.path.realpath(job.path) for job in find_jobs(Path(report.path))}
    written: dict[str, dict[str, object]] = {}
    kept: dict[str, list[str]] = {}
    outside: list[str] = []
    split: list[str] = []
    for name, proposals in _by_file(report).items():
        if not any(proposals):
            continue
        label = labels.get(places.get(name, ""))
        if label is None:
            outside.append(name)
            continue
        proposal = _agreed(proposals)
        if any(each != proposal for each in proposals):
            split.append(label)
        spec = project.take_spec(label)
        known = {} if spec is None else msgspec.to_builtins(spec)
        new, old = _merged(proposal, known)
        if new:
            written[label] = written.get(label, {}) | new
        if old:
            kept[label] = old
    if written:
        text = file.read_bytes().decode("utf-8-sig")
        changed = with_takes(text, written, file)
        try:
            write_whole(file, changed.encode())
        except OSError as error:
            raise ProjectError(f"cannot be written: {error.strerror}", path=file) from None
    return Fixes(str(file), written, kept, outside, split)


def _by_file(report: CheckReport) -> dict[str, list[Proposal]]:
    """What is proposed for each motion of each file, clean ones included."""
    found: dict[str, list[Proposal]] = {}
    for take in report.takes:
        found.setdefault(take.file, []).append(take.proposal or Proposal())
    return found


def _agreed(proposals: Sequence[Proposal]) -> Proposal:
    """What all motions of a file need alike: an entry of ``[[takes]]`` speaks of the whole file."""
    first, *others = proposals
    return Proposal(
        **{
            key: getattr(first, key)
            for key in Proposal.__struct_fields__
            if all(getattr(other, key) == getattr(first, key) for other in others)
        }
    )


def _merged(proposal: Proposal, known: Mapping[str, object]) -> tuple[dict[str, object], list[str]]:
    """What is new in a proposal, and the keys that are given already."""
    from ambulo.prepare.quality.finding import joined_spans

    new: dict[str, object] = {}
    old: list[str] = []
    for key in ("start_frame", "stop_frame", "rate", "unit", "lift"):
        value = getattr(proposal, key)
        if value is None:
            continue
        if known.get(key) is None:
            new[key] = value
        elif known[key] != value:
            old.append(key)
    if proposal.skip_frames:
        listed = msgspec.convert(known.get("skip_frames", []), list[tuple[int, int]])
        spans = joined_spans(sorted([*listed, *proposal.skip_frames]))
        if list(spans) != listed:
            new["skip_frames"] = [list(span) for span in spans]
    return new, old


def with_takes(text: str, entries: Mapping[str, Mapping[str, object]], file: Path) -> str:
    """The text of a project file with keys set in its ``[[takes]]`` entries; new entries come at the end.

    Args:
        text: TOML that is sound.
        entries: take -> key -> value.
        file: for messages.

    Raises:
        ProjectError: the takes are one array in a line, or a key's value spans several lines.
    """
    before = tomllib.loads(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines()
    blocks = _take_blocks(lines)
    if before.get("takes") and len(blocks) != len(before["takes"]):
        raise ProjectError(
            "its takes are written as one array, which cannot be added to",
            path=file,
            key="takes",
            remedy="write them as [[takes]] tables",
        )
    numbers = {
        str(entry.get("file")): number for number, entry in enumerate(before.get("takes", [])) if "clip" not in entry
    }
    # From the last block to the first: what is inserted must not move the blocks that are still to come.
    for label in sorted(entries, key=lambda label: numbers.get(label, -1), reverse=True):
        if label in numbers:
            _set_keys(lines, blocks[numbers[label]], entries[label], file)
    for label, keys in entries.items():
        if label not in numbers:
            lines += ["", "[[takes]]", f"file = {toml_value(label)}"]
            lines += [f"{key} = {toml_value(value)}" for key, value in keys.items()]
    changed = newline.join(lines) + newline
    _check_change(before, tomllib.loads(changed), entries, file)
    return changed


def _take_blocks(lines: list[str]) -> list[tuple[int, int]]:
    """Lines ``[first key, one past the last key)`` of every ``[[takes]]`` table."""
    blocks = []
    for start, line in enumerate(lines):
        if not _TAKES.match(line):
            continue
        stop = start + 1
        while stop < len(lines) and not _TABLE.match(lines[stop]):
            stop += 1
        while stop > start + 1 and (not lines[stop - 1].strip() or lines[stop - 1].lstrip().startswith("#")):
            stop -= 1
        blocks.append((start + 1, stop))
    return blocks


def _set_keys(lines: list[str], block: tuple[int, int], keys: Mapping[str, object], file: Path) -> None:
    start, stop = block
    for key, value in keys.items():
        pattern = re.compile(rf"^\s*{key}\s*=")
        at = next((number for number in range(start, stop) if pattern.match(lines[number])), None)
        if at is None:
            lines.insert(stop, f"{key} = {toml_value(value)}")
            stop += 1
            continue
        try:
            old = tomllib.loads(lines[at])[key]
        except tomllib.TOMLDecodeError:
            raise ProjectError(
                f"{key} spans several lines, which cannot be changed",
                path=file,
                line=at + 1,
                key=key,
                remedy="write it in one line",
            ) from None
        del old
        comment = re.search(r"\s+#[^\]\"']*$", lines[at])
        lines[at] = f"{key} = {toml_value(value)}" + (comment[0] if comment else "")


def _check_change(
    before: dict[str, object], after: dict[str, object], entries: Mapping[str, Mapping[str, object]], file: Path
) -> None:
    """Refuse a text in which anything but the entries changed: a string that looks like a table, say."""
    old, new = dict(before), dict(after)
    had = {(str(entry["file"]), entry.get("clip")): dict(entry) for entry in _tables(old.pop("takes", []))}
    has = {(str(entry["file"]), entry.get("clip")): dict(entry) for entry in _tables(new.pop("takes", []))}
    wanted = {**had}
    for label, keys in entries.items():
        wanted[label, None] = {"file": label, **had.get((label, None), {}), **keys}
    if old != new or wanted != has:
        raise ProjectError("is written in a way that cannot be added to", path=file, remedy="add the [[takes]] by hand")


def _tables(value: object) -> list[dict[str, object]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []

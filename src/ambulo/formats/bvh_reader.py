"""Read BVH files: any that can be understood, with every oddity noted and every refusal explained.

What is decided here, where files leave it open:

- Rotations are intrinsic, in each joint's own order; N rows are N frames; a position channel *replaces* the offset.
- Frames: the rows that are there count. Another number in the header is a warning.
- Rows may be wrapped over several lines, if every frame begins and ends with a line; nothing is ever shifted.
- A row with too few or too many values, a token that is no number, NaN and infinity are refused, all of them listed.
  ``lenient`` keeps the time axis instead: such a row repeats the row before it, and is dropped at the end of the file.
- The frame time is snapped to the rate that was meant (0.008333 is 120); the raw value stays in ``Source.frame_time``.
- A second joint of the same name becomes ``name#2``.
- Several ROOTs are several actors, one :class:`~ambulo.motion.motion.Motion` each.
- Unit and up axis are guessed where not given, and always reported in ``Source``.
- ``strict`` refuses whatever would be read with a warning.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import FormatError
from ambulo.formats.bvh_header import Header, read_header
from ambulo.formats.bvh_hierarchy import Hierarchy, Joint, parse_hierarchy, refuse
from ambulo.formats.bvh_rows import Double, read_rows
from ambulo.formats.format import ReadOptions, read_file
from ambulo.formats.placement import place
from ambulo.motion.motion import Motion, Note, Source
from ambulo.motion.skeleton import Skeleton

_MOTION = re.compile(rb"(?:(?<=[\s}])|^)MOTION(?=[\s:])", re.IGNORECASE)


def sniff(head: bytes) -> bool:
    """Whether a file's first bytes look like a BVH file."""
    return _as_utf8(head).lstrip().upper().startswith((b"HIERARCHY", b"ROOT"))


def read(path: Path, options: ReadOptions | None = None) -> list[Motion]:
    """Read all actors of a BVH file.

    Args:
        path: the file.
        options: what the caller knows better.

    Returns:
        One motion an actor, metres and +Y up, without roles.

    Raises:
        FormatError: with line, joint and channel where they apply.
    """
    options = options or ReadOptions()
    data = _as_utf8(read_file(path), path)
    at, hierarchy = _read_hierarchy(data, path)
    header = read_header(data, at, hierarchy, path, options)
    values, notes = read_rows(data, header, hierarchy, path, options)
    notes = [*hierarchy.notes, *header.notes, *notes]
    motions = []
    ends = [*hierarchy.roots[1:], len(hierarchy.joints)]
    for start, stop in zip(hierarchy.roots, ends, strict=True):
        joints, own, name = hierarchy.joints[start:stop], notes, path.stem
        if len(ends) > 1:
            root = joints[0]
            name = f"{path.stem}_{root.name}"
            own = [*notes, Note("actor", f"{root.name} is one of {len(ends)} actors", line=root.line, joint=root.name)]
        motions.append(_build(joints, start, name, values, header, own, path, options))
    if options.strict:
        warnings = list(dict.fromkeys(note for motion in motions for note in motion.source.warnings))
        if warnings:
            refuse(
                path,
                [(note.line or 1, note.message, note.joint, None) for note in warnings],
                "refused because strict was asked for",
            )
    return motions


def _as_utf8(data: bytes, path: Path | None = None) -> bytes:
    """Bytes without byte-order mark; UTF-16 is re-encoded."""
    if data.startswith(b"\xef\xbb\xbf"):
        return data[3:]
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return data[: len(data) & ~1].decode("utf-16").encode("utf-8")
        except UnicodeError:
            if path is None:
                return data
            raise FormatError("the file begins like UTF-16 text but is none", path=path, line=1) from None
    return data


def _read_hierarchy(data: bytes, path: Path) -> tuple[int, Hierarchy]:
    """The hierarchy, and where the word MOTION ends."""
    if b"\0" in data[:1024]:
        raise FormatError(
            "not a BVH file: it holds binary data",
            path=path,
            line=1,
            remedy="check that the file is what its name says",
        )
    start = end = -1
    for match in _MOTION.finditer(data):
        before = data[max(0, match.start() - 4096) : match.start()].rstrip(b" \t")
        # A joint may be called Motion: the keyword stands at the start of a line, or after a closing brace.
        if before.endswith((b"\n", b"\r", b"}")):
            start, end = match.span()
            break
    text = data[: start if start >= 0 else len(data)]
    notes = []
    try:
        words = text.decode("utf-8")
    except UnicodeDecodeError:
        words = text.decode("latin-1")
        notes.append(Note("encoding", "names are not in UTF-8; they are read as Latin-1", warning=True))
    if start >= 0:
        # The keyword itself is parsed with the hierarchy, so that an open block is reported at its line.
        words += "MOTION"
    hierarchy = parse_hierarchy(words, path)
    hierarchy.notes.extend(notes)
    if start < 0:
        raise FormatError(
            "there is no MOTION part", path=path, line=hierarchy.line, remedy="the file is cut short; export it again"
        )
    return end, hierarchy


def _build(
    joints: list[Joint],
    first: int,
    name: str,
    values: Double,
    header: Header,
    notes: list[Note],
    path: Path,
    options: ReadOptions,
) -> Motion:
    """One actor's motion out of all columns."""
    from ambulo.formats import bvh_angles_kernels as kernels

    count = len(joints)
    offsets = np.array([joint.offset for joint in joints], np.float64).reshape(count, 3)
    ends = np.array([joint.end_offset or (math.nan,) * 3 for joint in joints], np.float64).reshape(count, 3)
    parents = np.array([max(joint.parent - first, -1) for joint in joints], np.int32)
    position_columns = np.full((count, 3), -1, np.int64)
    rotation_starts = np.zeros(count + 1, np.int64)
    rotation_columns: list[int] = []
    rotation_axes: list[int] = []
    for index, joint in enumerate(joints):
        for channel in joint.channels:
            if channel.kind == "position":
                position_columns[index, channel.axis] = channel.column
            else:
                rotation_columns.append(channel.column)
                rotation_axes.append(channel.axis)
        rotation_starts[index + 1] = len(rotation_columns)
    columns = np.array(rotation_columns, np.uint64)
    axes = np.array(rotation_axes, np.uint8)

    def poses(rows: Double, scale: float) -> tuple[Any, Any]:
        positions = np.empty((len(rows), count, 3), np.float32)
        rotations = np.empty((len(rows), count, 4), np.float32)
        kernels.euler_to_pose(
            np.ascontiguousarray(rows),
            offsets,
            position_columns,
            rotation_starts,
            columns,
            axes,
            scale,
            positions,
            rotations,
        )
        return positions, rotations

    names = tuple(joint.name for joint in joints)
    placement = place(names, parents, offsets, ends, lambda step: poses(values[::step], 1.0), len(values), options)
    positions, rotations = poses(values, placement.metres_per_unit)
    skeleton = Skeleton(
        names,
        parents,
        placement.vectors(offsets * placement.metres_per_unit),
        placement.vectors(ends * placement.metres_per_unit),
    )
    own = {joint.name for joint in joints}
    moving = _moving_bones(joints, parents, values, position_columns, offsets)
    return Motion(
        skeleton,
        placement.vectors(positions),
        placement.rotations(rotations),
        header.rate,
        name,
        Source(
            path=path,
            format="bvh",
            unit=placement.unit,
            metres_per_unit=placement.metres_per_unit,
            unit_guessed=options.unit is None,
            up=placement.up,
            up_guessed=options.up is None,
            frame_time=header.frame_time,
            notes=(*(note for note in notes if note.joint is None or note.joint in own), *moving, *placement.notes),
        ),
    )


def _moving_bones(
    joints: list[Joint],
    parents: NDArray[np.int32],
    values: Double,
    position_columns: NDArray[np.int64],
    offsets: Double,
) -> list[Note]:
    """Notes on joints whose position channels do more than repeat the offset."""
    moved = [joint for joint in np.nonzero((position_columns >= 0).any(axis=1))[0] if parents[joint] >= 0]
    if not moved or not len(values):
        return []
    notes = []
    collapsed = []
    lowest, highest = values.min(axis=0), values.max(axis=0)
    for joint in moved:
        columns = position_columns[joint][position_columns[joint] >= 0]
        size = max(-float(lowest[columns].min()), float(highest[columns].max()))
        if size == 0.0 and len(columns) == 3 and np.abs(offsets[joint]).max() > 0.0:
            collapsed.append(joints[joint].name)
        if float((highest[columns] - lowest[columns]).max()) <= 1e-4 * size:
            continue
        track = np.where(position_columns[joint] >= 0, values[:, position_columns[joint]], offsets[joint])
        lengths = np.sqrt(np.sum(track * track, axis=1))
        name = joints[joint].name
        notes.append(
            Note(
                "translates",
                f"{name} translates: its bone is not constant, {lengths.min():.6g} to {lengths.max():.6g} long in the "
                "file's unit",
                joint=name,
            )
        )
    if collapsed:
        listed = ", ".join(collapsed[:5]) + (", ..." if len(collapsed) > 5 else "")
        notes.append(
            Note(
                "collapsed",
                f"the position channels of {len(collapsed)} joints are all zero, their OFFSETs are not ({listed}); "
                "position channels replace the offset, so these bones have no length",
                warning=True,
            )
        )
    return notes

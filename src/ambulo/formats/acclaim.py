"""Acclaim's pair of files, as the CMU database keeps its takes: a skeleton (``.asf``), and motions on it (``.amc``).

What is decided here:

- The ``.asf`` of ``35_01.amc`` is, in this order: the one given as ``skeleton=``, ``35_01.asf``, ``35.asf`` (the part
  before the last ``_``, and so on), or the only ``.asf`` in the folder.
- A joint lies where its bone starts and carries the bone's name; the bone's end is where its children start.
- The unit is ``0.0254 / length`` metres (one inch is ``length`` units), where the body is then a person's size; else it
  is guessed. ``:DEGREES`` or ``:RADIANS`` in the ``.amc`` overrules the ``.asf``.
- An ``.amc`` says no frame rate. 120 is taken, CMU's custom, and noted; ``rate=`` settles it.
- An ``.asf`` read alone is its rest pose, one frame.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import FormatError
from ambulo.formats import units
from ambulo.formats.amc_rows import AmcRows, read_amc, sniff_amc
from ambulo.formats.asf_skeleton import AsfSkeleton, axis_rotation, read_asf, sniff_asf
from ambulo.formats.format import Format, ReadOptions, read_head
from ambulo.formats.paths import is_file
from ambulo.formats.placement import place
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion, Note, Source
from ambulo.motion.skeleton import Skeleton

Double = NDArray[np.float64]

CUSTOMARY_RATE = 120.0
"""Frames a second of most of the CMU database; subjects 60 and 61 were taken at 60."""

_FITS = math.log(1.45)


def sniff(head: bytes) -> bool:
    """Whether a file's first bytes look like either file of the pair."""
    return sniff_asf(head) or sniff_amc(head)


def meant(path: Path) -> bool:
    """Whether a file found in a folder is motion: an ``.asf`` beside ``.amc`` files only serves them."""
    if path.suffix.lower() != ".asf":
        return True
    try:
        return not any(other.suffix.lower() == ".amc" for other in path.parent.iterdir())
    except OSError:
        return True


def companions(path: Path) -> list[Path]:
    """The ``.asf`` that an ``.amc`` is read on, where it can be found."""
    if path.suffix.lower() == ".asf":
        return []
    try:
        return [find_asf(path, None)]
    except FormatError:
        return []


def read(path: Path, options: ReadOptions | None = None) -> list[Motion]:
    """Read an ``.amc`` on its skeleton, or an ``.asf`` as a pose.

    Args:
        path: either file.
        options: what the caller knows better; ``skeleton`` is the ``.asf``.

    Returns:
        One motion, metres and +Y up.

    Raises:
        FormatError: with line, bone and frame; or the ``.asf`` cannot be found.
    """
    options = options or ReadOptions()
    alone = path.suffix.lower() == ".asf"
    asf = path if alone else find_asf(path, options.skeleton)
    skeleton = read_asf(asf)
    notes = list(skeleton.notes)
    if alone:
        width = sum(len(bone.channels) for bone in skeleton.bones)
        rows = AmcRows(np.zeros((1, width)), None, [])
        place_root = skeleton.bones[0].channels
        for column, channel in enumerate(place_root):
            if channel in ("tx", "ty", "tz"):
                rows.values[0, column] = skeleton.root_position["xyz".index(channel[1])]
        notes.append(Note("one_frame", "a skeleton alone: its rest pose is read", warning=True))
        rate = options.rate or CUSTOMARY_RATE
    else:
        notes.append(Note("skeleton", f"the skeleton is {asf.name}"))
        rows = read_amc(path, skeleton.bones, options)
        rate = options.rate or CUSTOMARY_RATE
        if options.rate is None:
            notes.append(Note("rate_guess", f"an .amc has no frame rate; {rate:g} a second is taken; rate= settles it"))
        if len(rows.values) < 2:
            what = "there are no frames" if not len(rows.values) else "there is one frame only"
            notes.append(Note("no_frames", f"{what}; it cannot enter a database", warning=True))
    notes += rows.notes
    degrees = skeleton.degrees if rows.degrees is None else rows.degrees
    positions, rotations = poses(skeleton, rows.values, degrees)
    motion = _motion(path, skeleton, positions, rotations, float(rate), options, notes)
    if options.strict and motion.source.warnings:
        listed = "; ".join(note.message for note in motion.source.warnings)
        line = next((note.line for note in motion.source.warnings if note.line), None)
        raise FormatError(listed, path=path, line=line, remedy="refused because strict was asked for")
    return [motion]


def find_asf(path: Path, given: Path | None) -> Path:
    """The skeleton file of a motion file.

    Raises:
        FormatError: there is none, or there are several and none is called alike.
    """
    if given is not None:
        read_head(given)
        return given
    names = [path.stem]
    while "_" in names[-1]:
        names.append(names[-1].rsplit("_", 1)[0])
    for name in names:
        for suffix in (".asf", ".ASF"):
            if is_file(path.with_name(name + suffix)):
                return path.with_name(name + suffix)
    try:
        beside = sorted(other for other in path.parent.iterdir() if other.suffix.lower() == ".asf" and is_file(other))
    except OSError:
        beside = []
    alike = [other for other in beside if other.stem.lower() in {name.lower() for name in names}]
    if alike or len(beside) == 1:
        return (alike or beside)[0]
    if not beside:
        raise FormatError(
            "an .amc needs the .asf of its subject, and there is none beside it",
            path=path,
            remedy=f"put {names[-1]}.asf beside it, or give skeleton=",
        )
    listed = ", ".join(other.name for other in beside[:5])
    raise FormatError(
        f"an .amc needs the .asf of its subject; there are {len(beside)} beside it ({listed}), none called "
        f"{' or '.join(f'{name}.asf' for name in names)}",
        path=path,
        remedy="give skeleton=, or rename the right one",
    )


def poses(skeleton: AsfSkeleton, values: Double, degrees: bool) -> tuple[Double, Double]:
    """Local positions ``[T, J, 3]`` in file units and rotations ``[T, J, 4]`` of the rows of a motion file."""
    count, bones = len(values), skeleton.bones
    offsets, _ = skeleton.offsets()
    positions = np.tile(offsets, (count, 1, 1))
    rotations = np.zeros((count, len(bones), 4))
    rotations[..., 3] = 1.0
    column = 0
    for index, bone in enumerate(bones):
        own = values[:, column : column + len(bone.channels)]
        column += len(bone.channels)
        turning = [i for i, channel in enumerate(bone.channels) if channel[0] == "r"]
        if turning:
            angles = np.radians(own[:, turning]) if degrees else own[:, turning]
            turn = axis_rotation(angles, "".join(bone.channels[i][1].upper() for i in turning))
            axis = np.broadcast_to(bone.axis, turn.shape)
            rotations[:, index] = quaternions.multiply(axis, quaternions.multiply_inverse(turn, axis))
        for i, channel in enumerate(bone.channels):
            if channel[0] != "t":
                continue
            along = "xyz".index(channel[1])
            if index == 0:
                positions[:, 0, along] = own[:, i]  # in place of the skeleton's own
            else:
                way = quaternions.rotate(bone.axis, np.eye(3)[along])
                positions[:, index] += own[:, i, None] * way
    for along in range(3):
        if f"t{'xyz'[along]}" not in bones[0].channels:
            positions[:, 0, along] = skeleton.root_position[along]
    return positions, rotations


def _motion(
    path: Path,
    skeleton: AsfSkeleton,
    positions: Double,
    rotations: Double,
    rate: float,
    options: ReadOptions,
    notes: list[Note],
) -> Motion:
    bones = skeleton.bones
    names = tuple(bone.name for bone in bones)
    parents = np.array([bone.parent for bone in bones], np.int32)
    offsets, ends = skeleton.offsets()
    stretching = [bone.name for bone in bones if "l" in bone.channels]
    if stretching:
        notes.append(
            Note("stretch", f"bones that change their length are read as rigid: {', '.join(stretching[:5])}", True)
        )
    wanted, guessed = options, options.unit is None
    if guessed and skeleton.metres_per_unit is not None:
        bone_lengths = np.linalg.norm(offsets, axis=1)
        span = units.body_span(parents, bone_lengths, np.nan_to_num(np.linalg.norm(ends, axis=1)))
        size = span * skeleton.metres_per_unit
        if not units.looks_human(names) or (size > 0 and abs(math.log(size / units.HUMAN_SPAN)) < _FITS):
            # CMU's unit has a name, and ambulo's own digits.
            metres = skeleton.metres_per_unit
            unit: str | float = "cmu" if math.isclose(metres, units.METRES["cmu"], rel_tol=1e-4) else metres
            wanted = ReadOptions(unit, options.up)
            guessed = False
        else:
            notes.append(
                Note(
                    "unit_doubt",
                    f"by :units length the body would measure {size:.3g} m along its bones, a person's is about "
                    f"{units.HUMAN_SPAN}; the unit is guessed instead",
                    warning=True,
                )
            )

    def sample(step: int) -> tuple[Double, Double]:
        return positions[::step], rotations[::step]

    placement = place(names, parents, offsets, ends, sample, len(positions), wanted)
    metres = placement.metres_per_unit
    return Motion(
        Skeleton(names, parents, placement.vectors(offsets * metres), placement.vectors(ends * metres)),
        placement.vectors(positions * metres),
        placement.rotations(quaternions.unroll(rotations)),
        rate,
        path.stem,
        Source(
            path=path,
            format="acclaim",
            unit=placement.unit,
            metres_per_unit=metres,
            unit_guessed=guessed,
            up=placement.up,
            up_guessed=options.up is None,
            notes=(*notes, *placement.notes),
        ),
    )


FORMAT = Format(name="acclaim", extensions=(".amc", ".asf"), sniff=sniff, read=read, meant=meant, companions=companions)

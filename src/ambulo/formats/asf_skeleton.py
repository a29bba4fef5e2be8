"""Acclaim skeleton files (``.asf``): bones with a direction, a length, an axis frame and degrees of freedom.

A bone turns about its start, in its own axis frame ``C``: with the motion ``M`` its rotation in the parent's frame is
``C M C^-1``, which is the identity at rest. ``axis 10 20 30 XYZ`` turns about the fixed X axis first, then Y, then Z;
the angles of ``dof`` are applied in the order in which they are listed. Units and angles are as ``:units`` says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import FormatError, nearest_names
from ambulo.formats.format import read_file
from ambulo.maths import quaternions
from ambulo.motion.motion import Note

CHANNELS = ("rx", "ry", "rz", "tx", "ty", "tz", "l")
ROOT = "root"
_INCH = 0.0254
_LARGEST = 1e8
_SECTIONS = ("version", "name", "units", "documentation", "root", "bonedata", "hierarchy", "skin")


@dataclass
class Bone:
    """One bone, in file units and radians.

    Attributes:
        name: as the file spells it.
        line: where it begins.
        direction: unit vector ``[3]`` from its start to its end, at rest.
        length: along that.
        axis: its axis frame, a quaternion ``[4]``.
        channels: what the motion file gives for it, in order.
        parent: index of the parent, -1 for the root.
    """

    name: str
    line: int
    direction: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    length: float = 0.0
    axis: NDArray[np.float64] = field(default_factory=lambda: np.array([0.0, 0.0, 0.0, 1.0]))
    channels: tuple[str, ...] = ()
    parent: int = -1


@dataclass
class AsfSkeleton:
    """A skeleton file.

    Attributes:
        bones: the root first, parents before children.
        root_position: file units ``[3]``.
        degrees: angles are in degrees.
        metres_per_unit: from ``:units length``; None where the file does not say.
        notes: what was odd.
    """

    bones: list[Bone]
    root_position: NDArray[np.float64]
    degrees: bool
    metres_per_unit: float | None
    notes: list[Note]

    def offsets(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Where each bone starts in its parent's frame, and the tip of each leaf in its own (NaN elsewhere)."""
        vectors = np.array([bone.direction * bone.length for bone in self.bones])
        offsets = np.zeros_like(vectors)
        ends = np.full_like(vectors, np.nan)
        above = {bone.parent for bone in self.bones}
        for index, bone in enumerate(self.bones):
            if bone.parent >= 0:
                offsets[index] = vectors[bone.parent]
            if index not in above and index:
                ends[index] = vectors[index]
        return offsets, ends


def sniff_asf(head: bytes) -> bool:
    """Whether a file's first bytes look like an Acclaim skeleton."""
    lines = [line.strip().lower() for line in head.splitlines()[:50]]
    words = [line for line in lines if line and not line.startswith(b"#")]
    return bool(words) and words[0].startswith((b":version", b":name", b":units", b":root"))


def axis_rotation(angles: NDArray[np.float64], order: str) -> NDArray[np.float64]:
    """Turn about fixed axes in the listed order. ``[..., n] -> [..., 4]``, radians."""
    return quaternions.from_euler(angles[..., ::-1], order[::-1]).astype(np.float64)


def read_asf(path: Path) -> AsfSkeleton:
    """Read a skeleton file.

    Raises:
        FormatError: with the line.
    """
    text = read_file(path)
    if b"\0" in text[:4096]:
        raise FormatError("not an Acclaim skeleton: it holds binary data", path=path, line=1)
    return _Parser(text.decode("utf-8", "replace"), path).skeleton()


class _Parser:
    """The lines of one file."""

    def __init__(self, text: str, path: Path) -> None:
        self.path = path
        self.degrees = True
        self.metres: float | None = None
        self.root = Bone(ROOT, 1, channels=("tx", "ty", "tz", "rx", "ry", "rz"))
        self.position = np.zeros(3)
        self.bones: list[Bone] = [self.root]
        self.index: dict[str, int] = {ROOT: 0}
        self.parents: dict[str, str] = {}
        self.notes: list[Note] = []
        self.root_order, self.root_angles = "XYZ", np.zeros(3)
        self.current: Bone | None = None
        self._lines(text)

    def refuse(self, message: str, line: int, joint: str | None = None, remedy: str | None = None) -> NoReturn:
        raise FormatError(message, path=self.path, line=line, joint=joint, remedy=remedy)

    def _lines(self, text: str) -> None:
        section, line = "", 0
        pending: list[tuple[Bone, int, list[str]]] = []
        for line, raw in enumerate(text.splitlines(), 1):
            words = raw.split("#", 1)[0].split()
            if not words:
                continue
            if words[0].startswith(":"):
                section = words[0][1:].lower()
                if section not in _SECTIONS:
                    self.notes.append(Note("section", f"the section :{section} is not known", warning=True, line=line))
                continue
            if section == "units":
                self._unit(words, line)
            elif section == "root":
                self._root(words, line)
            elif section == "bonedata":
                self._bone(words, line, pending)
            elif section == "hierarchy":
                self._hierarchy(words, line)
        if self.current is not None:
            self.refuse("a bone has no 'end'", self.current.line, self.current.name, "the file is cut short")
        if len(self.bones) < 2:
            self.refuse("there is no bone in this skeleton", max(line, 1), remedy="the file is cut short, or no .asf")
        # The angle's unit may stand below the bones, so axes are turned at the end.
        for bone, number, words in pending:
            bone.axis = self._axis(words, number)
        self.root.axis = axis_rotation(self._radians(self.root_angles), self.root_order)
        if self.root_angles.any():
            self.notes.append(Note("root_orientation", "the root's orientation is taken as its axis frame"))

    def _unit(self, words: list[str], line: int) -> None:
        key = words[0].lower()
        if key == "length" and len(words) > 1:
            # One inch is `length` units: CMU's 0.45 makes a unit of 0.0564 m.
            scale = self._number(words[1], line)
            if scale <= 0.0:
                self.refuse(f"a length unit of {words[1]} is not possible", line, remedy="give unit=")
            self.metres = _INCH / scale
        elif key == "angle" and len(words) > 1:
            self.degrees = not words[1].lower().startswith("rad")

    def _root(self, words: list[str], line: int) -> None:
        key = words[0].lower()
        if key == "order":
            self.root.channels = self._channels(words[1:], line)
        elif key == "axis" and len(words) > 1:
            self.root_order = self._order(words[1], line)
        elif key in ("position", "orientation"):
            values = np.array([self._number(word, line) for word in words[1:4]])
            if len(values) != 3:
                self.refuse(f"{key} has {len(values)} of 3 values", line)
            if key == "position":
                self.position = values
            else:
                self.root_angles = values

    def _bone(self, words: list[str], line: int, pending: list[tuple[Bone, int, list[str]]]) -> None:
        key = words[0].lower()
        if key == "begin":
            if self.current is not None:
                self.refuse("a bone begins inside another", line, self.current.name)
            self.current = Bone("", line)
            return
        bone = self.current
        if bone is None:
            self.refuse(f"{words[0][:40]!r} stands outside of a bone", line, remedy="bones are begin ... end")
        if key == "end":
            if not bone.name:
                self.refuse("a bone has no name", bone.line)
            if bone.name in self.index:
                self.refuse(f"two bones are called {bone.name!r}", bone.line, bone.name)
            self.index[bone.name] = len(self.bones)
            self.bones.append(bone)
            self.current = None
        elif key == "name" and len(words) > 1:
            bone.name = words[1]
        elif key == "direction":
            values = np.array([self._number(word, line) for word in words[1:4]])
            size = float(np.linalg.norm(values))
            if len(values) != 3:
                self.refuse(f"direction has {len(values)} of 3 values", line, bone.name)
            bone.direction = values / size if size > 0.0 else values
        elif key == "length" and len(words) > 1:
            bone.length = self._number(words[1], line)
        elif key == "axis":
            pending.append((bone, line, words[1:]))
        elif key == "dof":
            bone.channels = self._channels(words[1:], line)

    def _hierarchy(self, words: list[str], line: int) -> None:
        if len(words) == 1 and words[0].lower() in ("begin", "end"):
            return
        for word in words:
            if word not in self.index:
                known = nearest_names(word[:60], self.index)
                self.refuse(f"the hierarchy names {word[:60]!r}, which is no bone; {known}", line)
        for child in words[1:]:
            if child in self.parents or child == ROOT:
                self.refuse(f"{child} has two parents", line, child)
            self.parents[child] = words[0]

    def _axis(self, words: list[str], line: int) -> NDArray[np.float64]:
        angles = np.array([self._number(word, line) for word in words[:3]])
        if len(angles) != 3:
            self.refuse(f"axis has {len(angles)} of 3 angles", line)
        return axis_rotation(self._radians(angles), self._order(words[3], line) if len(words) > 3 else "XYZ")

    def _radians(self, angles: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.radians(angles) if self.degrees else angles

    def _order(self, word: str, line: int) -> str:
        order = word.upper()
        if sorted(order) != ["X", "Y", "Z"]:
            self.refuse(f"{word[:40]!r} is no order of axes", line, remedy="it is XYZ or another order of the three")
        return order

    def _channels(self, words: list[str], line: int) -> tuple[str, ...]:
        channels = tuple(word.lower() for word in words)
        for channel in channels:
            if channel not in CHANNELS:
                self.refuse(f"unknown degree of freedom {channel[:40]!r}; known: {', '.join(CHANNELS)}", line)
        if len(set(channels)) != len(channels):
            self.refuse(f"a degree of freedom is named twice: {' '.join(channels)}", line)
        return channels

    def _number(self, word: str, line: int) -> float:
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not abs(value) < _LARGEST:
            self.refuse(f"{word[:40]!r} is no usable number", line)
        return value

    def skeleton(self) -> AsfSkeleton:
        """The bones in an order in which parents come first."""
        lost = [bone.name for bone in self.bones[1:] if bone.name not in self.parents]
        if lost:
            listed = ", ".join(lost[:5])
            self.refuse(
                f"{len(lost)} bones hang on nothing: {listed}",
                self.bones[self.index[lost[0]]].line,
                lost[0],
                "name each in the :hierarchy",
            )
        children: dict[str, list[str]] = {}
        for bone in self.bones[1:]:
            children.setdefault(self.parents[bone.name], []).append(bone.name)
        ordered: list[Bone] = []
        place: dict[str, int] = {}
        stack = [ROOT]
        while stack:
            name = stack.pop()
            bone = self.bones[self.index[name]]
            bone.parent = place[self.parents[name]] if name != ROOT else -1
            place[name] = len(ordered)
            ordered.append(bone)
            stack += children.get(name, [])[::-1]
        if len(ordered) != len(self.bones):
            ring = next(bone for bone in self.bones if bone.name not in place)
            self.refuse("bones hang on each other in a ring", ring.line, ring.name)
        return AsfSkeleton(ordered, self.position, self.degrees, self.metres, self.notes)

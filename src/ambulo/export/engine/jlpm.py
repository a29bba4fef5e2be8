"""The file layouts of JLPM's public Motion Matching for Unity: ``.mmskeleton``, ``.mmpose``, ``.mmfeatures``.

Little-endian; names are UTF-8 behind their length in seven-bit groups, as .NET writes them. Quaternions are
``x, y, z, w``; axes are Unity's: left-handed, +Y up, +Z forward, metres.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import FormatError
from ambulo.formats.paths import write_whole

Float = NDArray[np.float32]
UInt = NDArray[np.uint32]


@dataclass(frozen=True)
class JlpmJoint:
    """A joint: its name, index, its parent's (the root's own for the root), its offset, Unity's ``HumanBodyBones``."""

    name: str
    index: int
    parent: int
    offset: tuple[float, float, float]
    human_bone: int


@dataclass(frozen=True)
class JlpmPoses:
    """The content of ``.mmpose``; F poses, J joints, C clips.

    Attributes:
        clips: ``(start, end, seconds a frame)``, end exclusive.
        positions: float32 ``[F, J, 3]``, local.
        rotations: float32 ``[F, J, 4]``, local, ``x, y, z, w``.
        velocities, angular_velocities: float32 ``[F, J, 3]``.
        contacts: uint32 ``[F, 2]``.
        tags: name and ranges uint32 ``[R, 2]``.
    """

    clips: tuple[tuple[int, int, float], ...]
    positions: Float
    rotations: Float
    velocities: Float
    angular_velocities: Float
    contacts: UInt
    tags: tuple[tuple[str, UInt], ...]


@dataclass(frozen=True)
class JlpmFeature:
    """One feature: its name, how many numbers it has, and its prediction's samples."""

    name: str
    size: int
    samples: int


@dataclass(frozen=True)
class JlpmFeatures:
    """The content of ``.mmfeatures``.

    Attributes:
        static_count: how many dimensions are normalised; those have a mean and a deviation.
        mean, deviation: float32 ``[static_count]``.
        features: what the dimensions are.
        valid: uint32 ``[F]``.
        vectors: float32 ``[F, D]``.
    """

    static_count: int
    mean: Float
    deviation: Float
    features: tuple[JlpmFeature, ...]
    valid: UInt
    vectors: Float


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path, self.place = path, 0
        try:
            self.data = path.read_bytes()
        except OSError as error:
            raise FormatError(f"cannot be read: {error.strerror}", path=path) from None

    def take(self, name: str, size: int) -> bytes:
        if size < 0 or self.place + size > len(self.data):
            raise FormatError(
                f"ends within {name}", path=self.path, key=name, remedy="the file is cut short, or of another layout"
            )
        found = self.data[self.place : self.place + size]
        self.place += size
        return found

    def number(self, name: str) -> int:
        return int(struct.unpack("<I", self.take(name, 4))[0])

    def real(self, name: str) -> float:
        return float(struct.unpack("<f", self.take(name, 4))[0])

    def text(self, name: str) -> str:
        size = shift = 0
        while True:
            byte = self.take(name, 1)[0]
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
            if shift > 28:
                raise FormatError(f"has no length before {name}", path=self.path, key=name)
        try:
            return self.take(name, size).decode()
        except UnicodeDecodeError:
            raise FormatError(f"{name} is not UTF-8", path=self.path, key=name) from None

    def rows(self, name: str, count: int, dtype: Any) -> NDArray[Any]:
        kind = np.dtype(dtype)
        return np.frombuffer(self.take(name, count * kind.itemsize), kind)

    def end(self) -> None:
        left = len(self.data) - self.place
        if left:
            raise FormatError(f"has {left} bytes after its end", path=self.path, remedy="it is of another layout")


def _text(value: str) -> bytes:
    data = value.encode()
    size, head = len(data), bytearray()
    while size >= 128:
        head.append(size & 127 | 128)
        size >>= 7
    head.append(size)
    return bytes(head) + data


def _numbers(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def write_skeleton(path: Path, joints: tuple[JlpmJoint, ...]) -> None:
    """Write ``.mmskeleton``."""
    rows = [_numbers(len(joints))]
    for joint in joints:
        rows.append(_text(joint.name) + _numbers(joint.index, joint.parent))
        rows.append(struct.pack("<3f", *joint.offset) + _numbers(joint.human_bone))
    write_whole(path, b"".join(rows))


def read_skeleton(path: Path) -> tuple[JlpmJoint, ...]:
    """Read ``.mmskeleton``.

    Raises:
        FormatError: it ends too soon, or has bytes too many.
    """
    reader = _Reader(path)
    joints = []
    for _ in range(reader.number("joint count")):
        name, index, parent = reader.text("name"), reader.number("index"), reader.number("parent")
        x, y, z = (reader.real("offset") for _ in range(3))
        joints.append(JlpmJoint(name, index, parent, (x, y, z), reader.number("human bone")))
    reader.end()
    return tuple(joints)


def _pose_type(joints: int) -> np.dtype[Any]:
    return np.dtype(
        [
            ("positions", "<f4", (joints, 3)),
            ("rotations", "<f4", (joints, 4)),
            ("velocities", "<f4", (joints, 3)),
            ("angular_velocities", "<f4", (joints, 3)),
            ("contacts", "<u4", (2,)),
        ]
    )


def write_poses(path: Path, poses: JlpmPoses) -> None:
    """Write ``.mmpose``."""
    frames, joints = poses.positions.shape[:2]
    rows = [_numbers(len(poses.clips))]
    rows += [_numbers(start, end) + struct.pack("<f", step) for start, end, step in poses.clips]
    rows.append(_numbers(frames, joints, len(poses.tags)))
    packed = np.empty(frames, _pose_type(joints))
    for name in packed.dtype.names or ():
        packed[name] = getattr(poses, name)
    rows.append(packed.tobytes())
    for name, ranges in poses.tags:
        rows.append(_text(name) + _numbers(len(ranges)) + np.ascontiguousarray(ranges, "<u4").tobytes())
    write_whole(path, b"".join(rows))


def read_poses(path: Path) -> JlpmPoses:
    """Read ``.mmpose``.

    Raises:
        FormatError: it ends too soon, or has bytes too many.
    """
    reader = _Reader(path)
    clips = tuple(
        (reader.number("clip start"), reader.number("clip end"), reader.real("frame time"))
        for _ in range(reader.number("clip count"))
    )
    frames, joints, tag_count = (reader.number(name) for name in ("pose count", "joint count", "tag count"))
    packed = reader.rows("poses", frames, _pose_type(joints))
    tags = []
    for _ in range(tag_count):
        name = reader.text("tag name")
        ranges = reader.rows("tag ranges", 2 * reader.number("range count"), "<u4").reshape(-1, 2)
        tags.append((name, ranges.copy()))
    reader.end()
    channels = {name: packed[name].copy() for name in packed.dtype.names or ()}
    return JlpmPoses(clips=clips, tags=tuple(tags), **channels)


def write_features(path: Path, features: JlpmFeatures) -> None:
    """Write ``.mmfeatures``."""
    frames, width = features.vectors.shape
    rows = [_numbers(frames, features.static_count, width, len(features.features))]
    rows.append(np.column_stack([features.mean, features.deviation]).astype("<f4").tobytes())
    rows += [_text(one.name) + _numbers(one.size, one.samples) for one in features.features]
    packed = np.empty(frames, [("valid", "<u4"), ("vector", "<f4", (width,))])
    packed["valid"], packed["vector"] = features.valid, features.vectors
    rows.append(packed.tobytes())
    write_whole(path, b"".join(rows))


def read_features(path: Path) -> JlpmFeatures:
    """Read ``.mmfeatures``.

    Raises:
        FormatError: it ends too soon, or has bytes too many.
    """
    reader = _Reader(path)
    frames, static, width, count = (reader.number(name) for name in ("vectors", "static size", "size", "features"))
    normal = reader.rows("mean and deviation", 2 * static, "<f4").reshape(-1, 2)
    kinds = tuple(
        JlpmFeature(reader.text("feature name"), reader.number("feature size"), reader.number("feature samples"))
        for _ in range(count)
    )
    packed = reader.rows("vectors", frames, np.dtype([("valid", "<u4"), ("vector", "<f4", (width,))]))
    reader.end()
    return JlpmFeatures(
        static, normal[:, 0].copy(), normal[:, 1].copy(), kinds, packed["valid"].copy(), packed["vector"].copy()
    )

"""The parts of glTF 2.0's JSON that motion needs, as types: whatever has another shape is refused with its place.

Meshes, materials and images are passed over unread. Numbers that may only be indices or sizes are bounded, so that no
product of two of them leaves 64 bits. Source: the Khronos Group, "glTF 2.0 Specification", version 2.0.1.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

Index = Annotated[int, msgspec.Meta(ge=0, le=2**31)]
Size = Annotated[int, msgspec.Meta(ge=0, le=2**48)]
Matrix = Annotated[list[float], msgspec.Meta(min_length=16, max_length=16)]
Vector3 = tuple[float, float, float]
Vector4 = tuple[float, float, float, float]


class Asset(msgspec.Struct):
    """Which glTF this is, and whose."""

    version: str = ""
    minVersion: str = ""
    copyright: str = ""
    generator: str = ""
    extras: msgspec.Raw = msgspec.Raw()


class Scene(msgspec.Struct):
    """The nodes that a scene shows."""

    nodes: list[Index] = []


class Node(msgspec.Struct):
    """A frame in the tree of nodes."""

    name: str = ""
    children: list[Index] = []
    translation: Vector3 | None = None
    rotation: Vector4 | None = None
    scale: Vector3 | None = None
    matrix: Matrix | None = None
    extras: msgspec.Raw = msgspec.Raw()


class Skin(msgspec.Struct):
    """Which nodes are joints."""

    joints: list[Index] = []
    skeleton: Index | None = None
    name: str = ""


class Target(msgspec.Struct, gc=False):
    """What a channel moves."""

    path: str
    node: Index | None = None


class Channel(msgspec.Struct, gc=False):
    """Which sampler moves what."""

    sampler: Index
    target: Target


class Sampler(msgspec.Struct, gc=False):
    """Accessors of key times and values, and how to go from one to the next."""

    input: Index
    output: Index
    interpolation: str = "LINEAR"


class Animation(msgspec.Struct):
    """One clip."""

    channels: list[Channel] = []
    samplers: list[Sampler] = []
    name: str = ""


class SparseIndices(msgspec.Struct, gc=False):
    """Where a sparse accessor deviates."""

    bufferView: Index
    componentType: int
    byteOffset: Size = 0


class SparseValues(msgspec.Struct, gc=False):
    """What stands there."""

    bufferView: Index
    byteOffset: Size = 0


class Sparse(msgspec.Struct, gc=False):
    """Values of an accessor that replace others."""

    count: Index
    indices: SparseIndices
    values: SparseValues


class Accessor(msgspec.Struct, gc=False):
    """Numbers in a buffer view."""

    componentType: int
    count: Index
    type: str
    bufferView: Index | None = None
    byteOffset: Size = 0
    normalized: bool = False
    sparse: Sparse | None = None


class BufferView(msgspec.Struct, gc=False):
    """Bytes of a buffer."""

    buffer: Index
    byteLength: Size
    byteOffset: Size = 0
    byteStride: Annotated[int, msgspec.Meta(ge=0, le=2**16)] = 0


class Buffer(msgspec.Struct, gc=False):
    """Bytes, inside the file or beside it."""

    byteLength: Size
    uri: str | None = None


class Root(msgspec.Struct):
    """The whole JSON."""

    asset: Asset
    scene: Index | None = None
    scenes: list[Scene] = []
    nodes: list[Node] = []
    skins: list[Skin] = []
    animations: list[Animation] = []
    accessors: list[Accessor] = []
    bufferViews: list[BufferView] = []
    buffers: list[Buffer] = []
    extensionsRequired: list[str] = []

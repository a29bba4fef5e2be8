"""Write FBX files for tests: a scene as plain values, stored as binary of any version or as text."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

TICKS = 46186158000
LINEAR, CONSTANT, CONSTANT_NEXT, CUBIC = 0x4, 0x2, 0x102, 0x8
AUTO, TCB, USER, BROKEN = 0x100, 0x200, 0x400, 0x800
WEIGHTED = 0x3000000

Record = tuple[str, list[Any], list["Record"]]  # type: ignore[misc]
"""Name, values (an ndarray is an array), records within."""


@dataclass
class Key:
    """One key of a curve: seconds, value, flags, and the four attribute numbers (bits for packed weights)."""

    time: float
    value: float
    flags: int = LINEAR
    data: tuple[float, float, int, float] = (0.0, 0.0, 0, 0.0)


@dataclass
class Bone:
    """One Model: name, parent's name, properties (name -> numbers), subtype."""

    name: str
    parent: str | None = None
    properties: dict[str, tuple[float, ...]] = field(default_factory=dict)
    subtype: str = "LimbNode"
    attribute: str | None = None


@dataclass
class Stack:
    """One take: curves by (bone, property, axis letter) on each layer, and its span in seconds (None leaves it out)."""

    name: str
    layers: list[dict[tuple[str, str, str], list[Key]]]
    span: tuple[float, float] | None = None
    layer_properties: list[dict[str, tuple[float, ...]]] = field(default_factory=list)


@dataclass
class Scene:
    """A file's content; ``settings`` are numbers of the global settings."""

    bones: list[Bone]
    stacks: list[Stack] = field(default_factory=list)
    settings: dict[str, float] = field(default_factory=dict)


def records(scene: Scene, binary: bool) -> list[Record]:
    """The records of a scene."""

    def named(name: str, kind: str) -> str:
        return f"{name}\x00\x01{kind}" if binary else f"{kind}::{name}"

    def prop(name: str, *numbers: float) -> Record:
        if len(numbers) == 3:
            kind = (name, "") if name.startswith("Lcl") else ("Vector3D", "Vector")
        else:
            kind = ("int", "Integer") if isinstance(numbers[0], int) else ("Number", "")
        if name.startswith("Local"):
            kind = ("KTime", "Time")
        return ("P", [name, *kind, "A", *numbers], [])

    def table(properties: dict[str, tuple[float, ...]]) -> Record:
        return ("Properties70", [], [prop(name, *numbers) for name, numbers in properties.items()])

    objects: list[Record] = []
    links: list[Record] = []
    number = iter(range(1000, 10**9))
    ids: dict[str, int] = {}
    for bone in scene.bones:
        ids[bone.name] = next(number)
        objects.append(("Model", [ids[bone.name], named(bone.name, "Model"), bone.subtype], [table(bone.properties)]))
        attribute = bone.attribute or (bone.subtype if bone.subtype in ("LimbNode", "Root", "Null") else None)
        if attribute:
            own = next(number)
            objects.append(("NodeAttribute", [own, named(bone.name, "NodeAttribute"), attribute], []))
            links.append(("C", ["OO", own, ids[bone.name]], []))
    for bone in scene.bones:
        links.append(("C", ["OO", ids[bone.name], ids[bone.parent] if bone.parent else 0], []))
    for stack in scene.stacks:
        stack_id = next(number)
        span = (
            {}
            if stack.span is None
            else {
                "LocalStart": (round(stack.span[0] * TICKS),),
                "LocalStop": (round(stack.span[1] * TICKS),),
            }
        )
        objects.append(("AnimationStack", [stack_id, named(stack.name, "AnimStack"), ""], [table(span)]))
        for level, layer in enumerate(stack.layers):
            layer_id = next(number)
            own_properties = stack.layer_properties[level] if level < len(stack.layer_properties) else {}
            objects.append(
                ("AnimationLayer", [layer_id, named(f"Layer{level}", "AnimLayer"), ""], [table(own_properties)])
            )
            links.append(("C", ["OO", layer_id, stack_id], []))
            nodes: dict[tuple[str, str], int] = {}
            for (bone_name, target, axis), keys in layer.items():
                if (bone_name, target) not in nodes:
                    nodes[bone_name, target] = node_id = next(number)
                    rest = next(b for b in scene.bones if b.name == bone_name).properties.get(
                        target, (1.0,) * 3 if "Scaling" in target else (0.0,) * 3
                    )
                    defaults = {f"d|{letter}": (value,) for letter, value in zip("XYZ", rest, strict=True)}
                    objects.append(
                        ("AnimationCurveNode", [node_id, named(target[4], "AnimCurveNode"), ""], [table(defaults)])
                    )
                    links.append(("C", ["OO", node_id, layer_id], []))
                    links.append(("C", ["OP", node_id, ids[bone_name], target], []))
                curve_id = next(number)
                objects.append(curve(curve_id, named("", "AnimCurve"), keys, binary))
                links.append(("C", ["OP", curve_id, nodes[bone_name, target], f"d|{axis}"], []))
    settings = {"UpAxis": 1, "UpAxisSign": 1, "FrontAxis": 2, "FrontAxisSign": 1, "CoordAxis": 0, "CoordAxisSign": 1}
    settings |= {"UnitScaleFactor": 1.0, "TimeMode": 6} | scene.settings
    return [
        ("FBXHeaderExtension", [], [("FBXHeaderVersion", [1003], []), ("FBXVersion", [7400], [])]),
        ("GlobalSettings", [], [table({name: (value,) for name, value in settings.items()})]),
        ("Definitions", [], [("Version", [100], [])]),
        ("Objects", [], objects),
        ("Connections", [], links),
    ]


def curve(number: int, name: str, keys: list[Key], binary: bool) -> Record:
    """An AnimationCurve."""
    floats = np.array([key.data for key in keys], np.float64)
    bits = floats.astype(np.float32).view(np.uint32).reshape(-1, 4)
    packed = np.array([key.data[2] for key in keys], np.uint32)
    bits[:, 2] = packed
    data: np.ndarray = bits.reshape(-1).view(np.float32)
    if not binary:  # as Autodesk's writer does: the bits as whole numbers
        data = data.view(np.int32)
    return (
        "AnimationCurve",
        [number, name, ""],
        [
            ("KeyTime", [np.array([round(key.time * TICKS) for key in keys], np.int64)], []),
            ("KeyValueFloat", [np.array([key.value for key in keys], np.float32)], []),
            ("KeyAttrFlags", [np.array([key.flags for key in keys], np.int32)], []),
            ("KeyAttrDataFloat", [data], []),
            ("KeyAttrRefCount", [np.ones(len(keys), np.int32)], []),
        ],
    )


def write_binary(top: list[Record], version: int = 7400, packed: bool = True) -> bytes:
    """The bytes of a binary file."""
    wide = version >= 7500
    data = bytearray(b"Kaydara FBX Binary  \x00\x1a\x00" + struct.pack("<I", version))
    for record in top:
        _binary_record(data, record, wide, packed)
    data += bytes(25 if wide else 13)
    return bytes(data + b"\xfa\xbc\xab\x09" + bytes(12) + bytes(120))


def _binary_record(data: bytearray, record: Record, wide: bool, packed: bool) -> None:
    name, values, inner = record
    at, layout = len(data), "<QQQB" if wide else "<IIIB"
    data += bytes(struct.calcsize(layout)) + name.encode()
    first = len(data)
    for value in values:
        data += _binary_value(value, packed)
    length = len(data) - first
    for child in inner:
        _binary_record(data, child, wide, packed)
    if inner:
        data += bytes(25 if wide else 13)
    struct.pack_into(layout, data, at, len(data), len(values), length, len(name.encode()))


def _binary_value(value: Any, packed: bool) -> bytes:
    if isinstance(value, np.ndarray):
        letter = {"float32": "f", "float64": "d", "int32": "i", "int64": "l"}[value.dtype.name]
        raw = value.tobytes()
        stored = zlib.compress(raw) if packed else raw
        return letter.encode() + struct.pack("<III", len(value), int(packed), len(stored)) + stored
    if isinstance(value, str):
        return b"S" + struct.pack("<I", len(value.encode())) + value.encode()
    if isinstance(value, float):
        return b"D" + struct.pack("<d", value)
    return b"L" + struct.pack("<q", value) if abs(value) >= 1000 else b"I" + struct.pack("<i", value)


def write_ascii(top: list[Record]) -> bytes:
    """The bytes of a text file."""
    lines = ["; FBX 7.4.0 project file", "; made by a test", ""]
    for record in top:
        _ascii_record(lines, record, "")
    return ("\n".join(lines) + "\n").encode()


def _ascii_record(lines: list[str], record: Record, indent: str) -> None:
    name, values, inner = record
    if len(values) == 1 and isinstance(values[0], np.ndarray):
        lines += [f"{indent}{name}: *{len(values[0])} {{", f"{indent}\ta: {_ascii_numbers(values[0])}", f"{indent}}} "]
        return
    shown = ", ".join('"' + v.replace('"', "&quot;") + '"' if isinstance(v, str) else repr(v) for v in values)
    if not inner and values:
        lines.append(f"{indent}{name}: {shown}")
        return
    lines.append(f"{indent}{name}: {shown} {{")
    for child in inner:
        _ascii_record(lines, child, indent + "\t")
    lines.append(f"{indent}}}")


def _ascii_numbers(values: np.ndarray) -> str:
    texts = [repr(v) for v in values.tolist()]
    rows = [",".join(texts[i : i + 16]) for i in range(0, len(texts), 16)]
    return ",\n".join(rows)


def to_bytes(scene: Scene, kind: str = "7400") -> bytes:
    """A scene as ``"7400"``, ``"7500"``, ``"7700"`` (binary), ``"plain"`` (binary, nothing packed) or ``"ascii"``."""
    if kind == "ascii":
        return write_ascii(records(scene, binary=False))
    if kind == "plain":
        return write_binary(records(scene, binary=True), packed=False)
    return write_binary(records(scene, binary=True), int(kind))

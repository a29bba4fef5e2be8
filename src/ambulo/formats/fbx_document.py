"""What an FBX file says: its objects, their properties, what is connected with what, and its settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ambulo.errors import FormatError
from ambulo.formats.fbx_ascii import parse_ascii
from ambulo.formats.fbx_binary import MAGIC, parse_binary
from ambulo.formats.fbx_node import Node, number

KINDS = (
    "Model",
    "NodeAttribute",
    "Deformer",
    "AnimationStack",
    "AnimationLayer",
    "AnimationCurveNode",
    "AnimationCurve",
)
"""Objects that matter to motion; all others (meshes, materials, textures, ...) are passed over."""

_TEMPLATES = {"Model": "FbxNode"}


@dataclass(eq=False)
class FbxObject:
    """One object.

    Attributes:
        id: its number in the file.
        kind: one of :data:`KINDS`.
        name: without the prefix that FBX adds.
        subtype: such as ``"LimbNode"``.
        node: its record.
    """

    id: int
    kind: str
    name: str
    subtype: str
    node: Node
    _properties: dict[str, tuple[Any, ...]] | None = field(default=None, repr=False)

    def properties(self) -> dict[str, tuple[Any, ...]]:
        """Name -> values of its own ``Properties70``."""
        if self._properties is None:
            self._properties = read_properties(self.node)
        return self._properties


@dataclass(frozen=True)
class Document:
    """The content of a file.

    Attributes:
        path: the file.
        version: such as 7400.
        file_bytes: size of the file.
        top: the record that holds all others.
        objects: by id.
        settings: the properties of ``GlobalSettings``.
        templates: kind -> properties that its objects have where they do not say otherwise.
        children: id -> connected objects below it, each with the property it is connected to (``""`` for the object).
        parents: id -> the same, upwards.
    """

    path: Path
    version: int
    file_bytes: int
    top: Node
    objects: dict[int, FbxObject]
    settings: dict[str, tuple[Any, ...]]
    templates: dict[str, dict[str, tuple[Any, ...]]]
    children: dict[int, list[tuple[int, str]]]
    parents: dict[int, list[tuple[int, str]]]

    def below(self, above: int, kind: str) -> Iterator[tuple[FbxObject, str]]:
        """Objects of a kind that are connected to one, each with the property it is connected to."""
        for number_, prop in self.children.get(above, ()):
            found = self.objects.get(number_)
            if found is not None and found.kind == kind:
                yield found, prop

    def of_kind(self, kind: str) -> Iterator[FbxObject]:
        """All objects of a kind, in the file's order."""
        return (entry for entry in self.objects.values() if entry.kind == kind)

    def numbers(self, entry: FbxObject, name: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """A property as numbers, from the object, else from its kind's template, else the default.

        Raises:
            FormatError: it has fewer numbers than the default, or one that is none.
        """
        found = entry.properties().get(name)
        if found is None:
            found = self.templates.get(entry.kind, {}).get(name)
        return default if found is None else as_numbers(found, len(default), name, entry.node)

    def setting(self, name: str, default: float) -> float:
        """A number of the settings."""
        found = self.settings.get(name)
        return default if found is None else as_numbers(found, 1, name, self.top)[0]


def as_numbers(values: tuple[Any, ...], count: int, name: str, node: Node) -> tuple[float, ...]:
    """The first values of a property as finite numbers."""
    numbers = [number(value) for value in values[:count]]
    if len(numbers) < count or any(value is None or not abs(value) < 1e30 for value in numbers):
        raise node.error(f"the property {name!r} needs {count} finite numbers, found {list(values)!r:.60}")
    return tuple(value for value in numbers if value is not None)


def read_properties(node: Node) -> dict[str, tuple[Any, ...]]:
    """The ``Properties70`` within a record: name -> values."""
    table = node.child("Properties70")
    found: dict[str, tuple[Any, ...]] = {}
    for entry in table.children() if table is not None else ():
        if entry.name == "P":
            values = entry.values()
            if values and isinstance(values[0], str):
                found[values[0]] = tuple(values[4:])
    return found


def read_document(data: bytes, path: Path) -> Document:
    """Read a file's objects and connections.

    Raises:
        FormatError: it is no FBX file, of a version that is not read, or damaged.
    """
    version, top = parse_binary(data, path) if data.startswith(MAGIC) else parse_ascii(data, path)
    if not 7000 <= version < 8000:
        raise FormatError(
            f"FBX version {version / 1000:g} is not read, only 7.0 to 7.7",
            path=path,
            line=1,
            remedy="open it in Blender, MotionBuilder or Autodesk's FBX Converter and save it as FBX 2014 or later",
        )
    sections: dict[str, Node] = {}
    for section in top.children():
        sections.setdefault(section.name, section)
    for needed in ("Objects", "Connections"):
        if needed not in sections:
            raise FormatError(
                f"the file has no {needed}", path=path, key=needed, remedy="the file is cut short; export it again"
            )
    settings = read_properties(sections["GlobalSettings"]) if "GlobalSettings" in sections else {}
    objects = _read_objects(sections["Objects"])
    children, parents = _read_connections(sections["Connections"], objects)
    templates = _read_templates(sections["Definitions"]) if "Definitions" in sections else {}
    return Document(path, version, len(data), top, objects, settings, templates, children, parents)


def _read_objects(section: Node) -> dict[int, FbxObject]:
    objects: dict[int, FbxObject] = {}
    for node in section.children():
        if node.name not in KINDS:
            continue
        values = node.values()
        if not values or not isinstance(values[0], int):
            raise node.error("an object has no number")
        texts = [value for value in values[1:3] if isinstance(value, str)]
        name, subtype = (*texts, "", "")[:2]
        # Binary files put the kind behind the name, text files before it.
        name = name.split("\x00\x01")[0] if "\x00\x01" in name else name.split("::", 1)[-1]
        objects.setdefault(values[0], FbxObject(values[0], node.name, name, subtype, node))
    return objects


def _read_connections(
    section: Node, objects: dict[int, FbxObject]
) -> tuple[dict[int, list[tuple[int, str]]], dict[int, list[tuple[int, str]]]]:
    children: dict[int, list[tuple[int, str]]] = {}
    parents: dict[int, list[tuple[int, str]]] = {}
    for node in section.children():
        if node.name != "C":
            continue
        values = node.values()
        if len(values) < 3 or values[0] not in ("OO", "OP"):
            continue
        below, above = values[1], values[2]
        if not (isinstance(below, int) and isinstance(above, int)):
            raise node.error("a connection has no numbers of objects")
        if below in objects and (above in objects or above == 0):
            prop = values[3] if len(values) > 3 and isinstance(values[3], str) else ""
            children.setdefault(above, []).append((below, prop))
            parents.setdefault(below, []).append((above, prop))
    return children, parents


def _read_templates(section: Node) -> dict[str, dict[str, tuple[Any, ...]]]:
    templates: dict[str, dict[str, tuple[Any, ...]]] = {}
    for node in section.children():
        kind = node.values()[:1] if node.name == "ObjectType" else []
        if kind and kind[0] in _TEMPLATES:
            for template in node.children():
                if template.name == "PropertyTemplate":
                    templates[kind[0]] = read_properties(template)
    return templates

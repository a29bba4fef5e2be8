"""Small glTF files for the tests, built number by number."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

COMPONENTS = {"b": 5120, "B": 5121, "h": 5122, "H": 5123, "I": 5125, "f": 5126}
SHAPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}


class Gltf:
    """A file in the making: ``root`` is its JSON, ``data`` its one buffer."""

    def __init__(self, nodes: list[dict[str, Any]] | None = None, joints: list[int] | None = None) -> None:
        self.data = bytearray()
        self.root: dict[str, Any] = {
            "asset": {"version": "2.0"},
            "nodes": nodes or [],
            "accessors": [],
            "bufferViews": [],
        }
        if joints is not None:
            self.root["skins"] = [{"joints": joints}]

    def view(self, data: bytes, **more: Any) -> int:
        self.data += b"\0" * (-len(self.data) % 4)
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": len(data), **more}
        self.root["bufferViews"].append(view)
        self.data += data
        return len(self.root["bufferViews"]) - 1

    def accessor(self, values: Any, kind: str = "f", **more: Any) -> int:
        table = np.asarray(values, kind)
        width = table.shape[1] if table.ndim == 2 else 1
        accessor = {
            "bufferView": self.view(table.tobytes()),
            "componentType": COMPONENTS[kind],
            "count": len(table),
            "type": SHAPES[width],
            **more,
        }
        self.root["accessors"].append(accessor)
        return len(self.root["accessors"]) - 1

    def channel(
        self,
        node: int,
        path: str,
        times: Any,
        values: Any,
        interpolation: str | None = None,
        animation: str = "clip",
    ) -> None:
        """Add a channel; times and values may be accessors already."""
        times = times if isinstance(times, int) else self.accessor(times)
        values = values if isinstance(values, int) else self.accessor(values)
        animations = self.root.setdefault("animations", [])
        found = next((each for each in animations if each.get("name") == animation), None)
        if found is None:
            found = {"name": animation, "samplers": [], "channels": []}
            animations.append(found)
        sampler = {"input": times, "output": values}
        if interpolation:
            sampler["interpolation"] = interpolation
        found["samplers"].append(sampler)
        found["channels"].append({"sampler": len(found["samplers"]) - 1, "target": {"node": node, "path": path}})

    def json(self, uri: bool = True) -> bytes:
        """The file as .gltf."""
        root = dict(self.root)
        if self.data:
            root["buffers"] = [{"byteLength": len(self.data)}]
            if uri:
                text = base64.b64encode(bytes(self.data)).decode()
                root["buffers"][0]["uri"] = f"data:application/octet-stream;base64,{text}"
        return json.dumps(root).encode()

    def glb(self) -> bytes:
        """The file as .glb."""
        text = self.json(uri=False)
        text += b" " * (-len(text) % 4)
        data = bytes(self.data) + b"\0" * (-len(self.data) % 4)
        size = 28 + len(text) + len(data)
        parts = [struct.pack("<4sII", b"glTF", 2, size), struct.pack("<I4s", len(text), b"JSON"), text]
        return b"".join([*parts, struct.pack("<I4s", len(data), b"BIN\0"), data])

    def save(self, path: Path) -> Path:
        """Write it; returns the path."""
        path.write_bytes(self.glb() if path.suffix == ".glb" else self.json())
        return path


def chain(count: int = 2) -> list[dict[str, Any]]:
    """Nodes of a chain of joints, each one metre above the one before."""
    nodes: list[dict[str, Any]] = [{"name": f"joint_{index}", "translation": [0, 1, 0]} for index in range(count)]
    for index in range(count - 1):
        nodes[index]["children"] = [index + 1]
    return nodes

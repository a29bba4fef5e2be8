"""Write glTF 2.0: a skeleton as nodes and a skin, a simple body on it, and each motion as an animation.

- Several motions are several animations on one skeleton, that of the first. Names, parents and order must agree.
- Keys are the frames, interpolated linearly. A joint whose local position is its offset in every frame gets no
  translation channel, one that never leaves its rest rotation no rotation channel; the root gets both.
- Lengths are metres, +Y is up. Everything lies in the one file (``.gltf``: the buffer is inside, in base64).
- The tip of a leaf bone (BVH's End Site) is kept in its node's ``extras``, where engines do not show it.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ambulo.errors import FormatError, nearest_names
from ambulo.formats.gltf_body import bone_surface
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton

_BYTE, _SHORT, _FLOAT = 5121, 5123, 5126
_VERTICES = 34962
_STILL = 1e-7
_LARGEST = 1e8
_MOST_JOINTS = 1 << 16
_OPTIONS = ("body",)


def write_glb(motions: Sequence[Motion], options: Mapping[str, Any] | None = None) -> bytes:
    """The bytes of a ``.glb`` file.

    Args:
        motions: one or more, on skeletons with the same joints.
        options: ``body`` (True): whether to hang a simple mesh on the skeleton.

    Raises:
        FormatError: an unknown option, other joints from motion to motion, no frames, or values that are not finite.
    """
    root, binary = _build(motions, options)
    root["buffers"] = [{"byteLength": len(binary)}]
    text = msgspec.json.encode(root)
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    size = 12 + 8 + len(text) + 8 + len(binary)
    return b"".join(
        [
            struct.pack("<4sII", b"glTF", 2, size),
            struct.pack("<I4s", len(text), b"JSON"),
            text,
            struct.pack("<I4s", len(binary), b"BIN\0"),
            binary,
        ]
    )


def write_gltf(motions: Sequence[Motion], options: Mapping[str, Any] | None = None) -> bytes:
    """The bytes of a ``.gltf`` file with its buffer inside; see :func:`write_glb`."""
    root, binary = _build(motions, options)
    uri = "data:application/octet-stream;base64," + base64.b64encode(binary).decode("ascii")
    root["buffers"] = [{"byteLength": len(binary), "uri": uri}]
    return msgspec.json.format(msgspec.json.encode(root), indent=1)


def _build(motions: Sequence[Motion], options: Mapping[str, Any] | None) -> tuple[dict[str, Any], bytes]:
    """The JSON without its buffer, and the buffer."""
    given = dict(options or {})
    body = bool(given.pop("body", True))
    if given:
        wrong = next(iter(given))
        raise FormatError(f"glTF has no option {wrong!r}; {nearest_names(wrong, _OPTIONS)}", key=wrong)
    _check(motions)
    skeleton = motions[0].skeleton
    numbers = _Numbers()
    nodes = _nodes(skeleton)
    scene_nodes = [joint for joint, parent in enumerate(skeleton.parents) if parent < 0]
    if len(scene_nodes) > 1:  # the joints of a skin must have one node above them
        nodes.append({"name": _free_name("root", skeleton.names), "children": scene_nodes})
        scene_nodes = [len(nodes) - 1]
    root: dict[str, Any] = {
        "asset": _asset(motions),
        "scene": 0,
        "scenes": [{"nodes": scene_nodes}],
        "nodes": nodes,
        "skins": [
            {
                "name": "skeleton",
                "joints": list(range(skeleton.joint_count)),
                "skeleton": scene_nodes[0],
                "inverseBindMatrices": numbers.add(_inverse_binds(skeleton), "MAT4"),
            }
        ],
    }
    if body:
        surface = bone_surface(skeleton)
        weights = np.zeros((len(surface.joints), 4), np.uint8)
        weights[:, 0] = 255
        joints = np.zeros((len(surface.joints), 4), np.uint8 if skeleton.joint_count <= 256 else np.uint16)
        joints[:, 0] = surface.joints
        attributes = {
            "POSITION": numbers.add(surface.positions, "VEC3", bounds=True, target=_VERTICES),
            "NORMAL": numbers.add(surface.normals, "VEC3", target=_VERTICES),
            "JOINTS_0": numbers.add(joints, "VEC4", target=_VERTICES),
            "WEIGHTS_0": numbers.add(weights, "VEC4", normalized=True, target=_VERTICES),
        }
        colour = {"baseColorFactor": [0.55, 0.62, 0.68, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.8}
        root["materials"] = [{"name": "bones", "pbrMetallicRoughness": colour}]
        root["meshes"] = [{"name": "bones", "primitives": [{"attributes": attributes, "material": 0}]}]
        nodes.append({"name": _free_name("body", skeleton.names), "mesh": 0, "skin": 0})
        scene_nodes.append(len(nodes) - 1)
    root["animations"] = [_animation(motion, skeleton, numbers) for motion in motions]
    root["accessors"], root["bufferViews"] = numbers.accessors, numbers.views
    return root, numbers.bytes()


class _Numbers:
    """The buffer, as it grows, with its views and accessors."""

    def __init__(self) -> None:
        self.accessors: list[dict[str, Any]] = []
        self.views: list[dict[str, Any]] = []
        self._parts: list[bytes] = []
        self._size = 0

    def add(
        self,
        values: NDArray[Any],
        shape: str,
        *,
        bounds: bool = False,
        normalized: bool = False,
        target: int | None = None,
    ) -> int:
        """Append an array; returns its accessor."""
        data = np.ascontiguousarray(values).tobytes()
        view: dict[str, Any] = {"buffer": 0, "byteOffset": self._size, "byteLength": len(data)}
        if target is not None:
            view["target"] = target
        kind = {"f": _FLOAT, "u": _BYTE if values.dtype.itemsize == 1 else _SHORT}[values.dtype.kind]
        accessor: dict[str, Any] = {
            "bufferView": len(self.views),
            "componentType": kind,
            "count": len(values),
            "type": shape,
        }
        if normalized:
            accessor["normalized"] = True
        if bounds:
            table = values.reshape(len(values), -1)
            accessor["min"], accessor["max"] = table.min(axis=0).tolist(), table.max(axis=0).tolist()
        data += b"\0" * (-len(data) % 4)
        self._parts.append(data)
        self._size += len(data)
        self.views.append(view)
        self.accessors.append(accessor)
        return len(self.accessors) - 1

    def bytes(self) -> bytes:
        """The whole buffer."""
        return b"".join(self._parts)


def _asset(motions: Sequence[Motion]) -> dict[str, Any]:
    from ambulo import __version__

    asset: dict[str, Any] = {"version": "2.0", "generator": f"ambulo {__version__}"}
    credits = list(dict.fromkeys(motion.source.attribution for motion in motions if motion.source.attribution))
    licences = list(dict.fromkeys(motion.source.licence for motion in motions if motion.source.licence))
    if credits:
        asset["copyright"] = "; ".join(credits)
    if licences:
        asset["extras"] = {"licence": "; ".join(licences)}
    return asset


def _nodes(skeleton: Skeleton) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = []
    for joint, name in enumerate(skeleton.names):
        node: dict[str, Any] = {"name": name, "translation": _floats(skeleton.offsets[joint])}
        rotation = quaternions.normalize(skeleton.rest_rotations[joint].astype(np.float64))
        if np.abs(rotation[:3]).max() > 0.0:
            node["rotation"] = _floats(rotation)
        children = skeleton.children(joint)
        if children:
            node["children"] = children
        if np.isfinite(skeleton.end_offsets[joint]).all():
            node["extras"] = {"end_offset": _floats(skeleton.end_offsets[joint])}
        nodes.append(node)
    return nodes


def _inverse_binds(skeleton: Skeleton) -> NDArray[np.float32]:
    """From the rest pose's world to each joint: ``[J, 16]``, columns first."""
    positions, rotations = skeleton.rest_pose()
    turn = quaternions.to_matrix(quaternions.normalize(rotations.astype(np.float64)))
    matrices = np.zeros((skeleton.joint_count, 4, 4))
    matrices[:, :3, :3] = np.swapaxes(turn, 1, 2)
    matrices[:, :3, 3] = -np.einsum("jik,ji->jk", turn, positions.astype(np.float64))
    matrices[:, 3, 3] = 1.0
    return np.swapaxes(matrices, 1, 2).reshape(-1, 16).astype(np.float32)


def _animation(motion: Motion, skeleton: Skeleton, numbers: _Numbers) -> dict[str, Any]:
    times = numbers.add((np.arange(motion.frame_count) / motion.rate).astype(np.float32), "SCALAR", bounds=True)
    rotations = quaternions.normalize(motion.rotations.astype(np.float64))
    rotations = np.asarray(quaternions.unroll(rotations), np.float32)
    shifted = np.abs(motion.positions - skeleton.offsets).max(axis=(0, 2)) > _STILL
    turned = np.abs(motion.rotations - skeleton.rest_rotations).max(axis=(0, 2)) > _STILL
    samplers: list[dict[str, Any]] = []
    channels: list[dict[str, Any]] = []

    def add(joint: int, path: str, values: NDArray[np.float32], shape: str) -> None:
        channels.append({"sampler": len(samplers), "target": {"node": joint, "path": path}})
        samplers.append({"input": times, "output": numbers.add(values, shape)})

    for joint, parent in enumerate(skeleton.parents):
        if parent < 0 or shifted[joint]:
            add(joint, "translation", motion.positions[:, joint], "VEC3")
        if parent < 0 or turned[joint]:
            add(joint, "rotation", rotations[:, joint], "VEC4")
    animation: dict[str, Any] = {"channels": channels, "samplers": samplers}
    return {"name": motion.name, **animation} if motion.name else animation


def _floats(values: NDArray[Any]) -> list[float]:
    """Numbers with as many digits as float32 needs."""
    return [float(f"{float(value):.9g}") for value in values]


def _free_name(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _check(motions: Sequence[Motion]) -> None:
    if not motions:
        raise FormatError("there is no motion to write")
    first = motions[0].skeleton
    if not 0 < first.joint_count <= _MOST_JOINTS:
        raise FormatError(f"a skeleton of {first.joint_count} joints cannot be written as a glTF skin")
    for motion in motions:
        skeleton = motion.skeleton
        if skeleton.names != first.names or not np.array_equal(skeleton.parents, first.parents):
            raise FormatError(
                f"the animations of one glTF file share a skeleton; {motion.name!r} has other joints than "
                f"{motions[0].name!r}",
                remedy="write one file a skeleton, or retarget them to one first",
            )
        if not motion.frame_count:
            raise FormatError(f"{motion.name!r} has no frames", remedy="leave it out")
        good = (np.abs(motion.positions) < _LARGEST).all(axis=2) & np.isfinite(motion.rotations).all(axis=2)
        good &= (np.abs(motion.rotations) > 1e-6).any(axis=2)
        if not good.all():
            frame, joint = (int(index) for index in np.argwhere(~good)[0])
            raise FormatError(
                f"the pose of {motion.name!r} is not finite",
                frame=frame,
                joint=skeleton.names[joint],
                remedy="mend the motion first",
            )
        if not (np.isfinite(skeleton.offsets).all() and np.isfinite(skeleton.rest_rotations).all()):
            raise FormatError("the rest pose of the skeleton is not finite")

"""``character.bin`` of D. Holden's public code: a body that is bound to a project's own bones.

His comes with a body of 23 bones of its own; another skeleton needs another one. Ours is that of the pictures:
capsules, each bound to one bone, as it stands in one pose of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import ControlError
from ambulo.export.engine.holden import LayoutReader, pack_array
from ambulo.export.mannequin import build_flesh, pose_capsules
from ambulo.formats.paths import write_whole
from ambulo.motion.skeleton import Skeleton

Float = NDArray[np.float32]

_AROUND, _CAP = 10, 3


@dataclass(frozen=True)
class HoldenCharacter:
    """The content of ``character.bin``; V vertices, B bones, W bones a vertex.

    Attributes:
        positions, normals: float32 ``[V, 3]``, metres.
        texcoords: float32 ``[V, 2]``.
        triangles: uint16 ``[3 T]``, counter-clockwise seen from outside.
        weights: float32 ``[V, W]``.
        indices: uint16 ``[V, W]``.
        rest_positions: float32 ``[B, 3]``, of the bones in the world, as the vertices are.
        rest_rotations: float32 ``[B, 4]``, likewise, ``w, x, y, z``.
    """

    positions: Float
    normals: Float
    texcoords: Float
    triangles: NDArray[np.uint16]
    weights: Float
    indices: NDArray[np.uint16]
    rest_positions: Float
    rest_rotations: Float


# Name, axes of its count, type, and numbers an entry.
_PARTS = (
    ("positions", 1, "<f4", 3), ("normals", 1, "<f4", 3), ("texcoords", 1, "<f4", 2), ("triangles", 1, "<u2", 1),
    ("weights", 2, "<f4", 1), ("indices", 2, "<u2", 1), ("rest_positions", 1, "<f4", 3),
    ("rest_rotations", 1, "<f4", 4),
)  # fmt: skip


def write_character(path: Path, character: HoldenCharacter) -> None:
    """Write ``character.bin``."""
    write_whole(path, b"".join(pack_array(getattr(character, name), axes, kind) for name, axes, kind, _ in _PARTS))


def read_character(path: Path) -> HoldenCharacter:
    """Read ``character.bin``.

    Raises:
        FormatError: it ends too soon, or has bytes too many.
    """
    reader = LayoutReader(path)
    parts: dict[str, Any] = {name: reader.array(name, axes, kind, items) for name, axes, kind, items in _PARTS}
    reader.end()
    return HoldenCharacter(**parts)


def body_of(skeleton: Skeleton, positions: ArrayLike, rotations: ArrayLike) -> HoldenCharacter:
    """A body for a skeleton in one pose of the world: ``[B, 3]`` and ``[B, 4]`` (x, y, z, w).

    Raises:
        ControlError: it has too many bones for the layout.
    """
    places, turns = np.asarray(positions, np.float32), np.asarray(rotations, np.float32)
    capsules, _ = pose_capsules(skeleton, places, global_rotations=turns)
    flesh = build_flesh(skeleton)
    # Each by the bone that it begins at; those that are put on at the end are feet and a nose.
    ends = np.where(flesh.extents[:, 0] < 0.0, 1, 0)
    bones = [int(flesh.weights[k, end].argmax()) for k, end in enumerate(ends)]
    bones += [joint for _, joint in flesh.bare_feet]
    if len(bones) < len(capsules):
        bones.append(bones[flesh.head])
    vertices, normals, triangles = [], [], []
    count = 0
    for capsule in capsules.astype(np.float64):
        points, outward, faces = _tube(capsule)
        vertices.append(points)
        normals.append(outward)
        triangles.append(faces + count)
        count += len(points)
    each = len(vertices[0]) if vertices else 0
    if count > np.iinfo(np.uint16).max:
        raise ControlError(
            f"a body of {len(bones)} capsules has {count} vertices; the layout counts 65535 at most",
            key="skeleton",
            remedy="build with a target skeleton of fewer bones",
        )
    return HoldenCharacter(
        positions=np.concatenate(vertices).astype(np.float32),
        normals=np.concatenate(normals).astype(np.float32),
        texcoords=np.zeros((count, 2), np.float32),
        triangles=np.concatenate(triangles).reshape(-1).astype(np.uint16),
        weights=np.ones((count, 1), np.float32),
        indices=np.repeat(np.array(bones, np.uint16), each)[:, None],
        rest_positions=places,
        rest_rotations=np.ascontiguousarray(turns[:, [3, 0, 1, 2]]),
    )


def _tube(capsule: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Vertices, normals and triangles ``[T, 3]`` of a capsule: rings along it, the first and last one a point wide."""
    start, end = capsule[0:3], capsule[4:7]
    along = end - start
    length = float(np.linalg.norm(along))
    along = along / length if length > 1e-9 else np.array([0.0, 1.0, 0.0])
    aside = np.cross(along, np.eye(3)[np.abs(along).argmin()])
    aside /= np.linalg.norm(aside)
    ahead = np.cross(along, aside)
    turn = 2.0 * np.pi * np.arange(_AROUND) / _AROUND
    spokes = np.cos(turn)[:, None] * aside + np.sin(turn)[:, None] * ahead
    lean = np.linspace(0.0, 0.5 * np.pi, _CAP + 1)
    rings = [(start, capsule[3], angle - 0.5 * np.pi) for angle in lean] + [(end, capsule[7], angle) for angle in lean]
    outward = np.concatenate([np.cos(angle) * spokes + np.sin(angle) * along for _, _, angle in rings])
    centres = np.repeat(np.array([centre for centre, _, _ in rings]), _AROUND, axis=0)
    radii = np.repeat([radius for _, radius, _ in rings], _AROUND)[:, None]
    ring, spoke = np.meshgrid(np.arange(len(rings) - 1), np.arange(_AROUND), indexing="ij")
    a, b = (ring * _AROUND + spoke).reshape(-1), (ring * _AROUND + (spoke + 1) % _AROUND).reshape(-1)
    triangles = np.concatenate([np.stack([a, b, b + _AROUND], axis=1), np.stack([a, b + _AROUND, a + _AROUND], axis=1)])
    return centres + radii * outward, outward, triangles

"""A simple body for a skeleton that has none: a bone-shaped octahedron from each joint to each below it.

Blender, three.js and game engines show a skeleton only through the mesh that hangs on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.maths import quaternions
from ambulo.motion.skeleton import Skeleton

# A bone along +Y of length one: its thickest place lies a fifth of the way up.
_THICK, _AT = 0.12, 0.2
_CORNERS = np.array(
    [[0, 0, 0], [_THICK, _AT, 0], [0, _AT, _THICK], [-_THICK, _AT, 0], [0, _AT, -_THICK], [0, 1, 0]], np.float64
)
_FACES = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1], [5, 2, 1], [5, 3, 2], [5, 4, 3], [5, 1, 4]], np.int64)
_SHORTEST = 1e-4


class Surface(NamedTuple):
    """Triangles, each with corners of its own, in the rest pose.

    Attributes:
        positions: float32 ``[V, 3]``, metres.
        normals: float32 ``[V, 3]``, unit.
        joints: int64 ``[V]``, the one joint that a corner follows.
    """

    positions: NDArray[np.float32]
    normals: NDArray[np.float32]
    joints: NDArray[np.int64]


def bone_surface(skeleton: Skeleton) -> Surface:
    """The bones of a skeleton as a surface. A leaf without an end gets a short bone, so that its turning shows."""
    positions, rotations = skeleton.rest_pose()
    world = positions.astype(np.float64)
    lengths = np.linalg.norm(skeleton.offsets.astype(np.float64), axis=1)
    usual = float(np.median(lengths[lengths > _SHORTEST])) if (lengths > _SHORTEST).any() else 0.1
    bones: list[tuple[int, NDArray[np.float64]]] = []
    for joint, parent in enumerate(skeleton.parents):
        if parent >= 0 and lengths[joint] > _SHORTEST:
            bones.append((int(parent), world[joint] - world[parent]))
    leaves = set(range(skeleton.joint_count)) - set(skeleton.parents.tolist())
    for joint in sorted(leaves):
        end = skeleton.end_offsets[joint].astype(np.float64)
        if not (np.isfinite(end).all() and np.linalg.norm(end) > _SHORTEST):
            # On along the bone that led here.
            along = skeleton.offsets[joint].astype(np.float64)
            size = float(np.linalg.norm(along))
            along = np.asarray(quaternions.inverse_rotate(skeleton.rest_rotations[joint], along), np.float64)
            end = 0.3 * usual * (along / size if size > _SHORTEST else np.array([0.0, 1.0, 0.0]))
        bones.append((joint, np.asarray(quaternions.rotate(rotations[joint], end), np.float64)))
    owners = np.array([joint for joint, _ in bones], np.int64)
    along = np.array([bone for _, bone in bones], np.float64).reshape(-1, 3)
    size = np.linalg.norm(along, axis=1)
    turn = quaternions.between(np.broadcast_to([0.0, 1.0, 0.0], along.shape), along)
    corners = quaternions.rotate(turn[:, None], _CORNERS * size[:, None, None]) + world[owners][:, None]
    triangles = np.asarray(corners[:, _FACES], np.float64)
    normals = np.cross(triangles[:, :, 1] - triangles[:, :, 0], triangles[:, :, 2] - triangles[:, :, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=-1, keepdims=True), 1e-30)
    return Surface(
        triangles.reshape(-1, 3).astype(np.float32),
        np.repeat(normals, 3, axis=1).reshape(-1, 3).astype(np.float32),
        np.repeat(owners, 3 * len(_FACES)),
    )

"""From the transforms of a glTF's nodes, which may scale, to the positions and rotations of a body's joints.

A scale that is the same along all axes turns no direction: a joint's local position is multiplied by all scales above
it, and rotations stay as they are. Where a node scales unevenly or mirrors, positions are taken from the full matrices,
so they are right, and each rotation is the one nearest to its matrix.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.formats.gltf_nodes import NodeTree
from ambulo.formats.gltf_skeletons import Actor
from ambulo.maths import quaternions
from ambulo.motion.motion import Note

Float = NDArray[np.float32]
Array = NDArray[Any]

# Exporters leave rounding of up to 1e-4 in scales that are meant to be one.
_EVEN = 1e-4
_ONE = 1e-5


class NodePoses(NamedTuple):
    """Local transforms over time of some nodes.

    Attributes:
        column: node -> column of the arrays.
        translations: float32 ``[F, K, 3]``.
        rotations: float32 ``[F, K, 4]``.
        scales: float32 ``[F, K, 3]``, or of no frames where nothing scales.
    """

    column: dict[int, int]
    translations: Float
    rotations: Float
    scales: Float


def joint_poses(actor: Actor, tree: NodeTree, poses: NodePoses) -> tuple[Float, Float, list[Note]]:
    """A body's local positions ``[F, J, 3]`` and rotations ``[F, J, 4]``, and what was folded away."""
    above = tree.nearest_above({node for node in actor.nodes if node >= 0})
    inner = _inner_nodes(actor, tree)
    scales = poses.scales
    notes: list[Note] = []
    if len(scales):
        columns = [poses.column[node] for node in inner]
        own = scales[:, columns]
        uneven = (np.abs(own - own[..., :1]) > _EVEN * np.abs(own[..., :1])) | (own < 0.0)
        if uneven.any():
            at = int(np.argmax(uneven.any(axis=(0, 2))))
            names = dict(zip(actor.nodes, actor.names, strict=True))
            name = names.get(inner[at], f"node {inner[at]}")
            notes.append(
                Note(
                    "uneven_scale",
                    f"{name} scales unevenly or mirrors; positions below it are right, the scale itself is not kept",
                    warning=True,
                    joint=name if inner[at] in names else None,
                )
            )
            return (*_by_matrices(actor, tree, poses), notes)
        if np.abs(own - 1.0).max(initial=0.0) <= _ONE:
            scales = scales[:0]
        elif np.abs(own - own[:1]).max(initial=0.0) > _EVEN:
            notes.append(Note("scale", "joints are scaled over time; the scale is folded into the positions"))
    positions, rotations = _by_scales(actor, tree, poses._replace(scales=scales), above)
    return positions, rotations, notes


def _inner_nodes(actor: Actor, tree: NodeTree) -> list[int]:
    """The nodes that are above a joint, parents first."""
    inner: set[int] = set()
    for node in actor.nodes:
        parent = tree.parents[node] if node >= 0 else -1
        while parent >= 0 and parent not in inner:
            inner.add(parent)
            parent = tree.parents[parent]
    return [node for node in tree.order if node in inner]


def needed_nodes(actor: Actor, tree: NodeTree) -> list[int]:
    """A body's joints and the nodes above them, parents first."""
    needed = {*_inner_nodes(actor, tree), *(node for node in actor.nodes if node >= 0)}
    return [node for node in tree.order if node in needed]


def _by_scales(actor: Actor, tree: NodeTree, poses: NodePoses, above: list[int]) -> tuple[Float, Float]:
    frames, joints = len(poses.translations), len(actor.nodes)
    real = [place for place, node in enumerate(actor.nodes) if node >= 0]
    columns = [poses.column[actor.nodes[place]] for place in real]
    if len(real) == joints:
        positions, rotations = poses.translations[:, columns], poses.rotations[:, columns]
    else:
        positions = np.zeros((frames, joints, 3), np.float32)
        rotations = quaternions.identity((frames, joints))
        positions[:, real], rotations[:, real] = poses.translations[:, columns], poses.rotations[:, columns]
    if len(poses.scales):
        growth: dict[int, Array] = {-1: np.ones((frames, 1))}
        for node in _inner_nodes(actor, tree):
            own = poses.scales[:, poses.column[node]].mean(axis=1, dtype=np.float64, keepdims=True)
            growth[node] = growth[tree.parents[node]] * own

        for place in real:
            positions[:, place] *= growth[tree.parents[actor.nodes[place]]].astype(np.float32)
    else:
        growth = {}
    # Nodes that are no joints, between a joint and the joint above it or the world.
    for place in real:
        between = tree.parents[actor.nodes[place]]
        if between == above[actor.nodes[place]]:
            continue
        p: Array = positions[:, place].astype(np.float64)
        q: Array = poses.rotations[:, poses.column[actor.nodes[place]]].astype(np.float64)
        while between != above[actor.nodes[place]]:
            column, parent = poses.column[between], tree.parents[between]
            turn = poses.rotations[:, column].astype(np.float64)
            shift = poses.translations[:, column].astype(np.float64)
            p = quaternions.rotate(turn, p) + (shift * growth[parent] if growth else shift)
            q = quaternions.multiply(turn, q)
            between = parent
        positions[:, place] = p
        rotations[:, place] = quaternions.unroll(quaternions.normalize(q))
    return positions, rotations


def _by_matrices(actor: Actor, tree: NodeTree, poses: NodePoses) -> tuple[Float, Float]:
    linear: dict[int, Array] = {}
    origin: dict[int, Array] = {}
    for node in needed_nodes(actor, tree):
        column, parent = poses.column[node], tree.parents[node]
        own: Array = quaternions.to_matrix(poses.rotations[:, column].astype(np.float64))
        own = own * poses.scales[:, column, None, :].astype(np.float64)
        at: Array = poses.translations[:, column].astype(np.float64)
        if parent >= 0:
            at = origin[parent] + (linear[parent] @ at[..., None])[..., 0]
            own = linear[parent] @ own
        linear[node], origin[node] = own, at
    frames, joints = len(poses.translations), len(actor.nodes)
    world_p: Array = np.zeros((frames, joints, 3))
    world_q: Array = quaternions.identity((frames, joints), np.float64)
    for place, node in enumerate(actor.nodes):
        if node >= 0:
            world_p[:, place], world_q[:, place] = origin[node], _nearest_rotation(linear[node])
    above = np.maximum(np.array(actor.parents), 0)
    positions = quaternions.inverse_rotate(world_q[:, above], world_p - world_p[:, above])
    rotations = quaternions.inverse_multiply(world_q[:, above], world_q)
    roots = np.array(actor.parents) < 0
    positions[:, roots], rotations[:, roots] = world_p[:, roots], world_q[:, roots]
    rotations = quaternions.unroll(quaternions.normalize(rotations))
    return positions.astype(np.float32), rotations.astype(np.float32)


def _nearest_rotation(matrices: Array) -> Array:
    """The orthogonal part of each matrix ``[F, 3, 3]``, times -1 where that is no rotation."""
    if not np.isfinite(matrices).all():
        return np.full((len(matrices), 4), np.nan)
    left, _, right = np.linalg.svd(matrices)
    nearest = left @ right
    nearest = np.where(np.linalg.det(nearest)[:, None, None] < 0.0, -nearest, nearest)
    return quaternions.from_matrix(nearest)

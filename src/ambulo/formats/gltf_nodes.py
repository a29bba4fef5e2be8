"""The tree of a glTF's nodes and their rest transforms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.formats.gltf_container import Document
from ambulo.maths import quaternions
from ambulo.motion.motion import Note

Double = NDArray[np.float64]


@dataclass(frozen=True)
class NodeTree:
    """All nodes of a file.

    Attributes:
        parents: index of the parent, -1 for a node at the top.
        order: all nodes depth first, children in the file's order.
        translations: float64 ``[N, 3]``, at rest.
        rotations: float64 ``[N, 4]``, unit.
        scales: float64 ``[N, 3]``.
    """

    parents: list[int]
    order: list[int]
    translations: Double
    rotations: Double
    scales: Double

    def nearest_above(self, members: set[int]) -> list[int]:
        """For each node the nearest one above it that is a member, -1 where there is none."""
        above = [-1] * len(self.parents)
        for node in self.order:
            parent = self.parents[node]
            if parent >= 0:
                above[node] = parent if parent in members else above[parent]
        return above

    def common_ancestor(self, nodes: list[int]) -> int:
        """The lowest node above all of some nodes that are not above each other; -1 where there is none."""
        below = [0] * len(self.parents)
        for node in nodes:
            below[node] = 1
        for node in reversed(self.order):
            if self.parents[node] >= 0:
                below[self.parents[node]] += below[node]
        return next((node for node in reversed(self.order) if below[node] == len(nodes)), -1)


def node_label(document: Document, node: int) -> str:
    """A node for a message: its index, and its name where it has one."""
    name = document.root.nodes[node].name
    return f"node {node} ({name!r})" if name else f"node {node}"


def read_tree(document: Document) -> NodeTree:
    """The tree of nodes, checked.

    Raises:
        FormatError: a child that does not exist, that has two parents or is above itself, or a transform that is not
            finite.
    """
    nodes = document.root.nodes
    parents = [-1] * len(nodes)
    for index, node in enumerate(nodes):
        for child in node.children:
            if child >= len(nodes):
                document.refuse(
                    f"{node_label(document, index)} has the child {child}, there are {len(nodes)} nodes",
                )
            if parents[child] >= 0:
                document.refuse(
                    f"{node_label(document, child)} has two parents, {parents[child]} and {index}",
                )
            parents[child] = index
    order: list[int] = []
    stack = [index for index in range(len(nodes) - 1, -1, -1) if parents[index] < 0]
    while stack:
        index = stack.pop()
        order.append(index)
        stack += reversed(nodes[index].children)
    if len(order) != len(nodes):
        lost = min(set(range(len(nodes))) - set(order))
        document.refuse(
            f"{node_label(document, lost)} is in a cycle: it is above itself",
        )
    return NodeTree(parents, order, *_rest(document))


def _rest(document: Document) -> tuple[Double, Double, Double]:
    nodes = document.root.nodes
    count = len(nodes)
    translations = np.array([node.translation or (0.0, 0.0, 0.0) for node in nodes], np.float64).reshape(count, 3)
    rotations = np.array([node.rotation or (0.0, 0.0, 0.0, 1.0) for node in nodes], np.float64).reshape(count, 4)
    scales = np.array([node.scale or (1.0, 1.0, 1.0) for node in nodes], np.float64).reshape(count, 3)
    for index, node in enumerate(nodes):
        if node.matrix is not None:
            matrix = np.array(node.matrix, np.float64).reshape(4, 4).T
            translations[index] = matrix[:3, 3]
            rotations[index], scales[index] = _decompose(matrix[:3, :3])
    finite = np.isfinite(np.concatenate([translations, rotations, scales], axis=1))
    large = np.abs(np.nan_to_num(np.concatenate([translations, scales], axis=1))) > 1e12
    bad = ~finite.all(axis=1) | large.any(axis=1)
    if bad.any():
        document.refuse(
            f"the transform of {node_label(document, int(np.argmax(bad)))} is not finite",
        )
    lengths = np.linalg.norm(rotations, axis=1)
    for at in np.nonzero(lengths < 1e-6)[0]:
        document.notes.append(
            Note("zero_rotation", f"{node_label(document, int(at))} has a rotation of no length", warning=True)
        )
        rotations[at] = (0.0, 0.0, 0.0, 1.0)
    rotations /= np.where(lengths < 1e-6, 1.0, lengths)[:, None]
    return translations, rotations, scales


def _decompose(linear: Double) -> tuple[Double, Double]:
    """Rotation ``[4]`` and scale ``[3]`` of a node's matrix, which the specification says has no shear."""
    scale = np.linalg.norm(linear, axis=0)
    if not np.isfinite(scale).all() or (scale < 1e-12).any():
        return np.array([0.0, 0.0, 0.0, 1.0]), scale
    if np.linalg.det(linear / scale) < 0.0:
        scale[0] = -scale[0]
    # The nearest rotation, so that a matrix written with few digits gives an exact one.
    left, _, right = np.linalg.svd(linear / scale)
    rotation = left @ right
    if np.linalg.det(rotation) < 0.0:
        rotation = left @ np.diag([1.0, 1.0, -1.0]) @ right
    return np.asarray(quaternions.from_matrix(rotation), np.float64), scale

"""How FBX composes a node's transform, and how a parent's scale passes on to its children.

A node's local transform is ``T Roff Rp Rpre R Rpost^-1 Rp^-1 Soff Sp S Sp^-1``: translation, rotation offset and pivot,
pre-rotation, rotation, inverse post-rotation, scaling offset and pivot, scaling (Autodesk's FBX SDK documentation,
"Computing transformation matrices"). Pre- and post-rotation are always in the order XYZ, the rotation in the node's.
FBX names an order by what turns first about fixed axes: its XYZ is ``Rz Ry Rx``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.formats.fbx_document import Document, FbxObject
from ambulo.maths import quaternions

Doubles = NDArray[np.float64]

ORDERS = ("ZYX", "YZX", "XZY", "ZXY", "YXZ", "XYZ", "ZYX")
"""Intrinsic orders by FBX's RotationOrder: XYZ, XZY, YZX, YXZ, ZXY, ZYX; the last, spheric XYZ, is read as XYZ."""

_ZERO, _ONE = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)


class Local(NamedTuple):
    """A node's transform in its parent, over T frames, or 1 where it does not move.

    Attributes:
        position: ``[T, 3]``, the origin of the node, file units.
        rotation: ``[T, 4]``.
        scale: ``[T, 3]``.
        inherit: how the parent's scale passes on: 0 scale after rotation (RrSs), 1 before (RSrs), 2 not at all (Rrs).
    """

    position: Doubles
    rotation: Doubles
    scale: Doubles
    inherit: int


class Global(NamedTuple):
    """A node in the world.

    Attributes:
        position: ``[T, 3]``, file units.
        rotation: ``[T, 4]``, without scale.
        scale: ``[T, 3, 3]``, what is scaled before ``rotation``; None where nothing is.
        own_scale: ``[T, 3]``, the node's local scale.
    """

    position: Doubles
    rotation: Doubles
    scale: Doubles | None
    own_scale: Doubles


WORLD = Global(np.zeros((1, 3)), np.array([[0.0, 0.0, 0.0, 1.0]]), None, np.ones((1, 3)))


def euler(degrees: Any, order: str) -> Doubles:
    """Rotations of FBX angles, degrees ``[..., 3]`` about x, y, z, in an intrinsic order."""
    angles = np.radians(np.asarray(degrees, np.float64))
    return np.asarray(quaternions.from_euler(angles[..., ["XYZ".index(letter) for letter in order]], order), np.float64)


def local_transform(document: Document, node: FbxObject, moved: dict[str, Doubles]) -> Local:
    """A node's transform.

    Args:
        document: the file.
        node: a Model.
        moved: ``"Lcl Translation"``, ``"Lcl Rotation"``, ``"Lcl Scaling"`` -> ``[T, 3]`` where animated.
    """

    def vector(name: str, default: tuple[float, ...] = _ZERO) -> Doubles:
        return np.asarray(document.numbers(node, name, default))

    def channel(name: str, default: tuple[float, ...] = _ZERO) -> Doubles:
        found = moved.get(name)
        return vector(name, default)[None] if found is None else found

    order = int(document.numbers(node, "RotationOrder", (0.0,))[0])
    inherit = int(document.numbers(node, "InheritType", (0.0,))[0])
    turned = euler(channel("Lcl Rotation"), ORDERS[order] if 0 <= order < len(ORDERS) else "ZYX")
    before, after = vector("PreRotation"), vector("PostRotation")
    if before.any():
        turned = _double(quaternions.multiply(euler(before, "ZYX"), turned))
    if after.any():
        turned = _double(quaternions.multiply_inverse(turned, euler(after, "ZYX")))
    scale = channel("Lcl Scaling", _ONE)
    pivot, scale_pivot = vector("RotationPivot"), vector("ScalingPivot")
    inner = vector("ScalingOffset") + scale_pivot - scale * scale_pivot - pivot
    position = channel("Lcl Translation") + vector("RotationOffset") + pivot
    position = position + (quaternions.rotate(turned, inner) if inner.any() else 0.0)
    return Local(position, turned, scale, inherit)


def compose(parent: Global, parent_local_scaled: bool, local: Local) -> Global:
    """A node in the world from its parent there.

    Args:
        parent: the parent in the world.
        parent_local_scaled: unused scale of the parent must be taken back where ``inherit`` says so.
        local: the node in the parent.
    """
    offset = local.position if parent.scale is None else (parent.scale @ local.position[..., None])[..., 0]
    position = _double(parent.position + quaternions.rotate(parent.rotation, offset))
    rotation = _double(quaternions.multiply(parent.rotation, local.rotation))
    unscaled = bool((local.scale == 1.0).all())
    if parent.scale is None and unscaled:
        return Global(position, rotation, None, local.scale)
    above = np.eye(3)[None] if parent.scale is None else parent.scale
    if local.inherit == 2 and parent_local_scaled:
        own = np.where(parent.own_scale == 0.0, 1.0, parent.own_scale)
        above = above / own[:, None, :]
    if local.inherit == 1 and parent.scale is not None:
        turn = _double(quaternions.to_matrix(local.rotation))
        above = np.swapaxes(turn, -1, -2) @ above @ turn
    return Global(position, rotation, above * local.scale[:, None, :], local.scale)


def _double(array: Any) -> Doubles:
    return np.asarray(array, np.float64)

"""Rotations, springs and angles as graph arithmetic: what the kernels of :mod:`ambulo.control` compute, in float32.

A graph's cost is the number of its operators, hardly the numbers in them: products of quaternions, matrices of them and
cross products are linear maps of the products of all pairs of components, three or four operators for any number of
joints.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ambulo.export.engine.graph import Value

Float = NDArray[np.float32]

_LN2 = math.log(2.0)

UPRIGHT: Float = np.array([0, 1, 0], np.float32)
"""Up."""

FLAT: Float = np.array([1, 0, 1], np.float32)
"""What is left of a vector on the ground plane."""


def spring_exponent(half_life: float) -> float:
    """See :func:`ambulo.control.simulation_kernels.spring_exponent`."""
    return 2.0 * _LN2 / (half_life + 1e-5)


def damping(dt: Value, half_lives: tuple[float, ...]) -> Value:
    """The parts of a distance that dampers close in ``dt``, one a half-life."""
    rates = np.array([-_LN2 / (half_life + 1e-5) for half_life in half_lives])
    closed: Value = 1.0 - (dt * rates).exp()
    return closed


def fade_matrix(dt: Value, half_life: float) -> Value:
    """``[2, 2]``: what a critically damped spring to zero makes of offset and velocity in ``dt``."""
    y = spring_exponent(half_life)
    grows = np.array([[y, 1.0], [-y * y, -y]])
    faded: Value = (dt * -y).exp() * (dt * grows + np.eye(2))
    return faded


def wrap_angle(angle: Value, full: float | NDArray[np.float64] = 2.0 * math.pi) -> Value:
    """The same angle in (-pi, pi]; ``full`` is 0 where numbers beside angles shall stay."""
    turns = ((angle - math.pi) / (2.0 * math.pi)).ceil()
    return angle - turns * full


def atan2(y: Value, x: Value, size: Value) -> Value:
    """Angles of points ``size`` away from nothing, which must not be 0, from Atan alone: ONNX has no Atan2."""
    g = y.graph
    ahead = x > 0.0
    return 2.0 * (g.where(ahead, y, size - x) / g.where(ahead, size + x, y)).atan()


def inner(a: Value, b: Value) -> Value:
    """Of vectors along the last axis, which stays with length 1."""
    return (a * b).sum(-1, keep=True)


def _linear(shape: tuple[int, ...], terms: tuple[tuple[tuple[int, ...], float], ...]) -> Float:
    table = np.zeros(shape, np.float32)
    for place, factor in terms:
        table[place] = factor
    return table


@lru_cache(maxsize=1)
def product_table() -> Float:
    """Products of quaternions ``[4, 4, 4]``, as a linear map of the products of their components."""
    return _linear((4, 4, 4), (
        ((3, 0, 0), 1), ((0, 3, 0), 1), ((1, 2, 0), 1), ((2, 1, 0), -1),
        ((3, 1, 1), 1), ((0, 2, 1), -1), ((1, 3, 1), 1), ((2, 0, 1), 1),
        ((3, 2, 2), 1), ((0, 1, 2), 1), ((1, 0, 2), -1), ((2, 3, 2), 1),
        ((3, 3, 3), 1), ((0, 0, 3), -1), ((1, 1, 3), -1), ((2, 2, 3), -1),
    ))  # fmt: skip


@lru_cache(maxsize=1)
def matrix_table() -> Float:
    """Matrices of unit quaternions ``[4, 4, 9]``, likewise."""
    x, y, z, w = range(4)
    return _linear((4, 4, 9), (
        ((w, w, 0), 1), ((x, x, 0), 1), ((y, y, 0), -1), ((z, z, 0), -1), ((x, y, 1), 2), ((z, w, 1), -2),
        ((x, z, 2), 2), ((y, w, 2), 2), ((x, y, 3), 2), ((z, w, 3), 2),
        ((w, w, 4), 1), ((y, y, 4), 1), ((x, x, 4), -1), ((z, z, 4), -1), ((y, z, 5), 2), ((x, w, 5), -2),
        ((x, z, 6), 2), ((y, w, 6), -2), ((y, z, 7), 2), ((x, w, 7), 2),
        ((w, w, 8), 1), ((z, z, 8), 1), ((x, x, 8), -1), ((y, y, 8), -1),
    ))  # fmt: skip


@lru_cache(maxsize=1)
def _cross_table() -> Float:
    """Cross products and, in the fourth place, inner products ``[3, 3, 4]``."""
    table = np.zeros((3, 3, 4), np.float32)
    for a, b, out in ((1, 2, 0), (2, 0, 1), (0, 1, 2)):
        table[a, b, out], table[b, a, out], table[out, out, 3] = 1, -1, 1
    return table


def _pairs(a: Value, b: Value, table: Float) -> Value:
    """The linear map of the products of all components, of those only that it needs."""
    used = np.argwhere(np.abs(table).sum(axis=-1) > 0)
    left, right = (np.zeros((table.shape[side], len(used)), np.float32) for side in (0, 1))
    left[used[:, 0], np.arange(len(used))] = right[used[:, 1], np.arange(len(used))] = 1.0
    return (a.dot(left) * b.dot(right)).dot(np.ascontiguousarray(table[used[:, 0], used[:, 1]]))


def quat_multiply(a: Value, b: Value, *, invert_a: bool = False, invert_b: bool = False) -> Value:
    """Hamilton products of unit quaternions ``[..., 4]``, or of the inverse of one of them."""
    table, back = product_table(), np.array([-1, -1, -1, 1], np.float32)
    if invert_a:
        table = table * back[:, None, None]
    if invert_b:
        table = table * back[:, None]
    return _pairs(a, b, table)


def quat_normalize(q: Value) -> Value:
    return q / q.norm()


def quat_rotate(q: Value, v: Value | Float) -> Value:
    """Vectors ``[..., 3]`` rotated by unit quaternions ``[..., 4]``."""
    spread, gather = np.tile(np.eye(3, dtype=np.float32), 3), np.repeat(np.eye(3, dtype=np.float32), 3, axis=0)
    each = v.dot(spread) if isinstance(v, Value) else np.asarray(v, np.float32) @ spread
    return (_pairs(q, q, matrix_table()) * each).dot(gather)


def cross(a: Value, b: Value) -> Value:
    return _pairs(a, b, np.ascontiguousarray(_cross_table()[..., :3]))


def quat_exp(v: Value) -> Value:
    """Rotation vectors as quaternions."""
    size = v.norm()
    half = size * 0.5
    return v.graph.join(v * (half.sin() / v.graph.greater_of(size, 1e-8)), half.cos())


def quat_log(q: Value) -> Value:
    """Unit quaternions as rotation vectors, the shorter way round."""
    g = q.graph
    v, w = q.split(3, 1, axis=-1)
    size = v.norm()
    # The tangent of a quarter of the angle: its denominator is never 0.
    quarter = (size / (1.0 + w.abs())).atan() / g.greater_of(size, 1e-12)
    return v * (quarter * g.where(w < 0.0, -4.0, 4.0))


def quat_between(a: Value, b: Value) -> Value:
    """Shortest rotations between directions of any length, see :func:`ambulo.maths.kernels.quat_between`."""
    g = a.graph
    size = a.norm()
    both = size * b.norm()
    # Cross product and inner product, to which that of the lengths is added: twice the quaternion's half-way.
    products = _pairs(a, b, _cross_table())
    turn = products + both * np.array([0, 0, 0, 1], np.float32)
    cosine = products.part(3, 4)
    # Opposite: half a turn about an axis that is square to the first direction.
    helper = g.where(a.part(1, 2).abs() > 0.9 * size, np.array([1, 0, 0], np.float32), UPRIGHT)
    axis = helper * (size * size) - inner(helper, a) * a
    turn = g.where(cosine < -0.999999 * both, axis.dot(np.eye(3, 4, dtype=np.float32)), turn)
    return quat_normalize(g.where(both < 1e-18, np.array([0, 0, 0, 1], np.float32), turn))


def heading_quaternion(heading: Value) -> Value:
    """Rotations ``[N, 4]`` about +Y by angles ``[N, 1]``."""
    g = heading.graph
    half, none = heading * 0.5, np.zeros((g.count, 1))
    return g.join(none, half.sin(), none, half.cos())


def forward_kinematics(
    positions: Value, rotations: Value, parents: NDArray[np.int32], wanted: NDArray[np.int64]
) -> tuple[Value, Value]:
    """Positions and rotations of joints, from the place of their tree's root but in the world's axes.

    A joint is one matrix ``[8, 8]``, transforms of points beside those of quaternions: a level of the tree is one
    product. Only the ancestors of what is wanted are computed.

    Args:
        positions: local, ``[N, J, 3]``; a root's own is not used.
        rotations: local, ``[N, J, 4]``.
        parents: -1 for every root.
        wanted: int64 ``[K]``.

    Returns:
        Positions ``[N, K, 3]`` and rotations ``[N, K, 4]``.
    """
    g = positions.graph
    depth = np.zeros(len(parents), np.int64)
    for joint, parent in enumerate(parents):
        depth[joint] = depth[parent] + 1 if parent >= 0 else 0
    needed = set()
    for joint in wanted:
        place = int(joint)
        while place >= 0 and place not in needed:
            needed.add(place)
            place = int(parents[place])
    levels = [
        sorted((j for j in needed if depth[j] == level), key=lambda j: (int(parents[j]), j))
        for level in range(max(int(depth[j]) for j in needed) + 1)
    ]
    order = np.array([joint for level in levels for joint in level], np.int64)
    away = (parents[order] >= 0).astype(np.float32)[None, :, None] * np.ones((1, 1, 3), np.float32)
    turns = rotations.pick(order, 1)
    ones = np.ones((g.count, len(order), 1), np.float32)
    local = _joint_matrices(turns, positions.pick(order, 1) * away, ones)
    world: list[Value] = []
    for above, joints, own in zip([[], *levels], levels, local.split(*map(len, levels)), strict=False):
        if world:
            places = [above.index(int(parents[joint])) for joint in joints]
            over = world[-1] if places == list(range(len(above))) else world[-1].pick(np.array(places, np.int64), 1)
            own = over.dot(own)
        world.append(own)
    place_of = {int(joint): place for place, joint in enumerate(order)}
    flat = g.join(*world, axis=1).reshape(0, 0, 64)
    asked = np.array([place_of[int(joint)] for joint in wanted], np.int64)
    if asked.tolist() != list(range(len(order))):
        flat = flat.pick(asked, 1)
    return flat.pick(np.array([3, 11, 19]), -1), flat.pick(np.array([39, 47, 55, 63]), -1)


def _joint_matrices(rotations: Value, positions: Value, ones: Float) -> Value:
    """``[N, K, 8, 8]``: linear in the products of a quaternion's components, the position, the quaternion, and 1."""
    g = rotations.graph
    table = np.zeros((4, 4, 8, 8), np.float32)
    table[:, :, :3, :3] = matrix_table().reshape(4, 4, 3, 3)
    squares = np.triu_indices(4)  # products of a component with another one, once each
    folded = (table + table.transpose(1, 0, 2, 3))[squares] * np.where(squares[0] == squares[1], 0.5, 1.0)[
        :, None, None
    ]
    left, right = (np.eye(4, dtype=np.float32)[:, side] for side in squares)
    rest = np.zeros((8, 8, 8), np.float32)
    for axis in range(3):
        rest[axis, axis, 3] = 1.0
    # The product of quaternions as a matrix of the left one.
    rest[3:7, 4:, 4:] = product_table().transpose(0, 2, 1)
    rest[7, 3, 3] = 1.0
    terms = g.join(rotations.dot(left) * rotations.dot(right), positions, rotations, ones)
    whole = np.concatenate([folded, rest]).reshape(-1, 64)
    return terms.dot(whole.astype(np.float32)).reshape(0, 0, 8, 8)

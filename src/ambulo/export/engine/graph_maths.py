"""Rotations, springs and angles as graph arithmetic: what the kernels of :mod:`ambulo.control` compute, in float32."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ambulo.export.engine.graph import Value

_LN2 = math.log(2.0)


def spring_exponent(half_life: float) -> float:
    """See :func:`ambulo.control.simulation_kernels.spring_exponent`."""
    return 2.0 * _LN2 / (half_life + 1e-5)


def damping(dt: Value, half_life: float) -> Value:
    """The part of a distance that a damper closes in ``dt``."""
    return 1.0 - (dt * (-_LN2 / (half_life + 1e-5))).exp()


def fade(x: Value, v: Value, half_life: float, dt: Value) -> tuple[Value, Value]:
    """Offset and velocity of a critically damped spring to zero after ``dt``."""
    y = spring_exponent(half_life)
    e, j = (dt * -y).exp(), v + x * y
    return e * (x + j * dt), e * (v - j * y * dt)


def wrap_angle(angle: Value) -> Value:
    """The same angle in (-pi, pi]."""
    return angle - 2.0 * math.pi * ((angle - math.pi) / (2.0 * math.pi)).ceil()


def atan2(y: Value, x: Value) -> Value:
    """Angle of a point, from Atan alone: ONNX has no Atan2."""
    g = y.graph
    steep = y.abs() > x.abs()
    safe_x = g.where(steep | x.equals(0.0), 1.0, x)
    safe_y = g.where(steep, y, 1.0)
    half = g.where(y >= 0.0, math.pi, -math.pi)
    flat = g.where(x.equals(0.0), 0.0, (y / safe_x).atan()) + g.where(x < 0.0, half, 0.0)
    return g.where(steep, 0.5 * half - (x / safe_y).atan(), flat)


def hypot(x: Value, y: Value) -> Value:
    return (x * x + y * y).sqrt()


def length(v: Value, keep: bool = False) -> Value:
    """Of vectors along the last axis."""
    return (v * v).sum(-1, keep).sqrt()


def inner(a: Value, b: Value, keep: bool = False) -> Value:
    return (a * b).sum(-1, keep)


@lru_cache(maxsize=1)
def _tables() -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Products of quaternions ``[16, 4]``, matrices of them ``[16, 9]`` and cross products ``[9, 3]``, as linear maps
    of the products of all pairs of components."""
    product = np.zeros((4, 4, 4), np.float32)
    for a, b, out, sign in (
        (3, 0, 0, 1), (0, 3, 0, 1), (1, 2, 0, 1), (2, 1, 0, -1),
        (3, 1, 1, 1), (0, 2, 1, -1), (1, 3, 1, 1), (2, 0, 1, 1),
        (3, 2, 2, 1), (0, 1, 2, 1), (1, 0, 2, -1), (2, 3, 2, 1),
        (3, 3, 3, 1), (0, 0, 3, -1), (1, 1, 3, -1), (2, 2, 3, -1),
    ):  # fmt: skip
        product[a, b, out] = sign
    matrix = np.zeros((4, 4, 3, 3), np.float32)
    x, y, z, w = range(4)
    # Of any length of the quaternion the identity is exact; only the rest is multiplied by 2 (unit quaternions).
    for row, column, terms in (
        (0, 0, ((w, w, 1), (x, x, 1), (y, y, -1), (z, z, -1))), (0, 1, ((x, y, 2), (z, w, -2))),
        (0, 2, ((x, z, 2), (y, w, 2))), (1, 0, ((x, y, 2), (z, w, 2))),
        (1, 1, ((w, w, 1), (y, y, 1), (x, x, -1), (z, z, -1))), (1, 2, ((y, z, 2), (x, w, -2))),
        (2, 0, ((x, z, 2), (y, w, -2))), (2, 1, ((y, z, 2), (x, w, 2))),
        (2, 2, ((w, w, 1), (z, z, 1), (x, x, -1), (y, y, -1))),
    ):  # fmt: skip
        for a, b, factor in terms:
            matrix[a, b, row, column] = factor
    cross = np.zeros((3, 3, 3), np.float32)
    for a, b, out in ((1, 2, 0), (2, 0, 1), (0, 1, 2)):
        cross[a, b, out], cross[b, a, out] = 1, -1
    return product.reshape(16, 4), matrix.reshape(16, 9), cross.reshape(9, 3)


def _pairs(a: Value, b: Value, rank: int, size: int) -> Value:
    """Products of all components of two arrays ``[..., size]`` of that rank: ``[..., size * size]``."""
    return (a.wide(-1) * b.wide(-2)).reshape(*[0] * (rank - 1), size * size)


def quat_multiply(a: Value, b: Value, rank: int = 3) -> Value:
    """Hamilton product of arrays of equal shape and that rank."""
    return _pairs(a, b, rank, 4).dot(_tables()[0])


def quat_inverse(q: Value) -> Value:
    return q * np.array([-1, -1, -1, 1], np.float32)


def quat_normalize(q: Value) -> Value:
    return q / length(q, keep=True)


def quat_rotate(q: Value, v: Value, rank: int = 3) -> Value:
    """Rotate vectors by unit quaternions."""
    matrix = _pairs(q, q, rank, 4).dot(_tables()[1]).reshape(*[0] * (rank - 1), 3, 3)
    return matrix.dot(v.wide(-1)).reshape(*[0] * (rank - 1), 3)


def cross(a: Value, b: Value, rank: int = 3) -> Value:
    return _pairs(a, b, rank, 3).dot(_tables()[2])


def quat_exp(v: Value) -> Value:
    """Rotation vectors as quaternions."""
    g = v.graph
    square = inner(v, v, keep=True)
    tiny = square < 1e-10
    angle = g.where(tiny, 1.0, square).sqrt()
    small = quat_normalize(g.join(v * 0.5, square * 0.0 + 1.0))
    large = g.join(v * ((angle * 0.5).sin() / angle), (angle * 0.5).cos())
    return g.where(tiny, small, large)


def quat_log(q: Value) -> Value:
    """Quaternions as rotation vectors, the shorter way round."""
    g = q.graph
    q = q * g.where(q.part(3, 4) < 0.0, -1.0, 1.0)
    v, w = q.part(0, 3), q.part(3, 4)
    square = inner(v, v, keep=True)
    tiny = square < 1e-14
    size = g.where(tiny, 1.0, square).sqrt()
    return v * g.where(tiny, 2.0, 2.0 * atan2(size, w) / size)


def quat_between(a: Value, b: Value, rank: int = 3) -> Value:
    """Shortest rotations between directions, see :func:`ambulo.maths.kernels.quat_between`."""
    g = a.graph
    la, lb = length(a, keep=True), length(b, keep=True)
    none = (la < 1e-9) | (lb < 1e-9)
    a = a / g.where(none, 1.0, la)
    b = b / g.where(none, 1.0, lb)
    cosine = inner(a, b, keep=True)
    half = cosine < -0.999999
    upright = a.part(1, 2).abs() > 0.9
    helper = g.where(upright, np.array([1, 0, 0], np.float32), np.array([0, 1, 0], np.float32))
    axis = helper - inner(helper, a, keep=True) * a
    turned = g.join(axis, cosine * 0.0)
    usual = g.join(cross(a, b, rank), 1.0 + cosine)
    unit = quat_normalize(g.where(none, np.array([0, 0, 0, 1], np.float32), g.where(half, turned, usual)))
    return unit


def heading_quaternion(heading: Value) -> Value:
    """Rotations ``[N, 4]`` about +Y by angles ``[N]``."""
    g = heading.graph
    half = heading * 0.5
    return g.stack(heading * 0.0, half.sin(), heading * 0.0, half.cos())


def forward_kinematics(positions: Value, rotations: Value, parents: NDArray[np.int32]) -> tuple[Value, Value]:
    """Positions ``[N, J, 3]`` and rotations ``[N, J, 4]`` in the world of local ones, a level of the tree at a time.

    A joint is one matrix ``[8, 8]``, transforms of points beside those of quaternions: a level is one product.
    """
    g = positions.graph
    terms = g.join(_pairs(rotations, rotations, 3, 4), positions, rotations, rotations.part(0, 1) * 0.0 + 1.0)
    local = terms.dot(_joint_table()).reshape(0, 0, 8, 8)
    depth = np.zeros(len(parents), np.int64)
    for joint, parent in enumerate(parents):
        depth[joint] = depth[parent] + 1 if parent >= 0 else 0
    order: list[int] = []
    levels: list[Value] = []
    above: list[int] = []
    for level in range(int(depth.max()) + 1):
        joints = np.flatnonzero(depth == level)
        own = local.pick(joints, 1)
        if levels:
            own = (
                levels[-1].pick(np.array([above.index(int(parents[joint])) for joint in joints], np.int64), 1).dot(own)
            )
        levels.append(own)
        above = joints.tolist()
        order += above
    world = g.join(*levels, axis=1).pick(np.argsort(np.array(order, np.int64)), 1).reshape(0, 0, 64)
    return world.pick(np.array([3, 11, 19]), -1), world.pick(np.array([39, 47, 55, 63]), -1)


@lru_cache(maxsize=1)
def _joint_table() -> NDArray[np.float32]:
    """The matrix ``[8, 8]`` of a joint as a linear map ``[24, 64]`` of the products of its quaternion's components, its
    position, its quaternion, and 1."""
    table = np.zeros((24, 8, 8), np.float32)
    table[:16, :3, :3] = _tables()[1].reshape(16, 3, 3)
    for axis in range(3):
        table[16 + axis, axis, 3] = 1.0
    table[23, 3, 3] = 1.0
    # The product of quaternions as a matrix of the left one.
    table[19:23, 4:, 4:] = _tables()[0].reshape(4, 4, 4).transpose(0, 2, 1)
    return table.reshape(24, 64)

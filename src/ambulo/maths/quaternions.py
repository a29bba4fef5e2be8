"""Quaternion algebra on arrays.

A quaternion is the last axis of an array, in the order ``(x, y, z, w)``. All functions broadcast over the leading axes,
keep the input's floating dtype and never write into their arguments. Angles are radians.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.floating]

IDENTITY = np.array([0.0, 0.0, 0.0, 1.0], dtype=np.float32)

_AXES = {"X": 0, "Y": 1, "Z": 2}


def _floating(values: ArrayLike) -> Array:
    array = np.asarray(values)
    return array if np.issubdtype(array.dtype, np.floating) else array.astype(np.float64)


def identity(shape: int | tuple[int, ...] = (), dtype: type = np.float32) -> Array:
    """Identity rotations. Returns ``[*shape, 4]``."""
    shape = (shape,) if isinstance(shape, int) else shape
    result: Array = np.zeros((*shape, 4), dtype=dtype)
    result[..., 3] = 1.0
    return result


def normalize(q: ArrayLike) -> Array:
    """Unit quaternions of the same direction; a zero quaternion becomes the identity. ``[..., 4] -> [..., 4]``."""
    q = _floating(q)
    length = np.sqrt(np.sum(q * q, axis=-1, keepdims=True))
    tiny = length < 1e-12
    return np.where(tiny, IDENTITY.astype(q.dtype), q / np.where(tiny, 1.0, length))


def multiply(a: ArrayLike, b: ArrayLike) -> Array:
    """Hamilton product: the rotation that applies ``b`` first, then ``a``. ``[..., 4], [..., 4] -> [..., 4]``."""
    a, b = _floating(a), _floating(b)
    ax, ay, az, aw = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    bx, by, bz, bw = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    return np.stack(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ],
        axis=-1,
    )


def inverse(q: ArrayLike) -> Array:
    """Inverse of unit quaternions (the conjugate). ``[..., 4] -> [..., 4]``."""
    q = _floating(q)
    return q * np.array([-1.0, -1.0, -1.0, 1.0], dtype=q.dtype)


def inverse_multiply(a: ArrayLike, b: ArrayLike) -> Array:
    """``a^-1 b``: ``b`` seen from the frame ``a``. ``[..., 4], [..., 4] -> [..., 4]``."""
    return multiply(inverse(a), b)


def multiply_inverse(a: ArrayLike, b: ArrayLike) -> Array:
    """``a b^-1``: the rotation that leads from ``b`` to ``a``. ``[..., 4], [..., 4] -> [..., 4]``."""
    return multiply(a, inverse(b))


def rotate(q: ArrayLike, v: ArrayLike) -> Array:
    """Rotate vectors. ``[..., 4], [..., 3] -> [..., 3]``."""
    q, v = _floating(q), _floating(v)
    x, y, z, w = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    vx, vy, vz = v[..., 0], v[..., 1], v[..., 2]
    # v + w t + u x t with t = 2 u x v: 18 products, where the two Hamilton products take 32.
    tx, ty, tz = 2.0 * (y * vz - z * vy), 2.0 * (z * vx - x * vz), 2.0 * (x * vy - y * vx)
    return np.stack(
        [
            vx + w * tx + y * tz - z * ty,
            vy + w * ty + z * tx - x * tz,
            vz + w * tz + x * ty - y * tx,
        ],
        axis=-1,
    )


def inverse_rotate(q: ArrayLike, v: ArrayLike) -> Array:
    """Rotate vectors by the inverse: vectors seen from the frame ``q``. ``[..., 4], [..., 3] -> [..., 3]``."""
    return rotate(inverse(q), v)


def absolute(q: ArrayLike) -> Array:
    """The sign with ``w >= 0`` of each quaternion: the shorter way round. ``[..., 4] -> [..., 4]``."""
    q = _floating(q)
    return np.where(q[..., 3:4] < 0.0, -q, q)


def unroll(q: ArrayLike, axis: int = 0) -> Array:
    """Choose signs so that neighbours in time never point apart: ``q[i] . q[i-1] >= 0`` (S4.2).

    Args:
        q: ``[T, ..., 4]``; the first quaternion keeps its sign.
        axis: the axis of time.
    """
    q = np.moveaxis(_floating(q), axis, 0)
    if q.shape[0] < 2:
        return np.moveaxis(q.copy(), 0, axis)
    dots = np.sum(q[1:] * q[:-1], axis=-1)
    signs = np.cumprod(np.where(dots < 0.0, -1.0, 1.0), axis=0).astype(q.dtype)
    result = q.copy()
    result[1:] *= signs[..., None]
    return np.moveaxis(result, 0, axis)


def angle_between(a: ArrayLike, b: ArrayLike) -> Array:
    """Angle of the rotation from ``a`` to ``b``, in ``[0, pi]``. ``[..., 4], [..., 4] -> [...]``."""
    d = multiply_inverse(b, a)
    # atan2 keeps its precision near 0, where acos loses half the digits.
    return np.asarray(2.0 * np.arctan2(np.sqrt(np.sum(d[..., :3] ** 2, axis=-1)), np.abs(d[..., 3])))


def slerp(a: ArrayLike, b: ArrayLike, t: ArrayLike) -> Array:
    """Spherical interpolation along the shorter arc. ``[..., 4], [..., 4], [...] -> [..., 4]``."""
    a, b = _floating(a), _floating(b)
    t = np.asarray(t, dtype=a.dtype)[..., None]
    cosine = np.sum(a * b, axis=-1, keepdims=True)
    b = np.where(cosine < 0.0, -b, b)
    cosine = np.abs(cosine)
    theta = np.arccos(np.clip(cosine, 0.0, 1.0))
    sine = np.sin(theta)
    near = sine < 1e-4
    safe = np.where(near, 1.0, sine)
    wa = np.where(near, 1.0 - t, np.sin((1.0 - t) * theta) / safe)
    wb = np.where(near, t, np.sin(t * theta) / safe)
    return normalize(wa * a + wb * b)


def from_angle_axis(angle: ArrayLike, axis: ArrayLike) -> Array:
    """Rotation by ``angle`` about the unit vector ``axis``. ``[...], [..., 3] -> [..., 4]``."""
    axis = _floating(axis)
    half = 0.5 * np.asarray(angle, dtype=axis.dtype)[..., None]
    vector = np.sin(half) * axis
    cosine = np.broadcast_to(np.cos(half), (*vector.shape[:-1], 1))
    return np.concatenate([vector, cosine], axis=-1)


def from_scaled_angle_axis(v: ArrayLike) -> Array:
    """Rotation about ``v`` by its length: the exponential map. ``[..., 3] -> [..., 4]``."""
    v = _floating(v)
    half = 0.5 * np.sqrt(np.sum(v * v, axis=-1, keepdims=True))
    small = half < 1e-5
    # sin(h)/h to second order where the division would be 0/0.
    sinc = np.where(small, 1.0 - half * half / 6.0, np.sin(half) / np.where(small, 1.0, half))
    return np.concatenate([0.5 * sinc * v, np.cos(half)], axis=-1)


def to_scaled_angle_axis(q: ArrayLike) -> Array:
    """Axis times angle, the shorter way round: the logarithm. ``[..., 4] -> [..., 3]``, length in ``[0, pi]``."""
    q = absolute(q)
    length = np.sqrt(np.sum(q[..., :3] ** 2, axis=-1, keepdims=True))
    angle = 2.0 * np.arctan2(length, q[..., 3:4])
    small = length < 1e-7
    return np.where(small, 2.0, angle / np.where(small, 1.0, length)) * q[..., :3]


def between(a: ArrayLike, b: ArrayLike) -> Array:
    """Shortest rotation that takes direction ``a`` to direction ``b``. ``[..., 3], [..., 3] -> [..., 4]``.

    Opposite directions turn about +Y where they are horizontal, else about an axis square to ``a``.
    """
    a, b = _floating(a), _floating(b)
    a, b = np.broadcast_arrays(a, b)
    na = np.sqrt(np.sum(a * a, axis=-1, keepdims=True))
    nb = np.sqrt(np.sum(b * b, axis=-1, keepdims=True))
    a = a / np.where(na < 1e-12, 1.0, na)
    b = b / np.where(nb < 1e-12, 1.0, nb)
    dot = np.sum(a * b, axis=-1, keepdims=True)
    q = np.concatenate([np.cross(a, b), 1.0 + dot], axis=-1)
    up = np.broadcast_to(np.array([0.0, 1.0, 0.0], dtype=a.dtype), a.shape)
    side = np.broadcast_to(np.array([1.0, 0.0, 0.0], dtype=a.dtype), a.shape)
    # Opposite directions: any axis square to a; the part of +Y square to a, unless a is near +Y itself.
    helper = np.where(np.abs(a[..., 1:2]) > 0.9, side, up)
    square = helper - np.sum(helper * a, axis=-1, keepdims=True) * a
    square = square / np.sqrt(np.sum(square * square, axis=-1, keepdims=True))
    opposite = np.concatenate([square, np.zeros_like(dot)], axis=-1)
    return normalize(np.where(dot < -1.0 + 1e-6, opposite, q))


def from_yaw(yaw: ArrayLike) -> Array:
    """Rotation about +Y that turns +Z by ``yaw`` towards +X. ``[...] -> [..., 4]``."""
    yaw = _floating(yaw)
    zero = np.zeros_like(yaw)
    return np.stack([zero, np.sin(0.5 * yaw), zero, np.cos(0.5 * yaw)], axis=-1)


def to_yaw(q: ArrayLike) -> Array:
    """Heading of the rotated +Z about +Y, in ``(-pi, pi]``. ``[..., 4] -> [...]``."""
    forward = rotate(q, np.array([0.0, 0.0, 1.0], dtype=_floating(q).dtype))
    return np.arctan2(forward[..., 0], forward[..., 2])


def from_euler(angles: ArrayLike, order: str) -> Array:
    """Intrinsic Euler angles in the listed order, as in a BVH file. ``[..., n] -> [..., 4]``.

    Args:
        angles: radians, one column a letter of ``order``.
        order: one to three of ``X``, ``Y``, ``Z``; ``"ZXY"`` is ``Rz Rx Ry``, applied right to left to a vector.
    """
    angles = _floating(angles)
    result: Array | None = None
    for column, letter in enumerate(order.upper()):
        half = 0.5 * angles[..., column]
        q = np.zeros((*half.shape, 4), dtype=angles.dtype)
        q[..., _AXES[letter]] = np.sin(half)
        q[..., 3] = np.cos(half)
        result = q if result is None else multiply(result, q)
    if result is None:
        return identity(angles.shape[:-1], dtype=angles.dtype.type)
    return result


def to_euler(q: ArrayLike, order: str) -> Array:
    """Intrinsic Euler angles of three different axes. ``[..., 4] -> [..., 3]``, radians.

    At gimbal lock (middle angle at +-90 degrees) the third angle is 0; the rotation is kept exactly.
    """
    m = to_matrix(_floating(q).astype(np.float64))
    i, j, k = (_AXES[letter] for letter in order.upper())
    sign = 1.0 if (i, j, k) in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) else -1.0
    middle = np.arcsin(np.clip(sign * m[..., i, k], -1.0, 1.0))
    locked = np.abs(m[..., i, k]) > 1.0 - 1e-10
    first = np.where(
        locked,
        np.arctan2(sign * m[..., k, j], m[..., j, j]),
        np.arctan2(-sign * m[..., j, k], m[..., k, k]),
    )
    third = np.where(locked, 0.0, np.arctan2(-sign * m[..., i, j], m[..., i, i]))
    return np.stack([first, middle, third], axis=-1).astype(_floating(q).dtype)


def to_matrix(q: ArrayLike) -> Array:
    """Rotation matrices. ``[..., 4] -> [..., 3, 3]``; columns are the rotated axes."""
    q = _floating(q)
    x, y, z, w = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    rows = [
        np.stack([1.0 - (yy + zz), xy - wz, xz + wy], axis=-1),
        np.stack([xy + wz, 1.0 - (xx + zz), yz - wx], axis=-1),
        np.stack([xz - wy, yz + wx, 1.0 - (xx + yy)], axis=-1),
    ]
    return np.stack(rows, axis=-2)


def from_matrix(m: ArrayLike) -> Array:
    """Quaternions of rotation matrices, ``w >= 0``. ``[..., 3, 3] -> [..., 4]``.

    The largest of the four components is found first, so no division is by a small number.
    """
    m = _floating(m)
    m00, m11, m22 = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    squares = np.stack([1 + m00 - m11 - m22, 1 - m00 + m11 - m22, 1 - m00 - m11 + m22, 1 + m00 + m11 + m22], axis=-1)
    a, b, c = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    d, e, f = m[..., 1, 0] + m[..., 0, 1], m[..., 0, 2] + m[..., 2, 0], m[..., 2, 1] + m[..., 1, 2]
    candidates = np.stack(
        [
            np.stack([squares[..., 0], d, e, a], axis=-1),
            np.stack([d, squares[..., 1], f, b], axis=-1),
            np.stack([e, f, squares[..., 2], c], axis=-1),
            np.stack([a, b, c, squares[..., 3]], axis=-1),
        ],
        axis=-2,
    )
    best = np.argmax(squares, axis=-1)
    return absolute(normalize(np.take_along_axis(candidates, best[..., None, None], axis=-2)[..., 0, :]))


def to_two_axis(q: ArrayLike, axes: str = "XY") -> Array:
    """Two columns of the rotation matrix, a continuous form for networks (S4.10). ``[..., 4] -> [..., 3, 2]``.

    Args:
        q: ``[..., 4]``.
        axes: which two columns; S4.10 keeps forward and up, which in its convention are X and Z.
    """
    m = to_matrix(q)
    return np.stack([m[..., :, _AXES[axes[0]]], m[..., :, _AXES[axes[1]]]], axis=-1)


def from_two_axis(m: ArrayLike, axes: str = "XY") -> Array:
    """Rotations of two columns that need not be orthonormal (Gram-Schmidt). ``[..., 3, 2] -> [..., 4]``."""
    m = _floating(m)
    first, second = _unit(m[..., :, 0]), m[..., :, 1]
    second = _unit(second - np.sum(first * second, axis=-1, keepdims=True) * first)
    i, j = _AXES[axes[0]], _AXES[axes[1]]
    k = 3 - i - j
    third = np.cross(first, second) * (1.0 if (i, j, k) in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) else -1.0)
    columns = [first, first, first]
    columns[i], columns[j], columns[k] = first, second, third
    return from_matrix(np.stack(columns, axis=-1))


def _unit(v: Array) -> Array:
    length = np.sqrt(np.sum(v * v, axis=-1, keepdims=True))
    return v / np.where(length < 1e-12, 1.0, length)


def angular_velocity(q_before: ArrayLike, q_after: ArrayLike, dt: float) -> Array:
    """Mean angular velocity, in the frame the quaternions are given in, rad/s. ``[..., 4], [..., 4] -> [..., 3]``."""
    return to_scaled_angle_axis(multiply_inverse(q_after, q_before)) / dt

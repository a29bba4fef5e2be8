"""The scalar building blocks that kernels share.

A *kernel* is a function that Numba compiles. Kernels live in files named ``*_kernels.py`` (Numba can cache only what
lives in a real file), are marked with :func:`kernel`, and are imported only where they are first used, since importing
Numba costs 0.4 s. The functions below work on scalars and tuples, so that a compiled caller allocates nothing.
"""

from __future__ import annotations

import math

from ambulo.maths.compilation import kernel as kernel
from ambulo.maths.compilation import strict_kernel as strict_kernel

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


@kernel
def vec_subtract(a: Vector, b: Vector) -> Vector:
    """``a - b``."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@kernel
def vec_dot(a: Vector, b: Vector) -> float:
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def vec_length(a: Vector) -> float:
    """Euclidean length."""
    return math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@kernel
def vec_square_to(v: Vector, axis: Vector) -> Vector:
    """The part of ``v`` square to the unit vector ``axis``."""
    d = vec_dot(v, axis)
    return (v[0] - d * axis[0], v[1] - d * axis[1], v[2] - d * axis[2])


@kernel
def quat_multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Hamilton product ``a b``."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


@kernel
def quat_inverse(q: Quaternion) -> Quaternion:
    """Inverse of a unit quaternion."""
    return (-q[0], -q[1], -q[2], q[3])


@kernel
def quat_normalize(q: Quaternion) -> Quaternion:
    """The unit quaternion of the same direction."""
    s = 1.0 / math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return (q[0] * s, q[1] * s, q[2] * s, q[3] * s)


@kernel
def quat_rotate(q: Quaternion, v: Vector) -> Vector:
    """Rotate a vector."""
    x, y, z, w = q
    tx = 2.0 * (y * v[2] - z * v[1])
    ty = 2.0 * (z * v[0] - x * v[2])
    tz = 2.0 * (x * v[1] - y * v[0])
    return (
        v[0] + w * tx + y * tz - z * ty,
        v[1] + w * ty + z * tx - x * tz,
        v[2] + w * tz + x * ty - y * tx,
    )


@kernel
def quat_absolute(q: Quaternion) -> Quaternion:
    """The sign with ``w >= 0``."""
    if q[3] < 0.0:
        return (-q[0], -q[1], -q[2], -q[3])
    return q


@kernel
def quat_from_scaled_angle_axis(v: Vector) -> Quaternion:
    """Exponential map of a rotation vector (axis times angle)."""
    angle2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
    if angle2 < 1e-10:
        return quat_normalize((0.5 * v[0], 0.5 * v[1], 0.5 * v[2], 1.0))
    angle = math.sqrt(angle2)
    s = math.sin(0.5 * angle) / angle
    return (s * v[0], s * v[1], s * v[2], math.cos(0.5 * angle))


@kernel
def quat_to_scaled_angle_axis(q: Quaternion) -> Vector:
    """Logarithm, the shorter way round."""
    x, y, z, w = quat_absolute(q)
    length2 = x * x + y * y + z * z
    if length2 < 1e-14:
        return (2.0 * x, 2.0 * y, 2.0 * z)
    length = math.sqrt(length2)
    s = 2.0 * math.atan2(length, w) / length
    return (s * x, s * y, s * z)


@kernel
def quat_between(a: Vector, b: Vector) -> Quaternion:
    """Shortest rotation from direction ``a`` to direction ``b``, both of any length."""
    la = math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])
    lb = math.sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2])
    if la < 1e-9 or lb < 1e-9:
        return (0.0, 0.0, 0.0, 1.0)
    dot = (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) / (la * lb)
    if dot < -0.999999:
        # Half a turn about an axis square to a: the part of +Y that is, unless a is near +Y itself.
        hx, hy = (1.0, 0.0) if abs(a[1]) > 0.9 * la else (0.0, 1.0)
        along = (hx * a[0] + hy * a[1]) / (la * la)
        return quat_normalize((hx - along * a[0], hy - along * a[1], -along * a[2], 0.0))
    s = 1.0 / (la * lb)
    return quat_normalize(
        (
            (a[1] * b[2] - a[2] * b[1]) * s,
            (a[2] * b[0] - a[0] * b[2]) * s,
            (a[0] * b[1] - a[1] * b[0]) * s,
            1.0 + dot,
        )
    )

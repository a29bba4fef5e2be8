"""Compiled damped least squares for one chain and one end point, on plain arrays that the caller keeps."""

from __future__ import annotations

import math
from typing import Any

from ambulo.maths.kernels import (
    Quaternion,
    Vector,
    kernel,
    quat_from_scaled_angle_axis,
    quat_multiply,
    quat_normalize,
    quat_rotate,
)

CENTIMETRES = 100.0
"""The damping is in centimetres (with angles in radians): at a joint 40 cm from the end, 2.0 costs a quarter of a per
cent a step; in metres it would leave half of the error after twenty."""
LONGEST_STRIDE = 0.35
"""Part of a chain's length that its end is asked to move in one iteration, at most (S. Buss and J.-S. Kim, "Selectively
damped least squares for inverse kinematics", 2005, clamp it likewise)."""


@kernel
def cross(a: Vector, b: Vector) -> Vector:
    """Vector product."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@kernel
def solve_damped(points: Any, axes: Any, free: Any, turns: Any, target: Vector, damping: float, most: int) -> int:
    """Turn the joints of a chain so that its last point comes to the target.

    One step is ``dq = J^T (J J^T + damping^2 I)^-1 e`` (Wampler 1986), with ``e`` the way from the end to the target. A
    ball joint at distance r adds ``(r.r) I - r r^T`` to ``J J^T``, a hinge ``(a x r)(a x r)^T``: no Jacobian is stored,
    and the system is 3 by 3 however long the chain is.

    Args:
        points: float64 ``[N + 1, 3]``, metres, the joints and the end, global; moved in place.
        axes: float64 ``[N, 3]``, unit hinge axes, global; turned in place. Of ball joints unused.
        free: ``[N]``, 1 for a ball joint, 0 for a hinge, -1 for a joint that stays.
        turns: float64 ``[N, 4]``, set to what each joint turned by, global, those above it included.
        target: metres.
        damping: centimetres a radian.
        most: iterations at most; less once a step turns nothing by more than 1e-7 rad.

    Returns:
        The number of iterations.
    """
    count = points.shape[0] - 1
    for i in range(count):
        turns[i, 0], turns[i, 1], turns[i, 2], turns[i, 3] = 0.0, 0.0, 0.0, 1.0
    damping = (damping / CENTIMETRES) ** 2
    whole = 0.0
    base = (points[0, 0], points[0, 1], points[0, 2])
    for i in range(count):
        bone = (points[i + 1, 0] - points[i, 0], points[i + 1, 1] - points[i, 1], points[i + 1, 2] - points[i, 2])
        if whole == 0.0 and free[i] >= 0:
            base = (points[i, 0], points[i, 1], points[i, 2])
        if whole > 0.0 or free[i] >= 0:
            whole += math.sqrt(bone[0] * bone[0] + bone[1] * bone[1] + bone[2] * bone[2])
    way = (target[0] - base[0], target[1] - base[1], target[2] - base[2])
    distance = math.sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2])
    if distance > whole:
        # Nothing beyond the chain's length can be reached, and wishing for it makes a stretched chain tremble.
        s = whole / distance
        target = (base[0] + s * way[0], base[1] + s * way[1], base[2] + s * way[2])
    stride = LONGEST_STRIDE * whole
    for iteration in range(most):
        end = (points[count, 0], points[count, 1], points[count, 2])
        ex, ey, ez = target[0] - end[0], target[1] - end[1], target[2] - end[2]
        if ex * ex + ey * ey + ez * ez < 1e-14:
            return iteration
        # Beyond a good part of its length a chain's Jacobian tells nothing: a far target is walked up to.
        shorter = min(1.0, stride / math.sqrt(ex * ex + ey * ey + ez * ez))
        ex, ey, ez = shorter * ex, shorter * ey, shorter * ez
        xx, yy, zz = damping, damping, damping
        xy, xz, yz = 0.0, 0.0, 0.0
        for i in range(count):
            r = (end[0] - points[i, 0], end[1] - points[i, 1], end[2] - points[i, 2])
            if free[i] == 1:
                rr = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
                xx += rr - r[0] * r[0]
                yy += rr - r[1] * r[1]
                zz += rr - r[2] * r[2]
                xy -= r[0] * r[1]
                xz -= r[0] * r[2]
                yz -= r[1] * r[2]
            elif free[i] == 0:
                m = cross((axes[i, 0], axes[i, 1], axes[i, 2]), r)
                xx += m[0] * m[0]
                yy += m[1] * m[1]
                zz += m[2] * m[2]
                xy += m[0] * m[1]
                xz += m[0] * m[2]
                yz += m[1] * m[2]
        # The symmetric 3 by 3 system by its adjugate.
        a, b, c = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
        determinant = xx * a + xy * b + xz * c
        if determinant <= 0.0:
            return iteration
        d, e, f = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
        force = (
            (a * ex + b * ey + c * ez) / determinant,
            (b * ex + d * ey + e * ez) / determinant,
            (c * ex + e * ey + f * ez) / determinant,
        )
        largest = 0.0
        # From the end up: what a joint turns leaves those above where they were, so that all steps of an iteration are
        # of one pose.
        for i in range(count - 1, -1, -1):
            if free[i] < 0:
                continue
            r = (end[0] - points[i, 0], end[1] - points[i, 1], end[2] - points[i, 2])
            w = cross(r, force)
            if free[i] == 0:
                along = w[0] * axes[i, 0] + w[1] * axes[i, 1] + w[2] * axes[i, 2]
                w = (along * axes[i, 0], along * axes[i, 1], along * axes[i, 2])
            largest = max(largest, abs(w[0]), abs(w[1]), abs(w[2]))
            turn_below(points, axes, turns, i, quat_from_scaled_angle_axis(w))
        if largest < 1e-7:
            return iteration + 1
    return most


@kernel
def turn_below(points: Any, axes: Any, turns: Any, joint: int, q: Quaternion) -> None:
    """Turn a joint of a chain and all below it."""
    base = (points[joint, 0], points[joint, 1], points[joint, 2])
    for k in range(joint, points.shape[0] - 1):
        t = quat_normalize(quat_multiply(q, (turns[k, 0], turns[k, 1], turns[k, 2], turns[k, 3])))
        turns[k, 0], turns[k, 1], turns[k, 2], turns[k, 3] = t
        a = quat_rotate(q, (axes[k, 0], axes[k, 1], axes[k, 2]))
        axes[k, 0], axes[k, 1], axes[k, 2] = a
        n = k + 1
        p = quat_rotate(q, (points[n, 0] - base[0], points[n, 1] - base[1], points[n, 2] - base[2]))
        points[n, 0], points[n, 1], points[n, 2] = base[0] + p[0], base[1] + p[1], base[2] + p[2]


@kernel
def solve_damped_batch(
    points: Any, axes: Any, free: Any, targets: Any, damping: float, most: int, turns: Any, steps: Any
) -> None:
    """:func:`solve_damped` over rows: points ``[T, N + 1, 3]``, axes ``[T, N, 3]``, targets ``[T, 3]``."""
    for t in range(points.shape[0]):
        steps[t] = solve_damped(
            points[t], axes[t], free, turns[t], (targets[t, 0], targets[t, 1], targets[t, 2]), damping, most
        )

"""Compiled start of the projection: each rigid body laid on its points, hinges turned the way limbs bend.

All frames are canonical: see :mod:`~ambulo.posing.projection_kernels`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ambulo.maths.kernels import (
    Quaternion,
    Vector,
    kernel,
    quat_between,
    quat_from_scaled_angle_axis,
    quat_multiply,
    quat_normalize,
    quat_rotate,
    vec_dot,
    vec_length,
    vec_subtract,
)
from ambulo.motion.damped_least_squares_kernels import cross
from ambulo.motion.inverse_kinematics_kernels import quaternion_at, vector_at
from ambulo.motion.retargeting_kernels import place, put4


@kernel
def fit_rotation(q: Quaternion, moments: Any) -> Quaternion:
    """The rotation nearest to a matrix of moments ``sum b a^T``, from a first guess.

    M. Mueller et al., "A robust method to extract the rotational part of deformations" (MIG 2016): what the matrix
    leaves free keeps the guess.
    """
    for _ in range(30):
        x, y, z = 0.0, 0.0, 0.0
        along = 0.0
        for k in range(3):
            unit = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
            r = quat_rotate(q, unit)
            c = (moments[0, k], moments[1, k], moments[2, k])
            w = cross(r, c)
            x, y, z = x + w[0], y + w[1], z + w[2]
            along += vec_dot(r, c)
        s = 1.0 / (abs(along) + 1e-9)
        turn = (s * x, s * y, s * z)
        angle = vec_length(turn)
        if angle > 1.0:
            turn = (turn[0] / angle, turn[1] / angle, turn[2] / angle)
        q = quat_normalize(quat_multiply(quat_from_scaled_angle_axis(turn), q))
        if angle < 1e-6:
            break
    return q


@kernel
def start_pose(
    targets: Any, parents: Any, offsets: Any, firsts: Any, members: Any, member_offsets: Any, q: Any, p: Any
) -> None:
    """Shape matching from the hips out: each rigid body on the points that are fixed to it.

    Args:
        targets: ``[43, 3]``, metres.
        parents: ``[M]``; offsets: ``[M, 3]``.
        firsts: ``[M + 1]``, where each joint's members begin; members: points fixed to its body;
            member_offsets: where, in the joint's frame.
        q: ``[M, 4]`` and p: ``[M, 3]``, set.
    """
    moments = np.empty((3, 3))
    for j in range(parents.shape[0]):
        guess = (0.0, 0.0, 0.0, 1.0)
        if parents[j] >= 0:
            guess = quaternion_at(q, parents[j])
        first, last = firsts[j], firsts[j + 1]
        count = last - first
        if count > 1:
            a0, b0 = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
            for i in range(first, last):
                a, b = vector_at(member_offsets, i), vector_at(targets, members[i])
                a0 = (a0[0] + a[0] / count, a0[1] + a[1] / count, a0[2] + a[2] / count)
                b0 = (b0[0] + b[0] / count, b0[1] + b[1] / count, b0[2] + b[2] / count)
            longest = 0.0
            bone_a, bone_b = a0, a0
            moments[:] = 0.0
            for i in range(first, last):
                a = vec_subtract(vector_at(member_offsets, i), a0)
                b = vec_subtract(vector_at(targets, members[i]), b0)
                if vec_length(a) > longest:
                    longest, bone_a, bone_b = vec_length(a), a, b
                for r in range(3):
                    for c in range(3):
                        moments[r, c] += b[r] * a[c]
            guess = quat_multiply(quat_between(quat_rotate(guess, bone_a), bone_b), guess)
            guess = fit_rotation(guess, moments)
        put4(q, j, guess)
        if parents[j] >= 0:
            place(p, q, offsets, j, parents[j])
        else:
            # The hips where their body's points, so turned, lie on the mean.
            x, y, z = 0.0, 0.0, 0.0
            for i in range(first, last):
                a = quat_rotate(guess, vector_at(member_offsets, i))
                b = vector_at(targets, members[i])
                x, y, z = x + (b[0] - a[0]) / count, y + (b[1] - a[1]) / count, z + (b[2] - a[2]) / count
            p[j, 0], p[j, 1], p[j, 2] = x, y, z


@kernel
def align_hinge(q: Any, upper: int, lower: int, bone: Vector, axis: Vector) -> None:
    """Twist an upper arm or thigh about its own bone so that the joint below bends about its hinge."""
    here = quaternion_at(q, upper)
    along = quat_rotate(here, bone)
    now, then = quat_rotate(here, axis), quat_rotate(quaternion_at(q, lower), axis)
    s, c = vec_dot(cross(now, then), along), vec_dot(now, then) - vec_dot(now, along) * vec_dot(then, along)
    angle = math.atan2(s, c)
    put4(
        q,
        upper,
        quat_multiply(quat_from_scaled_angle_axis((angle * along[0], angle * along[1], angle * along[2])), here),
    )


@kernel
def bend_hinge(q: Any, upper: int, lower: int, bone: Vector, axis: Vector) -> None:
    """Twist a thigh and its shank about their bones so that the hinge is square to both, on the side it bends to."""
    thigh, shank = quat_rotate(quaternion_at(q, upper), bone), quat_rotate(quaternion_at(q, lower), bone)
    normal = cross(thigh, shank)
    size = vec_length(normal)
    now = quat_rotate(quaternion_at(q, upper), axis)
    # A straight knee's plane is noise; a bent one's is trusted, unless it would bend backwards.
    trust = min(max((size - 0.1) / 0.2, 0.0), 1.0)
    if trust == 0.0 or vec_dot(normal, now) < 0.0:
        return
    wanted = (normal[0] / size, normal[1] / size, normal[2] / size)
    for joint, along in ((upper, thigh), (lower, shank)):
        axle = quat_rotate(quaternion_at(q, joint), axis)
        angle = trust * math.atan2(vec_dot(cross(axle, wanted), along), vec_dot(axle, wanted))
        turn = quat_from_scaled_angle_axis((angle * along[0], angle * along[1], angle * along[2]))
        put4(q, joint, quat_multiply(turn, quaternion_at(q, joint)))


@kernel
def forward_points(parents: Any, offsets: Any, owners: Any, sites: Any, q: Any, p: Any, x: Any) -> None:
    """Joints ``p`` but the hips, and points ``x [43, 3]``, from rotations."""
    for j in range(1, parents.shape[0]):
        place(p, q, offsets, j, parents[j])
    for i in range(owners.shape[0]):
        v = quat_rotate(quaternion_at(q, owners[i]), vector_at(sites, i))
        for k in range(3):
            x[i, k] = p[owners[i], k] + v[k]

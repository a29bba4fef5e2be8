"""Compiled projection: damped Gauss-Newton on the rotations of a body's joints and the place of its hips.

All frames are *canonical*: the rotation of a joint is what turned it away from the reference pose. A step turns each
joint, and all that hangs from it, by a rotation vector in the world's axes, so a point at X on joint b moves by
``w_a x (X - P_a)`` for every joint a on the way to the hips.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ambulo.maths.kernels import (
    Vector,
    kernel,
    quat_from_scaled_angle_axis,
    quat_inverse,
    quat_multiply,
    quat_normalize,
    quat_rotate,
    quat_to_scaled_angle_axis,
    vec_dot,
    vec_length,
    vec_subtract,
)
from ambulo.motion.damped_least_squares_kernels import cross
from ambulo.motion.inverse_kinematics_kernels import quaternion_at, vector_at
from ambulo.motion.retargeting_kernels import put4
from ambulo.posing.shape_matching_kernels import align_hinge, bend_hinge, forward_points, start_pose
from ambulo.posing.tree_solver_kernels import add_block, solve_along_tree

_DAMPING = 1.0
_LEAST_DAMPING = 1e-4
_MOST_DAMPING = 1e8
_AXIS_STRENGTH = 300.0
_STILL = 1e-4  # Radians or metres: a step smaller than this ends the solution.
# Pins stiff from the start leave a narrow curved valley in which steps are short: they are stiffened in stages.
_STAGES = ((0.010, 0.02, 1e-2), (0.002, 0.02, 1e-3), (0.0, _STILL, 1e-4))


@kernel
def log_inverse_jacobian(v: Vector, w: Vector) -> Vector:
    """How the rotation vector ``v`` of R changes when R becomes ``exp(w) R``: the inverse left Jacobian times ``w``."""
    angle2 = vec_dot(v, v)
    angle = math.sqrt(angle2)
    if angle < 1e-4:
        factor = 1.0 / 12.0
    else:
        half = 0.5 * angle
        factor = (1.0 - half * math.cos(half) / max(math.sin(half), 1e-9)) / angle2
    vw = cross(v, w)
    vvw = cross(v, vw)
    return (
        w[0] - 0.5 * vw[0] + factor * vvw[0],
        w[1] - 0.5 * vw[1] + factor * vvw[1],
        w[2] - 0.5 * vw[2] + factor * vvw[2],
    )


@kernel
def limit_force(v: Vector, j: int, means: Any, precisions: Any, limits: Any, prior: float, strength: float,
                force: Any, stiffness: Any) -> float:  # fmt: skip
    """Cost, gradient ``[3]`` and curvature ``[3, 3]`` by a joint's rotation vector.

    The prior is the learned Gaussian, weak; past the ellipsoid or the range of an axis it grows steep.

    Args:
        limits: ``[M, 7]``: Mahalanobis distance of the ellipsoid, least and greatest of each axis.
    """
    d = (v[0] - means[j, 0], v[1] - means[j, 1], v[2] - means[j, 2])
    away = 0.0
    for r in range(3):
        force[r] = precisions[j, r, 0] * d[0] + precisions[j, r, 1] * d[1] + precisions[j, r, 2] * d[2]
        away += force[r] * d[r]
    share, cost = prior, 0.5 * prior * away
    distance, most = math.sqrt(max(away, 0.0)), limits[j, 0]
    across = 0.0
    if distance > most:
        share += strength * (1.0 - most / distance)
        across = strength * most / (distance * away)
        cost += 0.5 * strength * (distance - most) ** 2
    for r in range(3):
        for c in range(3):
            stiffness[r, c] = share * precisions[j, r, c] + across * force[r] * force[c]
    for r in range(3):
        force[r] *= share
    for r in range(3):
        over = 0.0
        if v[r] < limits[j, 1 + r]:
            over = v[r] - limits[j, 1 + r]
        elif v[r] > limits[j, 4 + r]:
            over = v[r] - limits[j, 4 + r]
        if over != 0.0:
            hard = _AXIS_STRENGTH * strength
            force[r] += hard * over
            stiffness[r, r] += hard
            cost += 0.5 * hard * over * over
    return cost


@kernel
def total_cost(
    targets: Any, weights: Any, turn_targets: Any, turn_weights: Any, look: Any, look_joint: int, look_weight: float,
    parents: Any, means: Any, precisions: Any, limits: Any, prior: float, strength: float, floor: Any,
    floor_weight: float, q: Any, p: Any, x: Any, force: Any, stiffness: Any,
) -> float:  # fmt: skip
    """What the solution makes small."""
    cost = 0.0
    for i in range(x.shape[0]):
        for k in range(3):
            e = x[i, k] - targets[i, k]
            cost += 0.5 * weights[i, k] * e * e
        if floor_weight > 0.0 and x[i, 1] < floor[i]:
            cost += 0.5 * floor_weight * (x[i, 1] - floor[i]) ** 2
    for j in range(parents.shape[0]):
        here = quaternion_at(q, j)
        if turn_weights[j] > 0.0:
            e3 = quat_to_scaled_angle_axis(quat_multiply(quaternion_at(turn_targets, j), quat_inverse(here)))
            cost += 0.5 * turn_weights[j] * vec_dot(e3, e3)
        if parents[j] >= 0:
            v = quat_to_scaled_angle_axis(quat_multiply(quat_inverse(quaternion_at(q, parents[j])), here))
            cost += limit_force(v, j, means, precisions, limits, prior, strength, force, stiffness)
    if look_weight > 0.0:
        ahead = quat_rotate(quaternion_at(q, look_joint), (0.0, 0.0, 1.0))
        line = look_line(look, p, look_joint)
        e3 = vec_subtract(line, ahead)
        cost += 0.5 * look_weight * vec_dot(e3, e3)
    return cost


@kernel
def look_line(look: Any, p: Any, joint: int) -> Vector:
    """The unit direction from the head to what it looks at."""
    line = vec_subtract((look[0], look[1], look[2]), vector_at(p, joint))
    size = max(vec_length(line), 1e-6)
    return (line[0] / size, line[1] / size, line[2] / size)


@kernel
def build_normal(
    targets: Any, weights: Any, turn_targets: Any, turn_weights: Any, look: Any, look_joint: int, look_weight: float,
    parents: Any, owners: Any, means: Any, precisions: Any, limits: Any, prior: float, strength: float, floor: Any,
    floor_weight: float, q: Any, p: Any, x: Any, h: Any, g: Any, chain: Any, arms: Any, force: Any, stiffness: Any,
) -> None:  # fmt: skip
    """The normal matrix and the way down the cost."""
    h[:] = 0.0
    g[:] = 0.0
    for i in range(x.shape[0]):
        wx, wy, wz = weights[i, 0], weights[i, 1], weights[i, 2]
        ex, ey, ez = targets[i, 0] - x[i, 0], targets[i, 1] - x[i, 1], targets[i, 2] - x[i, 2]
        if floor_weight > 0.0 and x[i, 1] < floor[i]:
            ey = (wy * ey + floor_weight * (floor[i] - x[i, 1])) / (wy + floor_weight)
            wy += floor_weight
        depth = 0
        j = owners[i]
        while j >= 0:
            chain[depth] = j
            for k in range(3):
                arms[depth, k] = x[i, k] - p[j, k]
            depth += 1
            j = parents[j]
        add_block(h, g, chain, depth, arms, (wx, wy, wz), (ex, ey, ez))
    for m in range(parents.shape[0]):
        here = quaternion_at(q, m)
        row = 3 + 3 * m
        if turn_weights[m] > 0.0:
            e3 = quat_to_scaled_angle_axis(quat_multiply(quaternion_at(turn_targets, m), quat_inverse(here)))
            a = m
            while a >= 0:
                for k in range(3):
                    g[3 + 3 * a + k] += turn_weights[m] * e3[k]
                b = a
                while b >= 0:
                    for k in range(3):
                        h[3 + 3 * a + k, 3 + 3 * b + k] += turn_weights[m]
                    b = parents[b]
                a = parents[a]
        if parents[m] >= 0:
            above = quaternion_at(q, parents[m])
            v = quat_to_scaled_angle_axis(quat_multiply(quat_inverse(above), here))
            limit_force(v, m, means, precisions, limits, prior, strength, force, stiffness)
            # Columns of d v / d w, w in the world's axes; only this joint's own turn changes its local rotation.
            back = quat_inverse(above)
            c0 = log_inverse_jacobian(v, quat_rotate(back, (1.0, 0.0, 0.0)))
            c1 = log_inverse_jacobian(v, quat_rotate(back, (0.0, 1.0, 0.0)))
            c2 = log_inverse_jacobian(v, quat_rotate(back, (0.0, 0.0, 1.0)))
            for a in range(3):
                ca = c0 if a == 0 else (c1 if a == 1 else c2)
                g[row + a] -= ca[0] * force[0] + ca[1] * force[1] + ca[2] * force[2]
                for b in range(a + 1):
                    cb = c0 if b == 0 else (c1 if b == 1 else c2)
                    total = 0.0
                    for r in range(3):
                        total += ca[r] * (stiffness[r, 0] * cb[0] + stiffness[r, 1] * cb[1] + stiffness[r, 2] * cb[2])
                    h[row + a, row + b] += total
    if look_weight > 0.0:
        ahead = quat_rotate(quaternion_at(q, look_joint), (0.0, 0.0, 1.0))
        error = vec_subtract(look_line(look, p, look_joint), ahead)
        force3 = cross(ahead, error)
        a = look_joint
        while a >= 0:
            for k in range(3):
                g[3 + 3 * a + k] += look_weight * force3[k]
            b = a
            while b >= 0:
                for k in range(3):
                    for c in range(3):
                        unit = 1.0 if k == c else 0.0
                        h[3 + 3 * a + k, 3 + 3 * b + c] += look_weight * (unit - ahead[k] * ahead[c])
                b = parents[b]
            a = parents[a]


@kernel
def descend(
    targets: Any, weights: Any, turn_targets: Any, turn_weights: Any, look: Any, look_joint: int, look_weight: float,
    parents: Any, offsets: Any, owners: Any, sites: Any, means: Any, precisions: Any, limits: Any, prior: float,
    strength: float, floor: Any, floor_weight: float, q: Any, p: Any, x: Any, q_next: Any, p_next: Any, x_next: Any,
    h: Any, damped: Any, g: Any, way: Any, above: Any, chain: Any, arms: Any, force: Any, stiffness: Any,
    still: float, gain: float, taken: int, most: int,
) -> int:  # fmt: skip
    """Steps of Levenberg and Marquardt until one is smaller than ``still`` or gains less than ``gain`` of the cost.

    ``q [M, 4]``, ``p [M, 3]`` and ``x [43, 3]`` are moved in place; the arrays from ``q_next`` on are room to work in.
    Returns ``taken`` and the steps taken here, ``most`` at most.
    """
    n, joints = h.shape[0], parents.shape[0]
    cost = total_cost(
        targets, weights, turn_targets, turn_weights, look, look_joint, look_weight, parents, means, precisions, limits,
        prior, strength, floor, floor_weight, q, p, x, force, stiffness,
    )  # fmt: skip
    damping = _DAMPING
    rebuild = True
    while taken < most and damping < _MOST_DAMPING:
        taken += 1
        if rebuild:
            build_normal(
                targets, weights, turn_targets, turn_weights, look, look_joint, look_weight, parents, owners, means,
                precisions, limits, prior, strength, floor, floor_weight, q, p, x, h, g, chain, arms, force, stiffness,
            )  # fmt: skip
        for k in range(n):
            i = k
            while i >= 0:
                damped[k, i] = h[k, i]
                i = above[i]
            damped[k, k] += damping + 1e-9 * h[k, k]
            way[k] = g[k]
        if not solve_along_tree(damped, way, above):
            damping *= 10.0
            rebuild = False
            continue
        largest = 0.0
        for k in range(n):
            largest = max(largest, abs(way[k]))
        shorter = min(1.0, 1.0 / max(largest, 1e-12))
        for k in range(3):
            p_next[0, k] = p[0, k] + shorter * way[k]
        for j in range(joints):
            turn = quat_from_scaled_angle_axis(
                (shorter * way[3 + 3 * j], shorter * way[4 + 3 * j], shorter * way[5 + 3 * j])
            )
            if parents[j] >= 0:
                # What turns the joints above turns this one too.
                up = parents[j]
                carried = quat_multiply(quaternion_at(q_next, up), quat_inverse(quaternion_at(q, up)))
                turn = quat_multiply(carried, turn)
            put4(q_next, j, quat_normalize(quat_multiply(turn, quaternion_at(q, j))))
        forward_points(parents, offsets, owners, sites, q_next, p_next, x_next)
        next_cost = total_cost(
            targets, weights, turn_targets, turn_weights, look, look_joint, look_weight, parents, means, precisions,
            limits, prior, strength, floor, floor_weight, q_next, p_next, x_next, force, stiffness,
        )  # fmt: skip
        if next_cost <= cost:
            small = shorter * largest < still
            gained = cost - next_cost
            q[:], p[:], x[:] = q_next, p_next, x_next
            cost = next_cost
            damping = max(0.1 * damping, _LEAST_DAMPING)
            rebuild = True
            if small or gained < gain * cost:
                break
        else:
            damping *= 10.0
            rebuild = False
            if largest < 1e-7:
                break
    return taken


@kernel
def project_poses(
    targets: Any, weights: Any, turn_targets: Any, turn_weights: Any, looks: Any, look_joint: int,
    look_weights: Any, parents: Any, offsets: Any, owners: Any, sites: Any, firsts: Any, members: Any,
    member_offsets: Any, elbows: Any, elbow_bones: Any, elbow_axes: Any, knees: Any, knee_bones: Any, means: Any,
    precisions: Any, limits: Any, prior: float, strength: float, floor: Any, floor_weight: float, most: int,
    rotations: Any, hips: Any, points: Any, steps: Any,
) -> None:  # fmt: skip
    """Project poses one after the other.

    Args:
        targets: ``[N, 43, 3]`` metres; weights: the same shape, one over square metres.
        turn_targets: ``[N, M, 4]`` canonical rotations wished for; turn_weights: ``[N, M]``, one over square radians.
        looks: ``[N, 3]`` what the head (``look_joint``) looks at; look_weights: ``[N]``.
        parents, offsets, owners, sites, firsts, members, member_offsets: see
            :class:`~ambulo.posing.canonical_body.CanonicalBody`.
        elbows: ``[2, 2]`` upper arm and forearm; elbow_bones, elbow_axes: ``[2, 3]``; knees, knee_bones: the same.
        means, precisions, limits: ``[M, 3]``, ``[M, 3, 3]``, ``[M, 7]``, of local canonical rotation vectors.
        prior, strength: weights of the learned Gaussian inside its limits and past them.
        floor: ``[43]``, least height of each point; floor_weight: 0 for no floor.
        most: steps at most.
        rotations: ``[N, M, 4]``, hips: ``[N, 3]``, points: ``[N, 43, 3]``, steps: ``[N]``; set.
    """
    joints, count = parents.shape[0], owners.shape[0]
    n = 3 + 3 * joints
    h, damped, g, way = np.empty((n, n)), np.empty((n, n)), np.empty(n), np.empty(n)
    above = np.empty(n, np.int64)
    for k in range(n):
        above[k] = k - 1
    for j in range(joints):
        above[3 + 3 * j] = 2 if parents[j] < 0 else 3 + 3 * parents[j] + 2
    q, p, x = np.empty((joints, 4)), np.empty((joints, 3)), np.empty((count, 3))
    q_next, p_next, x_next = np.empty((joints, 4)), np.empty((joints, 3)), np.empty((count, 3))
    chain, arms = np.empty(joints, np.int64), np.empty((joints, 3))
    force, stiffness = np.empty(3), np.empty((3, 3))
    soft, soft_turns = np.empty((count, 3)), np.empty(joints)
    for t in range(targets.shape[0]):
        start_pose(targets[t], parents, offsets, firsts, members, member_offsets, q, p)
        for s in range(elbows.shape[0]):
            align_hinge(q, elbows[s, 0], elbows[s, 1], vector_at(elbow_bones, s), vector_at(elbow_axes, s))
        for s in range(knees.shape[0]):
            bend_hinge(q, knees[s, 0], knees[s, 1], vector_at(knee_bones, s), (1.0, 0.0, 0.0))
        forward_points(parents, offsets, owners, sites, q, p, x)
        look_weight = look_weights[t]
        taken = 0
        for stage in range(3):
            spread, still, gain = _STAGES[stage]
            most_weight = 1e30 if spread == 0.0 else 1.0 / (spread * spread)
            for i in range(count):
                for k in range(3):
                    soft[i, k] = min(weights[t, i, k], most_weight)
            for j in range(joints):
                soft_turns[j] = min(turn_weights[t, j], most_weight)
            taken = descend(
                targets[t], soft, turn_targets[t], soft_turns, looks[t], look_joint, min(look_weight, most_weight),
                parents, offsets, owners, sites, means, precisions, limits, prior, strength, floor,
                min(floor_weight, most_weight), q, p, x, q_next, p_next, x_next, h, damped, g, way, above, chain, arms,
                force, stiffness, still, gain, taken, most - 3 * (2 - stage),
            )  # fmt: skip
        steps[t] = taken
        rotations[t] = q
        hips[t] = p[0]
        points[t] = x

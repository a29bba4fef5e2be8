"""Compiled normal equations of a tree of joints.

Joints in different branches do not meet in the normal matrix; it is factored along the tree with no fill-in (R.
Featherstone, "Efficient factorization of the joint-space inertia matrix for branched kinematic trees", IJRR 24, 2005).
"""

from __future__ import annotations

import math
from typing import Any

from ambulo.maths.kernels import Vector, kernel


@kernel
def add_block(h: Any, g: Any, chain: Any, depth: int, arms: Any, weight: Vector, error: Vector) -> None:
    """Add a point's rows: ``arms [depth, 3]`` from the joints of its chain to it, and the hips' way."""
    wx, wy, wz = weight
    ex, ey, ez = wx * error[0], wy * error[1], wz * error[2]
    h[0, 0] += wx
    h[1, 1] += wy
    h[2, 2] += wz
    g[0] += ex
    g[1] += ey
    g[2] += ez
    for a in range(depth):
        ax, ay, az = arms[a, 0], arms[a, 1], arms[a, 2]
        row = 3 + 3 * chain[a]
        # d x / d w = -[r]x: columns (0, -z, y), (z, 0, -x), (-y, x, 0) for turns about x, y, z.
        g[row] += -az * ey + ay * ez
        g[row + 1] += az * ex - ax * ez
        g[row + 2] += -ay * ex + ax * ey
        h[row, 1] += -az * wy
        h[row, 2] += ay * wz
        h[row + 1, 0] += az * wx
        h[row + 1, 2] += -ax * wz
        h[row + 2, 0] += -ay * wx
        h[row + 2, 1] += ax * wy
        for b in range(a, depth):
            # chain runs from the point up, so chain[b] is above chain[a] and its columns come first.
            bx, by, bz = arms[b, 0], arms[b, 1], arms[b, 2]
            col = 3 + 3 * chain[b]
            h[row, col] += az * wy * bz + ay * wz * by
            h[row, col + 1] += -ay * wz * bx
            h[row, col + 2] += -az * wy * bx
            h[row + 1, col] += -ax * wz * by
            h[row + 1, col + 1] += az * wx * bz + ax * wz * bx
            h[row + 1, col + 2] += -az * wx * by
            h[row + 2, col] += -ax * wy * bz
            h[row + 2, col + 1] += -ay * wx * bz
            h[row + 2, col + 2] += ay * wx * by + ax * wy * bx


@kernel
def solve_along_tree(h: Any, g: Any, above: Any) -> bool:
    """Solve ``h d = g`` in place (d in g), h given below the diagonal along ``above`` (each row's next column left).

    Returns False where h is not positive definite.
    """
    n = h.shape[0]
    for k in range(n - 1, -1, -1):
        if not h[k, k] > 0.0:
            return False
        root = math.sqrt(h[k, k])
        h[k, k] = root
        i = above[k]
        while i >= 0:
            h[k, i] /= root
            i = above[i]
        i = above[k]
        while i >= 0:
            j = i
            f = h[k, i]
            while j >= 0:
                h[i, j] -= f * h[k, j]
                j = above[j]
            i = above[i]
    # h = L^T L
    for k in range(n - 1, -1, -1):
        g[k] /= h[k, k]
        i = above[k]
        while i >= 0:
            g[i] -= h[k, i] * g[k]
            i = above[i]
    for k in range(n):
        i = above[k]
        while i >= 0:
            g[k] -= h[k, i] * g[i]
            i = above[i]
        g[k] /= h[k, k]
    return True

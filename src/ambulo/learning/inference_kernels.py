"""Compiled product of a few rows with a layer: at one row the processor waits for weights, so zeros are passed over."""

from __future__ import annotations

from typing import Any

from ambulo.maths.kernels import kernel


@kernel
def dense(values: Any, weights: Any, bias: Any, rectify: bool, out: Any) -> None:
    """Fill ``out [N, M]`` with ``values [N, K] @ weights [K, M] + bias``, after ``max(values, 0)`` if ``rectify``.

    Rows of weights whose value is zero are not read: after a rectifier that is half of them. Four others at a time, so
    that the sums in ``out`` are read and written a quarter as often.
    """
    width, size = weights.shape
    for n in range(values.shape[0]):
        row = out[n]
        for m in range(size):
            row[m] = bias[m]
        held = 0
        i0 = i1 = i2 = 0
        for k in range(width):
            v = values[n, k]
            if v == 0.0 or (rectify and v < 0.0):
                continue
            if held == 0:
                i0 = k
            elif held == 1:
                i1 = k
            elif held == 2:
                i2 = k
            else:
                a, b, c = values[n, i0], values[n, i1], values[n, i2]
                for m in range(size):
                    row[m] += a * weights[i0, m] + b * weights[i1, m] + c * weights[i2, m] + v * weights[k, m]
                held = -1
            held += 1
        if held > 0:
            a = values[n, i0]
            for m in range(size):
                row[m] += a * weights[i0, m]
        if held > 1:
            b = values[n, i1]
            for m in range(size):
                row[m] += b * weights[i1, m]
        if held > 2:
            c = values[n, i2]
            for m in range(size):
                row[m] += c * weights[i2, m]

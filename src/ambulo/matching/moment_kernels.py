"""Mean and spread of the features of many frames, a block at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ambulo.maths.kernels import strict_kernel


@strict_kernel
def finite_rows(raw: Any, finite: Any) -> None:
    """Clear ``finite`` (bool ``[n]``) where a row of ``raw`` (float32 ``[n, D]``) has a value that is not finite."""
    for i in range(raw.shape[0]):
        total = np.float32(0.0)
        for d in range(raw.shape[1]):
            total += raw[i, d] * np.float32(0.0)  # 0, or NaN
        if total != np.float32(0.0):
            finite[i] = False


@strict_kernel
def block_moments(raw: Any, keep: Any, block: int, counts: Any, means: Any, squares: Any) -> None:
    """Moments of blocks of frames.

    Args:
        raw: float32 ``[n, D]``; rows that are not finite do not count.
        keep: uint8 ``[n]``, 0 where a row does not count.
        block: rows a block; the last one may have fewer.
        counts: int64 ``[blocks]``, out: rows that count.
        means: float64 ``[blocks, D]``, out.
        squares: float64 ``[blocks, D]``, out: sums of squared differences from the block's own mean.
    """
    dimensions = raw.shape[1]
    good = np.empty(block, np.bool_)
    for b in range(counts.shape[0]):
        start, stop = b * block, min((b + 1) * block, raw.shape[0])
        count = 0
        for i in range(start, stop):
            total = np.float32(0.0)
            for d in range(dimensions):
                total += raw[i, d] * np.float32(0.0)
            good[i - start] = keep[i] != 0 and total == np.float32(0.0)
            if good[i - start]:
                count += 1
                for d in range(dimensions):
                    means[b, d] += np.float64(raw[i, d])
        counts[b] = count
        if count == 0:
            continue
        for d in range(dimensions):
            means[b, d] /= count
        for i in range(start, stop):
            if good[i - start]:
                for d in range(dimensions):
                    difference = np.float64(raw[i, d]) - means[b, d]
                    squares[b, d] += difference * difference

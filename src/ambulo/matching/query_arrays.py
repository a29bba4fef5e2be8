"""The arrays that a search is asked with, checked and in the form that kernels are compiled for."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import QueryError
from ambulo.matching.binding import no_skips

_NO_SKIPS = no_skips(1)
NONE_PLAYING = np.full(1, -1, np.int64)
# Compared by identity, which is ten times faster than by value; what fails that is converted.
_FLOAT, _INT = np.dtype(np.float32), np.dtype(np.int64)


def query_rows(queries: ArrayLike, dimension_count: int) -> NDArray[np.float32]:
    """Queries as the kernels take them, float32 ``[N, D]``; copied only where they must be."""
    rows: NDArray[np.float32]
    if type(queries) is np.ndarray and queries.ndim == 2 and queries.dtype is _FLOAT and queries.flags.carray:
        rows = queries
    else:
        # Kernels are compiled for arrays that may be written to; another one would compile them again.
        rows = np.require(np.asarray(queries, np.float32), requirements=["C", "A", "W"])
        if rows.ndim == 1:
            rows = rows[None]
    if rows.ndim != 2 or rows.shape[1] != dimension_count:
        raise QueryError(f"queries must be [N, {dimension_count}], got {list(np.shape(queries))}", key="queries")
    return rows


def query_skips(skips: NDArray[np.int64] | None, count: int) -> NDArray[np.int64]:
    """Ranges to skip as the kernels take them, int64 ``[N, K, 2]``."""
    if skips is None:
        return _NO_SKIPS if count == 1 else no_skips(count)
    ranges = np.require(skips, np.int64, ["C", "A", "W"])
    if ranges.ndim != 3 or ranges.shape[0] != count or ranges.shape[2] != 2:
        raise QueryError(f"skips must be [{count}, K, 2], got {list(ranges.shape)}", key="skips")
    return ranges


def query_frames(current: ArrayLike | None, count: int) -> NDArray[np.int64]:
    """Current frames as the kernels take them, int64 ``[N]``, -1 for none."""
    if current is None:
        return np.full(count, -1, np.int64)
    frames: NDArray[np.int64]
    if type(current) is np.ndarray and current.ndim == 1 and current.dtype is _INT and current.flags.carray:
        frames = current
    else:
        frames = np.require(np.asarray(current, np.int64), requirements=["C", "A", "W"]).reshape(-1)
    if frames.shape[0] != count:
        raise QueryError(f"current must be [{count}], one frame a query, got {list(np.shape(current))}", key="current")
    return frames

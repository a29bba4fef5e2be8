"""Search by looking at every frame: the reference that all other methods must equal, and the same through BLAS."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
_CHUNK = 65536


class Found(NamedTuple):
    """One answer: the frame (-1 for none) and its cost (infinite for none)."""

    frame: int
    cost: float


def exact_costs(
    raw: NDArray[np.float32], query: NDArray[np.float32], coefficients: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Cost of every frame, float64 ``[F]``: equal to :func:`ambulo.matching.cost_kernels.exact_cost` to the last bit.

    Args:
        raw: ``[F, D]``.
        query: ``[D]``, raw.
        coefficients: ``[D]``, weight over scale.
    """
    costs = np.empty(raw.shape[0], np.float64)
    wanted = query.astype(np.float64)
    for start in range(0, raw.shape[0], _CHUNK):
        rows = raw[start : start + _CHUNK]
        partial = [np.zeros(rows.shape[0]) for _ in range(4)]
        for dimension in range(raw.shape[1]):
            scaled = (rows[:, dimension].astype(np.float64) - wanted[dimension]) * coefficients[dimension]
            partial[dimension % 4] += scaled.astype(np.float32).astype(np.float64) ** 2
        costs[start : start + _CHUNK] = (partial[0] + partial[1]) + (partial[2] + partial[3])
    return costs


def search_plain(
    costs: NDArray[np.float64],
    candidates: NDArray[np.bool_],
    *,
    current: int = -1,
    allowed: NDArray[np.bool_] | None = None,
    clip_starts: NDArray[np.int64] | None = None,
    clip_stops: NDArray[np.int64] | None = None,
    bias: float = 0.0,
    surround_frames: int = 20,
    skips: NDArray[np.int64] | None = None,
) -> Found:
    """What a search means, in a few lines.

    The best candidate is the one of least cost, the lower frame on equality. Where the current frame may go on being
    played, frames of its clip nearer than ``surround_frames`` are no candidates, and the best one wins only if it costs
    less than the current frame minus the bias; else the current frame stays.

    Args:
        costs: float64 ``[F]``, see :func:`exact_costs`; where frames have penalties, with those added.
        candidates: ``[F]``, frames that may be jumped to.
        current: the frame now playing; -1 for none.
        allowed: ``[F]``, frames that may go on being played; None allows all.
        clip_starts: ``[C]``; clip_stops: ``[C]``; needed with a current frame.
        bias: what a jump costs more than going on.
        surround_frames: see above.
        skips: int64 ``[K, 2]``, ranges of frames that are no candidates.
    """
    open_to = candidates.copy()
    for start, stop in [] if skips is None else skips:
        open_to[max(start, 0) : max(stop, 0)] = False
    limit = np.inf
    if current >= 0 and (allowed is None or allowed[current]):
        assert clip_starts is not None and clip_stops is not None
        clip = int(np.searchsorted(clip_starts, current, side="right")) - 1
        start = max(current - surround_frames + 1, int(clip_starts[clip]))
        stop = min(current + surround_frames, int(clip_stops[clip]))
        open_to[start:stop] = False
        limit = costs[current] - bias
    if open_to.any():
        frames = np.nonzero(open_to)[0]
        best = int(frames[np.argmin(costs[frames])])
        if costs[best] < limit:
            return Found(best, float(costs[best]))
    if limit < np.inf:
        return Found(current, float(costs[current]))
    return Found(-1, np.inf)


class SearchBlas:
    """Nearest frame by one matrix-vector product: ``|x|^2 - 2 x.q``. The best that NumPy alone can do.

    The product is rounded; every frame within its error of the best is compared again exactly.
    """

    def __init__(self, raw: NDArray[np.float32], mean: NDArray[np.float64], coefficients: NDArray[np.float64]) -> None:
        self._raw = raw
        self._mean, self._coefficients = mean, coefficients
        rows = ((raw - mean) * coefficients).astype(np.float32)
        self._rows = np.ascontiguousarray(rows.T)
        self._half_squares = (0.5 * np.einsum("nd,nd->n", rows, rows)).astype(np.float32)
        self._longest = float(np.sqrt(2.0 * self._half_squares.max(initial=0.0)))

    def search(self, query: NDArray[np.float32]) -> Found:
        """Best of all frames for a raw query ``[D]``."""
        wanted = ((query - self._mean) * self._coefficients).astype(np.float32)
        scores = self._half_squares - wanted @ self._rows
        length = float(np.sqrt(wanted.astype(np.float64) @ wanted))
        error = 64.0 * 2.0**-24 * self._longest * (self._longest + length)
        near = np.nonzero(scores <= scores.min() + error)[0]
        costs = exact_costs(self._raw[near], query, self._coefficients)
        best = int(np.argmin(costs))
        return Found(int(near[best]), float(costs[best]))

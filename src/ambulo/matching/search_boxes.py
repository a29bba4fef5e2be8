"""Boxes over runs of 16 and 64 consecutive frames, as in D. Holden's public Motion-Matching code.

Here as the yardstick: what the same search costs without our tree, in the same language. It wins on nothing that we
have measured, but an index may be built with it, and it is exact like the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.matching.binding import NO_PENALTY, Bound, Shared
from ambulo.matching.features import FeatureSet

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class SearchBoxes:
    """Two levels of boxes over the candidates in the order of time.

    Attributes:
        feature_set: whose frames.
        reach: greatest length of a row.
        rows: float32 ``[n, P]``, normalised, unweighted candidates; P is D rounded up to a multiple of 8.
        row_frames: int32 ``[n]``.
        small_low, small_high: float32 ``[n / 16, P]``.
        large_low, large_high: float32 ``[n / 64, P]``.
    """

    feature_set: FeatureSet
    reach: float
    rows: NDArray[np.float32]
    row_frames: NDArray[np.int32]
    small_low: NDArray[np.float32]
    small_high: NDArray[np.float32]
    large_low: NDArray[np.float32]
    large_high: NDArray[np.float32]

    ARRAYS: ClassVar[tuple[str, ...]] = (
        "rows", "row_frames", "small_low", "small_high", "large_low", "large_high",
    )  # fmt: skip
    kind: ClassVar[str] = "boxes"

    @classmethod
    def build(
        cls, feature_set: FeatureSet, frames: NDArray[np.int32], penalty: NDArray[np.float32] = NO_PENALTY
    ) -> SearchBoxes:
        """Build over some frames, int32 ``[n]``, ascending, all finite; ``penalty`` as in :class:`Shared`."""
        from ambulo.matching.boxes_kernels import CHUNK, LARGE, SMALL, fill_bounds

        unit = feature_set.coefficients(np.ones(len(feature_set.schema.groups)))
        width = feature_set.dimension_count
        extra = 1 if len(penalty) else 0
        rows = np.zeros((frames.shape[0], -(-(width + extra) // CHUNK) * CHUNK), np.float32)
        rows[:, :width] = (feature_set.raw[frames] - feature_set.mean.astype(np.float64)) * unit
        if extra:
            rows[:, width] = np.sqrt(penalty[frames])
        bounds = []
        for size in (SMALL, LARGE):
            boxes = -(-rows.shape[0] // size)
            low, high = np.empty((boxes, rows.shape[1]), np.float32), np.empty((boxes, rows.shape[1]), np.float32)
            fill_bounds(rows, size, low, high)
            bounds += [low, high]
        reach = float(np.sqrt(np.einsum("nd,nd->n", rows, rows, dtype=np.float64).max(initial=0.0)))
        return cls(feature_set, reach, rows, frames, *bounds)

    def bind(self, shared: Shared, weights: ArrayLike | None) -> Bound:
        """The compiled search and what it needs for some group weights."""
        from ambulo.matching.boxes_kernels import search_boxes

        schema = self.feature_set.schema
        ratios = np.ones(self.rows.shape[1], np.float32)
        ratios[: schema.dimension_count] = schema.checked_weights(weights)[schema.group_of_dimension]
        arguments = (
            *shared,
            self.feature_set.mean.astype(np.float64),
            ratios,
            self.reach * float(ratios.max(initial=0.0)),
            *(getattr(self, name) for name in self.ARRAYS),
        )
        return Bound(search_boxes, arguments, ())

    def to_arrays(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Arrays to store, and the JSON-ready rest."""
        return {name: getattr(self, name) for name in self.ARRAYS}, {"reach": self.reach}

    @classmethod
    def from_arrays(cls, feature_set: FeatureSet, arrays: Mapping[str, Array], rest: Mapping[str, Any]) -> SearchBoxes:
        """Inverse of :meth:`to_arrays`."""
        return cls(feature_set, float(rest["reach"]), **{name: arrays[name] for name in cls.ARRAYS})

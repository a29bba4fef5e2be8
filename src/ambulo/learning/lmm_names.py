"""Which frame of the database a learned pose is most like: for measures, reports and the studio."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ambulo.control.frame_sets import FrameSets
from ambulo.control.settings import SearchSettings
from ambulo.learning.lmm_model import LmmModel

if TYPE_CHECKING:
    from ambulo.database.database import Database
    from ambulo.matching.index import SearchIndex


class FrameNames:
    """Names frames by exact search.

    Args:
        model: how features are compared.
        database: whose frames they are named after.
        index: over its features.
        search: which frames may be shown.
    """

    def __init__(self, model: LmmModel, database: Database, index: SearchIndex, search: SearchSettings) -> None:
        self.database = database
        self._index = index
        frame_set = FrameSets(database, index, search, search.minimum_run).of(tuple(model.manifest.tags), ())
        self._mask, self._run_stops = frame_set.mask, frame_set.run_stops
        self.candidate_count = frame_set.candidate_count
        firsts = [group.start for group in model.schema.groups]
        scale = index.feature_set.scale
        self._weights = (model.feature_coefficients.astype(np.float64) * scale)[firsts].astype(np.float32)

    def nearest(self, raw: NDArray[np.float32]) -> NDArray[np.float64]:
        """The frames most like raw features ``[N, D]``, float64 ``[N]``."""
        found = self._index.search(raw, mask=self._mask, weights=self._weights).frames
        return np.maximum(found, 0).astype(np.float64)

    def play_on(self, playhead: NDArray[np.float64], dt: float) -> NDArray[np.float64]:
        """The playheads ``dt`` seconds later, held at the end of their run."""
        last = np.maximum(self._run_stops[playhead.astype(np.int64)] - 1, 0)
        return np.minimum(playhead + dt * self.database.rate, last)

    def contacts(self, playhead: NDArray[np.float64]) -> NDArray[np.uint8]:
        """The contacts of the frames of playheads, uint8 ``[N, 2]``."""
        return np.asarray(self.database.contacts[np.rint(playhead).astype(np.int64)], np.uint8)

    def raw(self, frame: int) -> NDArray[np.float32]:
        """Raw features of a frame, ``[D]``."""
        return np.asarray(self._index.feature_set.raw[frame], np.float32)

    def locate(self, frame: int) -> tuple[str, float]:
        """Name of a frame's clip, and the time in seconds of the take."""
        clip, time = self.database.locate(frame)
        return clip.name, time

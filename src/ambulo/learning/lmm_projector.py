"""The projector: a query in, the features and latents of the frame that fits best out; search without a database.

After D. Holden et al., "Learned Motion Matching" (SIGGRAPH 2020), section 4.4. Targets are those of our own exact
search, found before training begins.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ambulo.learning.lmm_frames import LmmFrames
from ambulo.learning.lmm_presets import ProjectorSizes
from ambulo.learning.lmm_queries import Queries
from ambulo.learning.network import Network

Float = NDArray[np.float32]


class ProjectorTask:
    """Trains the projector. A :class:`ambulo.learning.training.Task`.

    Args:
        frames: the training data.
        latents: float32 ``[F, L]``.
        queries: to learn from.
        held_out: to be judged by.
        sizes: widths.
        seed: of the first weights.
        model: goes on from this network.
    """

    def __init__(
        self,
        frames: LmmFrames,
        latents: Float,
        queries: Queries,
        held_out: Queries,
        sizes: ProjectorSizes | None = None,
        *,
        seed: int = 0,
        model: Network | None = None,
    ) -> None:
        self.name = "projector"
        self.sizes = sizes or ProjectorSizes()
        self.queries, self.held = queries, held_out
        self.features = frames.features
        self._values = np.concatenate([frames.features, latents], axis=1)
        self.feature_count = frames.features.shape[1]
        std = np.maximum(self._values.std(axis=0), 1e-3)
        if model is None:
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                width = self._values.shape[1]
                model = Network((self.feature_count, *self.sizes.hidden, width), self.sizes.activation)
            asked = queries.queries
            model.set_normalisation(asked.mean(axis=0), asked.std(axis=0), self._values.mean(axis=0), std)
        self.model = model

    def place(self, device: torch.device) -> None:
        """See :class:`~ambulo.learning.training.Task`."""
        self.values = torch.from_numpy(self._values).to(device)
        self.asked = torch.from_numpy(self.queries.queries).to(device)
        self.rows = torch.from_numpy(self.queries.rows).to(device)
        self.device = device

    def batch(self, random: np.random.Generator, size: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Queries and the values of the rows that answer them."""
        index = torch.from_numpy(random.integers(0, len(self.asked), size)).to(self.device)
        return self.asked.index_select(0, index), self.values.index_select(0, self.rows.index_select(0, index))

    def loss(
        self, batch: tuple[torch.Tensor, torch.Tensor], progress: float
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """See :class:`~ambulo.learning.training.Task`."""
        asked, true = batch
        found = self.model(asked)
        gap = (found - true).abs() / self.model.output_std
        width = self.feature_count
        distance = (asked - found[:, :width]).norm(dim=1) - (asked - true[:, :width]).norm(dim=1)
        parts = {
            "features": gap[:, :width].mean(),
            "latents": gap[:, width:].mean(),
            "distance": distance.abs().mean(),
        }
        total = parts["features"] + self.sizes.latents * parts["latents"] + self.sizes.distance * parts["distance"]
        return total, parts

    def validate(self) -> dict[str, float]:
        """Errors on held-out queries, see :meth:`errors`."""
        return self.errors(self.held)

    @torch.no_grad()
    def errors(self, held: Queries) -> dict[str, float]:
        """Where the projector lands: ``cost_ratio``, median cost of the row nearest to where it lands over the best
        row's; ``cost_ratio_p90``; ``raw_ratio``, the same of the landing place itself; ``off``, median distance between
        it and its nearest row, as a part of the distance between the query and its best row."""
        count = min(len(held.queries), 2048)
        asked, rows = held.queries[:count], held.rows[:count]
        found = self.model(torch.from_numpy(asked).to(self.device)).cpu().numpy()
        landed = np.ascontiguousarray(found[:, : self.feature_count])
        nearest = nearest_rows(self.features, landed)
        best = np.square(asked - self.features[rows]).sum(axis=1)
        snapped = np.square(asked - self.features[nearest]).sum(axis=1)
        raw = np.square(asked - landed).sum(axis=1)
        off = np.sqrt(np.square(landed - self.features[nearest]).sum(axis=1) / np.maximum(best, 1e-6))
        ratio = snapped / np.maximum(best, 1e-6)
        return {
            "cost_ratio": float(np.median(ratio)),
            "cost_ratio_p90": float(np.quantile(ratio, 0.9)),
            "raw_ratio": float(np.median(raw / np.maximum(best, 1e-6))),
            "off": float(np.median(off)),
        }


def nearest_rows(rows: Float, queries: Float) -> NDArray[np.int64]:
    """Index of the row of ``[F, D]`` nearest to each of ``[Q, D]``, by one product a block."""
    squares = np.square(rows).sum(axis=1)
    found = np.empty(len(queries), np.int64)
    for start in range(0, len(queries), 256):
        found[start : start + 256] = np.argmin(squares - 2.0 * queries[start : start + 256] @ rows.T, axis=1)
    return found

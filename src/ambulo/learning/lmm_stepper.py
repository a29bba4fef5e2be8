"""The stepper: features and latents of a frame in, those of the next frame out; it plays on without a database.

After D. Holden et al., "Learned Motion Matching" (SIGGRAPH 2020), section 4.3: it predicts how fast both change, is
rolled out over a window and judged on all of it. Windows are short at first, where most is learned, and grow to the
full length: a rolled-out step costs as much as its length.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ambulo.learning.lmm_frames import LmmFrames, pick
from ambulo.learning.lmm_presets import StepperSizes
from ambulo.learning.network import Network

Float = NDArray[np.float32]

_SHORT, _LONG = 0.3, 0.6
# Frames after which a stepper is judged, however long its windows were.
_JUDGED = 20
_PARTS = {"features": 1.0, "latents": 1.0, "feature_rates": 0.1, "latent_rates": 0.1}


class StepperTask:
    """Trains the stepper on windows within runs. A :class:`ambulo.learning.training.Task`.

    Args:
        frames: the training data.
        latents: float32 ``[F, L]``, of the decompressor.
        sizes: widths and windows.
        seed: of the first weights.
        model: goes on from this network.
    """

    def __init__(
        self,
        frames: LmmFrames,
        latents: Float,
        sizes: StepperSizes | None = None,
        *,
        seed: int = 0,
        model: Network | None = None,
    ) -> None:
        self.name = "stepper"
        self.sizes = sizes or StepperSizes()
        self.rate = frames.rate
        self.feature_count = frames.features.shape[1]
        values = np.concatenate([frames.features, latents], axis=1)
        width = values.shape[1]
        self.values_std = np.maximum(values.std(axis=0), 1e-3).astype(np.float32)
        if model is None:
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                model = Network((width, *self.sizes.hidden, width), self.sizes.activation)
            pairs = frames.window_starts(2)
            rates = (values[pairs + 1] - values[pairs]) * frames.rate
            spread = np.maximum(rates.std(axis=0), 1e-3)
            model.set_normalisation(values.mean(axis=0), self.values_std, rates.mean(axis=0), spread)
        self.model = model
        self.fresh_share = frames.fresh_share
        self.pools = {length: frames.window_pools(length + 1) for length in self._lengths()}
        held = frames.window_starts(_JUDGED + 1, held_out=True)
        self.held = held if len(held) else frames.window_starts(_JUDGED + 1)[::50]
        self.held = self.held[:: max(len(self.held) // 1024, 1)]
        self._values = values

    def _lengths(self) -> list[int]:
        return list(range(min(self.sizes.short_window, self.sizes.window), self.sizes.window + 1))

    def place(self, device: torch.device) -> None:
        """See :class:`~ambulo.learning.training.Task`."""
        self.values = torch.from_numpy(self._values).to(device)
        self.scale = torch.from_numpy(1.0 / self.values_std).to(device)
        self.rate_scale = torch.from_numpy(1.0 / self.model.output_std.cpu().numpy()).to(device)
        self.device = device

    def batch(self, random: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Numbers that choose windows: how long they are is known when the loss is asked for."""
        return random.random(size)

    def window(self, progress: float) -> int:
        """Frames rolled out at a part of the run: short until 30 %, full from 60 % on."""
        part = min(max((progress - _SHORT) / (_LONG - _SHORT), 0.0), 1.0)
        short = min(self.sizes.short_window, self.sizes.window)
        return round(short + part * (self.sizes.window - short))

    def loss(self, batch: NDArray[np.float64], progress: float) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """See :class:`~ambulo.learning.training.Task`. Shorter windows come in larger batches: equal work a step."""
        length = self.window(progress)
        # One number of the batch draws several windows, apart by the golden ratio.
        copies = np.arange(max(round(self.sizes.window / length), 1))[:, None]
        chosen = pick(
            ((batch + copies * 0.6180339887498949) % 1.0).reshape(-1), self.pools[length], self.fresh_share(progress)
        )
        index = torch.from_numpy((chosen[:, None] + np.arange(length + 1)).T.reshape(-1)).to(self.device)
        true = self.values.index_select(0, index).reshape(length + 1, -1, self.values.shape[1])
        # The loop seeds torch anew in every step, so this noise is the same when a training is resumed.
        strength = (torch.rand(true.shape[1], 1, device=self.device) - 0.5).clamp(min=0.0) * 2.0 * self.sizes.noise
        start = true[0] + torch.randn_like(true[0]) * strength / self.scale
        found, rates = self.roll_out(start, length)
        gap = (found - true[1:]).abs() * self.scale
        rate_gap = (rates - (true[1:] - true[:-1]) * self.rate).abs() * self.rate_scale
        features = self.feature_count
        parts = {
            "features": gap[..., :features].mean(),
            "latents": gap[..., features:].mean(),
            "feature_rates": rate_gap[..., :features].mean(),
            "latent_rates": rate_gap[..., features:].mean(),
        }
        return sum((_PARTS[name] * value for name, value in parts.items()), torch.zeros((), device=self.device)), parts

    def roll_out(self, start: torch.Tensor, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        """States ``[length, B, W]`` after each step from ``[B, W]``, and the rates that led there."""
        states, rates = [], []
        state = start
        for _ in range(length):
            rate = self.model(state)
            state = state + rate / self.rate
            states.append(state)
            rates.append(rate)
        return torch.stack(states), torch.stack(rates)

    def validate(self) -> dict[str, float]:
        """Mean error after 20 frames, in standard deviations, beside that of standing still."""
        length = _JUDGED
        index = torch.from_numpy((self.held[:, None] + np.arange(length + 1)).T.reshape(-1)).to(self.device)
        true = self.values.index_select(0, index).reshape(length + 1, -1, self.values.shape[1])
        found, _ = self.roll_out(true[0], length)
        gap = ((found[-1] - true[-1]).abs() * self.scale).mean()
        still = ((true[0] - true[-1]).abs() * self.scale).mean()
        return {"deviations": float(gap), "of_standing_still": float(gap / still)}

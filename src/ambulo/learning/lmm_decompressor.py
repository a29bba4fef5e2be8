"""The decompressor: features and latent numbers in, a whole pose out; and the compressor that finds those numbers.

After D. Holden et al., "Learned Motion Matching" (SIGGRAPH 2020), section 4.2: both are trained as one autoencoder, of
which only the decoder goes to the game. Three things differ and save most of the time: the compressor begins as the
principal components of what features do not tell about a pose, rotations are predicted in the root's frame (see
:mod:`ambulo.learning.pose_layout`), and errors are taken on whole batches of poses without a walk down the skeleton.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import torch
from numpy.typing import NDArray

from ambulo.learning.lmm_frames import LmmFrames, pick
from ambulo.learning.lmm_presets import DecompressorSizes
from ambulo.learning.network import Network
from ambulo.learning.pose_space import PoseSpace

Float = NDArray[np.float32]

LOSS_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "place": 15.0,
        "rotation": 10.0,
        "hips": 15.0,
        "velocity": 1.0,
        "turning": 0.3,
        "root_velocity": 2.0,
        "root_turning": 1.0,
        "contact": 1.0,
        "place_rate": 1.0,
        "rotation_rate": 0.5,
        "latent": 0.1,
        "latent_rate": 0.01,
    }
)
"""Weights of the mean absolute errors: joints' places in the root's frame (m), rotation matrices, moving joints' local
places (m) and velocities, joints' turning (rad/s), the root's velocities, contacts; differences of places and rotations
between two frames (a second); size and speed of latents."""


class Compressor(torch.nn.Module):
    """Pose in, latents out: a linear map, plus a network that learns what it misses (it begins with nothing)."""

    mean: torch.Tensor
    std: torch.Tensor

    def __init__(self, width: int, sizes: DecompressorSizes) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("std", torch.ones(width))
        self.linear = torch.nn.Linear(width, sizes.latent)
        self.rest = Network((width, *sizes.compressor, sizes.latent), "elu") if sizes.compressor else None
        if self.rest is not None:
            last = self.rest.layers[-1]
            torch.nn.init.zeros_(last.weight)  # type: ignore[arg-type]
            torch.nn.init.zeros_(last.bias)  # type: ignore[arg-type]

    def forward(self, poses: torch.Tensor) -> torch.Tensor:
        """Latents ``[B, L]`` of what :func:`compressor_input` gives ``[B, W]``."""
        values = (poses - self.mean) / self.std
        latent: torch.Tensor = self.linear(values)
        latent = latent if self.rest is None else latent + self.rest(values)
        return latent.float()


class Autoencoder(torch.nn.Module):
    """Compressor and decompressor."""

    def __init__(self, frames: LmmFrames, sizes: DecompressorSizes, seed: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            inputs = compressor_input(frames)
            self.compressor = Compressor(inputs.shape[1], sizes)
            width = frames.features.shape[1] + sizes.latent
            self.decompressor = Network((width, *sizes.hidden, frames.layout.size), sizes.activation)
        seen = ~frames.held_out
        spread = _spread(frames.poses[seen], frames.layout.columns)
        self.decompressor.set_normalisation(output_mean=frames.poses[seen].mean(axis=0), output_std=spread)
        _begin_compressor(self.compressor, frames, inputs, seen)


def compressor_input(frames: LmmFrames) -> Float:
    """What the compressor sees of each frame, float32 ``[F, W]``: the pose's row, and the joints' places."""
    return np.concatenate([frames.poses, frames.positions.reshape(len(frames.poses), -1)], axis=1)


class DecompressorTask:
    """Trains both networks on windows of two frames. A :class:`ambulo.learning.training.Task`."""

    def __init__(
        self,
        frames: LmmFrames,
        sizes: DecompressorSizes | None = None,
        *,
        weights: Mapping[str, float] = LOSS_WEIGHTS,
        seed: int = 0,
        model: Autoencoder | None = None,
    ) -> None:
        self.name = "decompressor"
        self.frames = frames
        self.model = model or Autoencoder(frames, sizes or DecompressorSizes(), seed)
        self.weights = dict(weights)
        self.pools = frames.window_pools(2)
        self.space = PoseSpace(frames.layout)
        held = np.flatnonzero(frames.held_out)
        self.held = held if len(held) else np.arange(0, len(frames.frames), 50)
        self._names = ("features", "poses", "inputs", "positions")

    def place(self, device: torch.device) -> None:
        """See :class:`~ambulo.learning.training.Task`."""
        frames = self.frames
        arrays = (frames.features, frames.poses, compressor_input(frames), frames.positions)
        self.data = {name: torch.from_numpy(a).to(device) for name, a in zip(self._names, arrays, strict=True)}
        if not any(parameter.requires_grad for parameter in self.model.compressor.parameters()):
            with torch.no_grad():  # a compressor that stays says the same of a frame in every step
                self.data["latents"] = torch.cat([self.model.compressor(rows) for rows in self._blocks()])
        self.space.to(device)
        self.device = device

    def batch(self, random: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Numbers that choose windows: how many of them are new is known when the loss is asked for."""
        return random.random(size)

    def rows(self, rows: NDArray[np.int64]) -> dict[str, torch.Tensor]:
        """The data of some rows."""
        index = torch.from_numpy(rows).to(self.device)
        return {name: array.index_select(0, index) for name, array in self.data.items()}

    def loss(self, batch: NDArray[np.float64], progress: float) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """See :class:`~ambulo.learning.training.Task`."""
        starts = pick(batch, self.pools, self.frames.fresh_share(progress))
        return self.loss_of(self.rows(np.concatenate([starts, starts + 1])))

    def loss_of(self, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The loss and its parts on rows ``[2 * size, ...]``, all first frames of windows and then all second ones."""
        latent = batch["latents"] if "latents" in batch else self.model.compressor(batch["inputs"])
        found = self.model.decompressor(torch.cat([batch["features"], latent], dim=1))
        poses, columns, rate = batch["poses"], self.frames.layout.columns, self.frames.rate
        matrices = self.space.matrices(found)
        places = self.space.positions(found, matrices)
        true_places = batch["positions"].transpose(1, 2)
        half = len(found) // 2

        def error(name: str) -> torch.Tensor:
            gap: torch.Tensor = found[:, columns[name]] - poses[:, columns[name]]
            return gap.abs().mean()

        def rate_error(mine: torch.Tensor, true: torch.Tensor) -> torch.Tensor:
            gap = mine - true
            return (gap[half:] - gap[:half]).abs().mean() * rate

        axes = found[:, columns["rotations"]], poses[:, columns["rotations"]]
        parts = {
            "place": (places - true_places).abs().mean(),
            "rotation": (axes[0] - axes[1]).abs().mean(),
            "turning": error("angular_velocities"),
            "root_velocity": error("root_velocity"),
            "root_turning": error("root_turning"),
            "contact": error("contacts"),
            "place_rate": rate_error(places, true_places),
            "rotation_rate": rate_error(*axes),
            "latent": latent.square().mean(),
            "latent_rate": (latent[half:] - latent[:half]).abs().mean() * rate,
        }
        if len(self.frames.layout.moving):
            parts |= {"hips": error("positions"), "velocity": error("velocities")}
        total = torch.zeros((), device=self.device)
        for name, value in parts.items():
            total = total + self.weights[name] * value
        return total, parts

    def validate(self) -> dict[str, float]:
        """Errors on held-out frames."""
        return self.errors(self.held)

    @torch.no_grad()
    def errors(self, rows: NDArray[np.int64]) -> dict[str, float]:
        """Mean joint error of some rows, decompressed from their own latents: ``centimetres`` in the root's frame and
        ``degrees`` in the parent's frame, ``global_degrees`` in the root's."""
        sums = np.zeros(3)
        count = 0
        for start in range(0, len(rows), 4096):
            batch = self.rows(rows[start : start + 4096])
            latent = self.model.compressor(batch["inputs"])
            found = self.model.decompressor(torch.cat([batch["features"], latent], dim=1))
            matrices, true = self.space.matrices(found), self.space.matrices(batch["poses"])
            gap = self.space.positions(found, matrices) - batch["positions"].transpose(1, 2)
            turn = 2.0 * torch.asin(((matrices - true).flatten(-2).norm(dim=-1) / 8.0**0.5).clamp(max=1.0))
            local = self.space.local_angles(matrices, true)
            sums += [float(values.double().sum()) for values in (gap.norm(dim=1), local, turn)]
            count += local.numel()
        centimetres, degrees, global_degrees = sums / max(count, 1) * [100.0, 180.0 / np.pi, 180.0 / np.pi]
        return {"centimetres": centimetres, "degrees": degrees, "global_degrees": global_degrees}

    @torch.no_grad()
    def latents(self) -> Float:
        """The latents of all rows, float32 ``[F, L]``."""
        parts = [self.model.compressor(rows) for rows in self._blocks()]
        return np.ascontiguousarray(torch.cat(parts).cpu().numpy())

    def _blocks(self) -> tuple[torch.Tensor, ...]:
        """What the compressor sees of all rows, in blocks that fit the memory."""
        return torch.split(self.data["inputs"], 8192)


def _spread(rows: Float, columns: Mapping[str, slice]) -> Float:
    """What each column is scaled by: its own deviation, but no less than a tenth of its block's."""
    spread = rows.std(axis=0)
    for block in columns.values():
        if block.stop > block.start:
            floor = max(float(spread[block].mean()) * 0.1, 1e-4)
            spread[block] = np.maximum(spread[block], floor)
    return np.asarray(spread, np.float32)


def _begin_compressor(compressor: Compressor, frames: LmmFrames, inputs: Float, seen: NDArray[np.bool_]) -> None:
    """Principal components of the joints' places and rotations that the features do not tell, of variance one."""
    columns = frames.layout.columns
    rows = np.flatnonzero(seen)
    rows = rows[:: max(len(rows) // 40_000, 1)]
    mean = inputs[rows].mean(axis=0)
    width = frames.layout.size
    block_of = [*columns.values(), slice(width, inputs.shape[1])]
    std = np.ones(inputs.shape[1], np.float32)
    for block in block_of:
        if block.stop > block.start:
            std[block] = max(float(inputs[rows, block].std(axis=0).mean()), 1e-4)
    values = ((inputs[rows] - mean) / std).astype(np.float64)
    values[:, np.r_[columns["velocities"], columns["contacts"]]] = 0.0
    values[:, columns["angular_velocities"]] *= 0.3
    told = np.column_stack([frames.features[rows].astype(np.float64), np.ones(len(rows))])
    coefficients = np.linalg.lstsq(told, values, rcond=None)[0]
    rest = values - told @ coefficients
    _, vectors = np.linalg.eigh(rest.T @ rest / len(rows))
    count = compressor.linear.out_features
    directions = vectors[:, ::-1][:, :count]
    latent = values @ directions
    scale = np.maximum(latent.std(axis=0), 1e-3)
    with torch.no_grad():
        compressor.mean.copy_(torch.from_numpy(mean))
        compressor.std.copy_(torch.from_numpy(std))
        compressor.linear.weight.copy_(torch.from_numpy((directions / scale).T.astype(np.float32)))
        compressor.linear.bias.copy_(torch.from_numpy((-latent.mean(axis=0) / scale).astype(np.float32)))

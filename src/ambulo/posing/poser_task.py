"""The training task of the posing model: many random wishes for mixed poses."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ambulo.posing.completion import (
    INPUT_COUNT,
    OUTPUT_COUNT,
    Completion,
    facing_yaws,
    guess_points,
    network_input,
    standing_places,
    to_facing,
)
from ambulo.posing.gaussian import fit_facing, fit_turned
from ambulo.posing.mixing import mix_poses
from ambulo.posing.observations import Observations, join_observations, observe_points
from ambulo.posing.points import POINT_COUNT, SCHEMES, mirror_points, point_indices
from ambulo.posing.pose_set import PoseSet

if TYPE_CHECKING:
    import torch

Double = NDArray[np.float64]


@dataclass(frozen=True)
class PoserSettings:
    """What the posing model is and what it is asked in training.

    Attributes:
        width: units of each hidden layer.
        depth: hidden layers.
        groups: different sets of wishes in one batch.
        six_share: part of the groups that are asked the six points.
        sixteen_share: the same for the 16 points.
        loose_share: part of the groups whose points have tolerances (up to 5 cm).
        mixing: share of :func:`~ambulo.posing.mixing.mix_poses`.
    """

    width: int = 512
    depth: int = 3
    groups: int = 8
    six_share: float = 0.25
    sixteen_share: float = 0.125
    loose_share: float = 0.2
    mixing: float = 0.5


class PoserTask:
    """Learns what the Gaussians leave: a :class:`~ambulo.learning.training.Task`."""

    name = "poser"

    def __init__(self, training: PoseSet, held_out: PoseSet | None, settings: PoserSettings) -> None:
        import torch

        self.settings = settings
        poses = np.concatenate([training.points, mirror_points(training.points)]).astype(np.float64)
        places = standing_places(poses)
        self.turned = fit_turned(poses - places[:, None])
        self.poses = to_facing(poses, facing_yaws(poses), places)
        self.facing = fit_facing(self.poses)
        self.poses = self.poses[: len(training)]
        # Every take counts by the square root of its length: long ones do not drown short ones.
        counts = np.bincount(training.takes, minlength=len(training.names))[training.takes]
        weights = 1.0 / np.sqrt(counts)
        self.chances = np.cumsum(weights) / weights.sum()
        sizes = [INPUT_COUNT, *([settings.width] * settings.depth)]
        layers: list[torch.nn.Module] = []
        for before, after in itertools.pairwise(sizes):
            layers += [torch.nn.Linear(before, after), torch.nn.ReLU()]
        last = torch.nn.Linear(sizes[-1], OUTPUT_COUNT)
        torch.nn.init.zeros_(last.weight)
        torch.nn.init.zeros_(last.bias)
        self.model: torch.nn.Module = torch.nn.Sequential(*layers, last)
        self.device = torch.device("cpu")
        self.held_out = held_out
        self._checks = [] if held_out is None else self._make_checks(held_out)

    def place(self, device: torch.device) -> None:
        self.device = device

    def batch(self, random: np.random.Generator, size: int) -> Any:
        import torch

        inputs, targets, spreads = [], [], []
        each = max(size // self.settings.groups, 1)
        for _ in range(self.settings.groups):
            poses = mix_poses(self._draw(random, each), self._draw(random, each), random, self.settings.mixing)
            wishes = self._wishes(random, poses)
            guess = guess_points(self.turned, self.facing, wishes)
            inputs.append(network_input(guess.points, guess.deviations))
            wanted = to_facing(poses, guess.yaws, guess.places) - guess.points
            targets.append(wanted.astype(np.float32))
            spreads.append(np.broadcast_to(guess.deviations, wanted.shape).astype(np.float32))
        tensors = [np.concatenate(part) for part in (inputs, targets, spreads)]
        return tuple(torch.from_numpy(part).to(self.device) for part in tensors)

    def loss(self, batch: Any, progress: float) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        inputs, targets, spreads = batch
        moved = self.model(inputs).view(-1, POINT_COUNT, 3) * spreads
        # The mean distance, rounded off at a millimetre.
        distance = ((moved - targets).square().sum(-1) + 1e-6).sqrt()
        return distance.mean(), {}

    def validate(self) -> dict[str, float]:
        if self.held_out is None:
            return {}
        completion = self.completion()
        scale = self.held_out.scales[:, None]
        out = {}
        for name, wishes, unknown in self._checks:
            error = np.linalg.norm(completion.complete(wishes) - self.held_out.points, axis=-1) * scale
            out[name] = 100.0 * float(error[:, unknown].mean())
        return out

    def completion(self) -> Completion:
        """The model as it stands, for use without torch."""
        import torch

        weights = tuple(
            (layer.weight.detach().cpu().numpy().T.copy(), layer.bias.detach().cpu().numpy().copy())
            for layer in self.model.modules()
            if isinstance(layer, torch.nn.Linear)
        )
        return Completion(self.turned, self.facing, weights)

    def _draw(self, random: np.random.Generator, count: int) -> Double:
        picked = np.minimum(np.searchsorted(self.chances, random.random(count)), len(self.poses) - 1)
        return np.asarray(self.poses[picked])

    def _wishes(self, random: np.random.Generator, poses: Double) -> Observations:
        kind = random.random()
        s = self.settings
        if kind < s.six_share:
            chosen = point_indices(SCHEMES[6])
        elif kind < s.six_share + s.sixteen_share:
            chosen = point_indices(SCHEMES[16])
        else:
            chosen = random.choice(POINT_COUNT, random.integers(3, 14), replace=False)
        loose = random.random() < s.loose_share
        tolerances = random.uniform(0.0, 0.05, len(chosen)) if loose else np.zeros(len(chosen))
        noise = random.standard_normal((len(poses), len(chosen), 3)) * tolerances[:, None]
        return join_observations([observe_points(chosen, poses[:, chosen] + noise, tolerances)])

    def _make_checks(self, held_out: PoseSet) -> list[tuple[str, Observations, NDArray[np.int64]]]:
        random = np.random.default_rng(0)
        sets = [("six", point_indices(SCHEMES[6])), ("sixteen", point_indices(SCHEMES[16]))]
        sets += [(f"random_{k}", random.choice(POINT_COUNT, k, replace=False)) for k in (3, 5, 8, 12)]
        return [
            (
                f"{name}_cm",
                observe_points(chosen, held_out.points[:, chosen]),
                np.setdiff1d(np.arange(POINT_COUNT), chosen),
            )
            for name, chosen in sets
        ]

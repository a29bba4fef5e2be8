"""The training task of the posing model: many random wishes for mixed poses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ambulo.posing.completion import (
    INPUT_COUNT,
    OUTPUT_COUNT,
    Completion,
    facing_yaws,
    guess_facing,
    guess_points,
    network_input,
    standing_places,
    to_facing,
)
from ambulo.posing.gaussian import fit_facing, fit_turned
from ambulo.posing.mixing import mix_poses
from ambulo.posing.observations import observe_points
from ambulo.posing.points import POINT_COUNT, SCHEMES, mirror_points, point_indices
from ambulo.posing.pose_set import PoseSet
from ambulo.posing.wish_sampling import WishShares, draw_wishes

if TYPE_CHECKING:
    import torch

    from ambulo.learning.network import Network

Double = NDArray[np.float64]

_LEAST_SPREAD, _DEVIATION_SCALE = 0.05, 0.1
_ROUND = 0.02


@dataclass(frozen=True)
class PoserSettings:
    """What the posing model is and what it is asked in training.

    Attributes:
        width: units of each hidden layer.
        depth: hidden layers.
        groups: different sets of wishes in one batch.
        shares: kinds of wishes.
        mixing: share of :func:`~ambulo.posing.mixing.mix_poses`.
        refaced_share: part of the groups that see the body from about where a first pass would leave it.
    """

    width: int = 512
    depth: int = 3
    groups: int = 8
    shares: WishShares = field(default_factory=WishShares)
    mixing: float = 0.6
    refaced_share: float = 0.5


class PoserTask:
    """Learns what the Gaussians leave: a :class:`~ambulo.learning.training.Task`.

    Args:
        training: poses to learn from.
        held_out: poses to measure errors on; None measures none.
        settings: of model and task.
        seed: of the first weights.
    """

    name = "poser"

    def __init__(
        self, training: PoseSet, held_out: PoseSet | None, settings: PoserSettings | None = None, *, seed: int = 0
    ) -> None:
        import torch

        from ambulo.learning.network import Network

        self.settings = settings = settings or PoserSettings()
        poses = np.concatenate([training.points, mirror_points(training.points)]).astype(np.float64)
        places = standing_places(poses)
        self.turned = fit_turned(poses - places[:, None])
        facing = to_facing(poses, facing_yaws(poses), places)
        self.facing = fit_facing(facing)
        self.poses = facing[: len(training)].astype(np.float32)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            network = Network([INPUT_COUNT, *[settings.width] * settings.depth, OUTPUT_COUNT])
        mean, std = np.zeros((POINT_COUNT, 6), np.float32), np.full((POINT_COUNT, 6), _DEVIATION_SCALE, np.float32)
        mean[:, :3] = facing.mean(axis=0)
        std[:, :3] = np.maximum(facing.std(axis=0), _LEAST_SPREAD)
        network.set_normalisation(input_mean=mean.reshape(-1), input_std=std.reshape(-1))
        for parameter in network.layers[-1].parameters():
            torch.nn.init.zeros_(parameter)
        self._network: Network = network
        self.model: torch.nn.Module = network
        self.device = torch.device("cpu")
        self.held_out = held_out if held_out is not None and len(held_out) else None
        self._checks = [] if self.held_out is None else _make_checks()

    def place(self, device: torch.device) -> None:
        """Batches go to this device."""
        self.device = device

    def batch(self, random: np.random.Generator, size: int) -> Any:
        """Inputs, what the network should add in metres, deviations in metres, and each pose's weight."""
        import torch

        groups = self.settings.groups
        each = max(size // groups, 1)
        picked = random.integers(len(self.poses), size=(2, groups * each))
        all_poses = mix_poses(self.poses[picked[0]], self.poses[picked[1]], random, self.settings.mixing)
        shape = (groups * each, POINT_COUNT, 3)
        inputs = np.empty((groups * each, INPUT_COUNT), np.float32)
        wanted, spreads = np.empty(shape, np.float32), np.empty(shape, np.float32)
        weights = np.empty(groups * each, np.float32)
        for group in range(groups):
            rows = slice(group * each, (group + 1) * each)
            poses = all_poses[rows]
            wishes = draw_wishes(random, poses, self.settings.shares)
            yaws, places = guess_facing(self.turned, wishes)
            if random.random() < self.settings.refaced_share:
                # A first pass takes away some of the guess's error, or a little too much of it.
                true_yaws, true_places = facing_yaws(poses), standing_places(poses)
                left = random.uniform(-0.2, 0.6, (2, each))
                yaws = true_yaws + left[0] * np.angle(np.exp(1j * (yaws - true_yaws)))
                places = true_places + left[1, :, None] * (places - true_places)
            guess = guess_points(self.facing, wishes, yaws, places)
            inputs[rows] = network_input(guess.points, guess.deviations)
            wanted[rows] = to_facing(poses, yaws, places) - guess.points
            spreads[rows] = guess.deviations
            # Wishes that leave much open would drown those that leave little.
            weights[rows] = 1.0 / (_ROUND + np.linalg.norm(guess.deviations, axis=-1).mean())
        return tuple(torch.from_numpy(part).to(self.device) for part in (inputs, wanted, spreads, weights))

    def loss(self, batch: Any, progress: float) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The mean distance as a part of what the Gaussian expects, rounded off at a millimetre."""
        inputs, wanted, spreads, weights = batch
        moved = self.model(inputs).view(-1, POINT_COUNT, 3) * spreads
        distance = ((moved - wanted).square().sum(-1) + 1e-6).sqrt().mean(dim=1)
        return (distance * weights).mean(), {"metres": distance.mean()}

    def validate(self) -> dict[str, float]:
        """Errors of the model as it stands; see :meth:`errors_of`."""
        return self.errors_of(self.completion())

    def errors_of(self, completion: Completion) -> dict[str, float]:
        """Mean distance of held-out points that are not set, in cm at the captured body's size, by which are set."""
        if self.held_out is None:
            return {}
        scale = self.held_out.scales[:, None]
        out = {}
        for name, chosen in self._checks:
            wishes = observe_points(chosen, self.held_out.points[:, chosen])
            error = np.linalg.norm(completion.complete(wishes) - self.held_out.points, axis=-1) * scale
            unknown = np.setdiff1d(np.arange(POINT_COUNT), chosen)
            out[f"{name}_cm"] = 100.0 * float(error[:, unknown].mean())
        return out

    def completion(self) -> Completion:
        """The model as it stands, for use without torch."""
        from ambulo.learning.lmm_stages import layers_of

        return Completion(self.turned, self.facing, layers_of(self._network))


def _make_checks() -> list[tuple[str, NDArray[np.int64]]]:
    random = np.random.default_rng(0)
    sets = [("six", point_indices(SCHEMES[6])), ("sixteen", point_indices(SCHEMES[16]))]
    return sets + [(f"random_{k}", random.choice(POINT_COUNT, k, replace=False)) for k in (3, 5, 8, 12)]

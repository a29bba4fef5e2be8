"""The published way to pose: a dense network for each scheme of points, and their outputs combined (S1.3-S1.20).

Four hidden layers of 300, 400, 300 and 200 SELU units, LeCun initialisation, least squares with L2, poses mirrored and
turned at random. A larger scheme's network takes over only in limbs where points beyond the smaller scheme are set;
its other inputs come from the smaller network (S1.20, S1.25).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import PosingError
from ambulo.learning.weights import Layers
from ambulo.posing.points import POINT_COUNT, POINTS, SCHEMES, mirror_points, point_indices
from ambulo.posing.pose_set import PoseSet

if TYPE_CHECKING:
    import torch

    from ambulo.learning.network import Network

Float = NDArray[np.float32]
Double = NDArray[np.float64]
Indices = NDArray[np.int64]

HIDDEN = (300, 400, 300, 200)
"""Units of the hidden layers (S1.12)."""

COMBINED = (6, 16, 28)
"""Schemes whose networks are combined (S1.3, S1.19)."""

_SIDED = {
    "arm": ("shoulder", "upper_arm", "elbow", "elbow_back", "wrist", "hand_tip", "hand_thumb", "hand_outer"),
    "leg": ("hip", "knee", "ankle", "heel", "toe", "toe_tip", "foot_outer"),
}
LIMBS: dict[str, Indices] = {
    f"{side}_{limb}": point_indices([f"{side}_{part}" for part in parts])
    for limb, parts in _SIDED.items()
    for side in ("left", "right")
}
LIMBS["trunk"] = np.setdiff1d(np.arange(POINT_COUNT), np.concatenate(list(LIMBS.values())))

_SOFT = 0.005
"""Metres from its predicted place at which a set point hands about two thirds of its limb to the larger network."""


def _inputs(points: NDArray[np.floating], indices: Indices) -> tuple[Float, Float]:
    """Coordinates ``[N, 3 K]`` of the set points about their middle on the ground, and that middle ``[N, 1, 3]``."""
    known = np.asarray(points[:, indices], np.float32)
    middle = known.mean(axis=1, keepdims=True)
    middle[..., 1] = 0.0
    return (known - middle).reshape(len(known), -1), middle


class SchemeTask:
    """Trains the network of one scheme: a :class:`~ambulo.learning.training.Task`.

    Args:
        training: poses to learn from.
        held_out: poses to measure the error on; None measures none.
        scheme: 6, 15, 16, 20 or 28.
        decay: weight of the L2 penalty on weights (S1.13).
        seed: of the first weights.
    """

    def __init__(
        self, training: PoseSet, held_out: PoseSet | None, scheme: int, *, decay: float = 1e-6, seed: int = 0
    ) -> None:
        import torch

        from ambulo.learning.network import Network

        if scheme not in SCHEMES:
            raise PosingError(f"no scheme of {scheme} points; there are {sorted(SCHEMES)}", key="scheme")
        self.name = f"scheme_{scheme}"
        self.known = point_indices(SCHEMES[scheme])
        self.unknown = np.setdiff1d(np.arange(POINT_COUNT), self.known)
        self.decay, self.held_out = decay, held_out
        self.poses = np.concatenate([training.points, mirror_points(training.points)]).astype(np.float32)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            network = Network([3 * len(self.known), *HIDDEN, 3 * len(self.unknown)], "selu")
            self._layers = [layer for layer in network.layers if isinstance(layer, torch.nn.Linear)]
            for layer in self._layers:
                torch.nn.init.normal_(layer.weight, 0.0, layer.in_features**-0.5)
                torch.nn.init.zeros_(layer.bias)
        random = np.random.default_rng(seed)
        inputs, targets = self._samples(random, min(len(self.poses), 20_000))
        network.set_normalisation(inputs.mean(axis=0), inputs.std(axis=0) + 0.01, targets.mean(axis=0))
        self._network: Network = network
        self.model: torch.nn.Module = network
        self.device = torch.device("cpu")

    def place(self, device: torch.device) -> None:
        """Batches go to this device."""
        self.device = device

    def batch(self, random: np.random.Generator, size: int) -> Any:
        """Inputs and targets of random poses, turned at random."""
        import torch

        return tuple(torch.from_numpy(part).to(self.device) for part in self._samples(random, size))

    def _samples(self, random: np.random.Generator, size: int) -> tuple[Float, Float]:
        poses = self.poses[random.integers(len(self.poses), size=size)]
        angles = random.uniform(-np.pi, np.pi, size).astype(np.float32)
        cos, sin = np.cos(angles), np.sin(angles)
        turns = np.zeros((size, 3, 3), np.float32)
        turns[:, 0, 0], turns[:, 2, 2], turns[:, 1, 1] = cos, cos, 1.0
        turns[:, 0, 2], turns[:, 2, 0] = sin, -sin
        poses = poses @ turns.transpose(0, 2, 1)
        inputs, middle = _inputs(poses, self.known)
        return inputs, (poses[:, self.unknown] - middle).reshape(size, -1)

    def loss(self, batch: Any, progress: float) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Mean square distance, and L2 of the weights."""
        inputs, targets = batch
        penalty = inputs.new_zeros(())
        square = (self.model(inputs) - targets).square().sum(-1).mean() / len(self.unknown)
        for layer in self._layers:
            penalty = penalty + layer.weight.square().sum()
        return square + self.decay * penalty, {"square": square}

    def validate(self) -> dict[str, float]:
        """Mean distance of the points that are not set, in cm at the captured body's size."""
        if self.held_out is None:
            return {}
        out = self.network().complete(self.held_out.points[:, self.known])
        error = np.linalg.norm(out - self.held_out.points, axis=-1)[:, self.unknown] * self.held_out.scales[:, None]
        return {"unknown_cm": 100.0 * float(error.mean())}

    def network(self) -> SchemeNetwork:
        """The network as it stands, for use without torch."""
        from ambulo.learning.lmm_stages import layers_of

        return SchemeNetwork(self.known, self.unknown, layers_of(self._network))


@dataclass(frozen=True)
class SchemeNetwork:
    """The network of one scheme.

    Attributes:
        known: the K points that it is given.
        unknown: those that it predicts.
        layers: ``[3 K] -> [3 (43 - K)]``.
    """

    known: Indices
    unknown: Indices
    layers: Layers

    def complete(self, known: NDArray[np.floating]) -> Float:
        """All points ``[N, 43, 3]`` from the scheme's ``[N, K, 3]``, metres, for the standard body."""
        out = np.empty((len(known), POINT_COUNT, 3), np.float32)
        out[:, self.known] = known
        inputs, middle = _inputs(out, self.known)
        out[:, self.unknown] = self.layers(inputs).reshape(len(out), -1, 3) + middle
        return out


@dataclass(frozen=True)
class SchemeStack:
    """Networks of nested schemes, combined for any set of points.

    Attributes:
        networks: scheme -> its network; 6 is one of them.
    """

    networks: Mapping[int, SchemeNetwork]

    def complete(
        self,
        points: NDArray[np.integer],
        positions: NDArray[np.floating],
        pose: NDArray[np.floating] | None = None,
    ) -> Double:
        """All points from some.

        In each limb the finest network speaks for which a point beyond the smaller schemes is set there. It takes over
        as the set point leaves its predicted place, so that setting a point where it is already moves nothing.

        Args:
            points: K set points.
            positions: ``[N, K, 3]``, metres, for the standard body.
            pose: ``[N, 43, 3]``, the pose so far, where those of the six are that are not set.

        Returns:
            float64 ``[N, 43, 3]``, set points where they are set.

        Raises:
            PosingError: one of the six is not set, and no pose is given.
        """
        given = np.asarray(points, np.int64)
        six = self.networks[6].known
        missing = np.setdiff1d(six, given)
        if len(missing) and pose is None:
            raise PosingError(
                f"the point {POINTS[missing[0]]!r} is not set; these networks need {', '.join(SCHEMES[6])}",
                key=POINTS[missing[0]],
            )
        wished = np.zeros((len(positions), POINT_COUNT, 3)) if pose is None else np.array(pose, np.float64)
        wished[:, given] = positions
        is_set = np.isin(np.arange(POINT_COUNT), given)
        out = self.networks[6].complete(wished[:, six]).astype(np.float64)
        smaller = six
        for scheme in sorted(set(self.networks) - {6}):
            network = self.networks[scheme]
            asked = np.where(is_set[:, None], wished, out)
            finer = network.complete(asked[:, network.known]).astype(np.float64)
            extra = np.setdiff1d(network.known, smaller)
            for limb in LIMBS.values():
                moved = np.intersect1d(extra[is_set[extra]], limb)
                if len(moved):
                    apart = np.linalg.norm(wished[:, moved] - out[:, moved], axis=-1).max(axis=1)
                    part = (1.0 - np.exp(-((apart / _SOFT) ** 2)))[:, None, None]
                    out[:, limb] += part * (finer[:, limb] - out[:, limb])
            smaller = network.known
        out[:, given] = positions
        return out

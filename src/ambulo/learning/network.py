"""A plain network: a list of layers with the normalisation of what goes in and comes out inside.

This is all that any exporter or other runtime has to know: ``(x - input_mean) / input_std``, then linear layers with
one activation between them, then ``* output_std + output_mean``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ambulo.errors import LearningError, nearest_names

ACTIVATIONS: Mapping[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "selu": nn.SELU,
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "tanh": nn.Tanh,
}
"""Activations by name (S0.66)."""

Float = NDArray[np.float32]


class Network(nn.Module):
    """Linear layers with one activation between them, normalisation inside.

    Args:
        sizes: width of the input, of each hidden layer, of the output.
        activation: a key of :data:`ACTIVATIONS`.
    """

    input_mean: torch.Tensor
    input_std: torch.Tensor
    output_mean: torch.Tensor
    output_std: torch.Tensor

    def __init__(self, sizes: Sequence[int], activation: str = "relu") -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise LearningError(
                f"no activation {activation!r}; {nearest_names(activation, ACTIVATIONS)}", key="activation"
            )
        self.sizes = tuple(int(size) for size in sizes)
        self.activation = activation
        pairs = zip(self.sizes[:-1], self.sizes[1:], strict=True)
        self.layers = nn.ModuleList(nn.Linear(width, next_width) for width, next_width in pairs)
        self.between = ACTIVATIONS[activation]()
        for name, size, value in (
            ("input_mean", self.sizes[0], 0.0),
            ("input_std", self.sizes[0], 1.0),
            ("output_mean", self.sizes[-1], 0.0),
            ("output_std", self.sizes[-1], 1.0),
        ):
            self.register_buffer(name, torch.full((size,), value))

    def set_normalisation(
        self,
        input_mean: Float | None = None,
        input_std: Float | None = None,
        output_mean: Float | None = None,
        output_std: Float | None = None,
    ) -> None:
        """Set what is given; each ``[width]``."""
        given = {"input_mean": input_mean, "input_std": input_std, "output_mean": output_mean, "output_std": output_std}
        for name, value in given.items():
            if value is not None:
                getattr(self, name).copy_(torch.from_numpy(np.ascontiguousarray(value, np.float32)))

    def normalised(self, inputs: torch.Tensor) -> torch.Tensor:
        """The output before it is scaled: ``[..., width]``, of order one."""
        values = (inputs - self.input_mean) / self.input_std
        for place, layer in enumerate(self.layers):
            values = layer(values if place == 0 else self.between(values))
        return values

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Output ``[..., width]`` of input ``[..., width]``, float32."""
        return self.normalised(inputs).float() * self.output_std + self.output_mean

    @property
    def parameter_count(self) -> int:
        """How many weights and biases there are."""
        return sum(parameter.numel() for parameter in self.parameters())

"""Networks without torch: their weights as NumPy arrays, in float32, float16 or 8-bit whole numbers, and their product.

8-bit weights have one scale an output (per channel); biases and normalisation stay float32. What is stored is what is
kept: weights are widened to float32 once, when a model is opened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import LearningError, nearest_names

Float = NDArray[np.float32]
Array = NDArray[Any]

PRECISIONS = ("float32", "float16", "int8")
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805
_NORMALISATION = ("input_mean", "input_std", "output_mean", "output_std")


@dataclass(frozen=True)
class Layers:
    """A network: ``(x - input_mean) / input_std``, linear layers with activations, ``* output_std + output_mean``.

    Attributes:
        weights: float32 ``[out, in]`` of each layer.
        biases: float32 ``[out]`` of each layer.
        activation: ``relu``, ``selu``, ``elu``, ``gelu``, ``silu`` or ``tanh``.
        input_mean, input_std, output_mean, output_std: float32, by the width of the input and of the output.
    """

    weights: tuple[Float, ...]
    biases: tuple[Float, ...]
    activation: str
    input_mean: Float
    input_std: Float
    output_mean: Float
    output_std: Float

    @property
    def sizes(self) -> tuple[int, ...]:
        """Width of the input, of each hidden layer, of the output."""
        return (self.weights[0].shape[1], *(weight.shape[0] for weight in self.weights))

    @property
    def parameter_count(self) -> int:
        """How many weights and biases there are."""
        return sum(array.size for array in (*self.weights, *self.biases))

    def __call__(self, inputs: ArrayLike) -> Float:
        """Output ``[..., out]`` of input ``[..., in]``."""
        values = (np.asarray(inputs, np.float32) - self.input_mean) / self.input_std
        for place, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if place:
                values = activate(values, self.activation)
            values = values @ weight.T + bias
        return np.asarray(values * self.output_std + self.output_mean, np.float32)

    def folded(self) -> Layers:
        """The same function with the normalisation inside the first and last layer: nothing but products is left."""
        weights, biases = list(self.weights), list(self.biases)
        first = weights[0].astype(np.float64) / self.input_std
        biases[0] = (biases[0] - first @ self.input_mean.astype(np.float64)).astype(np.float32)
        weights[0] = first.astype(np.float32)
        biases[-1] = (biases[-1] * self.output_std + self.output_mean).astype(np.float32)
        weights[-1] = np.ascontiguousarray(weights[-1] * self.output_std[:, None], np.float32)
        width, out = self.sizes[0], self.sizes[-1]
        return Layers(
            tuple(weights), tuple(biases), self.activation, np.zeros(width, np.float32), np.ones(width, np.float32),
            np.zeros(out, np.float32), np.ones(out, np.float32),
        )  # fmt: skip


def activate(values: Float, activation: str) -> Float:
    """The activation of that name, as torch computes it."""
    if activation == "relu":
        return np.maximum(values, np.float32(0.0))
    if activation == "selu":
        below = _SELU_ALPHA * np.expm1(np.minimum(values, 0.0))
        return (_SELU_SCALE * np.where(values > 0.0, values, below)).astype(np.float32)
    if activation == "tanh":
        return np.tanh(values)
    if activation == "elu":
        return np.where(values > 0.0, values, np.expm1(np.minimum(values, 0.0))).astype(np.float32)
    if activation == "silu":
        return (values / (1.0 + np.exp(-values))).astype(np.float32)
    if activation == "gelu":
        from scipy.special import erf

        return np.asarray(0.5 * values * (1.0 + erf(values * np.float32(0.5**0.5))), np.float32)
    raise LearningError(
        f"no activation {activation!r}; {nearest_names(activation, ['relu', 'elu', 'gelu', 'silu', 'tanh'])}",
        key="activation",
    )


def pack_layers(name: str, layers: Layers, precision: str = "float32") -> dict[str, Array]:
    """Arrays to store, named ``NAME.layers.0.weight`` and so on.

    Raises:
        LearningError: an unknown precision.
    """
    if precision not in PRECISIONS:
        raise LearningError(f"no precision {precision!r}; {nearest_names(precision, PRECISIONS)}", key="precision")
    arrays: dict[str, Array] = {f"{name}.{key}": getattr(layers, key) for key in _NORMALISATION}
    for place, (weight, bias) in enumerate(zip(layers.weights, layers.biases, strict=True)):
        key = f"{name}.layers.{place}"
        arrays[f"{key}.bias"] = bias
        if precision == "int8":
            scale = np.maximum(np.abs(weight).max(axis=1), 1e-12).astype(np.float32) / np.float32(127.0)
            arrays[f"{key}.weight"] = np.clip(np.rint(weight / scale[:, None]), -127, 127).astype(np.int8)
            arrays[f"{key}.scale"] = scale
        else:
            arrays[f"{key}.weight"] = weight.astype(precision)
    return arrays


def unpack_layers(name: str, arrays: Mapping[str, Array], sizes: Sequence[int], activation: str) -> Layers:
    """Inverse of :func:`pack_layers`, up to what the precision lost.

    Raises:
        LearningError: an array is missing, has another shape, or a number that is not finite.
    """
    weights, biases = [], []

    def get(key: str, shape: tuple[int, ...]) -> Float:
        if key not in arrays:
            raise LearningError(f"the model has no array {key!r}", key=key)
        array = np.ascontiguousarray(arrays[key], np.float32)
        if array.shape != shape:
            raise LearningError(f"{key!r} is {array.shape}, not {shape}", key=key)
        if not np.isfinite(array).all():
            raise LearningError(f"{key!r} has a number that is not finite", key=key)
        return array

    for place, (width, out) in enumerate(pairwise(sizes)):
        key = f"{name}.layers.{place}"
        weight = get(f"{key}.weight", (out, width))
        if f"{key}.scale" in arrays:
            weight = weight * get(f"{key}.scale", (out,))[:, None]
        weights.append(weight)
        biases.append(get(f"{key}.bias", (out,)))
    widths = {"input": sizes[0], "output": sizes[-1]}
    normalisation = [get(f"{name}.{key}", (widths[key.split("_")[0]],)) for key in _NORMALISATION]
    return Layers(tuple(weights), tuple(biases), activation, *normalisation)

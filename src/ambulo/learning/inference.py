"""Running a network for one character or a crowd, without torch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.learning.weights import Layers, activate

Float = NDArray[np.float32]

# Rows up to which compiled loops that skip zeros beat a matrix product.
_FEW = 6


class Inference:
    """A network with its normalisation folded into the weights.

    Args:
        layers: the network.
    """

    def __init__(self, layers: Layers) -> None:
        from ambulo.learning import inference_kernels

        folded = layers.folded()
        self.activation = folded.activation
        self.weights = tuple(np.ascontiguousarray(weight.T) for weight in folded.weights)
        self.biases = tuple(np.ascontiguousarray(bias) for bias in folded.biases)
        self._dense = inference_kernels.dense

    def __call__(self, inputs: Float) -> Float:
        """Output float32 ``[N, out]`` of input float32 ``[N, in]``, C-contiguous."""
        values = inputs
        few, rectify = len(inputs) <= _FEW, self.activation == "relu"
        for place, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if place and not (few and rectify):
                values = activate(values, self.activation)
            if few:
                out = np.empty((len(values), weight.shape[1]), np.float32)
                self._dense(values, weight, bias, rectify and place > 0, out)
            else:
                out = values @ weight
                out += bias
            values = out
        return values

"""Networks as arrays: what torch computes, whichever way they are stored and run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from ambulo.errors import LearningError
from ambulo.learning.inference import Inference
from ambulo.learning.lmm_stages import layers_of
from ambulo.learning.network import ACTIVATIONS, Network
from ambulo.learning.weights import Layers, pack_layers, unpack_layers

SIZES = (7, 33, 18, 5)


def network(activation: str = "relu") -> Network:
    torch.manual_seed(4)
    made = Network(SIZES, activation)
    random = np.random.default_rng(2)
    made.set_normalisation(
        random.normal(size=7), random.uniform(0.5, 2.0, 7), random.normal(size=5), random.uniform(0.5, 2.0, 5)
    )
    return made


def inputs(rows: int) -> Any:
    return np.random.default_rng(rows).normal(size=(rows, 7)).astype(np.float32)


@pytest.mark.parametrize("activation", list(ACTIVATIONS))
@pytest.mark.parametrize("rows", [1, 5, 40])
def test_arrays_compute_what_torch_computes(activation: str, rows: int) -> None:
    made, asked = network(activation), inputs(rows)
    with torch.no_grad():
        true = made(torch.from_numpy(asked)).numpy()
    layers = layers_of(made)
    assert layers.sizes == SIZES and layers.parameter_count == made.parameter_count
    for run in (layers, layers.folded(), Inference(layers)):
        assert_allclose(run(asked), true, atol=2e-5)


def test_a_row_alone_is_a_row_among_few_to_the_bit() -> None:
    run, asked = Inference(layers_of(network())), inputs(6)
    together = run(asked)
    for row in range(6):
        assert_array_equal(run(asked[row : row + 1])[0], together[row])


@pytest.mark.parametrize(("precision", "error"), [("float32", 0.0), ("float16", 3e-3), ("int8", 0.08)])
def test_stored_and_read_again(precision: str, error: float) -> None:
    layers = layers_of(network())
    arrays = pack_layers("net", layers, precision)
    weight = arrays["net.layers.1.weight"]
    assert weight.dtype == np.dtype(precision) and arrays["net.layers.1.bias"].dtype == np.float32
    back = unpack_layers("net", arrays, SIZES, "relu")
    asked = inputs(64)
    assert np.abs(back(asked) - layers(asked)).max() <= error
    if precision == "int8":  # each output has its own scale: none is off by more than half a step
        step = np.abs(layers.weights[1]).max(axis=1, keepdims=True) / 127.0
        assert (np.abs(back.weights[1] - layers.weights[1]) <= 0.5001 * step).all()


def test_arrays_that_do_not_fit_are_refused() -> None:
    layers: Layers = layers_of(network())
    arrays = pack_layers("net", layers)
    with pytest.raises(LearningError, match=r"no array 'net\.layers\.2\.bias'"):
        unpack_layers("net", {k: v for k, v in arrays.items() if k != "net.layers.2.bias"}, SIZES, "relu")
    with pytest.raises(LearningError, match=r"'net\.layers\.0\.weight' is \(33, 7\), not \(33, 8\)"):
        unpack_layers("net", arrays, (8, 33, 18, 5), "relu")
    with pytest.raises(LearningError, match="not finite"):
        unpack_layers("net", arrays | {"net.layers.0.bias": np.full(33, np.nan, np.float32)}, SIZES, "relu")
    with pytest.raises(LearningError, match="did you mean 'float16'"):
        pack_layers("net", layers, "float15")
    with pytest.raises(LearningError, match="did you mean 'relu'"):
        Network(SIZES, "rely")

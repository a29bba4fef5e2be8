"""Networks of a trained model as graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ambulo.errors import LearningError
from ambulo.export.engine.graph import Graph, Value
from ambulo.learning.weights import Layers

if TYPE_CHECKING:
    import onnx


def network(graph: Graph, layers: Layers, values: Value) -> Value:
    """The output ``[N, out]`` of ``[N, in]``, normalisation folded into the first and last layer."""
    folded = layers.folded()
    for place, (weight, bias) in enumerate(zip(folded.weights, folded.biases, strict=True)):
        if place:
            values = activate(graph, values, folded.activation)
        values = graph.op("Gemm", values, weight, bias, transB=1)
    return values


def activate(graph: Graph, values: Value, activation: str) -> Value:
    """As :func:`ambulo.learning.weights.activate`."""
    plain: dict[str, tuple[str, dict[str, Any]]] = {
        "relu": ("Relu", {}), "tanh": ("Tanh", {}), "elu": ("Elu", {"alpha": 1.0}),
        "selu": ("Selu", {}),
    }  # fmt: skip
    if activation in plain:
        kind, attributes = plain[activation]
        return graph.op(kind, values, **attributes)
    if activation == "silu":
        return values * graph.op("Sigmoid", values)
    if activation == "gelu":
        return values * 0.5 * (1.0 + graph.op("Erf", values * 0.5**0.5))
    raise LearningError(f"no activation {activation!r} in a graph", key="activation")


def network_model(name: str, layers: Layers, count: int) -> onnx.ModelProto:
    """One network alone: ``input [N, in]`` to ``output [N, out]``."""
    graph = Graph(name)
    values = graph.input("input", (count, layers.sizes[0]))
    graph.output("output", network(graph, layers, values), (count, layers.sizes[-1]))
    return graph.model()

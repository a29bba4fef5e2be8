"""A graph for the small runtime of exported pages (``web/src/live``): nodes as JSON, constants as float32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import onnx


def web_graph(model: onnx.ModelProto) -> tuple[dict[str, Any], NDArray[np.float32]]:
    """Nodes, inputs, outputs and places of the constants; and the constants end to end, float32.

    Whole numbers become floats, which is exact for all that such graphs hold.
    """
    from onnx import helper, numpy_helper

    graph, offset = model.graph, 0
    constants, rows = [], []
    for tensor in graph.initializer:
        array = numpy_helper.to_array(tensor)
        constants.append({"name": tensor.name, "shape": list(array.shape), "offset": offset})
        rows.append(np.clip(array, -(2.0**31), 2.0**31).astype(np.float32).reshape(-1))
        offset += array.size
    nodes = [
        {
            "op": node.op_type,
            "inputs": list(node.input),
            "outputs": list(node.output),
            "attributes": {a.name: _plain(helper.get_attribute_value(a)) for a in node.attribute},
        }
        for node in graph.node
    ]
    data = {
        "format": "ambulo-graph",
        "version": 1,
        "inputs": [_port(value) for value in graph.input],
        "outputs": [_port(value) for value in graph.output],
        "constants": constants,
        "nodes": nodes,
    }
    return data, np.concatenate(rows)


def _port(value: Any) -> dict[str, Any]:
    return {"name": value.name, "shape": [d.dim_value for d in value.type.tensor_type.shape.dim]}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, list | tuple) or hasattr(value, "extend") else value

"""Writing an ONNX graph as arithmetic: values with operators, constants kept once, plain operators only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import AmbuloError

if TYPE_CHECKING:
    import onnx

OPSET = 15
"""The newest operator set that Unity's engine is documented for (7 to 15); onnxruntime and Unreal's NNE run it too."""

_IR_VERSION = 8


class Value:
    """A tensor of a graph. Numbers and arrays on either side of an operator become float32 constants."""

    __slots__ = ("graph", "name")
    __array_ufunc__ = None  # an array on the left leaves the operator to the value on the right

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def __add__(self, other: Any) -> Value:
        return self.graph.op("Add", self, other)

    def __radd__(self, other: Any) -> Value:
        return self.graph.op("Add", other, self)

    def __sub__(self, other: Any) -> Value:
        return self.graph.op("Sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self.graph.op("Sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return self.graph.op("Mul", self, other)

    def __rmul__(self, other: Any) -> Value:
        return self.graph.op("Mul", other, self)

    def __truediv__(self, other: Any) -> Value:
        return self.graph.op("Div", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.graph.op("Div", other, self)

    def __neg__(self) -> Value:
        return self.graph.op("Neg", self)

    def __lt__(self, other: Any) -> Value:
        return self.graph.op("Less", self, other)

    def __gt__(self, other: Any) -> Value:
        return self.graph.op("Greater", self, other)

    def __le__(self, other: Any) -> Value:
        return self.graph.op("LessOrEqual", self, other)

    def __ge__(self, other: Any) -> Value:
        return self.graph.op("GreaterOrEqual", self, other)

    def __and__(self, other: Any) -> Value:
        return self.graph.op("And", self, other)

    def __or__(self, other: Any) -> Value:
        return self.graph.op("Or", self, other)

    def __invert__(self) -> Value:
        return self.graph.op("Not", self)

    def equals(self, other: Any) -> Value:
        """bool: equal, number by number."""
        return self.graph.op("Equal", self, other)

    def at(self, index: int, axis: int = -1) -> Value:
        """One place along an axis, which goes away."""
        return self.graph.op("Gather", self, np.int64(index), axis=axis)

    def part(self, start: int, stop: int, axis: int = -1) -> Value:
        """Places ``[start, stop)`` along an axis."""
        bounds = [np.array([bound], np.int64) for bound in (start, stop, axis)]
        return self.graph.op("Slice", self, *bounds)

    def pick(self, places: NDArray[np.int64], axis: int) -> Value:
        """Those places along an axis."""
        return self.graph.op("Gather", self, np.asarray(places, np.int64), axis=axis)

    def rows(self, indices: Value) -> Value:
        """Rows of a table by float whole numbers."""
        return self.graph.op("Gather", self, indices.whole(), axis=0)

    def split(self, *sizes: int, axis: int = 1) -> list[Value]:
        """Parts of those lengths along an axis."""
        return self.graph.ops("Split", len(sizes), self, np.array(sizes, np.int64), axis=axis)

    def reshape(self, *shape: int) -> Value:
        """The same numbers in another shape; 0 keeps a length, -1 is what is left."""
        source = self
        if 0 not in shape[1:] and shape[0] == 0:  # of what was reshaped before, straight from that
            source = self.graph.reshaped.get(self.name, self)
        made = self.graph.op("Reshape", source, np.array(shape, np.int64))
        if shape[0] == 0:
            self.graph.reshaped[made.name] = source
        return made

    def wide(self, *axes: int) -> Value:
        """With axes of length 1 put in."""
        return self.graph.op("Unsqueeze", self, np.array(axes, np.int64))

    def dot(self, other: Any) -> Value:
        """Matrix product."""
        return self.graph.op("MatMul", self, other)

    def sum(self, axis: int = -1, keep: bool = False) -> Value:
        """Sum along an axis."""
        return self.graph.op("ReduceSum", self, np.array([axis], np.int64), keepdims=int(keep))

    def norm(self) -> Value:
        """Lengths of vectors along the last axis, which stays with length 1."""
        return self.graph.op("ReduceL2", self, axes=[-1], keepdims=1)

    def clip(self, low: float, high: float) -> Value:
        """Between two numbers."""
        return self.graph.op("Clip", self, low, high)

    def least(self, axis: int = -1, keep: bool = False) -> Value:
        """Minimum along an axis."""
        return self.graph.op("ReduceMin", self, axes=[axis], keepdims=int(keep))

    def most(self, axis: int = -1, keep: bool = False) -> Value:
        """Maximum along an axis."""
        return self.graph.op("ReduceMax", self, axes=[axis], keepdims=int(keep))

    def argmax(self) -> Value:
        """int64 place of the maximum along the last axis, which stays with length 1; of equal ones the first."""
        return self.graph.op("ArgMax", self, axis=-1, keepdims=1)

    def whole(self) -> Value:
        """As int64."""
        return self.graph.op("Cast", self, to=7)

    def number(self) -> Value:
        """As float32."""
        return self.graph.op("Cast", self, to=1)

    def sqrt(self) -> Value:
        return self.graph.op("Sqrt", self)

    def exp(self) -> Value:
        return self.graph.op("Exp", self)

    def sin(self) -> Value:
        return self.graph.op("Sin", self)

    def cos(self) -> Value:
        return self.graph.op("Cos", self)

    def abs(self) -> Value:
        return self.graph.op("Abs", self)

    def floor(self) -> Value:
        return self.graph.op("Floor", self)

    def ceil(self) -> Value:
        return self.graph.op("Ceil", self)

    def atan(self) -> Value:
        return self.graph.op("Atan", self)


class Graph:
    """A graph while it is written.

    Args:
        name: of the graph.
        count: characters N, the first length of its tensors.
    """

    def __init__(self, name: str, count: int = 1) -> None:
        self.name, self.count = name, count
        self._nodes: list[Any] = []
        self._made: dict[tuple[str, tuple[str, ...], str], list[Value]] = {}
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._initializers: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._shown: list[tuple[str, str]] = []
        self.reshaped: dict[str, Value] = {}

    def input(self, name: str, shape: tuple[int, ...]) -> Value:
        """A float32 input of a fixed shape."""
        helper, proto = _onnx().helper, _onnx().TensorProto
        self._inputs.append(helper.make_tensor_value_info(name, proto.FLOAT, shape))
        return Value(self, name)

    def output(self, name: str, value: Value, shape: tuple[int, ...]) -> None:
        """Name a value as a float32 output of a fixed shape."""
        helper, proto = _onnx().helper, _onnx().TensorProto
        self._shown.append((name, value.name))
        self._outputs.append(helper.make_tensor_value_info(name, proto.FLOAT, shape))

    def constant(self, values: Any) -> Value:
        """A constant: whole numbers as int64, booleans as they are, all else as float32; equal ones are kept once."""
        array = np.asarray(values)
        if array.dtype.kind == "b":
            kept = array
        elif isinstance(values, np.ndarray | np.integer) and array.dtype.kind in "iu":
            kept = array.astype(np.int64)
        else:
            kept = array.astype(np.float32)
        kept = np.ascontiguousarray(kept).reshape(array.shape)
        key = (kept.dtype.str, kept.shape, kept.tobytes())
        name = self._constants.get(key)
        if name is None:
            name = self._constants[key] = f"c{len(self._constants)}"
            self._initializers.append(_onnx().numpy_helper.from_array(kept, name))
        return Value(self, name)

    def op(self, kind: str, *inputs: Any, **attributes: Any) -> Value:
        """An operator with one output."""
        return self.ops(kind, 1, *inputs, **attributes)[0]

    def ops(self, kind: str, count: int, *inputs: Any, **attributes: Any) -> list[Value]:
        """An operator with several outputs."""
        names = [(value if isinstance(value, Value) else self.constant(value)).name for value in inputs]
        key = (kind, tuple(names), repr(sorted(attributes.items())))
        if key in self._made:  # said twice, computed once
            return self._made[key]
        outputs = [f"v{len(self._nodes)}" if count == 1 else f"v{len(self._nodes)}_{k}" for k in range(count)]
        self._nodes.append(_onnx().helper.make_node(kind, names, outputs, **attributes))
        self._made[key] = [Value(self, name) for name in outputs]
        return self._made[key]

    def where(self, condition: Any, yes: Any, no: Any) -> Value:
        """``yes`` where the condition holds, else ``no``."""
        return self.op("Where", condition, yes, no)

    def greater_of(self, *values: Any) -> Value:
        return self.op("Max", *values)

    def lesser_of(self, *values: Any) -> Value:
        return self.op("Min", *values)

    def join(self, *values: Any, axis: int = -1) -> Value:
        """Side by side along an axis that is there."""
        return self.op("Concat", *values, axis=axis)

    def stack(self, *values: Value) -> Value:
        """Side by side along a new last axis."""
        return self.join(*(value.wide(-1) for value in values))

    def model(self) -> onnx.ModelProto:
        """The checked model."""
        library = _onnx()
        nodes = self._kept_nodes()
        used = {name for node in nodes for name in node.input}
        kept = [tensor for tensor in self._initializers if tensor.name in used]
        graph = library.helper.make_graph(nodes, self.name, self._inputs, self._outputs, kept)
        model: onnx.ModelProto = library.helper.make_model(
            graph,
            producer_name="ambulo",
            opset_imports=[library.helper.make_opsetid("", OPSET)],
            ir_version=_IR_VERSION,
        )
        library.checker.check_model(model)
        return model

    def _kept_nodes(self) -> list[Any]:
        """Nodes that an output needs, with the outputs named where they are made."""
        make_node = _onnx().helper.make_node
        makers = {made for node in self._nodes for made in node.output}
        names: dict[str, str] = {}
        copies = []
        for name, value in self._shown:
            if value in makers and value not in names:
                names[value] = name
            else:
                copies.append(make_node("Identity", [names.get(value, value)], [name]))
        needed = {value for _, value in self._shown}
        kept = []
        for node in reversed(self._nodes):
            if needed.isdisjoint(node.output):
                continue
            needed.update(node.input)
            again = type(node)()
            again.CopyFrom(node)
            again.input[:] = [names.get(name, name) for name in node.input]
            again.output[:] = [names.get(name, name) for name in node.output]
            kept.append(again)
        return [*reversed(kept), *copies]

    @property
    def operators(self) -> list[str]:
        """Kinds of operators used, sorted."""
        return sorted({node.op_type for node in self._kept_nodes()})

    @property
    def operator_count(self) -> int:
        """How many operators the model has."""
        return len(self._kept_nodes())


def _onnx() -> Any:
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise AmbuloError(
            "writing an ONNX graph needs the package `onnx`", key="export", remedy='pip install "ambulo[learn]"'
        ) from None
    return onnx

"""A posing model as an ONNX graph, for engines: positions of a fixed set of points in, all 43 points out.

Everything is in the graph: both Gaussians (for one set of points and tolerances they are two matrices), where the body
faces, the network and its mirror image, both passes. It needs nothing but MatMul, Relu and a few other plain operators.
Beside it lie golden vectors: inputs, and the outputs that ambulo has for them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import PosingError
from ambulo.formats.paths import write_whole
from ambulo.posing.completion import HIPS, LEFT, NOWHERE, RIGHT, network_input
from ambulo.posing.gaussian import PoseGaussian
from ambulo.posing.observations import Observations, observe_points
from ambulo.posing.points import MIRRORED, POINT_COUNT, POINTS
from ambulo.posing.poser import Poser

Float = NDArray[np.float32]
Double = NDArray[np.float64]

OPSET = 17
_IR_VERSION = 8
_GROUND = np.array([1.0, 0.0, 1.0], np.float32)


class Golden(msgspec.Struct, frozen=True):
    """The content of the file of golden vectors, ``NAME.golden.json``.

    Attributes:
        points: names of the points, in the order of the input.
        tolerances: metres, of each.
        outputs: names of the 43 points, in the order of the output.
        positions: ``[N][K][3]``, metres, for the standard body; what goes in.
        completed: ``[N][43][3]``, metres; what comes out.
        tolerance: metres by which a runtime may differ.
    """

    points: list[str]
    tolerances: list[float]
    outputs: list[str]
    positions: list[Any]
    completed: list[Any]
    tolerance: float = 1e-5


def export_poser(
    poser: Poser,
    points: Sequence[str],
    path: str | Path,
    *,
    tolerances: ArrayLike = 0.0,
    examples: ArrayLike | None = None,
) -> Golden:
    """Write a model for a fixed set of points, and golden vectors beside it.

    The graph's input is ``positions`` float32 ``[N, K, 3]`` and its output ``points`` float32 ``[N, 43, 3]``, for the
    standard body: divide and multiply by :attr:`~ambulo.posing.body_points.BodyPoints.scale` for another.

    Args:
        poser: the model.
        points: names of the K points that are set.
        path: the ``.onnx`` file.
        tolerances: metres, of each point ``[K]`` or of all.
        examples: ``[N, K, 3]``, positions for the golden vectors; else eight about the mean pose.

    Returns:
        The golden vectors.

    Raises:
        PosingError: an unknown point, or the extra ``learn`` is not installed.
    """
    onnx = _import_onnx()
    count = len(points)
    target = Path(path)
    wishes = observe_points(list(points), np.zeros((count, 3)), tolerances)
    model = _Graph(onnx, poser, wishes).model()
    onnx.checker.check_model(model, full_check=True)
    if examples is None:
        random = np.random.default_rng(0)
        mean = poser.completion.facing.mean.reshape(POINT_COUNT, 3)[wishes.rows.argmax(axis=1)]
        examples = mean + random.normal(0.0, 0.15, (8, count, 3)) + random.normal(0.0, 2.0, (8, 1, 3)) * _GROUND
    positions = np.asarray(examples, np.float32)
    completed = poser.complete(observe_points(list(points), positions, tolerances))
    golden = Golden(
        list(points), np.sqrt(wishes.variances).tolist(), list(POINTS), positions.tolist(), completed.tolist()
    )
    write_whole(target, model.SerializeToString())
    write_whole(target.with_suffix(".golden.json"), msgspec.json.encode(golden) + b"\n")
    return golden


@dataclass(frozen=True)
class _Affine:
    """``x @ matrix + offset``."""

    matrix: Double
    offset: Double


def _conditional(gaussian: PoseGaussian, wishes: Observations) -> tuple[_Affine, Double]:
    """Set coordinates to mean coordinates, and the deviations ``[43, 3]``."""
    size = 3 * len(wishes.rows)
    asked = np.concatenate([np.zeros((1, size)), np.eye(size)]).reshape(size + 1, -1, 3)
    means, deviations = gaussian.condition(Observations(wishes.rows, asked, wishes.variances, wishes.exact_points))
    flat = means.reshape(size + 1, -1)
    return _Affine(flat[1:] - flat[0], flat[0]), deviations


class _Graph:
    """Builds the graph node by node."""

    def __init__(self, onnx: Any, poser: Poser, wishes: Observations) -> None:
        self.onnx, self.wishes = onnx, wishes
        self.completion = poser.completion
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.turned, _ = _conditional(self.completion.turned, wishes)
        self.facing, self.deviations = _conditional(self.completion.facing, wishes)

    def model(self) -> Any:
        """The whole model."""
        onnx, count = self.onnx, len(self.wishes.rows)
        middle = self._mul(self._add_node("ReduceMean", ["positions"], axes=[1], keepdims=1), self._const(_GROUND))
        known = self._sub("positions", middle)
        body = self._points(self._affine(self._flat(known, 3 * count), self.turned))
        for _ in range(self.completion.passes):
            cos, sin, place = self._stance(body)
            seen = self._turn(self._sub(known, place), cos, sin, -1.0)
            guess = self._affine(self._flat(seen, 3 * count), self.facing)
            body = self._add(self._turn(self._points(self._refine(guess)), cos, sin, 1.0), place)
        self.nodes.append(onnx.helper.make_node("Add", [body, middle], ["points"]))
        info = onnx.helper.make_tensor_value_info
        kind = onnx.TensorProto.FLOAT
        graph = onnx.helper.make_graph(
            self.nodes,
            "ambulo_poser",
            [info("positions", kind, ["N", count, 3])],
            [info("points", kind, ["N", POINT_COUNT, 3])],
            list(self.constants.values()),
        )
        opset = [onnx.helper.make_opsetid("", OPSET)]
        return onnx.helper.make_model(graph, opset_imports=opset, ir_version=_IR_VERSION, producer_name="ambulo")

    def _stance(self, body: str) -> tuple[str, str, str]:
        """Cosine and sine of where a body faces, and the place where it stands."""
        across = np.zeros((1, POINT_COUNT))
        across[0, LEFT], across[0, RIGHT] = 1.0, -1.0
        hips = np.zeros((1, POINT_COUNT))
        hips[0, HIPS] = 1.0
        left = self._add_node("MatMul", [self._const(across), body])
        x = self._column(left, 0)
        z = self._mul(self._column(left, 2), self._const(-np.ones(1)))
        length = self._add_node("Sqrt", [self._add(self._mul(x, x), self._mul(z, z))])
        known = self._add_node("Greater", [length, self._const(np.array([NOWHERE]))])
        safe = self._add_node("Max", [length, self._const(np.array([NOWHERE]))])
        cos, sin = self._add_node("Div", [x, safe]), self._add_node("Div", [z, safe])
        cos = self._add_node("Where", [known, cos, self._const(np.ones(1))])
        sin = self._add_node("Where", [known, sin, self._const(np.zeros(1))])
        place = self._mul(self._add_node("MatMul", [self._const(hips), body]), self._const(_GROUND))
        return cos, sin, place

    def _turn(self, vectors: str, cos: str, sin: str, sign: float) -> str:
        """Vectors turned about +Y by the stance's yaw (sign 1) or back (-1)."""
        straight = self._add(self._mul(cos, self._const(_GROUND)), self._const(1.0 - _GROUND))
        crossed = self._mul(sin, self._const(sign * np.array([1.0, 0.0, -1.0])))
        swapped = self._add_node("Gather", [vectors, self._indices([2, 1, 0])], axis=2)
        return self._add(self._mul(vectors, straight), self._mul(swapped, crossed))

    def _refine(self, guess: str) -> str:
        """The Gaussian's mean ``[N, 129]`` moved by the network and by its mirror image."""
        if self.completion.network is None:
            return guess
        folded = self.completion.network.folded()
        spread = self.deviations.reshape(-1)
        mirror = np.zeros((3 * POINT_COUNT, 3 * POINT_COUNT))
        for point, partner in enumerate(MIRRORED):
            for axis, sign in enumerate((-1.0, 1.0, 1.0)):
                mirror[3 * partner + axis, 3 * point + axis] = sign
        last = len(folded.weights) - 1
        result = guess
        for flip in (np.eye(3 * POINT_COUNT), mirror):
            deviations = np.abs(spread @ flip)
            # The deviations are the same for all inputs, so their part of the first layer is a bias.
            first = folded.weights[0].astype(np.float64).T
            at = network_input(np.zeros((1, POINT_COUNT, 3)), deviations.reshape(POINT_COUNT, 3))
            weight = flip @ first.reshape(POINT_COUNT, 6, -1)[:, :3].reshape(3 * POINT_COUNT, -1)
            values = self._affine(guess, _Affine(weight, at[0].astype(np.float64) @ first + folded.biases[0]))
            for number in range(1, last + 1):
                weight, bias = folded.weights[number].T.astype(np.float64), folded.biases[number].astype(np.float64)
                if number == last:
                    weight, bias = 0.5 * weight @ flip * spread, 0.5 * bias @ flip * spread
                values = self._affine(self._add_node("Relu", [values]), _Affine(weight, bias))
            result = self._add(result, values)
        return result

    def _affine(self, values: str, affine: _Affine) -> str:
        product = self._add_node("MatMul", [values, self._const(affine.matrix)])
        return self._add(product, self._const(affine.offset))

    def _flat(self, values: str, size: int) -> str:
        return self._add_node("Reshape", [values, self._indices([-1, size])])

    def _points(self, values: str) -> str:
        return self._add_node("Reshape", [values, self._indices([-1, POINT_COUNT, 3])])

    def _column(self, values: str, axis: int) -> str:
        return self._add_node("Gather", [values, self._indices([axis])], axis=2)

    def _add(self, a: str, b: str) -> str:
        return self._add_node("Add", [a, b])

    def _sub(self, a: str, b: str) -> str:
        return self._add_node("Sub", [a, b])

    def _mul(self, a: str, b: str) -> str:
        return self._add_node("Mul", [a, b])

    def _add_node(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [name], **attributes))
        return name

    def _const(self, values: NDArray[np.floating]) -> str:
        return self._keep(np.ascontiguousarray(values, np.float32))

    def _indices(self, values: Sequence[int]) -> str:
        return self._keep(np.array(values, np.int64))

    def _keep(self, array: NDArray[Any]) -> str:
        # The same matrix is stored once, however often it is used.
        key = hashlib.sha256(f"{array.shape} {array.dtype}".encode() + array.tobytes()).hexdigest()
        if key not in self.constants:
            self.constants[key] = self.onnx.numpy_helper.from_array(array, f"c{len(self.constants)}")
        return str(self.constants[key].name)


def _import_onnx() -> Any:
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise PosingError(
            "writing ONNX needs the package onnx", remedy='install it: pip install "ambulo[learn]"'
        ) from None
    return onnx

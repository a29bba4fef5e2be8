"""The takes of an FBX file: which curves move which nodes, from when to when, sampled at even steps of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.formats.fbx_curves import TICKS_PER_SECOND, Curve, read_curve, sample_curve
from ambulo.formats.fbx_document import Document, FbxObject, as_numbers
from ambulo.formats.fbx_transform import ORDERS, euler
from ambulo.maths import quaternions
from ambulo.motion.motion import Note

CHANNELS = {"Lcl Translation": (0.0, 0.0, 0.0), "Lcl Rotation": (0.0, 0.0, 0.0), "Lcl Scaling": (1.0, 1.0, 1.0)}
"""What can move, and where it rests."""

_OVERRIDE, _OVERRIDE_IN_PART = 1, 2
_FURTHEST = 1 << 52  # ticks: more than a day, and whole numbers up to here are exact in float64


class Channel(NamedTuple):
    """One animated property on one layer: a curve or a constant for x, y and z."""

    curves: tuple[Curve | None, Curve | None, Curve | None]
    constants: tuple[float, float, float]

    def sample(self, times: NDArray[np.int64]) -> NDArray[np.float64]:
        """Values ``[T, 3]``."""
        return np.stack(
            [
                np.full(len(times), constant) if curve is None else sample_curve(curve, times)
                for curve, constant in zip(self.curves, self.constants, strict=True)
            ],
            axis=1,
        )


class Layer(NamedTuple):
    """One layer of a take.

    Attributes:
        override: it replaces what is below, in place of adding to it.
        by_channel: angles are put together one by one; else rotations are, each after the one below.
        weight: 0 to 1.
        channels: node, property -> channel.
    """

    override: bool
    by_channel: bool
    weight: float
    channels: dict[tuple[int, str], Channel]


class Take(NamedTuple):
    """One animation stack.

    Attributes:
        name: as the file says it.
        start: ticks.
        stop: ticks, of the last frame.
        layers: the lowest first.
        notes: what is odd about it.
    """

    name: str
    start: int
    stop: int
    layers: tuple[Layer, ...]
    notes: tuple[Note, ...]

    def moves(self, nodes: Iterable[FbxObject]) -> bool:
        """Whether a curve moves one of some nodes."""
        return self._touches(nodes, True)

    def poses(self, nodes: Iterable[FbxObject]) -> bool:
        """Whether it says anything of one of some nodes, be it a constant."""
        return self._touches(nodes, False)

    def _touches(self, nodes: Iterable[FbxObject], by_curve: bool) -> bool:
        channels = [(number, channel) for layer in self.layers for (number, _), channel in layer.channels.items()]
        touched = {number for number, channel in channels if not by_curve or any(channel.curves)}
        return any(node.id in touched for node in nodes)

    def sample(self, document: Document, node: FbxObject, times: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
        """The properties of a node that are animated, ``[T, 3]`` each."""
        found: dict[str, NDArray[np.float64]] = {}
        for number, layer in enumerate(self.layers):
            for name, rest in CHANNELS.items():
                channel = layer.channels.get((node.id, name))
                if channel is None:
                    continue
                values = channel.sample(times)
                if number == 0:
                    found[name] = values
                    continue
                below = found.get(name)
                if below is None:
                    below = np.broadcast_to(document.numbers(node, name, rest), values.shape)
                if name == "Lcl Rotation" and not layer.by_channel:
                    order = int(document.numbers(node, "RotationOrder", (0.0,))[0])
                    found[name] = _turn(below, values, order, layer)
                elif layer.override:
                    found[name] = below + layer.weight * (values - below)
                elif name == "Lcl Scaling":
                    found[name] = below * (1.0 + layer.weight * (values - 1.0))
                else:
                    found[name] = below + layer.weight * values
        return found

    def key_times(self) -> NDArray[np.int64]:
        """Times of the keys of the curve with most of them, ticks."""
        curves = list(self.curves())
        return max((curve.times for curve in curves), key=len) if curves else np.zeros(0, np.int64)

    def curves(self) -> Iterator[Curve]:
        """All curves."""
        return (
            curve
            for layer in self.layers
            for channel in layer.channels.values()
            for curve in channel.curves
            if curve is not None
        )


def _turn(below: NDArray[np.float64], values: NDArray[np.float64], order: int, layer: Layer) -> NDArray[np.float64]:
    """Angles of a layer's rotation over, or in place of, the rotation below, as angles again."""
    letters = ORDERS[order] if 0 <= order < len(ORDERS) else ORDERS[0]
    first, second = euler(below, letters), euler(values, letters)
    if layer.override:
        turned = quaternions.slerp(first, second, np.full(len(second), layer.weight))
    else:
        part = quaternions.slerp(np.array([0.0, 0.0, 0.0, 1.0]), second, np.full(len(second), layer.weight))
        turned = quaternions.multiply(first, part)
    angles = np.empty_like(values)
    angles[:, ["XYZ".index(letter) for letter in letters]] = np.degrees(quaternions.to_euler(turned, letters))
    return angles


def read_takes(document: Document, nodes: Iterable[FbxObject]) -> list[Take]:
    """The takes of a file, with the curves of some nodes only.

    Raises:
        FormatError: a curve is damaged.
    """
    wanted = {node.id for node in nodes}
    return [_read_take(document, stack, wanted) for stack in document.of_kind("AnimationStack")]


def _read_take(document: Document, stack: FbxObject, wanted: set[int]) -> Take:
    layers = []
    notes: list[Note] = []
    for entry, _ in document.below(stack.id, "AnimationLayer"):
        if document.numbers(entry, "Mute", (0.0,))[0]:
            continue
        blend = int(document.numbers(entry, "BlendMode", (0.0,))[0])
        weight = document.numbers(entry, "Weight", (100.0,))[0] / 100.0
        by_channel = document.numbers(entry, "RotationAccumulationMode", (0.0,))[0] == 1.0
        channels = _read_channels(document, entry, wanted)
        if blend == _OVERRIDE:  # only the other kind lets through what is below
            weight = 1.0
        override = blend in (_OVERRIDE, _OVERRIDE_IN_PART)
        layers.append(Layer(override, by_channel, min(max(weight, 0.0), 1.0), channels))
    take = Take(stack.name, 0, 0, tuple(layers), tuple(notes))
    if any(curve.unsorted for curve in take.curves()):
        notes.append(Note("key_order", f"keys of the take {stack.name!r} are not in the order of time", warning=True))
    start, stop = _span(document, stack, take)
    return take._replace(start=start, stop=stop, notes=tuple(notes))


def _span(document: Document, stack: FbxObject, take: Take) -> tuple[int, int]:
    """First and last time of a take: what it says, else those of its keys."""
    properties = stack.properties()
    if {"LocalStart", "LocalStop"} & set(properties):
        ends = [
            int(as_numbers(properties[name], 1, name, stack.node)[0]) if name in properties else 0
            for name in ("LocalStart", "LocalStop")
        ]
        if max(map(abs, ends)) < _FURTHEST and ends[1] > ends[0]:
            return ends[0], ends[1]
    keys = [(int(curve.times[0]), int(curve.times[-1])) for curve in take.curves()]
    if not keys:
        return 0, 0
    start, stop = min(first for first, _ in keys), max(last for _, last in keys)
    return max(start, -_FURTHEST), min(max(start, stop), _FURTHEST)


def _read_channels(document: Document, layer: FbxObject, wanted: set[int]) -> dict[tuple[int, str], Channel]:
    channels: dict[tuple[int, str], Channel] = {}
    for entry, _ in document.below(layer.id, "AnimationCurveNode"):
        targets = [
            (number, prop)
            for number, prop in document.parents.get(entry.id, ())
            if number in wanted and prop in CHANNELS
        ]
        if not targets:
            continue
        curves: list[Curve | None] = [None, None, None]
        for curve, prop in document.below(entry.id, "AnimationCurve"):
            axis = {"d|X": 0, "d|Y": 1, "d|Z": 2}.get(prop)
            if axis is not None:
                curves[axis] = read_curve(curve)
        for number, prop in targets:
            rest = document.numbers(document.objects[number], prop, CHANNELS[prop])
            constants = [
                document.numbers(entry, f"d|{letter}", (value,))[0] for letter, value in zip("XYZ", rest, strict=True)
            ]
            channels.setdefault(
                (number, prop), Channel((curves[0], curves[1], curves[2]), (constants[0], constants[1], constants[2]))
            )
    return channels


def frame_times(start: int, stop: int, rate: float) -> tuple[int, float]:
    """Number of frames and ticks a frame of a take at a rate; the last frame is the last that still lies within."""
    step = TICKS_PER_SECOND / rate
    # A stop is rounded to whole ticks, sometimes to hundredths of a frame.
    return int((stop - start) / step + 0.01) + 1, step

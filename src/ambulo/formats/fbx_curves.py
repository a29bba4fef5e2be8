"""Animation curves of FBX: keys in time, and what is between them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.formats.fbx_document import FbxObject

TICKS_PER_SECOND = 46186158000
"""FBX's unit of time: divisible by all usual frame rates."""

Ticks = NDArray[np.int64]
Doubles = NDArray[np.float64]

_CONSTANT, _LINEAR, _CUBIC = 0x2, 0x4, 0x8
_CONSTANT_NEXT = 0x100
_TCB, _USER = 0x200, 0x400
_CLAMP, _TIME_INDEPENDENT, _CLAMP_PROGRESSIVE = 0x1000, 0x2000, 0x4000
_WEIGHTED_RIGHT, _WEIGHTED_NEXT_LEFT = 0x1000000, 0x2000000
_THIRD = 1.0 / 3.0
_HALVINGS = 48
_SMALLEST_NORMAL_BITS = 0x00800000


class Curve(NamedTuple):
    """One number over time, as cubic Bezier pieces between keys.

    Attributes:
        times: ``[n]``, ticks, increasing.
        values: ``[n]``.
        held: ``[n - 1]``, 1 where a piece keeps its first key's value, 2 its last key's, 0 where it moves.
        reach: ``[n - 1, 2]``, how far in time the two inner control points are from their keys, as part of the piece.
        rise: ``[n - 1, 2]``, their values from those of their keys.
        unsorted: the file's keys were not in order.
        straight: every piece is a straight line, and the three arrays between are empty.
    """

    times: Ticks
    values: Doubles
    held: NDArray[np.int8]
    reach: Doubles
    rise: Doubles
    unsorted: bool = False
    straight: bool = False


def read_curve(entry: FbxObject) -> Curve | None:
    """The keys of a curve; None where it has none.

    Raises:
        FormatError: keys, values and attributes do not agree, or a value is not finite.
    """
    found: dict[str, Any] = {}
    for node in entry.node.children():
        if node.name == "KeyValueFloat":
            found[node.name] = node.array(np.float64)
        elif node.name == "KeyAttrDataFloat":
            found[node.name] = _attribute_bits(node)
        elif node.name in ("KeyTime", "KeyAttrFlags", "KeyAttrRefCount"):
            found[node.name] = node.array(np.int64)
    times, values = found.get("KeyTime"), found.get("KeyValueFloat")
    if times is None or values is None:
        if times is None and values is None:
            return None
        raise entry.node.error("a curve has times without values, or values without times")
    if len(times) != len(values):
        raise entry.node.error(f"a curve has {len(times)} times and {len(values)} values")
    if not len(times):
        return None
    bad = np.nonzero(~(np.abs(values) < 1e30))[0]
    if len(bad):
        raise entry.node.error(f"key {bad[0]} of a curve is {values[bad[0]]:g}, no usable number")
    flags, data = _attributes(found, len(times), entry)
    unsorted = bool((times[1:] < times[:-1]).any())
    if unsorted:
        order = np.argsort(times, kind="stable")
        times, values, flags, data = times[order], values[order], flags[order], data[order]
    # Of several keys at one time the last counts.
    keep = np.append(times[1:] != times[:-1], True)
    times, values, flags, data = times[keep], values[keep], flags[keep], data[keep]
    return _pieces(times, values, flags, data, unsorted)


def _attribute_bits(node: Any) -> NDArray[np.uint32] | None:
    """The attribute data as the bits of float32; weights are packed into the bits of one number of each four.

    Text files hold either decimal fractions or, as Autodesk's writer does, the bits themselves as whole numbers. Bits
    of a slope are above those of the smallest normal float; whole numbers below that are meant as they stand.
    """
    floats: NDArray[np.float32] | None = node.array(np.float32)
    if floats is None:
        return None
    bits = floats.view(np.uint32).copy()
    if node.as_text:
        exact = node.array(np.float64)
        if (exact == np.floor(exact)).all() and (np.abs(exact) < 2.0**32).all():
            packed = np.arange(len(bits)) % 4 == 2
            coded = packed | (np.abs(exact) >= _SMALLEST_NORMAL_BITS)
            bits[coded] = exact[coded].astype(np.int64).astype(np.uint32)
    return bits


def _attributes(found: dict[str, Any], count: int, entry: FbxObject) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Flags ``[n]`` and data bits ``[n, 4]`` of every key; the file keeps each for a run of keys."""
    flags, data, runs = (found.get(f"KeyAttr{name}") for name in ("Flags", "DataFloat", "RefCount"))
    if flags is None or runs is None:
        return np.full(count, _LINEAR), np.zeros((count, 4), np.uint32)
    if data is None:
        data = np.zeros(4 * len(flags), np.uint32)
    if len(runs) != len(flags) or len(data) != 4 * len(flags):
        raise entry.node.error(
            f"a curve has {len(flags)} attributes, {len(runs)} counts of them and {len(data)} numbers for them"
        )
    if (runs < 0).any() or (runs > count).any() or int(runs.sum()) < count:
        raise entry.node.error(f"the attributes of a curve cover {int(runs.sum())} keys, there are {count}")
    which = np.repeat(np.arange(len(runs)), runs)[:count]
    return flags[which], data.reshape(-1, 4)[which]


def _pieces(times: Ticks, values: Doubles, flags: NDArray[np.int64], data: NDArray[np.uint32], unsorted: bool) -> Curve:
    """The Bezier pieces that keys and their attributes describe."""
    if not (flags[:-1] & (_CONSTANT | _CUBIC)).any():
        return Curve(times, values, np.zeros(0, np.int8), np.zeros((0, 2)), np.zeros((0, 2)), unsorted, True)
    seconds = (times.astype(np.float64) - float(times[0])) / TICKS_PER_SECOND
    span, change = np.diff(seconds), np.diff(values)
    secant = change / span
    constant = (flags & _CONSTANT) != 0
    cubic = ~constant & ((flags & _CUBIC) != 0)
    numbers = data.view(np.float32).astype(np.float64)
    numbers[~np.isfinite(numbers)] = 0.0
    automatic = cubic & ((flags & (_TCB | _USER)) == 0)
    tcb = cubic & ((flags & _TCB) != 0)
    right = np.where(cubic & ((flags & _USER) != 0), numbers[:, 0], 0.0)
    # The slope at the end of a piece is kept with the key before it, unless the key after it finds its own.
    left = np.append(0.0, np.where(cubic & ~tcb, numbers[:, 1], 0.0)[:-1])
    packed = data[:, 2]
    weight_right = np.where((flags & _WEIGHTED_RIGHT) != 0, (packed & 0xFFFF) / 1e4, _THIRD)
    weight_left = np.where((flags & _WEIGHTED_NEXT_LEFT) != 0, (packed >> 16) / 1e4, _THIRD)
    if automatic.any():
        slopes = _automatic_slopes(seconds, values, flags, secant)
        right, left = np.where(automatic, slopes, right), np.where(automatic, slopes, left)
    if tcb.any():
        tcb_left, tcb_right = _tcb_slopes(secant, numbers)
        right, left = np.where(tcb, tcb_right, right), np.where(tcb, tcb_left, left)
    moving = cubic[:-1]
    reach = np.stack([weight_right[:-1], weight_left[:-1]], axis=1)
    reach = np.where(moving[:, None], np.clip(reach, 0.0, 1.0), _THIRD)
    rise = np.stack([right[:-1], -left[1:]], axis=1) * reach * span[:, None]
    straight = np.stack([change, -change], axis=1) * _THIRD
    rise = np.where(moving[:, None], rise, straight)
    held = np.where(constant[:-1], np.where((flags[:-1] & _CONSTANT_NEXT) != 0, 2, 1), 0).astype(np.int8)
    return Curve(times, values, held, reach, rise, unsorted)


def _automatic_slopes(seconds: Doubles, values: Doubles, flags: NDArray[np.int64], secant: Doubles) -> Doubles:
    """Slopes that look at the keys before and after; where clamped, level at the ends and at extremes."""
    slopes = np.zeros(len(values))
    if len(values) < 2:
        return slopes
    before, after = secant[:-1], secant[1:]
    across = (values[2:] - values[:-2]) / (seconds[2:] - seconds[:-2])
    near = (seconds[1:-1] - seconds[:-2]) / (seconds[2:] - seconds[:-2])
    mixed = 0.5 * across + 0.5 * (before * (1.0 - near) + after * near)
    slopes[1:-1] = np.where((flags[1:-1] & _TIME_INDEPENDENT) != 0, across, mixed)
    slopes[[0, -1]] = secant[[0, -1]]
    earlier, later = np.append(0.0, secant), np.append(secant, 0.0)
    level = (np.append(secant[0], secant) == 0.0) | (np.append(secant, secant[-1]) == 0.0)
    slopes = np.where(((flags & _CLAMP) != 0) & level, 0.0, slopes)
    # Progressive: never steeper than what would reach a neighbour's value at its control point.
    most = np.where(earlier * later > 0.0, np.minimum(np.abs(earlier), np.abs(later)) / _THIRD, 0.0)
    return np.where((flags & _CLAMP_PROGRESSIVE) != 0, np.clip(slopes, -most, most), slopes)


def _tcb_slopes(secant: Doubles, numbers: Doubles) -> tuple[Doubles, Doubles]:
    """Slopes of Kochanek and Bartels, "Interpolating splines with local tension, continuity, and bias control",
    SIGGRAPH 1984; at the ends only one side counts."""
    before, after = np.append(0.0, secant), np.append(secant, 0.0)
    half = np.full(len(before), 0.5)
    half[[0, -1]] = 1.0
    tension, continuity, bias = numbers[:, 0], numbers[:, 1], numbers[:, 2]
    left = half * (1 - tension) * ((1 - continuity) * (1 + bias) * before + (1 + continuity) * (1 - bias) * after)
    right = half * (1 - tension) * ((1 + continuity) * (1 + bias) * before + (1 - continuity) * (1 - bias) * after)
    return left, right


def sample_curve(curve: Curve, times: Ticks) -> Doubles:
    """Values at some times, ticks; before the first key and after the last their values hold."""
    if curve.straight:
        return np.interp(times.astype(np.float64), curve.times.astype(np.float64), curve.values)
    if len(curve.times) == 1:
        return np.full(len(times), curve.values[0])
    piece = np.clip(np.searchsorted(curve.times, times, side="right") - 1, 0, len(curve.times) - 2)
    keys = curve.times.astype(np.float64)
    begin, end = keys[piece], keys[piece + 1]
    part = np.clip((times - begin) / np.maximum(end - begin, 1.0), 0.0, 1.0)
    reach, rise = curve.reach[piece], curve.rise[piece]
    first, last = curve.values[piece], curve.values[piece + 1]
    weighted = np.any(np.abs(reach - _THIRD) > 1e-9, axis=1)
    place = part.copy()
    if weighted.any():
        place[weighted] = _solve(part[weighted], reach[weighted, 0], 1.0 - reach[weighted, 1])
    rest = 1.0 - place
    moved = (
        rest**3 * first
        + 3.0 * rest**2 * place * (first + rise[:, 0])
        + 3.0 * rest * place**2 * (last + rise[:, 1])
        + place**3 * last
    )
    held = curve.held[piece]
    inside = part < 1.0
    moved = np.where((held == 1) & inside, first, moved)
    moved = np.where((held == 1) & ~inside, last, moved)
    return np.where((held == 2) & (part > 0.0), last, np.where(held == 2, first, moved))


def _solve(part: Doubles, near: Doubles, far: Doubles) -> Doubles:
    """Where on a Bezier piece its time reaches ``part``, by bisection: the time never runs back for reach in [0, 1]."""
    low, high = np.zeros_like(part), np.ones_like(part)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        rest = 1.0 - middle
        time = 3.0 * rest**2 * middle * near + 3.0 * rest * middle**2 * far + middle**3
        below = time < part
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)

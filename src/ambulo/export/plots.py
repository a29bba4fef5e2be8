"""Plots as inline SVG, for pages that load nothing: lines over time, and paths seen from above."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import ArrayLike, NDArray

_WIDTH, _HEIGHT = 720, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 22, 24
_POINTS = 1500  # more than a screen has columns


@dataclass(frozen=True)
class Line:
    """One line of a plot.

    Attributes:
        name: for the legend.
        x: ``[T]``.
        y: ``[T]``; NaN breaks the line.
        style: CSS class: ``made``, ``asked`` or ``third``.
    """

    name: str
    x: ArrayLike
    y: ArrayLike
    style: str = "made"


def line_plot(lines: Sequence[Line], *, unit: str, marks: ArrayLike = (), floor: float | None = 0.0) -> str:
    """Lines over seconds.

    Args:
        lines: at least one.
        unit: of the values.
        marks: times ``[M]`` drawn as ticks along the bottom.
        floor: a value that the axis must show.

    Returns:
        An ``<svg>`` element.
    """
    x = np.concatenate([np.asarray(line.x, np.float64) for line in lines])
    y = np.concatenate([np.asarray(line.y, np.float64) for line in lines])
    y = y[np.isfinite(y)]
    x0, x1 = (float(x.min()), float(x.max())) if len(x) else (0.0, 1.0)
    low = float(y.min()) if len(y) else 0.0
    high = float(y.max()) if len(y) else 1.0
    if floor is not None:
        low, high = min(low, floor), max(high, floor)
    x1 = x1 if x1 > x0 else x0 + 1.0
    high = high if high > low else low + 1.0
    high += 0.04 * (high - low)
    sx = (_WIDTH - _LEFT - _RIGHT) / (x1 - x0)
    sy = (_HEIGHT - _TOP - _BOTTOM) / (high - low)

    def place(px: NDArray[np.float64], py: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.stack([_LEFT + (px - x0) * sx, _HEIGHT - _BOTTOM - (py - low) * sy], axis=1)

    parts = [f'<svg class="plot" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">']
    for value in ticks(low, high, 4):
        level = _HEIGHT - _BOTTOM - (value - low) * sy
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{level:.1f}" y2="{level:.1f}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 6}" y="{level + 3.5:.1f}" text-anchor="end">{value:g}</text>')
    for value in ticks(x0, x1, 8):
        column = _LEFT + (value - x0) * sx
        parts.append(f'<text class="tick" x="{column:.1f}" y="{_HEIGHT - 8}" text-anchor="middle">{value:g} s</text>')
    for mark in np.asarray(marks, np.float64):
        column = _LEFT + (mark - x0) * sx
        parts.append(
            f'<line class="mark" x1="{column:.1f}" x2="{column:.1f}" y1="{_HEIGHT - _BOTTOM - 7}" '
            f'y2="{_HEIGHT - _BOTTOM}"/>'
        )
    for line in lines:
        px, py = np.asarray(line.x, np.float64), np.asarray(line.y, np.float64)
        stride = max(-(-len(px) // _POINTS), 1)
        for piece in _pieces(px[::stride], py[::stride]):
            parts.append(f'<polyline class="{escape(line.style)}" points="{_points(place(*piece))}"/>')
    parts.append(f'<text class="tick" x="{_LEFT - 6}" y="{_TOP - 11}" text-anchor="end">{escape(unit)}</text></svg>')
    return "".join(parts) + _legend(lines)


def map_plot(lines: Sequence[Line], *, size: int = 420) -> str:
    """Paths on the ground seen from above, to one scale: x to the left (the character's left), z up.

    Args:
        lines: x and y are the world's x and z, metres.
        size: pixels of the longer side.
    """
    x = np.concatenate([np.asarray(line.x, np.float64) for line in lines])
    z = np.concatenate([np.asarray(line.y, np.float64) for line in lines])
    finite = np.isfinite(x) & np.isfinite(z)
    x, z = x[finite], z[finite]
    if not len(x):
        return ""
    span = max(float(np.ptp(x)), float(np.ptp(z)), 1.0) * 1.08
    scale = size / span
    middle_x, middle_z = 0.5 * float(x.min() + x.max()), 0.5 * float(z.min() + z.max())
    width = max(float(np.ptp(x)) * 1.08 * scale, 80.0)
    height = max(float(np.ptp(z)) * 1.08 * scale, 80.0)
    parts = [f'<svg class="map" viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:{width:.0f}px" role="img">']
    step = 10.0 ** math.floor(math.log10(span / 4.0))
    step = next(step * factor for factor in (1.0, 2.0, 5.0, 10.0) if span / (step * factor) <= 10.0)
    for axis, middle, extent in (("x", middle_x, width / scale), ("y", middle_z, height / scale)):
        low = math.ceil((middle - 0.5 * extent) / step)
        for index in range(low, low + 40):
            value = index * step
            if value > middle + 0.5 * extent:
                break
            if axis == "x":
                c = 0.5 * width - (value - middle) * scale
                parts.append(f'<line class="grid" x1="{c:.1f}" x2="{c:.1f}" y1="0" y2="{height:.0f}"/>')
            else:
                c = 0.5 * height - (value - middle) * scale
                parts.append(f'<line class="grid" y1="{c:.1f}" y2="{c:.1f}" x1="0" x2="{width:.0f}"/>')
    for line in lines:
        px, pz = np.asarray(line.x, np.float64), np.asarray(line.y, np.float64)
        stride = max(-(-len(px) // _POINTS), 1)
        for piece_x, piece_z in _pieces(px[::stride], pz[::stride]):
            places = np.stack(
                [0.5 * width - (piece_x - middle_x) * scale, 0.5 * height - (piece_z - middle_z) * scale], axis=1
            )
            parts.append(f'<polyline class="{escape(line.style)}" points="{_points(places)}"/>')
    parts.append(f'<text class="tick" x="6" y="{height - 6:.0f}">grid {step:g} m</text></svg>')
    return "".join(parts) + _legend(lines)


def ticks(low: float, high: float, count: int) -> list[float]:
    """Round values between two, about so many of them."""
    raw = (high - low) / max(count, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if power * factor >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(index * step, 10) for index in range(first, math.floor(high / step + 1e-9) + 1)]


def _pieces(x: NDArray[np.float64], y: NDArray[np.float64]) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """The parts of a line between its gaps."""
    finite = np.isfinite(x) & np.isfinite(y)
    edges = np.flatnonzero(np.diff(finite.astype(np.int8))) + 1
    return [
        (px, py)
        for px, py, keep in zip(np.split(x, edges), np.split(y, edges), np.split(finite, edges), strict=True)
        if len(keep) and keep[0]
    ]


def _points(places: NDArray[np.float64]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _legend(lines: Sequence[Line]) -> str:
    entries = "".join(f'<span class="{escape(line.style)}">{escape(line.name)}</span>' for line in lines)
    return f'<div class="legend">{entries}</div>'

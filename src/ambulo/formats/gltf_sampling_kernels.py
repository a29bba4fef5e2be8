"""Compiled loops over the channels of glTF animations: checks, and poses at even steps of time."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ambulo.maths.kernels import kernel

NOT_INCREASING = 1
TIME_NOT_FINITE = 2
VALUE_NOT_FINITE = 3
NO_ROTATION = 4

_ROTATION, _SCALE = 1, 2
_STEP, _CUBIC = 0, 2
_LARGEST = 1e12


@kernel
def check_channels(
    pool: NDArray[np.float32],
    path: NDArray[np.int64],
    interpolation: NDArray[np.int64],
    time_start: NDArray[np.int64],
    time_stride: NDArray[np.int64],
    key_count: NDArray[np.int64],
    value_start: NDArray[np.int64],
    value_stride: NDArray[np.int64],
    faults: NDArray[np.int64],
    spans: NDArray[np.float64],
) -> float:
    """Look for what cannot be sampled.

    Args:
        pool: ``[N]``; the arrays up to ``value_stride`` are those of :class:`~ambulo.formats.gltf_channels.Channels`.
        faults: filled, ``[C, 2]``: the kind of a channel's first fault (0 for none) and the key.
        spans: filled, ``[C, 2]``: times of the first and the last key.

    Returns:
        The largest difference of a scale key from 1.
    """
    change = 0.0
    for channel in range(path.size):
        faults[channel, 0] = 0
        start, stride, keys = time_start[channel], time_stride[channel], key_count[channel]
        before = -math.inf
        for key in range(keys):
            time = float(pool[start + key * stride])
            if not abs(time) < _LARGEST:
                faults[channel, 0], faults[channel, 1] = TIME_NOT_FINITE, key
                break
            if time <= before:
                faults[channel, 0], faults[channel, 1] = NOT_INCREASING, key
                break
            before = time
        spans[channel, 0], spans[channel, 1] = float(pool[start]), before
        if faults[channel, 0]:
            continue
        each = 3 if interpolation[channel] == _CUBIC else 1
        width = 4 if path[channel] == _ROTATION else 3
        for row in range(keys * each):
            at = value_start[channel] + row * value_stride[channel]
            square, good = 0.0, True
            for axis in range(width):
                value = float(pool[at + axis])
                good = good and abs(value) < _LARGEST
                square += value * value
                if path[channel] == _SCALE and (each == 1 or row % 3 == 1):
                    change = max(change, abs(value - 1.0))
            if not good:
                faults[channel, 0], faults[channel, 1] = VALUE_NOT_FINITE, row // each
                break
            if path[channel] == _ROTATION and (each == 1 or row % 3 == 1) and square < 1e-12:
                faults[channel, 0], faults[channel, 1] = NO_ROTATION, row // each
                break
    return change


@kernel
def sample_channels(
    pool: NDArray[np.float32],
    rows: NDArray[np.int64],
    column: NDArray[np.int64],
    path: NDArray[np.int64],
    interpolation: NDArray[np.int64],
    time_start: NDArray[np.int64],
    time_stride: NDArray[np.int64],
    key_count: NDArray[np.int64],
    value_start: NDArray[np.int64],
    value_stride: NDArray[np.int64],
    frame_start: NDArray[np.int64],
    frame_count: NDArray[np.int64],
    origin: NDArray[np.float64],
    rate: NDArray[np.float64],
    translations: NDArray[np.float32],
    rotations: NDArray[np.float32],
    scales: NDArray[np.float32],
) -> None:
    """Fill in the poses of animated nodes.

    Outside its keys a channel holds its first or last value. LINEAR rotations take the shorter way; CUBICSPLINE is
    Hermite's, its tangents times the seconds between the keys. A frame within rounding of a key is that key.

    Args:
        pool: ``[N]``.
        rows: ``[M]``, the channels to sample.
        column: ``[C]``, column of the channel's node in the output.
        path: ``[C]``; this and the following up to ``value_stride`` as in ``Channels``.
        frame_start: ``[C]``, first output frame of the channel's animation.
        frame_count: ``[C]``, its frames.
        origin: ``[C]``, seconds of its first frame.
        rate: ``[C]``, frames a second.
        translations: ``[F, K, 3]``, the rest pose where no channel writes.
        rotations: ``[F, K, 4]``.
        scales: ``[F, K, 3]``; of no frames where scales need not be known.
    """
    value = np.zeros(4)
    for each in range(rows.size):
        channel = rows[each]
        node = column[channel]
        kind, how = path[channel], interpolation[channel]
        if kind == _SCALE and scales.shape[0] == 0:
            continue
        width = 4 if kind == _ROTATION else 3
        keys, start, stride = key_count[channel], time_start[channel], time_stride[channel]
        step, base = value_stride[channel], value_start[channel]
        if how == _CUBIC:
            base += step
            step *= 3
        key = 0
        for index in range(frame_count[channel]):
            time = origin[channel] + index / rate[channel]
            near = 1e-5 + 2e-7 * abs(time)
            while key + 1 < keys and pool[start + (key + 1) * stride] <= time + near:
                key += 1
            at = base + key * step
            now = float(pool[start + key * stride])
            if how == _STEP or key + 1 >= keys or time <= now + near:
                for axis in range(width):
                    value[axis] = pool[at + axis]
            else:
                span = float(pool[start + (key + 1) * stride]) - now
                u = (time - now) / span
                if how == _CUBIC:
                    raw = value_stride[channel]
                    _hermite(pool, at, at + raw, at + step - raw, at + step, u, span, width, value)
                elif kind == _ROTATION:
                    _slerp(pool, at, at + step, u, value)
                else:
                    for axis in range(3):
                        a = float(pool[at + axis])
                        value[axis] = a + u * (float(pool[at + step + axis]) - a)
            frame = frame_start[channel] + index
            if kind == _ROTATION:
                _put_rotation(rotations, frame, node, value, index > 0)
            elif kind == _SCALE:
                for axis in range(3):
                    scales[frame, node, axis] = value[axis]
            else:
                for axis in range(3):
                    translations[frame, node, axis] = value[axis]


@kernel
def _hermite(
    pool: NDArray[np.float32],
    a: int,
    leave: int,
    arrive: int,
    b: int,
    u: float,
    span: float,
    width: int,
    value: NDArray[np.float64],
) -> None:
    """Cubic between the values at ``a`` and ``b``, with the tangents at ``leave`` and ``arrive``."""
    u2, u3 = u * u, u * u * u
    h00, h10, h01, h11 = 2.0 * u3 - 3.0 * u2 + 1.0, u3 - 2.0 * u2 + u, 3.0 * u2 - 2.0 * u3, u3 - u2
    for axis in range(width):
        value[axis] = (
            h00 * pool[a + axis]
            + span * h10 * pool[leave + axis]
            + h01 * pool[b + axis]
            + span * h11 * pool[arrive + axis]
        )


@kernel
def _slerp(pool: NDArray[np.float32], a: int, b: int, u: float, value: NDArray[np.float64]) -> None:
    """The shorter great arc between two quaternions of any length."""
    dot, aa, bb = 0.0, 0.0, 0.0
    for axis in range(4):
        p, q = float(pool[a + axis]), float(pool[b + axis])
        dot += p * q
        aa += p * p
        bb += q * q
    wa, wb = 1.0 / math.sqrt(aa), 1.0 / math.sqrt(bb)
    dot *= wa * wb
    if dot < 0.0:
        dot, wb = -dot, -wb
    fa, fb = 1.0 - u, u
    if dot < 0.9999:
        angle = math.acos(dot)
        sine = math.sin(angle)
        fa, fb = math.sin((1.0 - u) * angle) / sine, math.sin(u * angle) / sine
    for axis in range(4):
        value[axis] = fa * wa * pool[a + axis] + fb * wb * pool[b + axis]


@kernel
def _put_rotation(
    rotations: NDArray[np.float32], frame: int, node: int, value: NDArray[np.float64], has_before: bool
) -> None:
    """Store a rotation at unit length, with the sign of the frame before."""
    square, dot = 0.0, 0.0
    for axis in range(4):
        square += value[axis] * value[axis]
        if has_before:
            dot += value[axis] * rotations[frame - 1, node, axis]
    if square < 1e-20:  # a cubic may pass through nothing; the frame before, or none, stands in
        for axis in range(4):
            rotations[frame, node, axis] = rotations[frame - 1, node, axis] if has_before else axis // 3
        return
    factor = 1.0 / math.sqrt(square)
    if dot < 0.0:
        factor = -factor
    for axis in range(4):
        rotations[frame, node, axis] = factor * value[axis]

"""Compiled inner loops of the BVH reader and writer: text to numbers, Euler angles to quaternions, and both ways back.

The byte parser walks the number block once. A number with at most 15 digits and a power of ten within 22 is correctly
rounded (one division or product of two exact doubles; W. D. Clinger, "How to Read Floating Point Numbers Accurately",
1990); longer ones are within a few units in the last place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ambulo.maths.kernels import kernel

# A number beyond this is no angle and no position of any capture, and would overflow float32 arithmetic later.
LARGEST = 1e9

_POWERS = np.array([10.0**i for i in range(23)])
_ZERO, _ONE, _NINE, _TEN = np.uint64(0), np.uint64(1), np.uint64(9), np.uint64(10)
_MOST_DIGITS, _LAST_POWER = np.uint64(18), np.uint64(22)
_CHARACTER_0 = np.uint8(48)
_DEGREES_TO_HALF_RADIANS = math.pi / 360.0
_RADIANS_TO_DEGREES = 180.0 / math.pi


@kernel
def _scaled(mantissa: Any, exponent: Any) -> Any:
    value = float(mantissa)
    while exponent > 22:
        value *= 1e22
        exponent -= 22
    while exponent < -22:
        value /= 1e22
        exponent += 22
    if exponent < 0:
        return value / _POWERS[-exponent]
    return value * _POWERS[exponent]


@kernel
def _is_blank(c: Any) -> Any:
    # Also NUL padding, vertical tab, form feed, and the DOS end-of-file mark.
    return c == 32 or c == 10 or c == 13 or c == 9 or c == 0 or c == 11 or c == 12 or c == 26


@kernel
def _careful_number(data: Any, i: Any) -> Any:
    """A number with many digits, an exponent, or a fault. Returns value (NaN for a fault) and where it ends."""
    negative = data[i] == 45
    if data[i] == 45 or data[i] == 43:
        i += 1
    mantissa: Any = np.int64(0)
    exponent: Any = np.int64(0)
    significant = 0
    digits = 0
    after_point = False
    while True:
        d = np.int64(data[i]) - 48
        if d == -2 and not after_point:
            after_point = True
            i += 1
            continue
        if d < 0 or d > 9:
            break
        if significant < 18:
            mantissa = mantissa * 10 + d
            if mantissa > 0:
                significant += 1
            if after_point:
                exponent -= 1
        elif not after_point:
            exponent += 1
        digits += 1
        i += 1
    good = digits > 0
    if good and (data[i] == 101 or data[i] == 69):
        i += 1
        exponent_negative = data[i] == 45
        if data[i] == 45 or data[i] == 43:
            i += 1
        written: Any = np.int64(0)
        good = False
        while True:
            d = np.int64(data[i]) - 48
            if d < 0 or d > 9:
                break
            if written < 10000:
                written = written * 10 + d
            good = True
            i += 1
        exponent += -written if exponent_negative else written
    value = math.nan
    if good and _is_blank(data[i]):
        if mantissa == 0 or exponent < -360:
            value = 0.0
        elif exponent + significant <= 12:
            value = _scaled(mantissa, exponent)
            if value > LARGEST:
                value = math.nan
    while not (data[i] == 32 or data[i] == 10 or data[i] == 13 or data[i] == 9):
        i += 1
    return -value if negative else value, i


@kernel
def parse_numbers(
    data: Any, line: int, values: Any, line_numbers: Any, line_ends: Any, fault_tokens: Any, fault_starts: Any
) -> Any:
    """Read every number of a block of text.

    Args:
        data: uint8 bytes; the last must be a line feed, which lets the loops run without a look at the length.
        line: number of the first line.
        values: float64, filled; NaN where a token is no usable number.
        line_numbers: int32, filled: the line number of each line that holds a token.
        line_ends: int64, filled: count of tokens up to that line's end; same room.
        fault_tokens: int64, filled with the token index of the first faults.
        fault_starts: int64, the byte at which each starts.

    Returns:
        How many tokens, how many lines with tokens, how many faults in all (which may exceed the room); -1 tokens
        where there is not room enough for tokens or lines.
    """
    # Indices are unsigned, else Numba would look at each access for a negative one: twice the time of the whole.
    n = np.uint64(data.shape[0])
    i: Any = _ZERO
    tokens: Any = _ZERO
    lines: Any = _ZERO
    tokens_before_line: Any = _ZERO
    faults = 0
    token_room = np.uint64(values.shape[0])
    line_room = np.uint64(line_numbers.shape[0])
    while i < n:
        c = data[i]
        if c <= 32:
            if c == 10 or c == 13:
                if c == 13 and i + _ONE < n and data[i + _ONE] == 10:
                    i += _ONE
                if tokens > tokens_before_line:
                    if lines >= line_room:
                        return np.int64(-1), np.int64(0), np.int64(0)
                    line_numbers[lines] = line
                    line_ends[lines] = tokens
                    lines += _ONE
                    tokens_before_line = tokens
                line += 1
                i += _ONE
                continue
            if _is_blank(c):
                i += _ONE
                continue
        if tokens >= token_room:
            return np.int64(-1), np.int64(0), np.int64(0)
        start = i
        negative = c == 45
        if negative:
            i += _ONE
        mantissa: Any = _ZERO
        first = i
        while True:
            d = np.uint64(np.uint8(data[i] - _CHARACTER_0))
            if d > _NINE:
                break
            mantissa = mantissa * _TEN + d
            i += _ONE
        digits = i - first
        whole_digits = digits
        places: Any = _ZERO
        if data[i] == 46:
            i += _ONE
            first = i
            while True:
                d = np.uint64(np.uint8(data[i] - _CHARACTER_0))
                if d > _NINE:
                    break
                mantissa = mantissa * _TEN + d
                i += _ONE
            places = i - first
            digits += places
        if (data[i] == 101 or data[i] == 69) and data[i + _ONE] == 45:
            # A negative exponent of one or two digits; others are left to the careful way.
            i += _ONE + _ONE
            exponent: Any = np.uint64(np.uint8(data[i] - _CHARACTER_0))
            if exponent <= _NINE:
                i += _ONE
                d = np.uint64(np.uint8(data[i] - _CHARACTER_0))
                if d <= _NINE:
                    exponent = exponent * _TEN + d
                    i += _ONE
                places += exponent
            else:
                digits = _ZERO
        # The common number: few digits, a small power of ten, then a blank. (No digit at all wraps to a large count.)
        if digits - _ONE < _MOST_DIGITS and whole_digits <= _NINE and places <= _LAST_POWER and _is_blank(data[i]):
            value = float(np.int64(mantissa)) / _POWERS[places]
            if negative:
                value = -value
        else:
            value, end = _careful_number(data, np.int64(start))
            i = np.uint64(end)
            if value != value:
                if faults < fault_tokens.shape[0]:
                    fault_tokens[faults] = tokens
                    fault_starts[faults] = start
                faults += 1
        values[tokens] = value
        tokens += _ONE
    return np.int64(tokens), np.int64(lines), np.int64(faults)


@kernel
def euler_to_pose(
    values: Any,
    offsets: Any,
    position_columns: Any,
    rotation_starts: Any,
    rotation_columns: Any,
    rotation_axes: Any,
    scale: float,
    positions: Any,
    rotations: Any,
) -> None:
    """Rows of channels to local poses, in double until they are stored.

    Args:
        values: float64 ``[T, C]``, degrees and file units.
        offsets: float64 ``[J, 3]``, file units.
        position_columns: int64 ``[J, 3]``, column of each position channel, -1 where the offset holds.
        rotation_starts: int64 ``[J + 1]``, where each joint's rotation channels start in the next two.
        rotation_columns: uint64 ``[R]``, columns in the order in which the file lists them.
        rotation_axes: uint8 ``[R]``, 0 X, 1 Y, 2 Z.
        scale: metres a file unit.
        positions: float32 ``[T, J, 3]``, filled.
        rotations: float32 ``[T, J, 4]``, filled, unrolled in time (S4.2).
    """
    joints = offsets.shape[0]
    count = rotation_columns.shape[0]
    degrees = np.empty(count, np.float64)
    sines = np.empty(count, np.float64)
    cosines = np.empty(count, np.float64)
    for t in range(values.shape[0]):
        # sin and cos of the half angles. Taking whole half turns off the angle is exact in degrees, so that right
        # angles come out exact; the half turns' number matters only by its parity, since q and -q are one rotation.
        # The angles are gathered first, so that what follows runs on whole vectors.
        for r in range(count):
            degrees[r] = values[t, rotation_columns[r]]
        for r in range(count):
            turns = np.rint(degrees[r] * (1.0 / 180.0))
            x = (degrees[r] - 180.0 * turns) * _DEGREES_TO_HALF_RADIANS
            odd = turns - 2.0 * np.floor(turns * 0.5)
            z = x * x
            # Taylor series on [-pi/4, pi/4]: the first term left out is below 2e-16.
            s = x + x * z * (
                -1.0 / 6.0
                + z
                * (
                    1.0 / 120.0
                    + z * (-1.0 / 5040.0 + z * (1.0 / 362880.0 + z * (-1.0 / 39916800.0 + z * (1.0 / 6227020800.0))))
                )
            )
            c = 1.0 + z * (
                -0.5
                + z
                * (
                    1.0 / 24.0
                    + z
                    * (
                        -1.0 / 720.0
                        + z
                        * (
                            1.0 / 40320.0
                            + z * (-1.0 / 3628800.0 + z * (1.0 / 479001600.0 + z * (-1.0 / 87178291200.0)))
                        )
                    )
                )
            )
            sines[r] = c if odd > 0.5 else s
            cosines[r] = -s if odd > 0.5 else c
        for j in range(joints):
            for axis in range(3):
                column = position_columns[j, axis]
                value = values[t, column] if column >= 0 else offsets[j, axis]
                positions[t, j, axis] = value * scale
            x = 0.0
            y = 0.0
            z = 0.0
            w = 1.0
            for r in range(rotation_starts[j], rotation_starts[j + 1]):
                s = sines[r]
                c = cosines[r]
                axis = rotation_axes[r]
                if axis == 0:
                    x, y, z, w = x * c + w * s, y * c + z * s, z * c - y * s, w * c - x * s
                elif axis == 1:
                    x, y, z, w = x * c - z * s, y * c + w * s, z * c + x * s, w * c - y * s
                else:
                    x, y, z, w = x * c + y * s, y * c - x * s, z * c + w * s, w * c - z * s
            if t > 0:
                before = rotations[t - 1, j]
                flip = before[0] * x + before[1] * y + before[2] * z + before[3] * w < 0.0
            else:
                flip = w < 0.0
            if flip:
                x, y, z, w = -x, -y, -z, -w
            rotations[t, j, 0] = x
            rotations[t, j, 1] = y
            rotations[t, j, 2] = z
            rotations[t, j, 3] = w


@kernel
def quaternions_to_euler(rotations: Any, i: int, j: int, k: int, degrees: Any) -> None:
    """Local rotations to intrinsic Euler angles about three different axes, smooth in time.

    Of the two sets of angles that give a rotation, and of all their whole turns, the nearest to the frame before is
    taken. In gimbal lock the first angle is held and the third takes the rest.

    Args:
        rotations: float32 ``[T, J, 4]``.
        i, j, k: axes in the order of the channels.
        degrees: float64 ``[T, J, 3]``, filled.
    """
    even = (j - i) % 3 == 1
    sign = 1.0 if even else -1.0
    m = np.empty((3, 3), np.float64)
    for joint in range(rotations.shape[1]):
        before_a = 0.0
        before_b = 0.0
        before_c = 0.0
        for t in range(rotations.shape[0]):
            x = np.float64(rotations[t, joint, 0])
            y = np.float64(rotations[t, joint, 1])
            z = np.float64(rotations[t, joint, 2])
            w = np.float64(rotations[t, joint, 3])
            n = x * x + y * y + z * z + w * w
            s = 2.0 / n if n > 0.0 else 0.0
            m[0, 0] = 1.0 - s * (y * y + z * z)
            m[0, 1] = s * (x * y - w * z)
            m[0, 2] = s * (x * z + w * y)
            m[1, 0] = s * (x * y + w * z)
            m[1, 1] = 1.0 - s * (x * x + z * z)
            m[1, 2] = s * (y * z - w * x)
            m[2, 0] = s * (x * z - w * y)
            m[2, 1] = s * (y * z + w * x)
            m[2, 2] = 1.0 - s * (x * x + y * y)
            cosine = math.sqrt(m[i, i] * m[i, i] + m[i, j] * m[i, j])
            # atan2 keeps all digits near +-90 degrees, where asin loses half of them.
            b = math.atan2(sign * m[i, k], cosine) * _RADIANS_TO_DEGREES
            if cosine > 1e-9:
                a = math.atan2(-sign * m[j, k], m[k, k]) * _RADIANS_TO_DEGREES
                c = math.atan2(-sign * m[i, j], m[i, i]) * _RADIANS_TO_DEGREES
            else:
                # Only a + c (or a - c) is defined: hold a, so that the curves stay calm.
                total = math.atan2(sign * m[k, j], m[j, j]) * _RADIANS_TO_DEGREES
                a = before_a
                # Looking up: R = R_i(a) R_j(90) R_k(c) turns by a + sign c; looking down, by a - sign c.
                c = (total - a) * sign if sign * m[i, k] > 0.0 else (a - total) * sign
            # The other set that gives the same rotation.
            a2 = a + 180.0
            b2 = 180.0 - b
            c2 = c + 180.0
            a += 360.0 * np.rint((before_a - a) / 360.0)
            b += 360.0 * np.rint((before_b - b) / 360.0)
            c += 360.0 * np.rint((before_c - c) / 360.0)
            a2 += 360.0 * np.rint((before_a - a2) / 360.0)
            b2 += 360.0 * np.rint((before_b - b2) / 360.0)
            c2 += 360.0 * np.rint((before_c - c2) / 360.0)
            if abs(a2 - before_a) + abs(b2 - before_b) + abs(c2 - before_c) < abs(a - before_a) + abs(
                b - before_b
            ) + abs(c - before_c):
                a = a2
                b = b2
                c = c2
            degrees[t, joint, 0] = a
            degrees[t, joint, 1] = b
            degrees[t, joint, 2] = c
            before_a = a
            before_b = b
            before_c = c


@kernel
def format_numbers(values: Any, decimals: Any, text: Any) -> int:
    """Rows of numbers as fixed-point text, blanks between and a line feed after each row.

    Args:
        values: float64 ``[T, C]``, each below 1e9.
        decimals: int64 ``[C]``, at most 9.
        text: uint8, filled; room for 21 bytes a number.

    Returns:
        How many bytes were written.
    """
    at = 0
    digits = np.empty(24, np.uint8)
    for t in range(values.shape[0]):
        for c in range(values.shape[1]):
            places = decimals[c]
            whole: Any = np.int64(np.rint(abs(values[t, c]) * _POWERS[places]))
            if values[t, c] < 0.0 and whole > 0:
                text[at] = 45
                at += 1
            count: Any = 0
            while whole > 0 or count <= places:
                digits[count] = 48 + whole % 10
                whole //= 10
                count += 1
            while count > 0:
                count -= 1
                text[at] = digits[count]
                at += 1
                if count == places and places > 0:
                    text[at] = 46
                    at += 1
            text[at] = 32
            at += 1
        if values.shape[1] > 0:
            text[at - 1] = 10
        else:
            text[at] = 10
            at += 1
    return at

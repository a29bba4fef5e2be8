"""Compiled inner loops of the BVH reader and writer: text to numbers and back.

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

"""A small bitmap alphabet for labels on pictures: five by seven dots a sign, drawn for this project."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Seven rows a sign, five bits a row, most significant bit on the left; written as 35 bits in hexadecimal rows.
_ROWS: dict[str, str] = {
    "0": "0E 11 13 15 19 11 0E",
    "1": "04 0C 04 04 04 04 0E",
    "2": "0E 11 01 02 04 08 1F",
    "3": "1F 02 04 02 01 11 0E",
    "4": "02 06 0A 12 1F 02 02",
    "5": "1F 10 1E 01 01 11 0E",
    "6": "06 08 10 1E 11 11 0E",
    "7": "1F 01 02 04 08 08 08",
    "8": "0E 11 11 0E 11 11 0E",
    "9": "0E 11 11 0F 01 02 0C",
    ".": "00 00 00 00 00 0C 0C",
    "-": "00 00 00 0E 00 00 00",
    "_": "00 00 00 00 00 00 1F",
    ":": "00 0C 0C 00 0C 0C 00",
    "/": "01 01 02 04 08 10 10",
    "#": "0A 0A 1F 0A 1F 0A 0A",
    "a": "00 00 0E 01 0F 11 0F",
    "b": "10 10 16 19 11 11 1E",
    "c": "00 00 0E 10 10 11 0E",
    "d": "01 01 0D 13 11 11 0F",
    "e": "00 00 0E 11 1F 10 0E",
    "f": "06 09 08 1C 08 08 08",
    "g": "00 0F 11 11 0F 01 0E",
    "h": "10 10 16 19 11 11 11",
    "i": "04 00 0C 04 04 04 0E",
    "j": "02 00 06 02 02 12 0C",
    "k": "10 10 12 14 18 14 12",
    "l": "0C 04 04 04 04 04 0E",
    "m": "00 00 1A 15 15 11 11",
    "n": "00 00 16 19 11 11 11",
    "o": "00 00 0E 11 11 11 0E",
    "p": "00 00 1E 11 1E 10 10",
    "q": "00 00 0D 13 0F 01 01",
    "r": "00 00 16 19 10 10 10",
    "s": "00 00 0E 10 0E 01 1E",
    "t": "08 08 1C 08 08 09 06",
    "u": "00 00 11 11 11 13 0D",
    "v": "00 00 11 11 11 0A 04",
    "w": "00 00 11 11 15 15 0A",
    "x": "00 00 11 0A 04 0A 11",
    "y": "00 00 11 11 0F 01 0E",
    "z": "00 00 1F 02 04 08 1F",
}


def _glyph(rows: str) -> NDArray[np.bool_]:
    bits = [[bool(int(row, 16) >> (4 - column) & 1) for column in range(5)] for row in rows.split()]
    return np.array(bits, bool)


_GLYPHS = {sign: _glyph(rows) for sign, rows in _ROWS.items()}


def draw_text(
    pixels: NDArray[np.uint8], text: str, x: int, y: int, colour: tuple[int, int, int] = (70, 74, 80), size: int = 1
) -> None:
    """Write a line of text into a picture, in place; capitals become small letters, unknown signs a space.

    Args:
        pixels: uint8 ``[H, W, 3]``.
        text: the line.
        x: pixels from the left of the picture to the first sign.
        y: pixels from the top of the picture to the top of the line.
        colour: red, green, blue.
        size: pixels a dot.
    """
    height, width = pixels.shape[:2]
    for sign in text.lower():
        glyph = _GLYPHS.get(sign)
        if glyph is not None:
            dots = np.kron(glyph, np.ones((size, size), bool))
            rows, columns = np.nonzero(dots)
            rows, columns = rows + y, columns + x
            inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
            pixels[rows[inside], columns[inside]] = colour
        x += 6 * size

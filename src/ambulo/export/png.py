"""PNG files by the standard library alone: pictures must not need an imaging package."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import AmbuloError
from ambulo.formats.paths import write_whole

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def encode_png(pixels: NDArray[np.uint8]) -> bytes:
    """The bytes of a PNG file (8 bits a channel, W3C PNG third edition).

    Args:
        pixels: uint8 ``[H, W, 3]`` (RGB) or ``[H, W, 4]`` (RGBA), first row on top.

    Raises:
        AmbuloError: the array has another type or shape.
    """
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] not in (3, 4) or 0 in pixels.shape:
        raise AmbuloError(f"a picture must be uint8 [H, W, 3] or [H, W, 4], got {pixels.dtype} {pixels.shape}")
    height, width, channels = pixels.shape
    # Filter type 2 (up): each row as its difference to the row above; renders are smooth, so most bytes become small.
    rows = np.empty((height, 1 + width * channels), np.uint8)
    rows[:, 0] = 2
    flat = pixels.reshape(height, width * channels)
    rows[0, 1:] = flat[0]
    rows[1:, 1:] = flat[1:] - flat[:-1]
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 6, 0, 0, 0)
    data = zlib.compress(rows.tobytes(), 6)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def write_png(path: str | Path, pixels: NDArray[np.uint8]) -> Path:
    """Write a PNG file, whole or not at all. Returns its path.

    Args:
        path: the file; its folder is made.
        pixels: uint8 ``[H, W, 3]`` or ``[H, W, 4]``.
    """
    target = Path(path)
    data = encode_png(pixels)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, data)
    return target

"""Write C3D files for tests, byte by byte: of three processors, floats or whole numbers."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np


def c3d_bytes(
    points: np.ndarray,
    *,
    seen: np.ndarray | None = None,
    labels: list[str] | None = None,
    processor: int = 84,
    scale: float = -1.0,
    analog: int = 0,
    rate: float = 100.0,
    unit: str | None = "mm",
    up: str | None = None,
    first: int = 1,
    actual: tuple[int, int] | None = None,
) -> bytes:
    """A C3D file of points ``[T, M, 3]`` in file units."""
    frames, markers = points.shape[:2]
    big = ">" if processor == 86 else "<"
    seen = np.ones((frames, markers), bool) if seen is None else seen

    def real(values: Any) -> bytes:
        flat = np.asarray(values, np.float32).reshape(-1)
        if processor == 85:
            words = (flat * np.float32(4.0)).view(np.uint16).reshape(-1, 2)[:, ::-1]
            return np.ascontiguousarray(words).tobytes()
        return flat.astype(f"{big}f4").tobytes()

    def entry(name: str, group: int, body: bytes) -> bytes:
        return struct.pack("<bb", len(name), group) + name.encode() + struct.pack(f"{big}h", 2 + len(body)) + body

    def parameter(name: str, kind: int, shape: list[int], raw: bytes, group: int = 1) -> bytes:
        return entry(name, group, struct.pack("<bB", kind, len(shape)) + bytes(shape) + raw + b"\0")

    names = labels if labels is not None else [f"M{i}" for i in range(markers)]
    width = max(map(len, names), default=1)
    parts = entry("POINT", -1, b"\0")
    parts += parameter("USED", 2, [], struct.pack(f"{big}h", markers))
    parts += parameter("SCALE", 4, [], real(scale)) + parameter("RATE", 4, [], real(rate))
    parts += parameter("LABELS", -1, [width, len(names)], "".join(name.ljust(width) for name in names).encode())
    for name, text in (("UNITS", unit), ("Y_SCREEN", up)):
        if text is not None:
            parts += parameter(name, -1, [len(text)], text.encode())
    if actual is not None:
        parts += entry("TRIAL", -2, b"\0")
        for name, value in (("ACTUAL_START_FIELD", actual[0]), ("ACTUAL_END_FIELD", actual[1])):
            parts += parameter(name, 2, [2], struct.pack(f"{big}HH", value & 0xFFFF, value >> 16), 2)
    parts += b"\0\0"
    blocks = -(-(len(parts) + 4) // 512)
    header = struct.pack(f"{big}BBHHHHH", 2, 0x50, markers, analog, first, min(first + frames - 1, 65535), 0) + real(
        scale
    )
    header += struct.pack(f"{big}HH", 2 + blocks, 1) + real(rate)
    data = np.zeros((frames, 4 * markers + analog))
    table = data[:, : 4 * markers].reshape(frames, markers, 4)
    table[..., :3] = points / (scale if scale > 0 else 1.0)
    table[..., 3] = np.where(seen, 0, -1)
    data[:, : 4 * markers] = table.reshape(frames, -1)
    data[:, 4 * markers :] = 7
    body = real(data) if scale < 0 else np.round(data).astype(f"{big}i2").tobytes()
    head = bytes([1, 0x50, blocks, processor]) + parts
    return header.ljust(512, b"\0") + head.ljust(512 * blocks, b"\0") + body

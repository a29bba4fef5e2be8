"""The file layouts of D. Holden's public Motion-Matching code: databases, features, latents and networks, read and
written.

Little-endian, no magic, no version: ``array1d`` is an int32 count and the items, ``array2d`` int32 rows and columns and
the items. Quaternions are ``w, x, y, z``; axes and units are ours (metres, +Y up, +Z forward).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import FormatError
from ambulo.formats.paths import write_whole

Array = NDArray[Any]
Float = NDArray[np.float32]
Int = NDArray[np.int32]


@dataclass(frozen=True)
class HoldenDatabase:
    """The content of ``database.bin``; F frames, B bones, R ranges.

    Attributes:
        positions: float32 ``[F, B, 3]``, local, metres.
        velocities: float32 ``[F, B, 3]``.
        rotations: float32 ``[F, B, 4]``, local, ``w, x, y, z``.
        angular_velocities: float32 ``[F, B, 3]``.
        parents: int32 ``[B]``, -1 for the root.
        starts, stops: int32 ``[R]``, frames ``[start, stop)``.
        contacts: uint8 ``[F, 2]``.
    """

    positions: Float
    velocities: Float
    rotations: Float
    angular_velocities: Float
    parents: Int
    starts: Int
    stops: Int
    contacts: NDArray[np.uint8]


@dataclass(frozen=True)
class HoldenFeatures:
    """The content of ``features.bin``: normalised ``[F, D]``, and ``[D]`` by which ``x = (raw - offset) / scale``."""

    features: Float
    offset: Float
    scale: Float


@dataclass(frozen=True)
class HoldenNetwork:
    """A network: normalisation, and weights ``[in, out]`` with biases ``[out]`` of each layer; ReLU between layers."""

    input_mean: Float
    input_std: Float
    output_mean: Float
    output_std: Float
    weights: tuple[Float, ...]
    biases: tuple[Float, ...]


class LayoutReader:
    """Reads arrays one after another, and says where a file ends too soon."""

    def __init__(self, path: Path) -> None:
        self.path, self.place = path, 0
        try:
            self.data = path.read_bytes()
        except OSError as error:
            raise FormatError(f"cannot be read: {error.strerror}", path=path) from None

    def integer(self, name: str) -> int:
        value = int(self._take(name, 1, np.dtype("<i4"))[0])
        if value < 0:
            raise FormatError(f"says that {name} has {value} items", path=self.path, key=name)
        return value

    def array(self, name: str, axes: int, dtype: str, items: int = 1) -> Array:
        """An array of one or two axes; ``items`` numbers an entry."""
        shape = [self.integer(name) for _ in range(axes)]
        flat = self._take(name, int(np.prod(shape, dtype=object)) * items, np.dtype(dtype))
        return np.array(flat.reshape(*shape, items) if items > 1 else flat.reshape(shape))

    def end(self) -> None:
        """Refuse bytes that nothing describes."""
        left = len(self.data) - self.place
        if left:
            raise FormatError(f"has {left} bytes after its end", path=self.path, remedy="it is of another layout")

    def _take(self, name: str, count: int, dtype: np.dtype[Any]) -> Array:
        size = count * dtype.itemsize
        if self.place + size > len(self.data):
            raise FormatError(
                f"ends within {name}: {size} bytes are needed, {len(self.data) - self.place} are left",
                path=self.path,
                key=name,
                remedy="the file is cut short, or of another layout",
            )
        found = np.frombuffer(self.data, dtype, count, self.place)
        self.place += size
        return found


def pack_array(values: Any, axes: int, dtype: str) -> bytes:
    array = np.ascontiguousarray(values, dtype)
    return np.array(array.shape[:axes], "<i4").tobytes() + array.tobytes()


def write_database(path: Path, database: HoldenDatabase) -> None:
    """Write ``database.bin``."""
    write_whole(
        path,
        b"".join(
            [
                *(
                    pack_array(values, 2, "<f4")
                    for values in (
                        database.positions, database.velocities, database.rotations, database.angular_velocities,
                    )
                ),
                *(pack_array(values, 1, "<i4") for values in (database.parents, database.starts, database.stops)),
                pack_array(database.contacts, 2, "u1"),
            ]
        ),
    )  # fmt: skip


def read_database(path: Path) -> HoldenDatabase:
    """Read ``database.bin``.

    Raises:
        FormatError: it ends too soon, has bytes too many, or its arrays do not fit together.
    """
    reader = LayoutReader(path)
    channels = [reader.array(name, 2, "<f4", items) for name, items in (
        ("bone_positions", 3), ("bone_velocities", 3), ("bone_rotations", 4), ("bone_angular_velocities", 3),
    )]  # fmt: skip
    parents, starts, stops = (reader.array(name, 1, "<i4") for name in ("bone_parents", "range_starts", "range_stops"))
    contacts = reader.array("contact_states", 2, "u1")
    reader.end()
    frames, bones = channels[0].shape[:2]
    if any(channel.shape[:2] != (frames, bones) for channel in channels) or len(contacts) != frames:
        raise FormatError("has channels of different lengths", path=path, key="bone_positions")
    if len(parents) != bones or len(starts) != len(stops):
        raise FormatError(f"has {bones} bones but {len(parents)} parents", path=path, key="bone_parents")
    return HoldenDatabase(channels[0], channels[1], channels[2], channels[3], parents, starts, stops, contacts)


def write_features(path: Path, features: HoldenFeatures) -> None:
    """Write ``features.bin``."""
    data = (
        pack_array(features.features, 2, "<f4")
        + pack_array(features.offset, 1, "<f4")
        + pack_array(features.scale, 1, "<f4")
    )
    write_whole(path, data)


def read_features(path: Path) -> HoldenFeatures:
    """Read ``features.bin``.

    Raises:
        FormatError: as :func:`read_database`.
    """
    reader = LayoutReader(path)
    features = reader.array("features", 2, "<f4")
    offset, scale = reader.array("features_offset", 1, "<f4"), reader.array("features_scale", 1, "<f4")
    reader.end()
    if features.shape[1:] != offset.shape or offset.shape != scale.shape:
        raise FormatError("has an offset or scale of another width", path=path, key="features_offset")
    return HoldenFeatures(features, offset, scale)


def write_latents(path: Path, latents: Float) -> None:
    """Write ``latent.bin``, float32 ``[F, L]``."""
    write_whole(path, pack_array(latents, 2, "<f4"))


def read_latents(path: Path) -> Float:
    """Read ``latent.bin``.

    Raises:
        FormatError: as :func:`read_database`.
    """
    reader = LayoutReader(path)
    latents = reader.array("latent", 2, "<f4")
    reader.end()
    return latents


def write_network(path: Path, network: HoldenNetwork) -> None:
    """Write ``decompressor.bin``, ``stepper.bin`` or ``projector.bin``."""
    parts = [
        pack_array(values, 1, "<f4")
        for values in (network.input_mean, network.input_std, network.output_mean, network.output_std)
    ]
    parts.append(np.array([len(network.weights)], "<i4").tobytes())
    for weight, bias in zip(network.weights, network.biases, strict=True):
        parts += [pack_array(weight, 2, "<f4"), pack_array(bias, 1, "<f4")]
    write_whole(path, b"".join(parts))


def read_network(path: Path) -> HoldenNetwork:
    """Read a network.

    Raises:
        FormatError: as :func:`read_database`; or its layers do not follow each other.
    """
    reader = LayoutReader(path)
    ends = [reader.array(name, 1, "<f4") for name in ("input_mean", "input_std", "output_mean", "output_std")]
    weights, biases = [], []
    width = len(ends[0])
    for layer in range(reader.integer("layer count")):
        weight, bias = reader.array(f"weights {layer}", 2, "<f4"), reader.array(f"bias {layer}", 1, "<f4")
        if weight.shape != (width, len(bias)):
            raise FormatError(f"layer {layer} is {weight.shape}, not [{width}, {len(bias)}]", path=path, key="weights")
        weights.append(weight)
        biases.append(bias)
        width = len(bias)
    reader.end()
    if width != len(ends[2]) or len(ends[0]) != len(ends[1]) or len(ends[2]) != len(ends[3]):
        raise FormatError("has a normalisation of another width", path=path, key="output_mean")
    return HoldenNetwork(ends[0], ends[1], ends[2], ends[3], tuple(weights), tuple(biases))

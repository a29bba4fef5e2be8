"""One tensor that holds a character's whole state: named slots, packed side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.export.engine.graph import Graph, Value


@dataclass(frozen=True)
class Slot:
    """Numbers of one meaning in a row of a tensor.

    Attributes:
        name: unique.
        shape: of one character; ``()`` for a single number.
        meaning: one line, units and axes included.
    """

    name: str
    shape: tuple[int, ...]
    meaning: str

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True)
class Slots:
    """Slots side by side."""

    slots: tuple[Slot, ...]

    @property
    def size(self) -> int:
        """Width of the tensor."""
        return sum(slot.size for slot in self.slots)

    def unpack(self, packed: Value) -> dict[str, Value]:
        """The slots of ``[N, size]``, each ``[N, *shape]``; single numbers are columns ``[N, 1]``."""
        parts = packed.split(*(slot.size for slot in self.slots))
        return {
            slot.name: part.reshape(0, *slot.shape) if len(slot.shape) > 1 else part
            for slot, part in zip(self.slots, parts, strict=True)
        }

    def pack(self, graph: Graph, values: Mapping[str, Value]) -> Value:
        """Inverse of :meth:`unpack`."""
        rows = [
            values[slot.name].reshape(0, slot.size) if len(slot.shape) > 1 else values[slot.name] for slot in self.slots
        ]
        return graph.join(*rows, axis=1)

    def pack_arrays(self, values: Mapping[str, Any]) -> NDArray[np.float32]:
        """The same of arrays ``[N, *shape]``."""
        rows = [np.asarray(values[slot.name], np.float32).reshape(-1, slot.size) for slot in self.slots]
        return np.ascontiguousarray(np.concatenate(rows, axis=1))

    def describe(self) -> list[dict[str, Any]]:
        """What a manifest says of them."""
        rows, start = [], 0
        for slot in self.slots:
            rows.append(
                {
                    "name": slot.name,
                    "columns": [start, start + slot.size],
                    "shape": list(slot.shape),
                    "meaning": slot.meaning,
                }
            )
            start += slot.size
        return rows


def merge(parts: Sequence[Slots]) -> Slots:
    """All slots of several packs."""
    return Slots(tuple(slot for part in parts for slot in part.slots))

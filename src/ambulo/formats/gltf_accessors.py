"""The numbers that glTF's accessors stand for, as places in one flat array of float32.

An animation of a character has thousands of accessors, nearly all plain float32 in one buffer. These are not copied:
the flat array *is* the buffer. Only the others (normalized integers, sparse, oddly aligned) are decoded behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.formats.gltf_container import Document
from ambulo.formats.gltf_schema import Accessor

_FLOAT = 5126
_TYPES: dict[int, tuple[type[np.generic], float]] = {
    5120: (np.int8, 127.0),
    5121: (np.uint8, 255.0),
    5122: (np.int16, 32767.0),
    5123: (np.uint16, 65535.0),
    5125: (np.uint32, 4294967295.0),
    _FLOAT: (np.float32, 1.0),
}
_SIZES = {component: np.dtype(kind).itemsize for component, (kind, _) in _TYPES.items()}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
_LEAST_ROOM = 1 << 24


class Values(NamedTuple):
    """Accessors as places in one array.

    Attributes:
        pool: float32 ``[N]``.
        starts: int64 ``[A]``, where an accessor's first number lies.
        counts: int64 ``[A]``, its elements.
        widths: int64 ``[A]``, numbers an element.
        strides: int64 ``[A]``, from one element to the next.
    """

    pool: NDArray[np.float32]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]
    widths: NDArray[np.int64]
    strides: NDArray[np.int64]


def gather(document: Document, indices: Sequence[int], owner: Callable[[int], str]) -> Values:
    """Find the numbers of some accessors.

    Args:
        document: the file.
        indices: the accessors wanted.
        owner: who uses an accessor, for messages: ``"animation 'walk', sampler 3"``.

    Raises:
        FormatError: an accessor that does not exist, is of a type that no animation has, or lies outside its buffer.
    """
    all_accessors, views = document.root.accessors, document.root.bufferViews
    for index in indices:
        if index >= len(all_accessors):
            document.refuse(f"{owner(index)}: accessor {index} does not exist, there are {len(all_accessors)}")
    accessors = [all_accessors[index] for index in indices]
    kinds = [accessor.componentType for accessor in accessors]
    shapes = [accessor.type for accessor in accessors]
    if not (_SIZES.keys() >= set(kinds) and _WIDTHS.keys() >= set(shapes)):
        at = next(i for i, kind in enumerate(kinds) if kind not in _SIZES or shapes[i] not in _WIDTHS)
        document.refuse(
            f"{owner(indices[at])}: accessor {indices[at]} has type {shapes[at][:20]!r} of component {kinds[at]}; "
            "vectors and scalars are read here"
        )
    counts = np.array([accessor.count for accessor in accessors], np.int64)
    widths = np.array([_WIDTHS[shape] for shape in shapes], np.int64)
    sizes = widths * np.array([_SIZES[kind] for kind in kinds], np.int64)
    view_of = np.array([-1 if a.bufferView is None else a.bufferView for a in accessors], np.int64)
    if len(view_of) and view_of.max() >= len(views):
        worst = int(np.argmax(view_of))
        document.refuse(
            f"{owner(indices[worst])}: accessor {indices[worst]} names bufferView {view_of[worst]}, there are "
            f"{len(views)}"
        )
    offsets = np.array([accessor.byteOffset for accessor in accessors], np.int64)
    view_table = np.array([(v.buffer, v.byteOffset, v.byteLength, v.byteStride) for v in views] or [(0, 0, 0, 0)])
    buffer, view_start, view_length, view_stride = (column[view_of] for column in view_table.T.astype(np.int64))
    strides = np.where(view_stride > 0, view_stride, sizes)
    needed = np.where(counts > 0, offsets + strides * (counts - 1) + sizes, 0)
    outside = (view_of >= 0) & (needed > view_length)
    if outside.any():
        at = int(np.argmax(outside))
        document.refuse(
            f"{owner(indices[at])}: accessor {indices[at]} needs {needed[at]} bytes of bufferView {view_of[at]}, "
            f"which has {view_length[at]}",
        )
    used = np.unique(buffer[view_of >= 0]).tolist()
    for index in used:
        beyond = (view_of >= 0) & (buffer == index) & (view_start + view_length > len(document.buffer(index)))
        if beyond.any():
            _view(document, int(view_of[np.argmax(beyond)]))  # which refuses
    plain = (view_of >= 0) & (np.array(kinds, np.int64) == _FLOAT)
    plain &= np.array([accessor.sparse is None for accessor in accessors], bool)
    at_byte = view_start + offsets
    plain &= (at_byte % 4 == 0) & (strides % 4 == 0)
    parts: list[NDArray[np.float32]] = []
    base: dict[int, int] = {}
    room = 0
    for index in used:
        base[index] = room
        data = document.buffer(index)
        parts.append(np.frombuffer(data, np.float32, len(data) // 4))
        room += len(parts[-1])
    starts = np.array([base.get(int(b), 0) for b in buffer], np.int64) + at_byte // 4
    steps = strides // 4
    limit = 4 * document.size + _LEAST_ROOM
    for odd in np.nonzero(~plain)[0].tolist():
        decoded = _decode(document, accessors[odd], indices[odd], owner, limit)
        starts[odd], steps[odd] = room, widths[odd]
        parts.append(decoded.reshape(-1))
        room += decoded.size
        limit -= decoded.nbytes
    pool = parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.float32), *parts])
    pool = np.require(pool, np.float32, ["A", "C"])
    pool.flags.writeable = False
    return Values(pool, starts, counts, widths, steps)


def _view(document: Document, index: int) -> memoryview:
    """The bytes of a buffer view."""
    views = document.root.bufferViews
    if index >= len(views):
        document.refuse(f"bufferView {index} does not exist, there are {len(views)}")
    view = views[index]
    data = document.buffer(view.buffer)
    if view.byteOffset + view.byteLength > len(data):
        document.refuse(
            f"bufferView {index} ends at byte {view.byteOffset + view.byteLength} of buffer {view.buffer}, which has "
            f"{len(data)}",
            remedy="the file is damaged or cut short; export it again",
        )
    return data[view.byteOffset : view.byteOffset + view.byteLength]


def _decode(
    document: Document, accessor: Accessor, index: int, owner: Callable[[int], str], limit: int
) -> NDArray[np.float32]:
    """An accessor's elements ``[count, width]``: integers normalized, sparse values put in."""
    width = _WIDTHS[accessor.type]
    kind, largest = _TYPES[accessor.componentType]
    if accessor.count * width * 4 > limit:
        document.refuse(
            f"{owner(index)}: accessor {index} stands for {accessor.count} elements, far more than the file holds",
        )
    if accessor.bufferView is None:
        values = np.zeros((accessor.count, width), kind)
    else:
        view = document.root.bufferViews[accessor.bufferView]
        step = view.byteStride or width * np.dtype(kind).itemsize
        values = _strided(_view(document, accessor.bufferView), kind, accessor.byteOffset, accessor.count, width, step)
    if accessor.sparse is not None:
        values = values.copy()
        where, what = _sparse(document, accessor, index, owner)
        values[where] = what
    if accessor.componentType == _FLOAT:
        return np.ascontiguousarray(values, np.float32)
    floats = values.astype(np.float64)
    if accessor.normalized:
        floats = np.maximum(floats / largest, -1.0)
    return floats.astype(np.float32)


def _sparse(
    document: Document, accessor: Accessor, index: int, owner: Callable[[int], str]
) -> tuple[NDArray[np.int64], NDArray[np.generic]]:
    """Which elements are replaced, and by what."""
    sparse = accessor.sparse
    assert sparse is not None
    width = _WIDTHS[accessor.type]
    kind = _TYPES[accessor.componentType][0]
    if sparse.indices.componentType not in (5121, 5123, 5125):
        document.refuse(f"{owner(index)}: accessor {index} has sparse indices of type {sparse.indices.componentType}")
    index_kind = _TYPES[sparse.indices.componentType][0]
    places, numbers = _view(document, sparse.indices.bufferView), _view(document, sparse.values.bufferView)
    place_end = sparse.indices.byteOffset + sparse.count * np.dtype(index_kind).itemsize
    number_end = sparse.values.byteOffset + sparse.count * width * np.dtype(kind).itemsize
    if place_end > len(places) or number_end > len(numbers):
        document.refuse(
            f"{owner(index)}: accessor {index} has {sparse.count} sparse values, its bufferViews hold fewer",
        )
    size = np.dtype(index_kind).itemsize
    where = _strided(places, index_kind, sparse.indices.byteOffset, sparse.count, 1, size)[:, 0].astype(np.int64)
    size = width * np.dtype(kind).itemsize
    what = _strided(numbers, kind, sparse.values.byteOffset, sparse.count, width, size)
    if len(where) and where.max() >= accessor.count:
        document.refuse(
            f"{owner(index)}: accessor {index} has {accessor.count} elements, a sparse value is meant for "
            f"{where.max()}",
        )
    return where, what


def _strided(
    data: memoryview, kind: type[np.generic], offset: int, count: int, width: int, step: int
) -> NDArray[np.generic]:
    """Elements ``[count, width]`` at a distance of ``step`` bytes; the caller has checked that they are there."""
    if not count:
        return np.zeros((0, width), kind)
    size = np.dtype(kind).itemsize
    return np.ndarray((count, width), kind, buffer=data, offset=offset, strides=(step, size))

"""The channels of a glTF's animations as one table, checked, so that a kernel can sample them all in one go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import nearest_names
from ambulo.formats.format import ReadOptions
from ambulo.formats.gltf_accessors import gather
from ambulo.formats.gltf_container import Document
from ambulo.formats.gltf_nodes import node_label
from ambulo.formats.gltf_schema import Target
from ambulo.motion.motion import Note

Int = NDArray[np.int64]
Bool = NDArray[np.bool_]

PATHS = {"translation": 0, "rotation": 1, "scale": 2}
INTERPOLATIONS = {"STEP": 0, "LINEAR": 1, "CUBICSPLINE": 2}
_NOT_BODIES = {"weights": "morph targets", "pointer": "properties of other objects"}


@dataclass
class Channels:
    """All channels that move nodes; one row each, in the file's order.

    Attributes:
        pool: float32 ``[N]``, where all numbers lie.
        animation: int64 ``[C]``.
        sampler: int64 ``[C]``.
        node: int64 ``[C]``.
        path: int64 ``[C]``, values of :data:`PATHS`.
        interpolation: int64 ``[C]``, values of :data:`INTERPOLATIONS`.
        time_start: int64 ``[C]``, place of the first key's time.
        time_stride: int64 ``[C]``.
        key_count: int64 ``[C]``.
        value_start: int64 ``[C]``, place of the first value.
        value_stride: int64 ``[C]``, from one stored value to the next; three values a key where CUBICSPLINE.
        first: float64 ``[C]``, time of the first key, seconds.
        last: float64 ``[C]``, time of the last.
        scale_change: the largest difference of any scale key from 1.
    """

    pool: NDArray[np.float32]
    animation: Int
    sampler: Int
    node: Int
    path: Int
    interpolation: Int
    time_start: Int
    time_stride: Int
    key_count: Int
    value_start: Int
    value_stride: Int
    first: NDArray[np.float64]
    last: NDArray[np.float64]
    scale_change: float = 0.0

    def times(self, channel: int) -> NDArray[np.float64]:
        """Key times of a channel, seconds."""
        stop = self.time_start[channel] + self.key_count[channel] * self.time_stride[channel]
        with np.errstate(invalid="ignore"):  # there may be NaN, which is refused elsewhere
            return self.pool[self.time_start[channel] : stop : self.time_stride[channel]].astype(np.float64)


def read_channels(document: Document, options: ReadOptions) -> Channels:
    """Collect and check the channels of all animations.

    Raises:
        FormatError: naming the animation, the sampler, the accessor and the key.
    """
    table = _table(document)
    animation, sampler, node, path, interpolation, times, values = table
    accessors = np.unique(np.concatenate([times, values]))

    def owner(accessor: int) -> str:
        row = int(np.argmax((times == accessor) | (values == accessor)))
        return _label(document, int(animation[row]), int(sampler[row]))

    found = gather(document, accessors.tolist(), owner)
    at_time, at_value = np.searchsorted(accessors, times), np.searchsorted(accessors, values)
    _check_shapes(document, table, found.counts[at_time], found.counts[at_value], found.widths, at_time, at_value)
    keys = found.counts[at_time]
    channels = Channels(
        found.pool,
        animation,
        sampler,
        node,
        path,
        interpolation,
        found.starts[at_time],
        found.strides[at_time],
        keys,
        found.starts[at_value],
        found.strides[at_value],
        np.zeros(len(node)),
        np.zeros(len(node)),
    )
    _check_values(document, channels, options)
    return channels


def _label(document: Document, animation: int, sampler: int) -> str:
    name = document.root.animations[animation].name
    shown = repr(name) if name else str(animation)
    return f"animation {shown}, sampler {sampler}"


def _table(document: Document) -> Int:
    """Animation, sampler, node, path, interpolation and accessors of each channel that moves a node: ``[7, C]``."""
    animations = document.root.animations
    samplers = [sampler for animation in animations for sampler in animation.samplers]
    channels = [channel for animation in animations for channel in animation.channels]
    targets = [channel.target for channel in channels]
    sampler_counts = np.array([len(animation.samplers) for animation in animations], np.int64)
    channel_counts = np.array([len(animation.channels) for animation in animations], np.int64)
    animation = np.repeat(np.arange(len(animations)), channel_counts)
    number = np.arange(len(channels)) - np.repeat(np.cumsum(channel_counts) - channel_counts, channel_counts)
    sampler = np.array([channel.sampler for channel in channels], np.int64)
    node = np.array([-1 if target.node is None else target.node for target in targets], np.int64)
    path = np.array([PATHS.get(target.path, -1) for target in targets], np.int64)
    used = (path >= 0) & (node >= 0)
    _note_skipped(document, animation, number, [targets[at] for at in np.nonzero(~used)[0]], ~used)
    animation, number, sampler, node, path = (column[used] for column in (animation, number, sampler, node, path))
    wrong = sampler >= sampler_counts[animation]
    if wrong.any():
        row = int(np.argmax(wrong))
        document.refuse(
            f"animation {animations[animation[row]].name!r}, channel {number[row]} names sampler {sampler[row]}, "
            f"there are {sampler_counts[animation[row]]}"
        )
    wrong = node >= len(document.root.nodes)
    if wrong.any():
        row = int(np.argmax(wrong))
        label = _label(document, int(animation[row]), int(sampler[row]))
        document.refuse(f"{label} moves node {node[row]}, there are {len(document.root.nodes)}")
    at = (np.cumsum(sampler_counts) - sampler_counts)[animation] + sampler
    kinds = np.array([INTERPOLATIONS.get(each.interpolation, -1) for each in samplers], np.int64)
    times = np.array([each.input for each in samplers], np.int64)
    values = np.array([each.output for each in samplers], np.int64)
    if len(at) and kinds[at].min() < 0:
        row = int(np.argmin(kinds[at]))
        name = samplers[at[row]].interpolation[:40]
        label = _label(document, int(animation[row]), int(sampler[row]))
        document.refuse(f"{label}: no interpolation is called {name!r}; {nearest_names(name, INTERPOLATIONS)}")
    return np.stack([animation, sampler, node, path, kinds[at], times[at], values[at]])


def _note_skipped(document: Document, animation: Int, number: Int, targets: list[Target], which: Bool) -> None:
    """Channels of morph targets and of extensions are passed over; any other path is refused."""
    skipped: dict[str, int] = {}
    for target, index, channel in zip(targets, animation[which], number[which], strict=True):
        if target.path not in PATHS and target.path not in _NOT_BODIES:
            document.refuse(
                f"animation {document.root.animations[index].name!r}, channel {channel} moves {target.path[:40]!r}; "
                f"{nearest_names(target.path[:40], PATHS)}"
            )
        what = _NOT_BODIES.get(target.path, "nothing in this file")
        skipped[what] = skipped.get(what, 0) + 1
    for what, count in skipped.items():
        document.notes.append(Note("channels_skipped", f"{count} channels move {what}; they are passed over"))


def _check_shapes(
    document: Document, table: Int, keys: Int, values: Int, widths: Int, at_time: Int, at_value: Int
) -> None:
    """Each sampler has scalar times, values of the right width, and as many as its keys need."""
    animation, sampler, node, path, interpolation, times, outputs = table
    wanted = np.where(path == PATHS["rotation"], 4, 3)
    wrong = (widths[at_time] != 1) | (widths[at_value] != wanted)
    if wrong.any():
        row = int(np.argmax(wrong))
        place = f"{_label(document, animation[row], sampler[row])} of {node_label(document, int(node[row]))}"
        if widths[at_time][row] != 1:
            document.refuse(f"{place}: its times, accessor {times[row]}, are no scalars")
        document.refuse(
            f"{place}: its values, accessor {outputs[row]}, have {widths[at_value][row]} numbers each, "
            f"not {wanted[row]}"
        )
    needed = np.where(interpolation == INTERPOLATIONS["CUBICSPLINE"], 3 * keys, keys)
    wrong = (needed != values) | (keys == 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        three = " (CUBICSPLINE needs three a key)" if needed[row] != keys[row] else ""
        document.refuse(
            f"{_label(document, animation[row], sampler[row])}: {values[row]} values for {keys[row]} keys{three} "
            f"(accessors {outputs[row]} and {times[row]}, {node_label(document, int(node[row]))})",
        )


def _check_values(document: Document, channels: Channels, options: ReadOptions) -> None:
    """Times increase and everything is finite; fills ``first``, ``last`` and ``scale_change``."""
    from ambulo.formats import gltf_sampling_kernels as kernels

    count = len(channels.animation)
    faults = np.zeros((count, 2), np.int64)
    spans = np.zeros((count, 2))

    def check() -> float:
        change: float = kernels.check_channels(
            channels.pool,
            channels.path,
            channels.interpolation,
            channels.time_start,
            channels.time_stride,
            channels.key_count,
            channels.value_start,
            channels.value_stride,
            faults,
            spans,
        )
        return change

    channels.scale_change = check()
    late = np.nonzero(faults[:, 0] == kernels.NOT_INCREASING)[0]
    if len(late) and options.lenient:
        _drop_keys(document, channels, late)
        channels.scale_change = check()
    if faults[:, 0].any():
        row = int(np.argmax(faults[:, 0] > 0))
        kind, key = (int(value) for value in faults[row])
        place = _label(document, int(channels.animation[row]), int(channels.sampler[row]))
        node = node_label(document, int(channels.node[row]))
        if kind == kernels.NOT_INCREASING:
            before, after = channels.times(row)[key - 1 : key + 1]
            document.refuse(
                f"{place}: the time of key {key} does not increase ({after:g} after {before:g}, {node})",
                remedy="remove the doubled key, or read the file with lenient=True, which drops it",
            )
        what = {
            kernels.TIME_NOT_FINITE: "the time is not finite",
            kernels.VALUE_NOT_FINITE: "the value is not finite",
            kernels.NO_ROTATION: "the rotation has no length",
        }[kind]
        sampler = document.root.animations[channels.animation[row]].samplers[channels.sampler[row]]
        accessor = sampler.input if kind == kernels.TIME_NOT_FINITE else sampler.output
        document.refuse(f"{place}: {what} at key {key} ({node}, accessor {accessor})")
    channels.first, channels.last = spans[:, 0].copy(), spans[:, 1].copy()


def _drop_keys(document: Document, channels: Channels, rows: Int) -> None:
    """Leave out keys whose time does not increase; what stays is appended to the pool."""
    parts, room = [channels.pool], len(channels.pool)
    for row in rows:
        times = channels.times(row)
        latest = np.maximum.accumulate(times)
        keep = np.concatenate([[True], times[1:] > latest[:-1]])
        each = 3 if channels.interpolation[row] == INTERPOLATIONS["CUBICSPLINE"] else 1
        width = 4 if channels.path[row] == PATHS["rotation"] else 3
        start, stride = channels.value_start[row], channels.value_stride[row]
        places = start + np.arange(len(times) * each)[:, None] * stride + np.arange(width)
        values = channels.pool[places].reshape(len(times), each, width)[keep]
        kept = [times[keep].astype(np.float32), values.reshape(-1)]
        channels.time_start[row], channels.time_stride[row], channels.key_count[row] = room, 1, int(keep.sum())
        channels.value_start[row], channels.value_stride[row] = room + len(kept[0]), width
        parts += kept
        room += kept[0].size + kept[1].size
        place = _label(document, int(channels.animation[row]), int(channels.sampler[row]))
        document.notes.append(
            Note("doubled_key", f"{place}: {int((~keep).sum())} keys whose time does not increase are left out", True)
        )
    channels.pool = np.concatenate(parts)
    channels.pool.flags.writeable = False

"""The features of every frame: what the schema asks for, in the frame of the root, so that no heading is preferred."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import QueryError
from ambulo.matching.schema import FeatureSchema
from ambulo.maths import quaternions
from ambulo.motion import kinematics
from ambulo.motion.skeleton import Skeleton

Float = NDArray[np.float32]

# Frames a pass of forward kinematics: its arrays then stay in the cache and the memory small, whatever the database.
_CHUNK = 16384
# Frames whose moments are taken together: about their own mean, so that a far-away constant costs no digits.
_BLOCK = 1024
# A group that never varies gets this standard deviation: it can then neither divide by zero nor drown the others.
_FLAT = 1e-5


class FrameRange(Protocol):
    """A clip, as far as features need one: frames ``[start, stop)`` of the database."""

    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...


class FrameSource(Protocol):
    """What features are computed from; a :class:`~ambulo.database.database.Database` is one.

    ``positions [F, J, 3]``, ``rotations [F, J, 4]``, ``velocities [F, J, 3]`` and ``angular_velocities [F, J, 3]`` are
    local to the parent, those of joint 0 (the root) in the world; ``valid uint8 [F]`` is 0 where a frame is a glitch,
    and ``number`` gives a numeric channel, float32 ``[F]``, NaN where nothing is said.
    """

    @property
    def skeleton(self) -> Skeleton: ...
    @property
    def positions(self) -> Float: ...
    @property
    def rotations(self) -> Float: ...
    @property
    def velocities(self) -> Float: ...
    @property
    def angular_velocities(self) -> Float: ...
    @property
    def valid(self) -> NDArray[np.uint8]: ...
    @property
    def clips(self) -> Sequence[FrameRange]: ...
    def number(self, name: str) -> Float: ...


@dataclass(frozen=True)
class FeatureSet:
    """The features of a database.

    Attributes:
        schema: what the dimensions mean.
        raw: float32 ``[F, D]``, in metres, m/s and unit directions, neither normalised nor weighted.
        mean: float32 ``[D]``, over the valid frames.
        scale: float32 ``[D]``, one standard deviation a group (the mean over its dimensions of theirs).
    """

    schema: FeatureSchema
    raw: Float
    mean: Float
    scale: Float

    def __post_init__(self) -> None:
        for name in ("raw", "mean", "scale"):
            # Kernels are compiled for arrays of this kind. Private memory maps are; nothing is copied then.
            object.__setattr__(self, name, np.require(getattr(self, name), np.float32, ["C", "A", "W"]))

    @property
    def frame_count(self) -> int:
        """Number of frames F."""
        return int(self.raw.shape[0])

    @property
    def dimension_count(self) -> int:
        """Number of dimensions D."""
        return int(self.raw.shape[1])

    def coefficients(self, weights: ArrayLike | None = None) -> NDArray[np.float64]:
        """What each raw dimension is multiplied by before distances are taken: weight over scale. float64 ``[D]``."""
        values = self.schema.checked_weights(weights).astype(np.float64)
        return values[self.schema.group_of_dimension] / self.scale.astype(np.float64)

    def normalized(self, weights: ArrayLike | None = None) -> Float:
        """Features centred, scaled and weighted. Returns float32 ``[F, D]``."""
        return ((self.raw - self.mean) * self.coefficients(weights).astype(np.float32)).astype(np.float32, copy=False)

    def normalize_query(self, queries: ArrayLike, weights: ArrayLike | None = None) -> Float:
        """The same of raw queries ``[..., D]``."""
        values = np.asarray(queries, np.float32)
        return ((values - self.mean) * self.coefficients(weights).astype(np.float32)).astype(np.float32, copy=False)

    @classmethod
    def from_raw(
        cls,
        schema: FeatureSchema,
        raw: Float,
        valid: ArrayLike | None = None,
        pause: Callable[[], None] = lambda: None,
    ) -> FeatureSet:
        """Features with their statistics taken over the valid frames.

        Args:
            schema: D dimensions.
            raw: ``[F, D]``.
            valid: ``[F]``, zero or False where a frame does not count; frames that are not finite never count.
            pause: see :func:`compute_features`.
        """
        raw = np.ascontiguousarray(raw, np.float32)
        if raw.ndim != 2 or raw.shape[1] != schema.dimension_count:
            raise QueryError(f"features must be [F, {schema.dimension_count}], got {list(raw.shape)}", key="features")
        mean, deviation = _statistics(raw, None if valid is None else np.asarray(valid).astype(bool), pause)
        scale = np.empty_like(mean)
        for group in schema.groups:
            spread = float(deviation[group.start : group.stop].mean())
            scale[group.start : group.stop] = spread if spread > _FLAT else 1.0
        return cls(schema, raw, mean.astype(np.float32), scale.astype(np.float32))


def compute_features(
    source: FrameSource,
    schema: FeatureSchema,
    raw: Float | None = None,
    pause: Callable[[], None] = lambda: None,
    known: Sequence[tuple[int, int]] = (),
) -> FeatureSet:
    """Features of every frame of a database (S4.12 to S4.14).

    All vectors are turned by the inverse of the root's rotation: two frames that differ by where they stand and face
    have the same features. Times past a clip's end show the clip's last frame.

    Args:
        source: frames of all clips end to end, see :class:`FrameSource`.
        schema: compiled for this skeleton and rate.
        raw: float32 zeros ``[F, D]`` to fill, such as a mapped file; None makes them.
        pause: called now and then, when nothing read so far is needed again: the time to release maps.
        known: ranges ``[start, stop)`` of frames of whole clips that ``raw`` holds already, ascending.
    """
    frame_count = int(source.positions.shape[0])
    if raw is None:
        raw = np.zeros((frame_count, schema.dimension_count), np.float32)
    joint_groups = [group for group in schema.groups if group.joint >= 0]
    wanted = _with_ancestors(source.skeleton.parents, [group.joint for group in joint_groups])
    local = {joint: index for index, joint in enumerate(wanted)}
    parents = np.array([local.get(int(source.skeleton.parents[joint]), -1) for joint in wanted], np.int32)
    chunks = _chunks_between(known, frame_count)
    starts = np.array([chunk.start for chunk in chunks], np.int64)
    stops = np.array([chunk.stop for chunk in chunks], np.int64)
    # The clips that end in each chunk: their trajectories are made while their frames are still in memory.
    ending: list[list[FrameRange]] = [[] for _ in chunks]
    for clip in source.clips:
        at = int(np.searchsorted(stops, int(clip.stop), side="left"))
        if at < len(chunks) and int(clip.stop) > starts[at]:
            ending[at].append(clip)
    for chunk, clips in zip(chunks, ending, strict=True):
        if joint_groups:
            pose, velocity = kinematics.forward_velocities(
                source.positions[chunk, wanted],
                source.rotations[chunk, wanted],
                source.velocities[chunk, wanted],
                source.angular_velocities[chunk, wanted],
                parents,
            )
            root_position, root_rotation = pose.positions[:, local[0]], pose.rotations[:, local[0]]
            for group in joint_groups:
                index = local[group.joint]
                if group.kind == "position":
                    vector = pose.positions[:, index] - root_position
                else:
                    vector = velocity.linear[:, index]
                raw[chunk, group.start : group.stop] = quaternions.inverse_rotate(root_rotation, vector)
        for clip in clips:
            _fill_trajectory(raw, source, schema, int(clip.start), int(clip.stop))
        pause()
    for group in schema.groups:
        if group.channel:
            raw[:, group.start] = _number(source, group.channel)
    return FeatureSet.from_raw(schema, raw, source.valid, pause)


def _chunks_between(known: Sequence[tuple[int, int]], frame_count: int) -> list[slice]:
    """What lies between ranges of frames, in pieces that fit into the processor's cache."""
    edges = [0, *(edge for span in known for edge in span), frame_count]
    return [
        slice(start, min(start + _CHUNK, last))
        for first, last in zip(edges[::2], edges[1::2], strict=True)
        for start in range(first, last, _CHUNK)
    ]


def _number(source: FrameSource, channel: str) -> Float:
    """A numeric channel ``[F]``; a frame of which nothing is said counts as the mean of those that say something."""
    values = np.array(source.number(channel), np.float32)
    known = np.isfinite(values)
    values[~known] = values[known].mean(dtype=np.float64) if known.any() else 0.0
    return values


def _fill_trajectory(raw: Float, source: FrameSource, schema: FeatureSchema, start: int, stop: int) -> None:
    positions = np.asarray(source.positions[start:stop, 0])
    rotations = np.asarray(source.rotations[start:stop, 0])
    last = stop - start - 1
    for group in schema.groups:
        if group.joint >= 0 or group.channel:
            continue
        width = group.size // len(group.frames)
        for step, ahead in enumerate(group.frames):
            future = np.clip(np.arange(last + 1) + ahead, 0, last)
            if group.kind == "trajectory_direction":
                forward = np.array([0.0, 0.0, 1.0], np.float32)
                value = quaternions.rotate(quaternions.inverse_multiply(rotations, rotations[future]), forward)
            elif group.kind == "trajectory_velocity":
                value = quaternions.inverse_rotate(rotations, np.asarray(source.velocities[start:stop, 0])[future])
            else:
                value = quaternions.inverse_rotate(rotations, positions[future] - positions)
            column = group.start + step * width
            raw[start:stop, column : column + width] = value[:, [1]] if width == 1 else value[:, [0, 2]]


def _with_ancestors(parents: NDArray[np.int32], joints: Sequence[int]) -> list[int]:
    """Joints and all above them, and the root, in topological order: the rest of the body need not be posed."""
    wanted = {0}
    for joint in joints:
        while joint >= 0 and joint not in wanted:
            wanted.add(joint)
            joint = int(parents[joint])
    return sorted(wanted)


def _statistics(
    raw: Float, valid: NDArray[np.bool_] | None, pause: Callable[[], None]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation a dimension, float64 ``[D]``, of blocks first and then of them together."""
    from ambulo.matching.moment_kernels import block_moments

    frame_count, dimension_count = raw.shape
    blocks = -(-frame_count // _BLOCK)
    counts, means = np.zeros(blocks, np.int64), np.zeros((blocks, dimension_count))
    squares = np.zeros((blocks, dimension_count))
    keep = np.ones(frame_count, np.uint8) if valid is None else valid.view(np.uint8)
    step = max(_CHUNK // _BLOCK, 1) * 4
    for first in range(0, blocks, step):
        frames, part = slice(first * _BLOCK, (first + step) * _BLOCK), slice(first, first + step)
        block_moments(raw[frames], keep[frames], _BLOCK, counts[part], means[part], squares[part])
        pause()
    count = int(counts.sum())
    if count == 0:
        return np.zeros(dimension_count), np.zeros(dimension_count)
    mean = (counts[:, None] * means).sum(axis=0) / count
    total = (squares + counts[:, None] * (means - mean) ** 2).sum(axis=0)
    return mean, np.sqrt(total / count)

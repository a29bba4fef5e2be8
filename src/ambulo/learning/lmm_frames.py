"""What learned motion matching is trained on: features, poses and windows of a database, as float32 arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import LearningError
from ambulo.learning.pose_layout import PoseLayout
from ambulo.maths import quaternions
from ambulo.motion import kinematics

if TYPE_CHECKING:
    from ambulo.database.database import Database
    from ambulo.matching.index import SearchIndex

Float = NDArray[np.float32]

_CHUNK = 8192


@dataclass(frozen=True)
class LmmFrames:
    """The frames that a model may show. F of them; they are numbered anew, ``frames`` says which of the database.

    Attributes:
        layout: what a pose is, as one row of numbers.
        rate: frames a second.
        frames: int64 ``[F]``, ascending database frames.
        features: float32 ``[F, D]``, normalised and weighted as the search compares them.
        weights: float32 ``[G]``, of the feature groups.
        mean, coefficients: float32 ``[D]``: features are ``(raw - mean) * coefficients``.
        poses: float32 ``[F, P]``, see :class:`~ambulo.learning.pose_layout.PoseLayout`.
        positions: float32 ``[F, J - 1, 3]``, metres, joints but the root in the root's frame.
        run_stops: int64 ``[F]``, the row after the last that follows without a gap: a run never crosses a clip's edge,
            a frame that may not be shown, or one with a glitch.
        held_out: bool ``[F]``, rows that no network sees in training.
        fresh: bool ``[F]``, rows that a model which is trained on has not seen yet; None where it begins anew.
    """

    layout: PoseLayout
    rate: float
    frames: NDArray[np.int64]
    features: Float
    weights: Float
    mean: Float
    coefficients: Float
    poses: Float
    positions: Float
    run_stops: NDArray[np.int64]
    held_out: NDArray[np.bool_]
    fresh: NDArray[np.bool_] | None = None

    def window_starts(self, length: int, held_out: bool = False) -> NDArray[np.int64]:
        """First rows of all windows of that many frames which lie in one run and are wholly held out, or not at all."""
        rows = np.arange(len(self.frames))
        fits = rows + length <= self.run_stops
        counted = np.concatenate([[0], np.cumsum(self.held_out)])
        inside = counted[np.minimum(rows + length, len(rows))] - counted[rows]
        return np.flatnonzero(fits & (inside == (length if held_out else 0)))

    def window_pools(self, length: int) -> tuple[NDArray[np.int64], ...]:
        """Windows to train on, in pools: those of new frames, and all others; see :meth:`fresh_share`."""
        starts = self.window_starts(length)
        if self.fresh is None:
            return (starts,)
        is_fresh = self.fresh[starts]
        return tuple(pool for pool in (starts[is_fresh], starts[~is_fresh]) if len(pool))

    def fresh_share(self, progress: float) -> float | None:
        """Part of a batch that is drawn of new frames, at a part of a run: most of it at the beginning, and at the end,
        when a model settles, what they are of all frames. None where a model begins anew."""
        if self.fresh is None:
            return None
        own = float(self.fresh.mean())
        return own + 0.55 * (1.0 - own) * (1.0 - progress)


def pick(
    draws: NDArray[np.float64], pools: tuple[NDArray[np.int64], ...], first: float | None = None
) -> NDArray[np.int64]:
    """One row a number in [0, 1): of the first of two pools with the chance ``first``; without it, of each pool as
    often as of any other."""
    shares = np.full(len(pools), 1.0 / len(pools))
    if first is not None and len(pools) == 2:
        shares[:] = first, 1.0 - first
    ends = np.cumsum(shares)
    which = np.minimum(np.searchsorted(ends, draws, side="right"), len(pools) - 1)
    sizes = np.array([len(pool) for pool in pools])[which]
    place = np.minimum(((draws - (ends - shares)[which]) / shares[which] * sizes).astype(np.int64), sizes - 1)
    chosen = np.empty(len(draws), np.int64)
    for number, pool in enumerate(pools):
        mine = which == number
        chosen[mine] = pool[place[mine]]
    return chosen


def search_weights(index: SearchIndex, pose_emphasis: float) -> Float:
    """Weights of the feature groups as motion matching searches with them, float32 ``[G]``."""
    schema = index.feature_set.schema
    return np.array(
        [group.weight * (pose_emphasis if group.joint >= 0 else 1.0) for group in schema.groups], np.float32
    )


def gather_frames(
    database: Database,
    index: SearchIndex,
    allowed: NDArray[np.bool_],
    run_stops: NDArray[np.int64],
    weights: Float,
    *,
    hold_out: float = 0.03,
    seed: int = 0,
) -> LmmFrames:
    """The training data of a database.

    Args:
        database: F0 frames.
        index: over its features.
        allowed: bool ``[F0]``, frames that may be shown.
        run_stops: int64 ``[F0]``, as in :class:`ambulo.control.frame_sets.FrameSet`.
        weights: of the feature groups.
        hold_out: part of the frames to hold out, in stretches of a second; a mirrored clip with its original.
        seed: which ones.

    Raises:
        LearningError: nothing is allowed.
    """
    finite = np.isfinite(index.feature_set.raw).all(axis=1)
    frames = np.flatnonzero(allowed & finite).astype(np.int64)
    if not len(frames):
        raise LearningError("no frame of the database may be shown", key="tags", remedy="choose other tags")
    layout = PoseLayout.of(database.skeleton, database.positions, frames)
    poses = np.empty((len(frames), layout.size), np.float32)
    positions = np.empty((len(frames), layout.joint_count - 1, 3), np.float32)
    for start in range(0, len(frames), _CHUNK):
        rows = frames[start : start + _CHUNK]
        rotations, places = root_space(database.positions[rows], database.rotations[rows], layout.parents)
        positions[start : start + len(rows)] = places
        turn = database.rotations[rows, 0]
        layout.write(
            poses[start : start + len(rows)],
            local_positions=database.positions[rows],
            rotations=rotations,
            velocities=database.velocities[rows],
            angular_velocities=database.angular_velocities[rows],
            root_velocity=quaternions.inverse_rotate(turn, database.velocities[rows, 0]),
            root_turning=quaternions.inverse_rotate(turn, database.angular_velocities[rows, 0]),
            contacts=database.contacts[rows],
        )
    place = np.full(database.frame_count + 1, len(frames), np.int64)
    place[frames] = np.arange(len(frames))
    # A run ends where its frames end, or where a frame in it is left out.
    stops = np.searchsorted(frames, run_stops[frames])
    gaps = np.flatnonzero(np.diff(frames) != 1) + 1
    edges = np.concatenate([gaps, [len(frames)]])
    stops = np.minimum(stops, edges[np.searchsorted(gaps, np.arange(len(frames)), side="right")])
    mean = np.asarray(index.feature_set.mean, np.float32)
    coefficients = index.feature_set.coefficients(weights).astype(np.float32)
    features = (index.feature_set.raw[frames] - mean) * coefficients
    return LmmFrames(
        layout,
        database.rate,
        frames,
        np.ascontiguousarray(features, np.float32),
        weights,
        mean,
        coefficients,
        poses,
        positions,
        stops.astype(np.int64),
        _hold_out(database, frames, hold_out, seed),
    )


def root_space(local_positions: Float, local_rotations: Float, parents: NDArray[np.int32]) -> tuple[Float, Float]:
    """Rotations ``[T, J - 1, 4]`` and positions ``[T, J - 1, 3]`` of the joints in the root's frame."""
    still_p, still_q = np.array(local_positions, np.float32), np.array(local_rotations, np.float32)
    still_p[:, 0], still_q[:, 0] = 0.0, (0.0, 0.0, 0.0, 1.0)
    pose = kinematics.forward(still_p, still_q, parents)
    return pose.rotations[:, 1:], pose.positions[:, 1:]


def _hold_out(database: Database, frames: NDArray[np.int64], part: float, seed: int) -> NDArray[np.bool_]:
    """Stretches of a second, drawn by take: a take's mirrored twin would tell what was held out of it."""
    held = np.zeros(database.frame_count, np.bool_)
    length = round(database.rate)
    takes: dict[tuple[str, float, int], list[int]] = {}
    for clip in database.clips:
        key = (clip.source or clip.name, clip.start_time, clip.stop - clip.start)
        takes.setdefault(key, []).append(clip.start)
    random = np.random.default_rng([seed, 7])
    for (_, _, size), starts in sorted(takes.items()):
        blocks = size // length
        chosen = np.flatnonzero(random.random(blocks) < part)
        for start in starts:
            for block in chosen.tolist():
                held[start + block * length : start + (block + 1) * length] = True
    return held[frames]

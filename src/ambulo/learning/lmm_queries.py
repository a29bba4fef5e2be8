"""Queries to train and judge a projector on: what a controller may ask, with the exact answers.

At run time a query has the pose's features of the moment that is shown, and the trajectory that springs predict from
how the body moves now to what is wished. Most queries here are just that: recorded while motion matching answers random
sticks, or made by the controllers' own kernel for random bodies and wishes. Others take pose and trajectory from two
frames, or are a frame's features with noise of a random size (as in D. Holden's public code), so that the projector
knows what to do with anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ambulo.control.kernel_arrays import Pace, Playing, Reach, Rules, Ties, Wishes, empty_plan
from ambulo.control.query_layout import query_layout
from ambulo.control.settings import ControlSettings, SimulationSettings
from ambulo.learning.lmm_frames import LmmFrames, pick

if TYPE_CHECKING:
    from ambulo.database.database import Database
    from ambulo.matching.index import FrameMask, SearchIndex

Float = NDArray[np.float32]

_BLOCK = 16384
_RECORDED = 64


@dataclass(frozen=True)
class QueryMix:
    """Which kinds of queries, as parts of all.

    Attributes:
        recorded: as motion matching asked under random sticks, where such queries are given.
        asked: as a controller asks, of random bodies and wishes.
        mixed: a frame's pose with another frame's trajectory, a little noise on both; the rest is noise alone.
    """

    recorded: float = 0.5
    asked: float = 0.3
    mixed: float = 0.1


@dataclass(frozen=True)
class Queries:
    """Queries and where exact search lands.

    Attributes:
        queries: float32 ``[Q, D]``, normalised and weighted.
        rows: int64 ``[Q]``, the best row of the training data.
    """

    queries: Float
    rows: NDArray[np.int64]


def draw_queries(
    frames: LmmFrames,
    index: SearchIndex,
    mask: FrameMask | None,
    count: int,
    seed: int = 0,
    *,
    mix: QueryMix | None = None,
    simulation: SimulationSettings | None = None,
    recorded: Float | None = None,
) -> Queries:
    """Draw queries and answer them by exact search.

    Args:
        frames: the training data; where some rows are fresh, half of the queries begin at those.
        index: over the database's features.
        mask: frames that may be jumped to.
        count: how many.
        seed: which ones.
        mix: of which kinds.
        simulation: springs that predict trajectories.
        recorded: raw queries ``[R, D]`` of :func:`record_queries`; without any, more are asked of random bodies.
    """
    mix = mix or QueryMix()
    if recorded is None or not len(recorded):
        mix = QueryMix(0.0, mix.recorded + mix.asked, mix.mixed)
    random = np.random.default_rng([seed, 11])
    total, width = frames.features.shape
    features = index.feature_set
    pools: tuple[NDArray[np.int64], ...] = (np.arange(total, dtype=np.int64),)
    if frames.fresh is not None:
        pools = (np.flatnonzero(frames.fresh), np.flatnonzero(~frames.fresh))
    is_pose = np.array([features.schema.groups[group].joint >= 0 for group in features.schema.group_of_dimension])
    std = frames.features.std(axis=0)
    row_of = np.full(features.frame_count, -1, np.int64)
    row_of[frames.frames] = np.arange(total)
    rescale = frames.coefficients
    queries, rows = np.empty((count, width), np.float32), np.empty(count, np.int64)
    for start in range(0, count, _BLOCK):
        size = min(_BLOCK, count - start)
        kind = random.random(size)
        one, other = pick(random.random(size), pools), random.integers(0, total, size)
        normal = random.standard_normal((size, width)).astype(np.float32)
        strength = random.random((size, 1)).astype(np.float32)
        is_recorded = kind < mix.recorded
        is_asked = ~is_recorded & (kind < mix.recorded + mix.asked)
        is_mixed = ~is_recorded & ~is_asked & (kind < mix.recorded + mix.asked + mix.mixed)
        spread = np.where(is_asked[:, None], 0.1 * std, np.where(is_mixed[:, None], 0.2 * std, std + 1.0))
        asked = np.where(is_mixed[:, None] & ~is_pose, frames.features[other], frames.features[one])
        if is_asked.any():
            raw = _ask(frames, features.raw, one[is_asked], random, simulation or SimulationSettings(), index)
            asked[is_asked] = (raw - frames.mean) * rescale
        if recorded is not None and is_recorded.any():
            drawn = recorded[random.integers(0, len(recorded), np.count_nonzero(is_recorded))]
            asked[is_recorded] = (drawn - frames.mean) * rescale
            spread = np.where(is_recorded[:, None], 0.02 * std, spread)
        asked = (asked + normal * strength * spread).astype(np.float32)
        found = index.search(asked / rescale + frames.mean, mask=mask, weights=frames.weights).frames
        queries[start : start + size], rows[start : start + size] = asked, row_of[found]
    keep = rows >= 0
    return Queries(queries[keep], rows[keep])


def record_queries(
    database: Database, index: SearchIndex, settings: ControlSettings, tags: Sequence[str], count: int, seed: int = 0
) -> Float:
    """Raw queries that motion matching asks while random sticks drive sixty-four characters, about ``count``.

    Args:
        database: what is played.
        index: over its features.
        settings: of the controller.
        tags: required of all frames; the settings' default where empty.
        count: how many.
        seed: of sticks and controller.
    """
    from ambulo.control.intent import Intent
    from ambulo.control.motion_matching import MotionMatching
    from ambulo.control.scripts import random_sticks

    controller = MotionMatching(database, index, settings)
    seconds = max(count * settings.search.interval / _RECORDED, 1.0)
    script = random_sticks(seed, seconds + 1.0, _RECORDED)
    still = np.zeros((_RECORDED, 3), np.float32)
    state, kept, total = controller.start(_RECORDED, seed=seed), [], 0
    for step in range(round(seconds * 60.0)):
        asked = script.intent(step / 60.0, still, still)
        before = state.query
        state, _ = controller.step(state, Intent(asked.velocity, asked.facing, required_tags=tuple(tags)), 1.0 / 60.0)
        fresh = (state.query != before).any(axis=1)
        kept.append(state.query[fresh])
        total += int(fresh.sum())
        if total >= count:
            break
    return np.concatenate(kept)[:count]


def _ask(
    frames: LmmFrames,
    raw: Float,
    rows: NDArray[np.int64],
    random: np.random.Generator,
    settings: SimulationSettings,
    index: SearchIndex,
) -> Float:
    """Raw queries ``[N, D]`` of bodies at some rows that are wished somewhere."""
    from ambulo.control import query_kernels

    count = len(rows)
    columns = frames.layout.columns
    velocity = frames.poses[rows][:, columns["root_velocity"]][:, [0, 2]].astype(np.float64)
    turning = frames.poses[rows][:, columns["root_turning"]][:, 1].astype(np.float64)
    speeds = np.linalg.norm(frames.poses[:: max(len(frames.poses) // 20_000, 1), columns["root_velocity"]], axis=1)
    fastest = float(np.quantile(speeds, 0.99)) + 0.2

    def around(scale: float, *shape: int) -> NDArray[np.float64]:
        return random.standard_normal((count, *shape)) * scale

    # A third goes on as it goes, a quarter stands, the others want something else, at any speed and in any direction.
    choice = random.random(count)
    angle, speed = random.uniform(-np.pi, np.pi, count), random.random(count) * fastest
    wish = np.column_stack([np.sin(angle) * speed, np.cos(angle) * speed])
    near = np.arctan2(velocity[:, 0], velocity[:, 1] + 1e-6) + around(0.4)
    own = np.linalg.norm(velocity, axis=1) * random.uniform(0.7, 1.3, count)
    goes_on = choice < 0.35
    wish[goes_on] = np.column_stack([np.sin(near) * own, np.cos(near) * own])[goes_on]
    wish[(choice >= 0.35) & (choice < 0.6)] = 0.0
    facing_angle = np.where(random.random(count) < 0.5, around(0.3), random.uniform(-np.pi, np.pi, count))
    facing = np.column_stack([np.sin(facing_angle), np.zeros(count), np.cos(facing_angle)])
    facing[random.random(count) < 0.7] = 0.0
    # The simulation object is ahead of the body on its way to the wish, by a little or by a lot.
    part = np.square(random.random((count, 1)))
    state = np.zeros((count, 10))
    state[:, [0, 2]] = around(0.5 * settings.clamping_distance, 2)
    state[:, 3:5] = velocity + part * (wish - velocity) + around(0.1, 2)
    state[:, 5:7] = (1.0 - part) * (wish - velocity) * random.random((count, 1)) * 2.0 + around(0.2, 2)
    state[:, 7] = np.clip(around(0.2), -settings.clamping_angle, settings.clamping_angle)
    state[:, 8] = turning + around(0.5)
    root = np.zeros((count, 6))
    still = np.zeros(count)
    planned = empty_plan(count, len(query_layout(index.feature_set.schema).times), raw.shape[1])
    everyone = np.arange(count)
    query_kernels.plan(
        everyone,
        Wishes(
            np.column_stack([wish[:, 0], np.zeros(count), wish[:, 1]]).astype(np.float32),
            facing.astype(np.float32),
        ),
        Playing(everyone.astype(np.float64), still, np.zeros((count, 3)), still, root, state),
        # 3: they ask whether they rest or not.
        Ties(np.zeros(count, np.int64), np.full(count, 3, np.uint8), np.zeros(0, np.bool_)),
        Reach(np.full(count, count + 2, np.int64), np.ascontiguousarray(raw[frames.frames[rows]], np.float32)),
        Rules(query_layout(index.feature_set.schema), settings.constants(), np.array([0.5, 0.35, 0.1, 0.1, 0.1])),
        Pace(0.0, 1.0 / 60.0),
        planned,
    )
    return planned.query

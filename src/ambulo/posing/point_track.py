"""Points that somebody set, over time: which, where, how exactly; with gaps where nothing is set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import PosingError, nearest_names
from ambulo.posing.canonical_body import CanonicalBody
from ambulo.posing.points import POINTS, point_indices

Double = NDArray[np.float64]

TOO_FAR = 1.5
"""Points farther apart than this many times what the body allows are a mistake, not a wish."""
_FARTHEST = 1e6
_DRIFT = 0.6
_LARGEST_DRIFT = 0.15


@dataclass(frozen=True)
class PointTrack:
    """Wishes of T poses, one after the other.

    Attributes:
        indices: int64 ``[K]``, the points that are set anywhere.
        positions: float64 ``[T, K, 3]``, metres, NaN where a point is not set.
        tolerances: float64 ``[T, K]``, metres, standard deviations.
        turns: role -> float64 ``[T, 4]``, global rotation away from the reference pose, NaN where not set.
        look_at: float64 ``[T, 3]``, what the face looks at, NaN for nothing.
        rate: poses a second; None for poses that are no sequence.
    """

    indices: NDArray[np.int64]
    positions: Double
    tolerances: Double
    turns: Mapping[str, Double] = field(default_factory=dict)
    look_at: Double = field(default_factory=lambda: np.zeros((0, 3)))
    rate: float | None = None

    def __post_init__(self) -> None:
        if not len(self.look_at):
            object.__setattr__(self, "look_at", np.full((len(self.positions), 3), np.nan))
        far = np.nan_to_num(np.abs(self.positions), nan=0.0).max(axis=-1) > _FARTHEST
        if far.any():
            frame, point = np.argwhere(far)[0]
            name = POINTS[self.indices[point]]
            what = "no finite number" if np.isinf(self.positions[frame, point]).any() else "over a thousand km away"
            raise PosingError(f"the position of {name!r} is {what}", key=name, frame=int(frame))
        if not (np.isfinite(self.tolerances).all() and ((self.tolerances >= 0.0) & (self.tolerances <= 10.0)).all()):
            raise PosingError("a tolerance is a length in metres, from 0 to 10", key="tolerance")
        if self.rate is not None and not 1e-3 <= self.rate <= 1e5:
            raise PosingError(f"a rate of {self.rate} poses a second is not possible", key="rate")
        if not (self.is_set.any() or self.turns):
            raise PosingError("no point is set", remedy=f"set at least one of: {', '.join(POINTS)}")

    @property
    def frame_count(self) -> int:
        """Number of poses T."""
        return len(self.positions)

    @property
    def is_set(self) -> NDArray[np.bool_]:
        """bool ``[T, K]``."""
        return np.asarray(np.isfinite(self.positions).all(axis=-1))

    def check_reach(self, body: CanonicalBody) -> None:
        """Refuse points that no such body ever has so far apart.

        Raises:
            PosingError: says which two, how far apart they are and how far they can be.
        """
        ways = body.longest_ways[np.ix_(self.indices, self.indices)]
        for a in range(len(self.indices)):
            apart = np.linalg.norm(self.positions - self.positions[:, a : a + 1], axis=-1)
            slack = self.tolerances + self.tolerances[:, a : a + 1]
            over = np.nan_to_num((apart - 3.0 * slack) / np.maximum(ways[a], 1e-3)[None], nan=0.0)
            over[:, a] = 0.0
            frame, b = np.unravel_index(int(over.argmax()), over.shape)
            if over[frame, b] > TOO_FAR and apart[frame, b] > 0.02:
                first, second = POINTS[self.indices[a]], POINTS[self.indices[b]]
                size = f"{apart[frame, b]:.4g} m apart; on this body they are never more than {ways[a, b]:.2f} m apart"
                unit = over[frame, b] > 20.0
                raise PosingError(
                    f"{first!r} and {second!r} are {size}",
                    key=second,
                    frame=int(frame),
                    remedy="points are in metres: are these in centimetres or pixels?"
                    if unit
                    else "move them closer, give the body's height, or a skeleton of its size",
                )

    def bridged(self) -> PointTrack:
        """With short gaps filled along a line, ever looser the farther from where the point was last set.

        Poses in which no point at all is set stay as they are: those are for the smoother.
        """
        if self.rate is None or self.frame_count < 2:
            return self
        positions, tolerances = self.positions.copy(), self.tolerances.copy()
        frames = np.arange(self.frame_count)
        known = self.is_set
        for k in range(len(self.indices)):
            there = np.flatnonzero(known[:, k])
            if not len(there) or len(there) == self.frame_count:
                continue
            right = np.searchsorted(there, frames)
            after = there[np.minimum(right, len(there) - 1)]
            before = there[np.maximum(right - 1, 0)]
            away = np.minimum(np.abs(frames - before), np.abs(after - frames)) / self.rate
            drift = _DRIFT * away
            fill = ~known[:, k] & (drift <= _LARGEST_DRIFT) & known.any(axis=1)
            for axis in range(3):
                positions[fill, k, axis] = np.interp(frames[fill], there, self.positions[there, k, axis])
            tolerances[fill, k] = np.maximum(tolerances[fill, k], np.round(drift[fill], 2) + 0.01)
        return replace(self, positions=positions, tolerances=tolerances)


def point_track(
    points: Mapping[str, ArrayLike],
    *,
    tolerance: float | Mapping[str, float] = 0.0,
    turns: Mapping[str, ArrayLike] | None = None,
    look_at: ArrayLike | None = None,
    rate: float | None = None,
) -> PointTrack:
    """From names and positions.

    Args:
        points: name -> ``[3]``, or ``[T, 3]`` with NaN where it is not set; metres.
        tolerance: metres, of all or by name.
        turns: role -> ``[4]`` or ``[T, 4]``.
        look_at: ``[3]`` or ``[T, 3]``.
        rate: poses a second, of a sequence.

    Raises:
        PosingError: unknown names, shapes that do not fit, numbers that are none, nothing set.
    """
    indices = point_indices(points)
    given = {name: np.atleast_2d(np.asarray(at, np.float64)) for name, at in points.items()}
    wished = {role: np.atleast_2d(np.asarray(q, np.float64)) for role, q in (turns or {}).items()}
    looks = None if look_at is None else np.atleast_2d(np.asarray(look_at, np.float64))
    parts = [*given.items(), *wished.items(), *([] if looks is None else [("look_at", looks)])]
    count = max((len(part) for _, part in parts), default=0)
    for name, part in parts:
        width = 4 if name in wished and part is wished.get(name) else 3
        if part.ndim != 2 or part.shape[1] != width or len(part) not in (1, count):
            raise PosingError(f"{name!r} needs {width} numbers for each of {count} poses, got {part.shape}", key=name)
        if rate is None and np.isnan(part).any():
            raise PosingError(f"the position of {name!r} is no finite number", key=name)
    if not count:
        raise PosingError("no point is set", remedy=f"set at least one of: {', '.join(POINTS)}")
    positions = np.empty((count, len(indices), 3))
    tolerances = np.zeros((count, len(indices)))
    for k, (name, at) in enumerate(given.items()):
        positions[:, k] = at
        tolerances[:, k] = tolerance.get(name, 0.0) if isinstance(tolerance, Mapping) else tolerance
    if isinstance(tolerance, Mapping):
        for name in tolerance:
            if name not in points:
                raise PosingError(
                    f"a tolerance for {name!r}, which is not set; {nearest_names(name, points)}", key=name
                )
    return PointTrack(
        indices,
        positions,
        tolerances,
        {role: np.broadcast_to(q, (count, 4)).copy() for role, q in wished.items()},
        np.zeros((0, 3)) if looks is None else np.broadcast_to(looks, (count, 3)).copy(),
        rate,
    )

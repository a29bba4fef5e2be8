"""How well a path is kept: distance of the root to it, and of the facing to what is asked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.errors import ControlError
from ambulo.evaluation.measure import Measure
from ambulo.evaluation.travel import Travel, wrap


def script_path(script: object) -> NDArray[np.float64] | None:
    """The exact path that a script follows, ``[M, 3]``, a closed one with its first point again at the end.

    None for a script that follows none.
    """
    path = getattr(script, "path", None)
    points = getattr(path, "points", None)
    if path is None or points is None:
        return None
    corners = np.concatenate([points, points[:1]]) if path.closed else np.asarray(points)
    return np.stack([corners[:, 0], np.zeros(len(corners)), corners[:, 1]], axis=1).astype(np.float64)


def path_distances(positions: ArrayLike, path: ArrayLike) -> NDArray[np.float64]:
    """Distance over the ground of points to the nearest point of a polyline.

    Args:
        positions: ``[T, 3]``, metres.
        path: ``[M, 3]``, metres, M >= 2; heights are ignored.

    Returns:
        float64 ``[T]``, metres.
    """
    p = np.asarray(positions, np.float64)[:, [0, 2]]
    line = np.asarray(path, np.float64)
    if line.ndim != 2 or line.shape[1] != 3 or len(line) < 2:
        raise ControlError(f"a path needs at least two points [M, 3], got {line.shape}")
    line = line[:, [0, 2]]
    start, along = line[:-1], np.diff(line, axis=0)
    square = np.sum(along * along, axis=1)
    safe = np.where(square > 0.0, square, 1.0)
    result = np.empty(len(p))
    for begin in range(0, len(p), 256):
        off = p[begin : begin + 256, None] - start[None]
        u = np.clip(np.sum(off * along, axis=-1) / safe, 0.0, 1.0)
        miss = off - u[..., None] * along
        result[begin : begin + 256] = np.sqrt(np.sum(miss * miss, axis=-1).min(axis=1))
    return result


def direction_errors(travel: Travel) -> NDArray[np.float64]:
    """Angle between where the root faces and where it shall face, radians ``[T]``, >= 0; NaN where nothing is asked.

    The absolute value is taken after wrapping and before any mean, so that left and right do not cancel.
    """
    return np.abs(wrap(travel.headings - travel.desired_headings()))


def speed_errors(travel: Travel) -> NDArray[np.float64]:
    """Difference between the root's speed over the ground and the asked one, m/s ``[T]``, >= 0."""
    velocity = travel.velocities()
    return np.abs(np.hypot(velocity[:, 0], velocity[:, 1]) - travel.desired_speeds())


def measure_path(travels: Sequence[Travel], path: ArrayLike | None) -> dict[str, Measure]:
    """Path, direction and speed errors over all characters; the path's only where there is a path."""
    measures: dict[str, Measure] = {}
    if path is not None:
        distances = np.concatenate([path_distances(travel.positions, path) for travel in travels])
        text = "Distance over the ground of the root to the nearest point of the asked path"
        measures["path_error"] = Measure(float(distances.mean()) * 100.0, None, "cm", False, f"{text}, mean.")
        measures["path_error_max"] = Measure(float(distances.max()) * 100.0, None, "cm", False, f"{text}, largest.")
    angles = np.concatenate([direction_errors(travel) for travel in travels])
    angles = angles[np.isfinite(angles)]
    measures["direction_error"] = Measure(
        float(np.degrees(angles.mean())) if len(angles) else float("nan"),
        None,
        "deg",
        False,
        "Mean absolute angle, wrapped, between where the root faces and where it is asked to face.",
    )
    speeds = np.concatenate([speed_errors(travel) for travel in travels])
    measures["speed_error"] = Measure(
        float(speeds.mean()) * 100.0,
        None,
        "cm/s",
        False,
        "Mean absolute difference between the root's speed and the asked speed (changes of the wish included).",
    )
    return measures

"""The JSON file of points: one pose, or frames at a rate.

::

    {"left_wrist": [0.5, 1.4, 0.3], "hips": {"position": [0, 0.95, 0], "tolerance": 0.02},
     "head": {"look_at": [0, 1, 3]}, "left_hand_tip": {"rotation": [0, 0, 0, 1]}}

    {"rate": 30, "frames": [{"head": [0, 1.6, 0]}, {"head": null}, {"head": [0.1, 1.6, 0]}]}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import PosingError, nearest_names
from ambulo.posing.point_track import PointTrack
from ambulo.posing.points import POINTS, SITES, point_indices

_KEYS = ("position", "tolerance", "rotation", "look_at")
_HEAD = tuple(name for name in POINTS if name.startswith("head"))
_FILE = ("points", "frames", "rate", "look_at", "tolerance", "height")


def read_json(path: str | Path) -> Any:
    """The content of a JSON file.

    Raises:
        PosingError: it cannot be read, or is no JSON; says the line.
    """
    place = Path(path)
    try:
        return json.loads(place.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        raise PosingError(f"this is no JSON: {error.msg}", path=place, line=error.lineno) from None
    except UnicodeDecodeError:
        raise PosingError("this is no text in UTF-8", path=place) from None
    except RecursionError:
        raise PosingError("this is nested too deeply", path=place) from None
    except OSError as error:
        raise PosingError(f"cannot be read: {error.strerror or error}", path=place) from None


def read_points(path: str | Path, *, tolerance: float = 0.0, rate: float | None = None) -> PointTrack:
    """Read a file of points.

    Args:
        path: see the module's text.
        tolerance: metres, of points that have none of their own.
        rate: poses a second, where the file has frames and no rate.

    Raises:
        PosingError: it is no such file; says the line, the frame and the point.
    """
    place = Path(path)
    try:
        return points_from_json(read_json(place), tolerance=tolerance, rate=rate)
    except PosingError as error:
        if error.path is not None:
            raise
        raise PosingError(error.message, path=place, frame=error.frame, key=error.key, remedy=error.remedy) from None


def points_from_json(content: Any, *, tolerance: float = 0.0, rate: float | None = None) -> PointTrack:
    """From the file's decoded content.

    Raises:
        PosingError: see :func:`read_points`.
    """
    if not isinstance(content, dict):
        raise PosingError('a file of points is an object: {"left_wrist": [x, y, z], ...}')
    frames = content.get("frames")
    if frames is None:
        points = content.get("points", {k: v for k, v in content.items() if k not in _FILE})
        wishes = [_checked(points, 0)]
        if "look_at" in content:
            wishes[0] = wishes[0] | {"": {"look_at": content["look_at"]}}
        speed = None
    else:
        if not isinstance(frames, list) or not frames:
            raise PosingError('"frames" is a list of poses, at least one', key="frames")
        wishes = [_checked(frame.get("points", frame) if isinstance(frame, dict) else frame, t)
                  for t, frame in enumerate(frames)]  # fmt: skip
        speed = _number(content.get("rate", rate if rate is not None else 30.0), "rate")
    loose = _number(content.get("tolerance", tolerance), "tolerance")
    return _track(wishes, loose, speed)


def _checked(points: Any, frame: int) -> dict[str, Any]:
    if points is None:
        return {}
    if not isinstance(points, Mapping):
        raise PosingError('a pose is an object: {"left_wrist": [x, y, z], ...}', frame=frame)
    for name in points:
        if name not in POINTS:
            raise PosingError(f"no point {name!r}; {nearest_names(str(name), POINTS)}", key=str(name), frame=frame)
    return {name: value for name, value in points.items() if value is not None}


def _track(wishes: list[dict[str, Any]], tolerance: float, rate: float | None) -> PointTrack:
    positions: dict[str, NDArray[np.float64]] = {}
    loose: dict[str, NDArray[np.float64]] = {}
    turns: dict[str, NDArray[np.float64]] = {}
    count = len(wishes)
    looks = np.full((count, 3), np.nan)
    for frame, points in enumerate(wishes):
        for name, value in points.items():
            wish = value if isinstance(value, dict) else {"position": value}
            for key in wish:
                if key not in _KEYS:
                    raise PosingError(f"{name!r} has no {key!r}; {nearest_names(key, _KEYS)}", key=key, frame=frame)
            at = wish.get("position")
            if at is not None:
                place = _numbers(at, 3, f"the position of {name!r}", frame, gaps=rate is not None)
                positions.setdefault(name, np.full((count, 3), np.nan))[frame] = place
                own = wish.get("tolerance")
                size = tolerance if own is None else _number(own, f"tolerance of {name}", frame)
                loose.setdefault(name, np.full(count, tolerance))[frame] = size
            turn = wish.get("rotation")
            if turn is not None:
                q = _numbers(turn, 4, f"the rotation of {name!r}", frame)
                if not 0.9 < float(np.linalg.norm(q)) < 1.1:
                    raise PosingError(f"the rotation of {name!r} is no unit quaternion", key=name, frame=frame)
                role = SITES[POINTS.index(name)].role
                turns.setdefault(role, np.full((count, 4), np.nan))[frame] = q / np.linalg.norm(q)
            look = wish.get("look_at")
            if look is not None:
                if name and name not in _HEAD:
                    raise PosingError(f"{name!r} cannot look; {', '.join(_HEAD)} can", key=name, frame=frame)
                looks[frame] = _numbers(look, 3, "look_at", frame)
    indices = point_indices(positions)
    stacked = np.stack(list(positions.values()), axis=1) if positions else np.zeros((count, 0, 3))
    spread = np.stack(list(loose.values()), axis=1) if loose else np.zeros((count, 0))
    return PointTrack(indices, stacked, spread, turns, looks, rate)


def _numbers(value: Any, count: int, what: str, frame: int, gaps: bool = False) -> NDArray[np.float64]:
    if isinstance(value, list) and len(value) == count:
        given = [np.nan if v is None else v for v in value]
        if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in given):
            array = np.array(given, np.float64)
            if np.isfinite(array).all() or (gaps and np.isnan(array).all()):
                return array
            raise PosingError(f"{what} has a number that is not finite", frame=frame)
    raise PosingError(f"{what} is a list of {count} numbers, not {json.dumps(value)[:60]}", frame=frame)


def _number(value: Any, what: str, frame: int | None = None) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and np.isfinite(value):
        return float(value)
    raise PosingError(f"{what} is a number, not {json.dumps(value)[:60]}", key=what, frame=frame)

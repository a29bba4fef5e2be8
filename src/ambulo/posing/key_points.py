"""Key points that a detector found (COCO's 17, BlazePose's 33) as points of ours (S1.23).

Input is JSON: one pose or a list of them (or ``{"rate": 30, "frames": [...]}``), each a list of key points in the
scheme's order (``[x, y, confidence]``, ``[x, y, z, confidence]`` or objects with ``x, y, z, visibility``), or a COCO
annotation ``{"keypoints": [x1, y1, v1, ...]}``.

- Three-dimensional world landmarks of BlazePose (metres, the hips in the middle, x right in the picture, y down, z away
  from the camera) become ours by half a turn about x, a proper rotation: a person who faces the camera faces +Z.
- Flat ones, in pixels, are seen by a camera far away: x and y are scaled so that the bones fit the body, and nothing is
  said about depth. Depth is what the model's Gaussian of poses expects, given all x and y and which way the body faces.

No key point tells where the ground is: the lowest point of the feet is put on it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.errors import PosingError
from ambulo.posing.body_points import BodyPoints
from ambulo.posing.canonical_body import canonical_body
from ambulo.posing.completion import Guess
from ambulo.posing.observations import turn_vectors
from ambulo.posing.point_file import read_json
from ambulo.posing.point_track import PointTrack
from ambulo.posing.points import POINT_COUNT, point_indices
from ambulo.posing.poser import Poser

Double = NDArray[np.float64]

COCO17: tuple[tuple[int, str, float], ...] = (
    (0, "head_front", 0.03),
    (3, "head_left", 0.03),
    (4, "head_right", 0.03),
    (5, "left_upper_arm", 0.03),
    (6, "right_upper_arm", 0.03),
    (7, "left_elbow", 0.02),
    (8, "right_elbow", 0.02),
    (9, "left_wrist", 0.02),
    (10, "right_wrist", 0.02),
    (11, "left_hip", 0.04),
    (12, "right_hip", 0.04),
    (13, "left_knee", 0.02),
    (14, "right_knee", 0.02),
    (15, "left_ankle", 0.02),
    (16, "right_ankle", 0.02),
)
"""Number of the key point, the point nearest to it, and metres by which a sure one is off. Eyes tell nothing new."""

BLAZEPOSE33: tuple[tuple[int, str, float], ...] = (
    (0, "head_front", 0.03),
    (7, "head_left", 0.03),
    (8, "head_right", 0.03),
    *((11 + s + 2 * k, f"{side}_{name}", loose)
      for s, side in enumerate(("left", "right"))
      for k, (name, loose) in enumerate((("upper_arm", 0.03), ("elbow", 0.02), ("wrist", 0.02), ("hand_outer", 0.03),
                                         ("hand_thumb", 0.03)))),
    *((23 + s + 2 * k, f"{side}_{name}", loose)
      for s, side in enumerate(("left", "right"))
      for k, (name, loose) in enumerate((("hip", 0.04), ("knee", 0.02), ("ankle", 0.02), ("heel", 0.03),
                                         ("toe_tip", 0.04)))),
)  # fmt: skip
"""The same for BlazePose. Knuckles of little and index finger stand for the two sides of the hand."""

KEY_POINT_SCHEMES = {"coco17": (17, COCO17), "blazepose33": (33, BLAZEPOSE33)}
LEAST_CONFIDENCE = 0.3
_DOUBT = 0.06
_BONES = (
    ("left_upper_arm", "left_elbow"),
    ("right_upper_arm", "right_elbow"),
    ("left_elbow", "left_wrist"),
    ("right_elbow", "right_wrist"),
    ("left_hip", "left_knee"),
    ("right_hip", "right_knee"),
    ("left_knee", "left_ankle"),
    ("right_knee", "right_ankle"),
)
_FEET = point_indices([f"{s}_{p}" for s in ("left", "right") for p in ("heel", "toe", "toe_tip")])
_ANKLES = point_indices(["left_ankle", "right_ankle"])


def read_key_points(
    path: str | Path,
    scheme: str,
    body: BodyPoints,
    *,
    poser: Poser,
    facing: float = 0.0,
    rate: float | None = None,
) -> PointTrack:
    """Key points from a file as points of a body.

    Args:
        path: a JSON file, see the module's text.
        scheme: ``"coco17"`` or ``"blazepose33"``.
        body: whose bones they are scaled to.
        poser: tells the depth of flat key points.
        facing: radians by which the body is turned to its left away from facing the camera; for flat ones.
        rate: poses a second, where the file has several and no rate.

    Raises:
        PosingError: no such file, or not as many numbers as the scheme has.
    """
    place = Path(path)
    try:
        content = read_json(place)
        speed = rate
        if isinstance(content, dict) and "frames" in content:
            speed = content.get("rate", rate)
            content = content["frames"]
        poses, several = _poses(content)
        if not (speed is None or isinstance(speed, (int, float))):
            raise PosingError("rate is a number", key="rate")
        found = np.stack([_pose(pose, scheme, t) for t, pose in enumerate(poses)])
        return key_point_track(
            found, scheme, body, poser=poser, facing=facing, rate=(speed or 30.0) if several else None
        )
    except PosingError as error:
        if error.path is not None:
            raise
        raise PosingError(error.message, path=place, frame=error.frame, key=error.key, remedy=error.remedy) from None


def key_point_track(
    found: Double, scheme: str, body: BodyPoints, *, poser: Poser, facing: float = 0.0, rate: float | None = None
) -> PointTrack:
    """The same from numbers.

    Args:
        found: ``[T, 17 or 33, 4]``: x, y, z, confidence; z NaN where they are flat.
        scheme, body, poser, facing, rate: see :func:`read_key_points`.
    """
    table = KEY_POINT_SCHEMES[scheme][1]
    columns = [number for number, _, _ in table]
    indices = point_indices([name for _, name, _ in table])
    sure = np.clip(found[:, columns, 3], 0.0, 1.0)
    base = np.array([loose for _, _, loose in table]) * body.scale
    tolerances = np.round(base + _DOUBT * (1.0 - sure), 2)
    places = found[:, columns, :3] * np.array([1.0, -1.0, -1.0])
    flat = bool(np.isnan(places[..., 2]).any())
    seen = (sure >= LEAST_CONFIDENCE) & np.isfinite(places[..., :2]).all(axis=-1)
    if not seen.any():
        raise PosingError(
            f"no key point is surer than {LEAST_CONFIDENCE:g}", key="confidence", remedy="detect them again, or lower"
        )
    places[~seen] = np.nan
    if flat:
        places[..., :2] *= _metres_per_unit(places[..., :2], indices, body, 0.8)
        places = _with_depth(places, indices, tolerances, body, poser, facing)
    else:
        places *= _metres_per_unit(places, indices, body, None)
    # The detectors' middle is the hips; the lowest foot is put where it stands.
    body_now = canonical_body(body)
    ankles = np.isin(indices, np.concatenate([_FEET, _ANKLES]))
    heights = body_now.clearances[indices].copy()
    reference = body.reference
    ground = -reference.hips_over_toes - reference.toe_height
    for k in np.flatnonzero(np.isin(indices, _ANKLES)):
        heights[k] = reference.positions[body.joints[indices[k]], 1] - ground
    over = places[..., 1] - heights
    lowest = over[:, ankles]
    if np.isfinite(lowest).any():
        levels = np.array([np.nanmin(row) if np.isfinite(row).any() else np.nan for row in lowest])
        places[..., 1] -= np.nanquantile(levels, 0.1)
    else:
        places[..., 1] -= ground
    return PointTrack(indices, places, tolerances, {}, np.zeros((0, 3)), rate)


def _metres_per_unit(seen: Double, indices: NDArray[np.int64], body: BodyPoints, quantile: float | None) -> float:
    """By what key points are multiplied so that they fit the body's bones.

    To a far camera bones look at most as long as they are, so the longest looks (a quantile over the poses) tell the
    scale; in three dimensions (None) all bones do.
    """
    at = {int(i): k for k, i in enumerate(indices)}
    reference = body.reference
    looks = []
    for pair in _BONES:
        a, b = point_indices(pair)
        long = np.linalg.norm(reference.positions[body.joints[b]] - reference.positions[body.joints[a]])
        looks.append(np.linalg.norm(seen[:, at[int(b)]] - seen[:, at[int(a)]], axis=-1) / max(float(long), 1e-6))
    ratios = np.stack(looks, axis=-1)
    longest = np.array([np.nanmax(row) for row in ratios if np.isfinite(row).any()])
    if not len(longest) or not np.median(longest) > 0.0:
        raise PosingError(
            "no whole limb is seen, so nothing tells how large the body is", remedy="give three-dimensional key points"
        )
    return 1.0 / float(np.nanmedian(ratios) if quantile is None else np.quantile(longest, quantile))


def _with_depth(
    places: Double, indices: NDArray[np.int64], tolerances: Double, body: BodyPoints, poser: Poser, facing: float
) -> Double:
    """Depths that the Gaussian of poses expects, given x and y and where the body faces. ``[T, K, 3]``."""
    scale = body.scale
    completion = poser.completion
    prior = completion.facing
    across = np.array([np.cos(facing), 0.0, np.sin(facing)])  # the picture's x in the axes of the body
    out = places.copy()
    for t in range(len(places)):
        k = np.flatnonzero(np.isfinite(places[t, :, 0]))
        if not len(k):
            continue
        rows = np.zeros((2 * len(k), POINT_COUNT, 3))
        rows[np.arange(len(k)), indices[k]] = across
        rows[len(k) + np.arange(len(k)), indices[k], 1] = 1.0
        # Where the ground is the picture does not tell: heights count from the middle of what is seen.
        rows[len(k) :] -= rows[len(k) :].mean(axis=0)
        flat_rows = rows.reshape(len(rows), -1)
        heights = places[t, k, 1] / scale
        values = np.concatenate([places[t, k, 0] / scale, heights - heights.mean()])
        noise = np.tile(np.square(tolerances[t, k] / scale), 2)
        seen = prior.covariance @ flat_rows.T
        gain = np.linalg.solve(flat_rows @ seen + np.diag(noise), seen.T).T
        mean = (prior.mean + gain @ (values - flat_rows @ prior.mean)).reshape(1, POINT_COUNT, 3)
        spread = np.maximum(np.diag(prior.covariance) - np.einsum("ij,ij->i", gain, seen), 0.0)
        deviations = np.sqrt(spread).reshape(POINT_COUNT, 3)
        guess = Guess(np.zeros(1), np.zeros((1, 3)), mean, np.minimum(deviations, 0.3))
        whole = turn_vectors(completion.refined(guess), np.array([facing]))[0]
        depth = (whole[indices[k], 2] - whole[indices[k], 2].mean()) * scale
        out[t, k, 2] = depth
    return out


def _poses(content: Any) -> tuple[list[Any], bool]:
    """The list of poses in a file, and whether they are a sequence."""
    if isinstance(content, dict):
        return [content], False
    if not isinstance(content, list) or not content:
        raise PosingError("a file of key points is a list of them, of at least one pose")
    first = content[0]
    if isinstance(first, dict) and not ({"x", "y"} <= set(first)):
        return content, True
    if isinstance(first, list) and first and isinstance(first[0], (list, dict)):
        return content, True
    return [content], False


def _pose(pose: Any, scheme: str, frame: int) -> Double:
    """One pose as ``[17 or 33, 4]``: x, y, z (NaN where flat), confidence."""
    count = KEY_POINT_SCHEMES[scheme][0]
    if pose is None:
        return np.full((count, 4), [np.nan, np.nan, np.nan, 0.0])
    if isinstance(pose, dict):
        for key in ("keypoints", "pose_world_landmarks", "landmarks", "keypoints3D", "pose_landmarks"):
            if key in pose:
                pose = pose[key]
                break
    if isinstance(pose, list) and pose and all(isinstance(v, (int, float)) for v in pose):
        if len(pose) != 3 * count:
            raise PosingError(f"{scheme} has {count} key points of 3 numbers, this is {len(pose)} numbers", frame=frame)
        # COCO: 0 not there, 1 hidden, 2 seen; else a confidence.
        rows = np.array(pose, np.float64).reshape(count, 3)
        if rows[:, 2].max() > 1.0:
            rows[:, 2] = np.select([rows[:, 2] >= 2.0, rows[:, 2] >= 1.0], [1.0, 0.5], 0.0)
        pose = rows.tolist()
    if not isinstance(pose, list) or len(pose) != count:
        size = f"{len(pose)} of them" if isinstance(pose, list) else "no list"
        raise PosingError(f"{scheme} is a list of {count} key points, this is {size}", frame=frame)
    out = np.full((count, 4), np.nan)
    for number, point in enumerate(pose):
        out[number] = _key_point(point, number, frame)
    return out


def _key_point(point: Any, number: int, frame: int) -> tuple[float, float, float, float]:
    where = f"key point {number}"
    if point is None:
        return (np.nan, np.nan, np.nan, 0.0)
    if isinstance(point, dict):
        sure = next((point[key] for key in ("visibility", "score", "confidence") if key in point), 1.0)
        values = [point.get("x"), point.get("y"), point.get("z", np.nan), sure]
    elif isinstance(point, list) and len(point) in (2, 3, 4):
        values = [*point[:2], *(point[2:3] if len(point) == 4 else [np.nan]), point[-1] if len(point) > 2 else 1.0]
    else:
        raise PosingError(f"{where} is neither [x, y, confidence] nor [x, y, z, confidence]", frame=frame)
    numbers = []
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > 1e7:
            raise PosingError(f"{where} has a number that is none", frame=frame)
        numbers.append(float(value))
    return (numbers[0], numbers[1], numbers[2], numbers[3])

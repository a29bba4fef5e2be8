"""The JSON of points, and of key points."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ambulo.errors import PosingError
from ambulo.posing.body_points import BodyPoints
from ambulo.posing.completion import facing_yaws
from ambulo.posing.key_points import BLAZEPOSE33, COCO17, key_point_track, read_key_points
from ambulo.posing.observations import turn_vectors
from ambulo.posing.point_file import points_from_json, read_points
from ambulo.posing.points import POINTS
from ambulo.posing.pose_from_points import pose_from_points, posing_body
from ambulo.posing.pose_set import PoseSet
from ambulo.posing.poser import Poser


@pytest.fixture(scope="module")
def body() -> BodyPoints:
    return posing_body()


def test_one_pose_with_everything() -> None:
    track = points_from_json(
        {
            "left_wrist": [0.5, 1, 0.25],
            "hips": {"position": [0, 0.9, 0], "tolerance": 0.02},
            "left_hand_tip": {"rotation": [0, 0, 0, 1]},
            "head": {"look_at": [0, 1, 3]},
            "neck": None,
        },
        tolerance=0.01,
    )
    assert [POINTS[i] for i in track.indices] == ["left_wrist", "hips"]
    assert track.positions.tolist() == [[[0.5, 1.0, 0.25], [0.0, 0.9, 0.0]]]
    assert track.tolerances.tolist() == [[0.01, 0.02]]
    assert track.turns["left_hand"].tolist() == [[0, 0, 0, 1]]
    assert track.look_at.tolist() == [[0, 1, 3]]
    assert track.rate is None


def test_frames_with_holes() -> None:
    track = points_from_json(
        {"rate": 24, "frames": [{"hips": [0, 1, 0]}, {"hips": None}, None, {"hips": [1, 1, 0], "head": [1, 1.6, 0]}]}
    )
    assert track.rate == 24
    assert track.is_set.tolist() == [[True, False], [False, False], [False, False], [True, True]]


@pytest.mark.parametrize(
    ("text", "says", "line"),
    [
        ('{"hips": [0, 1, 0],\n "neck": }', "no JSON", 2),
        ("[1, 2]", "object", None),
        ('{"hpis": [0, 1, 0]}', "did you mean 'hips'", None),
        ('{"hips": [0, 1]}', "3 numbers", None),
        ('{"hips": [0, "1", 0]}', "3 numbers", None),
        ('{"hips": [0, NaN, 0]}', "not finite", None),
        ('{"hips": [0, 1e999, 0]}', "not finite", None),
        ('{"hips": {"place": [0, 1, 0]}}', "did you mean", None),
        ('{"hips": {"position": [0, 1, 0], "tolerance": "x"}}', "tolerance", None),
        ('{"hips": {"position": [0, 1, 0], "tolerance": -1}}', "tolerance", None),
        ('{"hips": {"position": [0, 1, 0], "tolerance": 1e300}}', "tolerance", None),
        ('{"hips": [0, 1e300, 0]}', "thousand km", None),
        ('{"frames": [{"hips": [0, 1, 0]}], "rate": 1e300}', "rate", None),
        ('{"hips": {"rotation": [1, 1, 1, 1]}}', "unit quaternion", None),
        ('{"hips": {"look_at": [0, 1, 3]}}', "cannot look", None),
        ('{"frames": []}', "frames", None),
        ('{"frames": [{"hips": [0, 1, 0]}], "rate": -1}', "rate", None),
        ("{}", "no point is set", None),
    ],
)
def test_wrong_files_are_refused_with_their_place(tmp_path: Path, text: str, says: str, line: int | None) -> None:
    path = tmp_path / "points.json"
    path.write_text(text)
    with pytest.raises(PosingError) as refused:
        read_points(path)
    assert says in str(refused.value)
    assert refused.value.path == path
    assert refused.value.line == line


def detected(points: np.ndarray, table: tuple[tuple[int, str, float], ...], count: int) -> np.ndarray:
    """What a perfect detector sees of a body that faces the camera: x right, y down, z away."""
    found = np.zeros((len(points), count, 4))
    for number, name, _ in table:
        found[:, number, :3] = points[:, POINTS.index(name)] * [1.0, -1.0, -1.0]
        found[:, number, 3] = 1.0
    return found


@pytest.fixture(scope="module")
def facing_points(poses: PoseSet, body: BodyPoints) -> np.ndarray:
    points = poses.points[::60].astype(np.float64) * body.scale
    points = points - points[:, :1] * [1, 0, 1]
    return turn_vectors(points, -facing_yaws(points))


def centred_error(a: np.ndarray, b: np.ndarray) -> float:
    hips = POINTS.index("hips")
    return float(np.linalg.norm((a - a[:, hips, None]) - (b - b[:, hips, None]), axis=-1).mean())


def test_world_landmarks_of_a_body_give_the_body(poser: Poser, body: BodyPoints, facing_points: np.ndarray) -> None:
    found = detected(facing_points, BLAZEPOSE33, 33)
    found[..., :3] *= 0.9  # another person's size
    track = key_point_track(found, "blazepose33", body, poser=poser, rate=5.0)
    done = pose_from_points(track, body, smooth=0.0, poser=poser)
    assert centred_error(done.points, facing_points) < 0.04
    left, right = POINTS.index("left_wrist"), POINTS.index("right_wrist")
    nearer = np.linalg.norm(done.points[:, left] - facing_points[:, left], axis=-1)
    assert np.median(nearer) < np.median(np.linalg.norm(done.points[:, left] - facing_points[:, right], axis=-1))
    assert -0.02 < np.quantile(done.points[..., 1].min(axis=1), 0.1) < 0.05


@pytest.mark.parametrize("facing", [0.0, 0.7])
def test_flat_key_points_give_x_and_y_and_a_likely_depth(
    gaussian_poser: Poser, body: BodyPoints, facing_points: np.ndarray, facing: float
) -> None:
    seen = turn_vectors(facing_points, np.full(len(facing_points), facing))
    found = detected(seen, COCO17, 17)
    found[..., :2] = 300.0 * found[..., :2] + 400.0
    found[..., 2] = np.nan
    track = key_point_track(found, "coco17", body, poser=gaussian_poser, facing=facing, rate=5.0)
    done = pose_from_points(track, body, smooth=0.0, poser=gaussian_poser)
    flat = np.array([1.0, 1.0, 0.0])
    assert centred_error(done.points * flat, seen * flat) < 0.04
    assert centred_error(done.points, seen) < 0.10
    mean_depth = np.abs(seen[..., 2] - seen[:, :1, 2]).mean()
    assert np.abs((done.points - done.points[:, :1] - seen + seen[:, :1])[..., 2]).mean() < mean_depth


def test_unsure_key_points_are_left_out(poser: Poser, body: BodyPoints, facing_points: np.ndarray) -> None:
    found = detected(facing_points[:3], BLAZEPOSE33, 33)
    found[:, 15, :3] = 9.0
    found[:, 15, 3] = 0.1
    track = key_point_track(found, "blazepose33", body, poser=poser, rate=5.0)
    k = list(track.indices).index(POINTS.index("left_wrist"))
    assert not track.is_set[:, k].any()
    with pytest.raises(PosingError, match="surer"):
        key_point_track(found * [1, 1, 1, 0.1], "blazepose33", body, poser=poser)


def test_the_ways_that_key_points_are_written(
    tmp_path: Path, poser: Poser, body: BodyPoints, facing_points: np.ndarray
) -> None:
    found = detected(facing_points[:1], COCO17, 17)[0]
    pixels = np.round(found * [200, 200, 0, 1] + [300, 300, 0, 0], 6)
    rows = pixels[:, [0, 1, 3]]
    ways = {
        "coco": {"keypoints": (rows * [1, 1, 2]).ravel().tolist()},
        "rows": rows.tolist(),
        "objects": [{"x": x, "y": y, "score": c} for x, y, c in rows],
        "frames": {"rate": 25, "frames": [rows.tolist(), rows.tolist()]},
        "list": [{"keypoints": rows.tolist()}],
    }
    tracks = {}
    for name, content in ways.items():
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(content))
        tracks[name] = read_key_points(path, "coco17", body, poser=poser)
    for track in tracks.values():
        assert np.allclose(track.positions[0], tracks["coco"].positions[0], atol=1e-6, equal_nan=True)
    assert tracks["frames"].rate == 25
    assert tracks["coco"].rate is None
    bad = tmp_path / "bad.json"
    for content, says in (
        ([[1, 2, 3]] * 16, "17"),
        ("x", "list"),
        ([["a", 2, 1]] * 17, "none"),
        ([[1]] * 17, "neither"),
    ):
        bad.write_text(json.dumps(content))
        with pytest.raises(PosingError, match=says) as refused:
            read_key_points(bad, "coco17", body, poser=poser)
        assert refused.value.path == bad

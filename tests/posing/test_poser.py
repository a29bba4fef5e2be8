"""The posing model: what holds by construction, and what is refused."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from ambulo.errors import PosingError
from ambulo.maths import quaternions
from ambulo.posing.observations import (
    Observations,
    join_observations,
    observe_look,
    observe_near,
    observe_orientation,
    observe_points,
    turn_vectors,
)
from ambulo.posing.points import MIRRORED, POINTS, SCHEMES, SITES, mirror_points, point_indices
from ambulo.posing.pose_set import PoseSet
from ambulo.posing.poser import MANIFEST, WEIGHTS, Poser

SETS = [SCHEMES[6], SCHEMES[16], ("left_wrist", "right_toe"), ("head", "right_toe", "left_elbow", "hips")]


@pytest.mark.parametrize("names", SETS, ids=len)
def test_turned_and_moved_wishes_give_the_turned_and_moved_pose(
    poser: Poser, poses: PoseSet, names: tuple[str, ...]
) -> None:
    asked = poses.points[:16, point_indices(names)].astype(np.float64)
    yaws, move = np.linspace(-3.0, 3.0, 16), np.array([2.0, 0.0, -5.0])
    plain = poser.complete(observe_points(names, asked))
    turned = poser.complete(observe_points(names, turn_vectors(asked, yaws) + move))
    assert np.abs(turned - (turn_vectors(plain, yaws) + move)).max() < 1e-4


def test_one_point_leaves_the_facing_open_and_it_is_ahead(poser: Poser) -> None:
    out = poser.complete(_at(["left_wrist"], [[[0.3, 1.2, 0.1]], [[5.0, 1.2, -2.0]]]))
    hips = out[0, POINTS.index("left_hip")] - out[0, POINTS.index("right_hip")]
    assert hips[0] > 0.05
    assert np.abs(out[1] - out[0] - [4.7, 0.0, -2.1]).max() < 1e-4


@pytest.mark.parametrize("names", SETS, ids=len)
def test_mirrored_wishes_give_the_mirrored_pose(poser: Poser, poses: PoseSet, names: tuple[str, ...]) -> None:
    indices = point_indices(names)
    asked = poses.points[:16, indices].astype(np.float64)
    plain = poser.complete(observe_points(indices, asked))
    mirrored = poser.complete(observe_points(MIRRORED[indices], asked * [-1.0, 1.0, 1.0]))
    assert np.abs(mirrored - mirror_points(plain)).max() < 1e-4


def test_set_points_stay_where_they_are_set(poser: Poser, poses: PoseSet) -> None:
    for names in SETS:
        indices = point_indices(names)
        asked = poses.points[:16, indices]
        out = poser.complete(observe_points(indices, asked))
        assert np.abs(out[:, indices] - asked).max() < 2e-4


def test_a_tolerance_lets_a_point_go(poser: Poser, poses: PoseSet) -> None:
    indices = point_indices(SCHEMES[6])
    asked = poses.points[:16, indices].astype(np.float64)
    asked[:, 0] += [0.3, 0.3, 0.0]

    def moved(tolerance: float) -> float:
        spread = [tolerance, 0.0, 0.0, 0.0, 0.0, 0.0]
        out = poser.complete(observe_points(indices, asked, spread))
        return float(np.linalg.norm(out[:, indices[0]] - asked[:, 0], axis=-1).mean())

    distances = [moved(tolerance) for tolerance in (0.0, 0.02, 0.1, 0.5)]
    assert distances[0] < 2e-4
    assert distances == sorted(distances)
    assert distances[-1] > 0.1


def test_lengths_scale_with_the_body(poser: Poser, poses: PoseSet) -> None:
    asked = poses.points[:4, point_indices(SCHEMES[6])]
    plain = poser.complete(observe_points(SCHEMES[6], asked), 1.0)
    large = poser.complete(observe_points(SCHEMES[6], 1.3 * asked), 1.3)
    assert np.abs(large - 1.3 * plain).max() < 1e-4


def test_an_orientation_turns_the_joint(poser: Poser, poses: PoseSet) -> None:
    asked = poses.points[:4, point_indices(SCHEMES[6])]
    turn = quaternions.from_yaw(np.full(4, 0.7))
    wishes = join_observations([observe_points(SCHEMES[6], asked), observe_orientation("head", turn)])
    out = poser.complete(wishes)
    head = [i for i, site in enumerate(SITES) if site.role == "head"]
    offsets = np.array([SITES[i].offset for i in head])
    expected = quaternions.rotate(turn[:, None], offsets[None] - offsets[0])
    assert np.abs((out[:, head] - out[:, head[:1]]) - expected).max() < 5e-4


def test_a_head_looks_at_its_target(poser: Poser, poses: PoseSet) -> None:
    asked = poses.points[:1, point_indices(SCHEMES[6])]
    points = observe_points(SCHEMES[6], asked)
    target = asked[0, SCHEMES[6].index("neck")] + [1.0, 0.3, 1.0]
    out = poser.complete(points)
    for _ in range(3):
        out = poser.complete([points, observe_look(target, out[0, POINTS.index("head")])])
    head, front = out[0, POINTS.index("head")], out[0, POINTS.index("head_front")]
    line = (target - head) / np.linalg.norm(target - head)
    nose = np.array(SITES[POINTS.index("head_front")].offset)
    along = float((front - head) @ line)
    assert along == pytest.approx(nose[2], abs=0.005)
    assert np.linalg.norm(front - head - along * line) == pytest.approx(nose[1], abs=0.005)


def test_a_pose_before_holds_what_nothing_else_says(poser: Poser, poses: PoseSet) -> None:
    before, now = poses.points[:1], poses.points[1:2]
    wrist = observe_points(["left_wrist"], now[:, point_indices(["left_wrist"])])
    free = poser.complete(wrist)
    near = poser.complete([wrist, observe_near(before, 0.02)])
    right = point_indices(["right_wrist", "right_ankle", "left_ankle"])

    def apart(out: np.ndarray) -> float:
        return float(np.linalg.norm((out - before)[:, right], axis=-1).max())

    assert apart(near) < 0.03 < apart(free)


def test_a_model_comes_back_as_it_was_stored(poser: Poser, poses: PoseSet, tmp_path: Path) -> None:
    wishes = observe_points(SCHEMES[6], poses.points[:16, point_indices(SCHEMES[6])])
    expected = poser.complete(wishes)
    for precision, most in (("float32", 1e-5), ("float16", 5e-3)):
        stored = poser.save(tmp_path / precision, precision)
        again = Poser.load(tmp_path / precision)
        assert np.abs(again.complete(wishes) - expected).max() < most
        assert np.array_equal(again.complete(wishes), stored.complete(wishes))
        assert again.manifest.precision == precision
    sizes = [(tmp_path / precision / WEIGHTS).stat().st_size for precision in ("float32", "float16")]
    assert sizes[1] < sizes[0]


def test_damage_is_named(poser: Poser, tmp_path: Path) -> None:
    with pytest.raises(PosingError, match="no posing model"):
        Poser.load(tmp_path)
    folder = tmp_path / "model"
    poser.save(folder)
    weights = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))
    with pytest.raises(PosingError, match="hash"):
        Poser.load(folder)
    (folder / WEIGHTS).write_bytes(weights)
    record = msgspec.json.decode((folder / MANIFEST).read_bytes())
    for change, word in (
        ({"version": 99}, "version"),
        ({"sizes": [3, 3]}, "widths"),
        ({"sizes": "x"}, "damaged"),
        ({"points": []}, "points"),
        ({"passes": 10**9}, "passes"),
    ):
        (folder / MANIFEST).write_bytes(msgspec.json.encode(record | change))
        with pytest.raises(PosingError, match=word):
            Poser.load(folder)


def _at(names: list[str], positions: object, tolerances: object = 0.0) -> Observations:
    return observe_points(names, np.array(positions), tolerances)  # type: ignore[arg-type]


def test_wishes_that_make_no_sense_are_refused(poser: Poser) -> None:
    with pytest.raises(PosingError, match=r"no point 'left_wirst'.*left_wrist"):
        _at(["left_wirst"], [[0.0, 0.0, 0.0]])
    with pytest.raises(PosingError, match="no point is set"):
        _at([], np.zeros((0, 3)))
    with pytest.raises(PosingError, match="'hips' is set twice"):
        _at(["hips", "hips"], np.zeros((2, 3)))
    with pytest.raises(PosingError, match="'head' is no finite number") as caught:
        _at(["hips", "head"], [[0.0, 0.0, 0.0], [0.0, np.nan, 0.0]])
    assert caught.value.key == "head"
    with pytest.raises(PosingError, match="tolerance"):
        _at(["hips"], [[0.0, 0.0, 0.0]], -1.0)
    with pytest.raises(PosingError, match="positions"):
        _at(["hips"], [[0.0, 0.0]])
    with pytest.raises(PosingError, match="no orientation"):
        observe_orientation("left_elbow", [0.0, 0.0, 0.0, 1.0])
    with pytest.raises(PosingError, match="look at"):
        observe_look([0.0, 1.0, 0.0], [0.0, 1.0, 0.0])
    with pytest.raises(PosingError, match="no wish"):
        poser.complete([])
    with pytest.raises(PosingError, match="body"):
        poser.complete(_at(["hips"], [[0.0, 1.0, 0.0]]), 0.0)

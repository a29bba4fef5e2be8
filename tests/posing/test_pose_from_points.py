"""A few points in, poses out: single ones, sequences with gaps, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.errors import AmbuloError, PosingError
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.reference_pose import reference_pose
from ambulo.posing.body_points import BodyPoints, body_points
from ambulo.posing.point_track import point_track
from ambulo.posing.points import POINTS, SCHEMES, point_indices
from ambulo.posing.pose_from_points import pose_from_points, posing_body, smooth_points
from ambulo.posing.pose_set import PoseSet
from ambulo.posing.poser import Poser
from ambulo.synthesis.body import default_skeleton
from ambulo.synthesis.performance import synthesize

SIX = SCHEMES[6]
WRIST = {"left_wrist": [0.4, 1.3, 0.3], "right_ankle": [-0.1, 0.1, 0.1], "hips": [0.0, 0.9, 0.0]}


@pytest.fixture(scope="module")
def body() -> BodyPoints:
    return posing_body()


@pytest.fixture(scope="module")
def walk(body: BodyPoints) -> np.ndarray:
    """Two seconds of an embedded take's points, 30 a second."""
    take = synthesize(seed=3, minutes=1.0)[0].motion
    pose = forward_motion(take.slice(300, 420))
    return body.of_pose(pose.positions[::2], pose.rotations[::2]).astype(np.float64)


def test_set_points_hold_and_the_skeleton_is_the_embedded_one(poser: Poser) -> None:
    done = pose_from_points(WRIST, poser=poser)
    for name, at in WRIST.items():
        assert np.abs(done.points[0, POINTS.index(name)] - at).max() < 0.001
        assert done.errors[0, POINTS.index(name)] < 0.001
    assert np.isnan(done.errors[0, POINTS.index("head")])
    assert done.unreachable == ()
    assert done.motion().skeleton.names == default_skeleton().names


def test_a_tolerance_lets_a_point_go_where_the_body_would_rather_have_it(poser: Poser) -> None:
    far = WRIST | {"right_wrist": [-0.2, 1.9, -0.6]}
    tight = pose_from_points(far, poser=poser)
    loose = pose_from_points(far, tolerance={"right_wrist": 0.15}, poser=poser)
    wrist = POINTS.index("right_wrist")
    assert loose.errors[0, wrist] > tight.errors[0, wrist] + 0.005
    assert loose.errors[0, POINTS.index("hips")] < 0.005


def test_height_scales_the_body_and_its_pose(poser: Poser) -> None:
    small, large = posing_body(height=1.2), posing_body(height=2.0)
    assert large.scale / small.scale == pytest.approx(2.0 / 1.2, rel=1e-5)
    asked = {name: 0.65 * np.array(at) for name, at in WRIST.items()}
    bigger = {name: at * (2.0 / 1.2) for name, at in asked.items()}
    a, b = pose_from_points(asked, small, poser=poser), pose_from_points(bigger, large, poser=poser)
    assert np.abs(b.points * 1.2 / 2.0 - a.points).max() < 0.01


def test_a_sequence_with_gaps_is_followed_and_smooth(poser: Poser, body: BodyPoints, walk: np.ndarray) -> None:
    asked = {name: walk[:, POINTS.index(name)].copy() for name in SIX}
    asked["left_wrist"][20:26] = np.nan
    asked["hips"][40:] = np.nan
    done = pose_from_points(asked, body, rate=30.0, poser=poser)
    assert done.unreachable == ()
    there = np.isfinite(asked["left_wrist"]).all(axis=1)
    wrist = POINTS.index("left_wrist")
    assert done.errors[there, wrist].max() < 0.001
    assert np.isnan(done.errors[~there, wrist]).all()
    assert np.linalg.norm(done.points[~there, wrist] - walk[~there, wrist], axis=-1).max() < 0.06
    steps = np.linalg.norm(np.diff(done.points, axis=0), axis=-1)
    true = np.linalg.norm(np.diff(walk, axis=0), axis=-1)
    assert steps.max() < 2.0 * true.max() + 0.03
    dots = np.einsum("tjk,tjk->tj", done.motion(30.0).rotations[1:], done.motion(30.0).rotations[:-1])
    assert dots.min() > 0.0


def test_poses_between_keys_lie_between_them(poser: Poser, body: BodyPoints) -> None:
    keys = {name: np.full((21, 3), np.nan) for name in WRIST}
    for name, at in WRIST.items():
        keys[name][0] = at
        keys[name][20] = np.add(at, [0.0, 0.0, 0.3])
    done = pose_from_points(keys, body, rate=20.0, poser=poser)
    hips = done.points[:, POINTS.index("hips"), 2]
    assert hips[0] == pytest.approx(0.0, abs=0.001)
    assert hips[20] == pytest.approx(0.3, abs=0.001)
    assert hips[10] == pytest.approx(0.15, abs=0.03)
    assert (np.diff(hips) > -0.005).all()


def test_the_smoother_keeps_lines_and_what_is_held() -> None:
    time = np.linspace(0.0, 1.0, 40)
    line = np.zeros((40, 2, 3))
    line[..., 0] = time[:, None]
    weights = np.ones((40, 2))
    assert np.abs(smooth_points(line, weights, 30.0, 0.2) - line).max() < 1e-5
    noisy = line + np.random.default_rng(0).normal(0.0, 0.02, line.shape)
    weights[:, 1] = 1e5
    out = smooth_points(noisy, weights, 30.0, 0.1)
    assert np.abs(out[:, 1] - noisy[:, 1]).max() < 1e-3
    trembling = np.abs(np.diff(out, n=2, axis=0)).mean(axis=(0, 2))
    assert trembling[0] < 0.1 * trembling[1]


def test_look_and_turns(poser: Poser) -> None:
    target = np.array([0.5, 1.2, 3.0])
    done = pose_from_points(WRIST, look_at=target, poser=poser)
    at = done.points[0]
    across = at[POINTS.index("head_left")] - at[POINTS.index("head_right")]
    line = target - at[POINTS.index("head")]
    assert abs(across @ line) / np.linalg.norm(across) / np.linalg.norm(line) < 0.05
    turned = pose_from_points(WRIST, turns={"left_hand": [0.0, 0.0, 0.0, 1.0]}, poser=poser)
    tip, wrist = POINTS.index("left_hand_tip"), POINTS.index("left_wrist")
    finger = turned.points[0, tip] - turned.points[0, wrist]
    assert finger[0] / np.linalg.norm(finger) > np.cos(np.radians(5.0))


@pytest.mark.parametrize(
    ("points", "options", "says"),
    [
        ({}, {}, "no point is set"),
        ({"left_wrst": [0, 1, 0]}, {}, "did you mean 'left_wrist'"),
        ({"left_wrist": [0, np.nan, 0]}, {}, "no finite number"),
        ({"left_wrist": [0, np.inf, 0]}, {}, "no finite number"),
        ({"left_wrist": [0, 1]}, {}, "3 numbers"),
        ({"left_wrist": [0, 1, 0], "right_wrist": [4, 1, 0]}, {}, "4 m apart; on this body"),
        ({"left_wrist": [0, 140, 0], "hips": [0, 0, 0]}, {}, "centimetres"),
        (WRIST, {"tolerance": -1.0}, "tolerance"),
        (WRIST, {"tolerance": {"head": 1.0}}, "not set"),
        (WRIST, {"floor": np.nan}, "floor"),
        (WRIST, {"smooth": -1.0}, "smooth"),
        (WRIST, {"rate": 0.0}, "rate"),
        (WRIST, {"turns": {"tail": [0, 0, 0, 1]}}, "tail"),
    ],
)
def test_refusals_say_what_is_wrong(poser: Poser, points: dict, options: dict, says: str) -> None:
    with pytest.raises(PosingError) as refused:
        pose_from_points(points, poser=poser, **options)
    assert says in str(refused.value)


def test_a_pose_without_any_point_needs_a_rate(poser: Poser) -> None:
    asked = {"hips": np.array([[0.0, 0.9, 0.0], [np.nan] * 3])}
    with pytest.raises(PosingError, match="finite"):
        pose_from_points(asked, poser=poser)


def test_a_skeleton_without_hands_is_refused() -> None:
    bones = default_skeleton()
    roles = {role: joint for role, joint in bones.roles.items() if not role.endswith("_hand")}
    with pytest.raises(AmbuloError, match="left_hand"):
        body_points(reference_pose(bones.with_roles(roles)))
    with pytest.raises(PosingError, match="tall"):
        posing_body(height=175.0)


def test_the_way_along_the_bones_bounds_every_pose(body: BodyPoints, poses: PoseSet) -> None:
    from ambulo.posing.canonical_body import canonical_body

    ways = canonical_body(body).longest_ways
    points = poses.points[::10].astype(np.float64) * body.scale
    apart = np.linalg.norm(points[:, :, None] - points[:, None], axis=-1).max(axis=0)
    assert (apart <= ways + 1e-3).all()
    assert np.allclose(ways, ways.T)


def test_bridged_gaps_are_looser_in_their_middle() -> None:
    at = np.zeros((11, 3))
    at[:, 0] = np.arange(11)
    at[3:8] = np.nan
    track = point_track({"hips": at, "neck": np.ones((11, 3))}, rate=60.0).bridged()
    k = int(np.flatnonzero(track.indices == point_indices(["hips"])[0])[0])
    assert np.allclose(track.positions[:, k, 0], np.arange(11))
    assert track.tolerances[5, k] > track.tolerances[3, k] > track.tolerances[2, k] == 0.0
    assert replace(track, rate=None).bridged().positions is not None

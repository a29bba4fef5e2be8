"""Projection onto a skeleton: exact bones, pins held, limits kept, and the same however the world is turned."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.errors import PosingError
from ambulo.maths import quaternions
from ambulo.motion.kinematics import forward, forward_motion
from ambulo.motion.reference_pose import reference_pose
from ambulo.posing.body_points import BodyPoints, body_points
from ambulo.posing.joint_limits import JointLimits, default_limits
from ambulo.posing.observations import turn_vectors
from ambulo.posing.points import MIRRORED, POINT_COUNT, POINTS, SCHEMES, mirror_points, point_indices
from ambulo.posing.pose_set import PoseSet
from ambulo.posing.poser import Poser
from ambulo.posing.projection import Projector
from ambulo.synthesis.body import default_skeleton

SIX = point_indices(SCHEMES[6])


@pytest.fixture(scope="module")
def body() -> BodyPoints:
    return body_points(reference_pose(default_skeleton()))


@pytest.fixture(scope="module")
def projector(body: BodyPoints) -> Projector:
    return Projector(body)


@pytest.fixture(scope="module")
def true_points(poses: PoseSet, body: BodyPoints) -> np.ndarray:
    """Poses of the very skeleton, at its size."""
    assert np.allclose(poses.scales, body.scale, rtol=1e-3)
    return poses.points[::20].astype(np.float64) * body.scale


@pytest.fixture(scope="module")
def rough_points(poser: Poser, true_points: np.ndarray, body: BodyPoints) -> np.ndarray:
    """What a model makes of six points of each."""
    from ambulo.posing.observations import observe_points

    return poser.complete(observe_points(SIX, true_points[:, SIX]), body)


def test_a_true_pose_comes_back(projector: Projector, true_points: np.ndarray) -> None:
    done = projector.project(true_points, spreads=0.004)
    assert done.errors.max() < 0.001
    assert done.unreachable == ()


def test_bones_keep_their_lengths_and_points_are_where_it_says(
    projector: Projector, body: BodyPoints, rough_points: np.ndarray
) -> None:
    done = projector.project(rough_points, pinned=SIX)
    skeleton = body.reference.skeleton
    motion = done.motion(30.0)
    pose = forward_motion(motion)
    assert np.abs(body.of_pose(pose.positions, pose.rotations) - done.points).max() < 1e-5
    inner = skeleton.parents >= 0
    bones = np.linalg.norm(pose.positions[:, inner] - pose.positions[:, skeleton.parents[inner]], axis=-1)
    true = np.linalg.norm(body.reference.offsets[inner], axis=-1)
    assert np.abs(bones - true).max() < 1e-3 * true[true > 0.01].min()


def test_pins_hold_within_a_millimetre(projector: Projector, rough_points: np.ndarray) -> None:
    done = projector.project(rough_points, pinned=SIX)
    assert done.errors[:, SIX].max() < 0.001
    assert done.unreachable == ()


def test_it_is_no_farther_from_the_truth_than_the_model_was(
    projector: Projector, rough_points: np.ndarray, true_points: np.ndarray
) -> None:
    done = projector.project(rough_points, pinned=SIX)
    before = np.linalg.norm(rough_points - true_points, axis=-1).mean()
    assert np.linalg.norm(done.points - true_points, axis=-1).mean() <= before


def test_a_turned_and_moved_wish_gives_the_turned_and_moved_pose(
    projector: Projector, rough_points: np.ndarray
) -> None:
    yaws = np.linspace(-3.0, 3.0, len(rough_points))
    move = np.array([3.0, 0.5, -2.0])
    plain = projector.project(rough_points, pinned=SIX)
    turned = projector.project(turn_vectors(rough_points, yaws) + move, pinned=SIX)
    assert np.abs(turned.points - (turn_vectors(plain.points, yaws) + move)).max() < 2e-3


def test_a_mirrored_wish_gives_the_mirrored_pose(projector: Projector, rough_points: np.ndarray) -> None:
    plain = projector.project(rough_points, pinned=SIX)
    mirrored = projector.project(mirror_points(rough_points), pinned=np.sort(MIRRORED[SIX]))
    assert np.abs(mirrored.points - mirror_points(plain.points)).max() < 5e-3


def test_a_far_pin_is_stretched_towards_and_named(
    projector: Projector, true_points: np.ndarray, body: BodyPoints
) -> None:
    wrist, shoulder = POINTS.index("left_wrist"), POINTS.index("left_upper_arm")
    points = true_points[:1].copy()
    feet = point_indices(["left_ankle", "right_ankle", "hips", "neck"])
    ahead = np.array([1.0, 0.2, 1.0]) / np.linalg.norm([1.0, 0.2, 1.0])
    points[0, wrist] = points[0, shoulder] + 1.2 * ahead
    done = projector.project(points, pinned=np.append(feet, wrist))
    assert done.unreachable[0].point in ("left_wrist", "neck", "hips")
    assert "left_wrist" in {off.point for off in done.unreachable}
    assert done.unreachable[0].metres == pytest.approx(done.errors[0, [*feet.tolist(), wrist]].max())
    at = done.points[0]
    elbow = at[POINTS.index("left_elbow")]
    upper, lower = elbow - at[shoulder], at[wrist] - elbow
    straight = upper @ lower / np.linalg.norm(upper) / np.linalg.norm(lower)
    assert straight > 0.95
    aim = (at[wrist] - at[shoulder]) @ (points[0, wrist] - at[shoulder])
    assert aim > 0.97 * np.linalg.norm(at[wrist] - at[shoulder]) * np.linalg.norm(points[0, wrist] - at[shoulder])


@pytest.mark.parametrize("kind", ["one place", "a line", "huge", "mirrored inside out"])
def test_degenerate_points_give_finite_poses_with_true_bones(
    projector: Projector, body: BodyPoints, true_points: np.ndarray, kind: str
) -> None:
    points = true_points[:2].copy()
    if kind == "one place":
        points[:] = 1.0
    elif kind == "a line":
        points[..., 1:] = 0.0
    elif kind == "huge":
        points *= 1e3
    else:
        points[..., 2] *= -1.0
    done = projector.project(points, pinned=SIX)
    assert np.isfinite(done.rotations).all() and np.isfinite(done.positions).all()
    pose = forward(done.positions, done.rotations, body.reference.skeleton.parents)
    tolerance = 1e-5 * max(1.0, float(np.abs(points).max()))
    assert np.abs(body.of_pose(pose.positions, pose.rotations) - done.points).max() < tolerance


def test_knees_and_elbows_do_not_bend_backwards(
    projector: Projector, poser: Poser, body: BodyPoints, true_points: np.ndarray
) -> None:
    from ambulo.posing.observations import observe_points

    random = np.random.default_rng(5)
    asked = true_points[:, SIX] + random.normal(0.0, 0.12, (len(true_points), 6, 3))
    done = projector.project(poser.complete(observe_points(SIX, asked), body), pinned=SIX)
    assert np.isfinite(done.rotations).all()
    pose = forward(done.positions, done.rotations, body.reference.skeleton.parents)
    turns = projector.body.canonical(pose.rotations)
    index = projector.body.index
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for upper, lower, axis in (
            ("upper_leg", "lower_leg", (1.0, 0.0, 0.0)),
            ("upper_arm", "forearm", (0, -sign, 0)),
        ):
            q = quaternions.inverse_multiply(turns[:, index(f"{side}_{upper}")], turns[:, index(f"{side}_{lower}")])
            bend = quaternions.to_scaled_angle_axis(q) @ np.array(axis)
            assert bend.min() > np.radians(-12.0), (side, lower)


def test_nothing_sinks_into_a_floor(projector: Projector, true_points: np.ndarray) -> None:
    low = true_points.copy()
    low[..., 1] -= 0.1
    done = projector.project(low, floor=0.0)
    assert done.points[..., 1].min() > -0.003
    plain = projector.project(low)
    assert plain.points[..., 1].min() < -0.05


def test_a_joint_is_turned_as_wished_and_the_face_looks(projector: Projector, true_points: np.ndarray) -> None:
    wished = quaternions.from_scaled_angle_axis(np.array([0.2, 0.5, 0.1]))
    done = projector.project(true_points[:3], turns={"left_hand": wished})
    joint = projector.body.index("left_hand")
    pose = forward(done.positions, done.rotations, projector.body.body.reference.skeleton.parents)
    turned = projector.body.canonical(pose.rotations)[:, joint]
    assert quaternions.angle_between(turned, np.tile(wished, (3, 1))).max() < np.radians(4.0)

    head = true_points[0, POINTS.index("head")]
    target = head + np.array([0.4, 0.3, 2.0])
    done = projector.project(true_points[:1], look_at=target)
    at = done.points[0]
    left, right, top = (at[POINTS.index(f"head_{part}")] for part in ("left", "right", "top"))
    del top
    front = at[POINTS.index("head_front")] - at[POINTS.index("head")]
    across = (left - right) / np.linalg.norm(left - right)
    line = (target - at[POINTS.index("head")]) / np.linalg.norm(target - at[POINTS.index("head")])
    assert abs(across @ line) < 0.05
    assert front @ line > 0.0


def test_a_coordinate_that_does_not_count_is_free(projector: Projector, true_points: np.ndarray) -> None:
    spreads = np.full((POINT_COUNT, 3), 0.01)
    spreads[:, 2] = np.inf
    points = true_points[:4].copy()
    points[..., 2] = 7.0
    spreads[POINTS.index("hips"), 2] = 0.01
    done = projector.project(points, spreads=spreads)
    assert np.abs(done.points[..., :2] - points[..., :2]).max() < 0.1
    assert np.abs(done.points[..., :2] - points[..., :2]).mean() < 0.01


def test_refusals(projector: Projector, true_points: np.ndarray) -> None:
    with pytest.raises(PosingError, match="43 points"):
        projector.project(np.zeros((3, 3)))
    holed = true_points[:2].copy()
    holed[1, 5, 0] = np.nan
    with pytest.raises(PosingError, match=POINTS[5]) as refused:
        projector.project(holed)
    assert refused.value.frame == 1
    with pytest.raises(PosingError, match="tail"):
        projector.project(true_points[:1], turns={"tail": np.array([0, 0, 0, 1.0])})


def test_limits_are_kept_as_arrays_and_mirror() -> None:
    limits = default_limits()
    again = JointLimits.from_arrays(limits.arrays())
    assert set(again.joints) == set(limits.joints) >= {"spine", "forearm", "lower_leg", "toe", "shoulder"}
    left, right = again.of("left_forearm"), again.of("right_forearm")
    assert np.allclose(left.mean * [1, -1, -1], right.mean)
    assert np.allclose(left.lower[1], -right.upper[1])
    with pytest.raises(PosingError, match="19"):
        JointLimits.from_arrays({"limits.head": np.zeros(4)})

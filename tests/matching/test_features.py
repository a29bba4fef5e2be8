"""Features: what they say, that no heading is preferred, and how they are normalised."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from ambulo.database.feature_spec import DEFAULT_FEATURES, FeatureSpec
from ambulo.errors import QueryError
from ambulo.matching.features import FeatureSet, compute_features
from ambulo.matching.schema import FeatureSchema
from ambulo.maths import quaternions
from ambulo.motion import kinematics
from ambulo.motion.skeleton import Skeleton

RATE = 60.0


@dataclass
class Clip:
    start: int
    stop: int


@dataclass
class Source:
    skeleton: Skeleton
    positions: np.ndarray
    rotations: np.ndarray
    velocities: np.ndarray
    angular_velocities: np.ndarray
    valid: np.ndarray
    clips: list[Clip]


@pytest.fixture(scope="module")
def source() -> Source:
    """Two clips of a root that walks curves, a hip that sways and two feet on legs that swing."""
    count = 400
    time = np.arange(count) / RATE
    names = ("root", "Hips", "LeftLeg", "LeftFoot", "RightLeg", "RightFoot", "Head")
    offsets = np.array([[0, 0, 0], [0, 1, 0], [0.1, 0, 0], [0, -0.9, 0], [-0.1, 0, 0], [0, -0.9, 0], [0, 0.6, 0]])
    roles = {"hips": 1, "left_foot": 3, "right_foot": 5}
    skeleton = Skeleton(names, np.array([-1, 0, 1, 2, 1, 4, 1]), offsets, roles=roles)
    positions = np.tile(offsets, (count, 1, 1))
    positions[:, 0, 0], positions[:, 0, 2] = 2.0 * np.sin(0.7 * time), 1.5 * time
    positions[:, 1, 1] += 0.03 * np.sin(9.0 * time)
    rotations = np.tile([0.0, 0.0, 0.0, 1.0], (count, 7, 1))
    rotations[:, 0] = quaternions.from_yaw(0.9 * np.sin(0.8 * time))
    swing = np.array([1.0, 0.0, 0.0])
    rotations[:, 2] = quaternions.from_angle_axis(0.5 * np.sin(6.0 * time), swing)
    rotations[:, 4] = quaternions.from_angle_axis(-0.5 * np.sin(6.0 * time), swing)
    velocities, angular = np.zeros_like(positions), np.zeros_like(positions)
    velocities[:, 0, 0], velocities[:, 0, 2] = 1.4 * np.cos(0.7 * time), 1.5
    velocities[:, 1, 1] = 0.27 * np.cos(9.0 * time)
    angular[:, 0, 1] = 0.72 * np.cos(0.8 * time)
    angular[:, 2, 0] = 3.0 * np.cos(6.0 * time)
    angular[:, 4, 0] = -3.0 * np.cos(6.0 * time)
    as_stored = [a.astype(np.float32) for a in (positions, rotations, velocities, angular)]
    return Source(skeleton, *as_stored, np.ones(count, np.uint8), [Clip(0, 250), Clip(250, 400)])


def features_of(source: Source, specs=DEFAULT_FEATURES) -> FeatureSet:
    return compute_features(source, FeatureSchema.compile(specs, source.skeleton, RATE))


def columns(features: FeatureSet, name: str) -> np.ndarray:
    group = features.schema.group(name)
    return features.raw[:, group.start : group.stop]


def test_positions_are_those_of_forward_kinematics_seen_from_the_root(source):
    pose = kinematics.forward(source.positions, source.rotations, source.skeleton.parents)
    wanted = quaternions.inverse_rotate(pose.rotations[:, 0], pose.positions[:, 3] - pose.positions[:, 0])
    np.testing.assert_allclose(columns(features_of(source), "left_foot position"), wanted, atol=1e-5)


def test_velocities_are_the_derivative_in_the_world_seen_from_the_root(source):
    pose = kinematics.forward(source.positions, source.rotations, source.skeleton.parents)
    moved = np.gradient(pose.positions.astype(np.float64), 1.0 / RATE, axis=0)
    for name, joint in (("left_foot", 3), ("right_foot", 5), ("hips", 1)):
        wanted = quaternions.inverse_rotate(pose.rotations[:, 0], moved[:, joint])
        found = columns(features_of(source), f"{name} velocity")
        np.testing.assert_allclose(found[2:-2], wanted[2:-2], atol=0.02)


def test_the_trajectory_is_the_future_of_the_root_and_ends_with_the_clip(source):
    features = features_of(source)
    place, facing = columns(features, "trajectory_position"), columns(features, "trajectory_direction")
    for clip in source.clips:
        for frame in (clip.start, clip.start + 37, clip.stop - 30, clip.stop - 1):
            for step, ahead in enumerate((20, 40, 60)):
                future = min(frame + ahead, clip.stop - 1)
                way = source.positions[future, 0] - source.positions[frame, 0]
                seen = quaternions.inverse_rotate(source.rotations[frame, 0], way)
                np.testing.assert_allclose(place[frame, 2 * step : 2 * step + 2], seen[[0, 2]], atol=1e-5)
                forward = quaternions.rotate(source.rotations[future, 0], np.array([0.0, 0.0, 1.0]))
                seen = quaternions.inverse_rotate(source.rotations[frame, 0], forward)
                np.testing.assert_allclose(facing[frame, 2 * step : 2 * step + 2], seen[[0, 2]], atol=1e-5)


def test_the_other_kinds_of_trajectory(source):
    lifted = replace(source, positions=source.positions.copy())
    lifted.positions[:, 0, 1] = 0.01 * np.arange(400)
    specs = [FeatureSpec("trajectory_height", times=(0.5,)), FeatureSpec("trajectory_velocity", times=(0.5,))]
    features = features_of(lifted, specs)
    assert columns(features, "trajectory_height")[0, 0] == pytest.approx(0.3, abs=1e-5)
    assert columns(features, "trajectory_height")[399, 0] == 0.0
    seen = quaternions.inverse_rotate(lifted.rotations[10, 0], lifted.velocities[40, 0])
    np.testing.assert_allclose(columns(features, "trajectory_velocity")[10], seen[[0, 2]], atol=1e-5)


def test_where_one_stands_and_faces_does_not_matter(source):
    turn, shift = quaternions.from_yaw(2.1), np.array([40.0, 0.0, -7.0])
    turned = replace(
        source,
        positions=source.positions.copy(),
        rotations=source.rotations.copy(),
        velocities=source.velocities.copy(),
        angular_velocities=source.angular_velocities.copy(),
    )
    turned.positions[:, 0] = quaternions.rotate(turn, source.positions[:, 0]) + shift
    turned.rotations[:, 0] = quaternions.multiply(turn, source.rotations[:, 0])
    turned.velocities[:, 0] = quaternions.rotate(turn, source.velocities[:, 0])
    turned.angular_velocities[:, 0] = quaternions.rotate(turn, source.angular_velocities[:, 0])
    np.testing.assert_allclose(features_of(turned).raw, features_of(source).raw, atol=3e-5)


def test_chunks_do_not_show(source, monkeypatch):
    whole = features_of(source).raw
    monkeypatch.setattr("ambulo.matching.features._CHUNK", 64)
    np.testing.assert_array_equal(features_of(source).raw, whole)


def test_normalised_groups_have_unit_spread_times_their_weight(source):
    features = features_of(source)
    normalized = features.normalized()
    np.testing.assert_allclose(normalized.mean(axis=0), 0.0, atol=1e-4)
    for group in features.schema.groups:
        spread = normalized[:, group.start : group.stop].std(axis=0).mean()
        assert spread == pytest.approx(group.weight, rel=1e-4)
        assert len(set(features.scale[group.start : group.stop])) == 1
    query = features.raw[77]
    np.testing.assert_array_equal(features.normalize_query(query), normalized[77])
    np.testing.assert_allclose(features.normalized([1.0] * 7)[:, 0] * 0.75, normalized[:, 0], rtol=1e-5)


def test_frames_that_are_not_valid_do_not_count(source, schema_of):
    raw = np.random.default_rng(0).normal(size=(100, 3)).astype(np.float32)
    spoilt = np.concatenate([raw, [[1e6, 0.0, 0.0], [np.nan, 0.0, 0.0]]]).astype(np.float32)
    valid = np.ones(102)
    valid[100] = 0
    found, wanted = FeatureSet.from_raw(schema_of([3]), spoilt, valid), FeatureSet.from_raw(schema_of([3]), raw)
    np.testing.assert_array_equal(found.mean, wanted.mean)
    np.testing.assert_array_equal(found.scale, wanted.scale)


def test_a_group_that_never_varies_is_left_as_it_is(schema_of):
    features = FeatureSet.from_raw(schema_of([2, 1]), np.array([[5.0, 5.0, 1.0], [5.0, 5.0, 3.0]], np.float32))
    assert features.scale.tolist() == [1.0, 1.0, 1.0]
    assert features.normalized().tolist() == [[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]


def test_a_far_constant_costs_no_digits(schema_of):
    random = np.random.default_rng(0)
    raw = (random.normal(size=(1000, 1)) * 0.5 + 4096.0).astype(np.float32)
    assert FeatureSet.from_raw(schema_of([1]), raw).scale[0] == pytest.approx(raw.astype(np.float64).std(), rel=1e-6)


def test_refuses_features_of_another_width(schema_of):
    with pytest.raises(QueryError, match=r"\[F, 3\]"):
        FeatureSet.from_raw(schema_of([3]), np.zeros((5, 4), np.float32))

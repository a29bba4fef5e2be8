"""The choice of a method is a count, so the same features always lead to the same one."""

from __future__ import annotations

import numpy as np

from ambulo.matching.features import FeatureSet
from ambulo.matching.method import choose_method, typical_queries


def test_tiny_sets_are_scanned(motion_features):
    chosen = choose_method(motion_features, np.arange(40, dtype=np.int32), np.array([0]), np.array([3000]))
    assert chosen == "scan"


def test_features_of_low_dimension_get_leaves_in_feature_space(schema_of):
    random = np.random.default_rng(0)
    raw = (random.normal(size=(6000, 2)) @ random.normal(size=(2, 12))).astype(np.float32)
    features = FeatureSet.from_raw(schema_of([3, 3, 6], trajectory=1), raw)
    assert choose_method(features, np.arange(6000, dtype=np.int32), np.array([0]), np.array([6000])) == "tree"


def test_walks_in_many_dimensions_get_leaves_in_time(schema_of):
    # Independent dimensions that drift far: neighbours in time are the only neighbours there are.
    raw = np.random.default_rng(0).normal(size=(20_000, 27)).cumsum(axis=0).astype(np.float32)
    features = FeatureSet.from_raw(schema_of([9, 9, 9], trajectory=1), raw)
    frames = np.arange(20_000, dtype=np.int32)
    assert choose_method(features, frames, np.array([0]), np.array([20_000])) == "tree_temporal"


def test_typical_queries_pair_one_pose_with_another_future(motion_features):
    frames = np.arange(100, 3000, dtype=np.int32)
    queries, playing = typical_queries(motion_features, frames, 30)
    np.testing.assert_array_equal(queries[:, :15], motion_features.raw[playing, :15])
    futures = {row.tobytes() for row in motion_features.raw[frames, 15:]}
    assert all(row.tobytes() in futures for row in queries[:, 15:]) and playing.min() >= 100
    again = typical_queries(motion_features, frames, 30)
    assert again[0].tobytes() == queries.tobytes() and again[1].tobytes() == playing.tobytes()

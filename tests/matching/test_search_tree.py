"""The tree's shape: every frame once, every box around what hangs below it."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.errors import QueryError
from ambulo.matching.features import FeatureSet
from ambulo.matching.search_tree import SearchTree, group_axes, penalty_parts
from ambulo.matching.tree_kernels import NO_CHILD

ONE_CLIP = np.zeros(1, np.int64)


@pytest.mark.parametrize("leaves", ["spatial", "temporal"])
@pytest.mark.parametrize("count", [1, 15, 16, 17, 128, 129, 1000, 1025, 3000])
def test_every_frame_lies_in_one_leaf(motion_features, count, leaves):
    frames = np.sort(np.random.default_rng(count).permutation(3000)[:count]).astype(np.int32)
    tree = SearchTree.build(motion_features, frames, ONE_CLIP, leaves=leaves)
    stored = tree.tile_frames[tree.tile_frames >= 0]
    assert np.sort(stored).tolist() == frames.tolist()
    references = tree.children[tree.children != -(2**31)]
    assert np.sort(references[references >= 0]).tolist() == list(range(1, tree.node_count))
    assert np.sort(-1 - references[references < 0]).tolist() == list(range(tree.leaf_count))


@pytest.mark.parametrize("leaves", ["spatial", "temporal"])
def test_boxes_hold_their_frames_tightly(motion_features, leaves):
    tree = SearchTree.build(motion_features, np.arange(3000, dtype=np.int32), ONE_CLIP, leaves=leaves)

    def rows_below(reference):
        if reference < 0:
            lanes = tree.tile_frames[-1 - reference] >= 0
            return tree.tiles[-1 - reference][: tree.box_dimensions, lanes].T
        return np.concatenate([rows_below(child) for child in tree.children[reference] if child != -(2**31)])

    for node in range(tree.node_count):
        for place, child in enumerate(tree.children[node]):
            if child != -(2**31):
                rows = rows_below(int(child))
                np.testing.assert_array_equal(tree.boxes[node, :, 0, place], rows.min(axis=0))
                np.testing.assert_array_equal(tree.boxes[node, :, 1, place], rows.max(axis=0))


def test_spatial_leaves_are_full(motion_features):
    tree = SearchTree.build(motion_features, np.arange(2048, dtype=np.int32), ONE_CLIP)
    assert tree.leaf_count == 128 and (tree.tile_frames >= 0).all()


def test_temporal_leaves_are_runs_within_a_clip(motion_features):
    frames = np.setdiff1d(np.arange(3000), np.arange(500, 520)).astype(np.int32)
    tree = SearchTree.build(motion_features, frames, np.array([0, 1003]), leaves="temporal")
    for leaf in tree.tile_frames:
        run = np.sort(leaf[leaf >= 0])
        assert (np.diff(run) == 1).all()
        assert (run < 1003).all() or (run >= 1003).all()


def test_axes_keep_distances_and_do_not_mix_groups(motion_features):
    axes, groups, variance = group_axes(motion_features, np.arange(3000, dtype=np.int32))
    normalized = motion_features.normalized().astype(np.float64)
    turned = (motion_features.raw - motion_features.mean.astype(np.float64)) @ axes
    np.testing.assert_allclose(np.linalg.norm(turned, axis=1), np.linalg.norm(normalized, axis=1), rtol=1e-5)
    assert (np.diff(variance) <= 0.0).all()
    np.testing.assert_allclose(turned.var(axis=0), variance, rtol=1e-2, atol=1e-6)
    for column, group in enumerate(groups):
        inside = motion_features.schema.group_of_dimension == group
        assert (axes[~inside, column] == 0.0).all()


def test_a_group_of_no_weight_can_be_weighted_later(motion_features, schema_of):
    schema = schema_of([3, 3, 3, 3, 3, 6, 6], [0.0, 0.75, 1.0, 1.0, 1.0, 1.0, 1.5])
    features = FeatureSet.from_raw(schema, motion_features.raw)
    tree = SearchTree.build(features, np.arange(3000, dtype=np.int32), ONE_CLIP)
    ratios = tree.ratios([2.0, 0.75, 1.0, 1.0, 1.0, 1.0, 3.0])
    assert set(ratios[tree.axis_groups == 0]) == {2.0} and set(ratios[tree.axis_groups == 6]) == {2.0}
    assert set(tree.ratios(None)[tree.axis_groups == 0]) == {0.0}


def test_leaves_have_a_name(motion_features):
    with pytest.raises(QueryError, match="spatial or temporal"):
        SearchTree.build(motion_features, np.arange(9, dtype=np.int32), ONE_CLIP, leaves="round")


def test_penalties_that_lie_apart_have_trees_of_their_own(motion_features):
    frames = np.arange(0, 3000, 2, dtype=np.int32)
    penalty = np.zeros(3000, np.float32)
    penalty[1000:2000], penalty[2000:] = 0.1, 2.0
    assert penalty_parts(penalty, frames, np.inf) == [slice(None)]
    near, far = penalty_parts(penalty, frames, 1.0)
    assert near.tolist() == list(range(1000)) and far.tolist() == list(range(1000, 1500))
    ramp = np.arange(3000, dtype=np.float32)
    assert len(penalty_parts(ramp, frames, 0.5)) == 8
    starts = np.array([0])
    one, two = (SearchTree.build(motion_features, frames, starts, penalty=penalty, gap=gap) for gap in (np.inf, 1.0))
    assert two.children[0, 2:].tolist() == [NO_CHILD] * 6
    for tree in (one, two):
        assert sorted(tree.tile_frames[tree.tile_frames >= 0].tolist()) == frames.tolist()
    # Every node's boxes hold those of its children.
    for node, place in np.argwhere(two.children >= 0):
        child = two.children[node, place]
        assert (two.boxes[node, :, 0, place] <= two.boxes[child, :, 0].min(axis=1)).all()
        assert (two.boxes[node, :, 1, place] >= two.boxes[child, :, 1].max(axis=1)).all()

"""Trees built in parts: one tree like any other, and exact."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ambulo.matching import method, sharded_tree
from ambulo.matching.features import FeatureSet
from ambulo.matching.index import SearchIndex
from ambulo.matching.search_brute import exact_costs, search_plain
from ambulo.matching.search_tree import LEAVES, SearchTree

STARTS = np.array([0, 700, 1500, 2900])
STOPS = np.array([700, 1500, 2900, 3000])


def descendants(tree: SearchTree, child: int) -> list[int]:
    """Frames below a child of a node."""
    if child == -(2**31):
        return []
    if child < 0:
        return [frame for frame in tree.tile_frames[-1 - child].tolist() if frame >= 0]
    return [frame for place in tree.children[child].tolist() for frame in descendants(tree, place)]


@pytest.mark.parametrize("leaves", LEAVES)
@pytest.mark.parametrize("shard_frames", [1600, 700, 150, 40])
def test_every_frame_lies_below_the_root_and_in_its_boxes(motion_features, leaves, shard_frames):
    frames = np.flatnonzero(np.arange(3000) % 7 != 3).astype(np.int32)
    tree = SearchTree.build(motion_features, frames, STARTS, leaves=leaves, shard_frames=shard_frames)
    assert sorted(descendants(tree, 0)) == frames.tolist()
    assert sorted(tree.tile_frames[tree.tile_frames >= 0].tolist()) == frames.tolist()
    rows = (motion_features.raw.astype(np.float64) - motion_features.mean) @ tree.axes
    for node in range(tree.node_count):
        for place, child in enumerate(tree.children[node].tolist()):
            below = descendants(tree, child)
            if below:
                low, high = tree.boxes[node, :, 0, place], tree.boxes[node, :, 1, place]
                own = rows[below][:, : tree.box_dimensions]
                np.testing.assert_allclose(own.min(axis=0), low, atol=1e-5)
                np.testing.assert_allclose(own.max(axis=0), high, atol=1e-5)


def test_parts_are_about_equally_full(motion_features):
    frames = np.arange(3000, dtype=np.int32)
    tree = SearchTree.build(motion_features, frames, STARTS, shard_frames=400)
    below = [len(descendants(tree, child)) for child in tree.children[0].tolist()]
    assert len(below) == 8 and max(below) <= 380


def test_equal_frames_are_shared_out_too(schema_of):
    features = FeatureSet.from_raw(schema_of([3]), np.ones((1000, 3), np.float32))
    frames = np.arange(1000, dtype=np.int32)
    tree = SearchTree.build(features, frames, np.array([0]), shard_frames=300)
    assert [len(descendants(tree, child)) for child in tree.children[0].tolist()] == [250] * 4 + [0] * 4


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharded_tree, "SHARD_FRAMES", 300)
    monkeypatch.setattr(method, "SHARD_FRAMES", 300)
    monkeypatch.setattr(sharded_tree, "_CHUNK", 500)


@pytest.mark.parametrize("kind", ["tree", "tree_temporal"])
def test_searches_are_exact_with_masks_bonuses_and_weights(motion_features, small_shards, kind):
    index = SearchIndex.build(motion_features, STARTS, STOPS, kind=kind)
    random = np.random.default_rng(1)
    wanted = random.random(3000) < 0.5
    bonus = np.where(random.random(3000) < 0.3, 0.7, 0.0).astype(np.float32)
    weights = np.linspace(0.3, 2.0, len(motion_features.schema.groups)).astype(np.float32)
    queries, currents = method.typical_queries(motion_features, np.arange(3000, dtype=np.int32), 40)
    for mask, extra, used in (
        (None, None, None), (wanted, None, weights), (wanted, bonus, None),
    ):  # fmt: skip
        chosen = None if mask is None else index.mask(mask, bonus=extra)
        found = index.search(queries, current=currents, mask=chosen, weights=used)
        coefficients = motion_features.coefficients(used)
        penalty = 0.0 if chosen is None or not len(chosen.penalty) else chosen.penalty.astype(np.float64)
        for n, query in enumerate(queries):
            expected = search_plain(
                exact_costs(motion_features.raw, query, coefficients) + penalty,
                index.candidates & (True if mask is None else mask),
                current=int(currents[n]),
                allowed=mask,
                clip_starts=STARTS,
                clip_stops=STOPS,
            )
            assert found.frames[n] == expected.frame


def test_a_large_mask_is_a_view_of_the_whole_tree(motion_features, small_shards):
    index = SearchIndex.build(motion_features, STARTS, STOPS, kind="tree")
    large = index.mask(np.arange(3000) < 2000).method
    assert isinstance(large, SearchTree) and large.tiles is index.whole.method.tiles
    assert sorted(descendants(large, 0)) == [f for f in range(2000) if index.candidates[f]]
    small = index.mask(np.arange(3000) < 200).method
    assert small.tiles is not index.whole.method.tiles
    assert SearchTree.build(motion_features, np.arange(9, dtype=np.int32), STARTS).only(np.zeros(0, np.int32))


def test_files_hold_what_memory_does(motion_features, tmp_path: Path):
    frames = np.arange(3000, dtype=np.int32)
    in_memory = SearchTree.build(motion_features, frames, STARTS, shard_frames=500)
    on_disk = SearchTree.build(motion_features, frames, STARTS, shard_frames=500, scratch=tmp_path)
    for name in SearchTree.ARRAYS:
        assert getattr(in_memory, name).tobytes() == getattr(on_disk, name).tobytes(), name
    assert in_memory.reach == on_disk.reach


def test_coordinates_too_long_for_nodes_are_still_searched(schema_of, small_shards):
    raw = np.random.default_rng(0).normal(size=(1000, 3)).astype(np.float32)
    features = FeatureSet(schema_of([3]), raw, np.zeros(3, np.float32), np.full(3, 1e-17, np.float32))
    index = SearchIndex.build(features, [0], [1000], kind="tree", end_margin_frames=0)
    assert index.whole.method.node_count == 0
    assert index.search(raw[[17, 801]]).frames.tolist() == [17, 801]

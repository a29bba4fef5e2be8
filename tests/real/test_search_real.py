"""Search over features of real capture: the answers are those of a comparison of all frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.database.database import Database
from ambulo.matching.build import make_index
from ambulo.matching.index import SearchIndex
from ambulo.matching.method import KINDS, typical_queries
from ambulo.matching.search_brute import exact_costs, search_plain
from ambulo.prepare.mirror import mirror_clip
from ambulo.prepare.pipeline import prepare_take


@pytest.fixture(scope="module")
def index(real_data: Path) -> SearchIndex:
    files = sorted((real_data / "noncommercial" / "bandai2_loco").glob("*.bvh"))[::40]
    clips = [prepare_take(ambulo.load(file)) for file in files]
    return make_index(Database.from_clips([*clips, *map(mirror_clip, clips)]))


@pytest.mark.parametrize("kind", [None, *sorted(KINDS)])
def test_answers_are_those_of_comparing_all(index: SearchIndex, kind: str | None) -> None:
    features, clips = index.feature_set, (index.clip_starts, index.clip_stops)
    allowed = index.whole.allowed.astype(bool)
    candidates = np.zeros(features.frame_count, bool)
    candidates[index.whole.frames] = True
    built = index if kind is None else SearchIndex.build(features, *clips, allowed, kind=kind)
    queries, current = typical_queries(features, index.whole.frames, 60)
    for weights in (None, np.array([2.0, 2.0, 0.3, 0.3, 1.0, 0.5, 3.0], np.float32)):
        found = built.search(queries, current=current, weights=weights).frames.tolist()
        for number in range(60):
            costs = exact_costs(features.raw, queries[number], features.coefficients(weights))
            wanted = search_plain(
                costs,
                candidates,
                current=int(current[number]),
                allowed=allowed,
                clip_starts=clips[0],
                clip_stops=clips[1],
            )
            assert found[number] == wanted.frame


def test_the_mirror_image_has_mirrored_features(index: SearchIndex) -> None:
    raw = index.feature_set.raw
    half = len(raw) // 2
    schema = index.feature_set.schema
    left, right = schema.group("left_foot position"), schema.group("right_foot position")
    mirrored = raw[half:, right.start : right.stop] * np.array([-1.0, 1.0, 1.0], np.float32)
    np.testing.assert_allclose(raw[:half, left.start : left.stop], mirrored, atol=0.02)
    place = schema.group("trajectory_position")
    np.testing.assert_allclose(raw[:half, place.start] + raw[half:, place.start], 0.0, atol=2e-3)


def test_real_motion_is_searched_by_a_tree_of_few_dimensions(index: SearchIndex) -> None:
    assert index.kind == "tree"
    assert index.whole.method.box_dimensions <= 16

"""The index answers as a comparison of all frames would, whatever it is built with and asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ambulo.errors import DatabaseError, QueryError
from ambulo.matching.features import FeatureSet
from ambulo.matching.index import SearchIndex
from ambulo.matching.method import KINDS, typical_queries
from ambulo.matching.search_brute import exact_costs, search_plain

NAMES = sorted(KINDS)


@dataclass
class Case:
    """An index, and what it was built from, to compute by definition what it should answer."""

    index: SearchIndex
    valid: np.ndarray
    margin: int

    def expected(
        self, queries, current, bias=0.0, surround=20, wanted=None, weights=None, penalty=0.0, skips=None, playable=None
    ):
        features, clips = self.index.feature_set, (self.index.clip_starts, self.index.clip_stops)
        allowed, candidates = np.zeros((2, features.frame_count), bool)
        for start, stop in zip(*clips, strict=True):
            allowed[start:stop] = True
            candidates[start : max(stop - self.margin, start)] = True
        allowed &= np.isfinite(features.raw).all(axis=1) & self.valid
        if wanted is not None:
            candidates &= allowed & wanted
            allowed &= wanted if playable is None else playable
        coefficients = features.coefficients(weights)
        with np.errstate(over="ignore", invalid="ignore"):
            return [
                search_plain(
                    exact_costs(features.raw, query, coefficients) + penalty,
                    candidates & allowed if wanted is None else candidates,
                    current=int(now),
                    allowed=allowed,
                    clip_starts=clips[0],
                    clip_stops=clips[1],
                    bias=bias,
                    surround_frames=surround,
                    skips=None if skips is None else skips[number],
                )
                for number, (query, now) in enumerate(zip(queries, current, strict=True))
            ]


def build(features, starts, stops, valid=None, margin=20, kind=None):
    index = SearchIndex.build(features, starts, stops, valid, end_margin_frames=margin, kind=kind)
    return Case(index, np.ones(features.frame_count, bool) if valid is None else np.asarray(valid).astype(bool), margin)


def assert_same(result, reference):
    assert result.frames.tolist() == [found.frame for found in reference]
    np.testing.assert_array_equal(result.costs, np.array([found.cost for found in reference], np.float32))


@pytest.mark.parametrize("kind", NAMES)
def test_equals_brute_force_on_motion(motion_features, kind):
    starts, stops = np.array([0, 700, 1500]), np.array([700, 1500, 3000])
    valid = np.ones(3000, np.uint8)
    valid[300:340] = 0
    case = build(motion_features, starts, stops, valid, kind=kind)
    index = case.index
    queries, current = typical_queries(motion_features, np.arange(3000, dtype=np.int32), 200)
    current[::7] = -1
    for bias in (0.0, 0.3, -0.3, 1e9):
        assert_same(index.search(queries, current=current, bias=bias), case.expected(queries, current, bias))
    for surround in (0, 1, 5, 10_000):
        result = index.search(queries, current=current, surround_frames=surround)
        assert_same(result, case.expected(queries, current, surround=surround))


@pytest.mark.parametrize("kind", NAMES)
def test_weights_act_at_once_and_exactly(motion_features, kind):
    case = build(motion_features, [0], [3000], kind=kind)
    index = case.index
    queries, current = typical_queries(motion_features, np.arange(3000, dtype=np.int32), 60)
    for weights in ([1] * 7, [0, 0, 0, 0, 0, 1, 1], [5, 0.01, 3, 100, 0, 0.5, 2], [0] * 7):
        result = index.search(queries, current=current, weights=weights)
        assert_same(result, case.expected(queries, current, weights=weights))


@pytest.mark.parametrize("kind", NAMES)
def test_masks_hold_the_search(motion_features, kind):
    case = build(motion_features, [0, 1500], [1500, 3000], kind=kind)
    index = case.index
    queries, current = typical_queries(motion_features, np.arange(3000, dtype=np.int32), 60)
    for keep in (0.5, 0.1, 0.002, 0.0):
        wanted = np.random.default_rng(1).random(3000) < keep
        mask = index.mask(wanted)
        result = index.search(queries, current=current, mask=mask)
        assert_same(result, case.expected(queries, current, wanted=wanted))
        assert mask.candidate_count == wanted[: 1500 - 20].sum() + wanted[1500 : 3000 - 20].sum()


@pytest.mark.parametrize("kind", NAMES)
def test_bonuses_are_exact_and_only_their_differences_count(motion_features, kind):
    case = build(motion_features, [0, 1500], [1500, 3000], kind=kind)
    index, random = case.index, np.random.default_rng(2)
    queries, current = typical_queries(motion_features, np.arange(3000, dtype=np.int32), 60)
    everywhere = np.ones(3000, bool)
    for bonus in (
        np.repeat(random.normal(size=30), 100), (random.random(3000) < 0.2) * 5.0, np.arange(3000) * 1e-3,
    ):  # fmt: skip
        bonus = bonus.astype(np.float32)
        mask, penalty = index.mask(everywhere, bonus=bonus), bonus.max() - bonus
        result = index.search(queries, current=current, mask=mask, bias=0.2)
        reference = case.expected(queries, current, 0.2, penalty=penalty)
        assert result.frames.tolist() == [found.frame for found in reference]
        costs = np.array([found.cost for found in reference], np.float32) - bonus.max()
        np.testing.assert_allclose(result.costs, costs, atol=1e-5, rtol=1e-5)
        shifted = index.mask(everywhere, bonus=bonus + np.float32(4.0))
        assert index.search(queries, current=current, mask=shifted, bias=0.2).frames.tolist() == result.frames.tolist()
        best = index.top(queries[0], 1, mask=mask)[0]
        alone = index.search(queries[0], mask=mask)
        assert best.frame == alone.frames[0] and best.cost == pytest.approx(alone.costs[0], abs=1e-5)
    same = index.mask(everywhere, bonus=np.full(3000, 7.0, np.float32))
    plain = index.search(queries, current=current)
    assert index.search(queries, current=current, mask=same).frames.tolist() == plain.frames.tolist()
    np.testing.assert_allclose(index.search(queries, current=current, mask=same).costs, plain.costs - 7.0, atol=1e-5)


@pytest.mark.parametrize("kind", NAMES)
def test_what_may_go_on_need_not_be_jumped_to(motion_features, kind):
    case = build(motion_features, [0, 1500], [1500, 3000], kind=kind)
    random = np.random.default_rng(4)
    queries, current = typical_queries(motion_features, np.arange(3000, dtype=np.int32), 60)
    wanted, playable = random.random(3000) < 0.3, random.random(3000) < 0.7
    result = case.index.search(queries, current=current, mask=case.index.mask(wanted, playable=playable))
    assert_same(result, case.expected(queries, current, wanted=wanted, playable=playable))


def test_the_same_mask_is_built_once(motion_features):
    case = build(motion_features, [0], [3000])
    index = case.index
    wanted = np.arange(3000) < 100
    assert index.mask(wanted) is index.mask(wanted.copy())
    assert index.mask(~wanted) is not index.mask(wanted)


@st.composite
def problems(draw):
    """Feature tables that are hard in one way or another, and what is asked of them."""
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    count = draw(st.one_of(st.integers(1, 40), st.integers(41, 700)))
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    width = sum(sizes)
    style = draw(st.sampled_from(["smooth", "normal", "lattice", "duplicates", "constant", "outlier", "far", "tiny"]))
    raw = random.normal(size=(count, width))
    if style == "smooth":
        raw = np.sin(0.1 * random.normal(size=(count, 2)).cumsum(axis=0) @ random.normal(size=(2, width)))
    elif style == "lattice":
        raw = random.integers(-1, 2, size=(count, width)).astype(np.float64)
    elif style == "duplicates":
        raw = raw[random.integers(max(count // 8, 1), size=count)]
    elif style == "constant":
        raw[:, : draw(st.integers(1, width))] = 3.25
    elif style == "outlier":
        raw[random.integers(count)] = draw(st.sampled_from([1e4, 1e12, 1e25, np.nan, np.inf]))
    elif style == "far":
        raw += draw(st.sampled_from([1e3, 1e6]))
    elif style == "tiny":
        raw *= 1e-12
    weights = [float(w) for w in random.choice([0.0, 0.5, 1.0, 3.0], size=len(sizes))]
    cuts = np.sort(random.integers(0, count + 1, size=draw(st.integers(0, 4))))
    edges = np.concatenate([[0], cuts, [count]])
    return {
        "sizes": sizes,
        "weights_built": weights,
        "raw": raw.astype(np.float32),
        "clips": (edges[:-1], edges[1:]),
        "valid": random.random(count) < draw(st.sampled_from([1.0, 0.8, 0.1])),
        "margin": draw(st.sampled_from([0, 1, 20])),
        "surround": draw(st.sampled_from([0, 1, 3, 20])),
        "bias": draw(st.sampled_from([0.0, 0.5, -0.5, 1e-9])),
        "weights": draw(st.sampled_from([None, 0.0, 0.1, 1000.0])),
        "bonus": draw(st.sampled_from([0.0, 1.0, 100.0])),
        "skips": draw(st.sampled_from([0, 1, 5])),
        "keep": draw(st.sampled_from([None, 0.5, 0.05])),
        "kind": draw(st.sampled_from([None, *NAMES])),
        "random": random,
    }


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems())
def test_equals_brute_force_on_anything(schema_of, problem):
    features = FeatureSet.from_raw(schema_of(problem["sizes"], problem["weights_built"]), problem["raw"])
    random, (count, width) = problem["random"], features.raw.shape
    case = build(features, *problem["clips"], problem["valid"], problem["margin"], problem["kind"])
    index = case.index
    rows = np.nan_to_num(features.raw[random.integers(count, size=12)], nan=1.0, posinf=1e30, neginf=-1e30)
    queries = rows.copy()
    queries[4:8] += random.normal(size=(4, width)).astype(np.float32) * features.scale
    queries[8:] = random.normal(size=(4, width)).astype(np.float32)
    current = random.integers(-1, count, size=12)
    weights = None
    if problem["weights"] is not None:
        weights = random.random(len(features.schema.groups)).astype(np.float32)
        weights[0] = problem["weights"]
    wanted = None if problem["keep"] is None else random.random(count) < problem["keep"]
    skips, penalty = np.sort(random.integers(-3, count + 3, size=(12, problem["skips"], 2))), 0.0
    mask = None if wanted is None else index.mask(wanted)
    if problem["bonus"]:
        wanted = np.ones(count, bool) if wanted is None else wanted
        bonus = (problem["bonus"] * random.integers(-1, 2, size=count)).astype(np.float32)
        mask = index.mask(wanted, bonus=bonus)
        penalty = np.maximum(mask.best_bonus - bonus, 0.0)
    result = index.search(
        queries, current=current, mask=mask, weights=weights, bias=problem["bias"],
        surround_frames=problem["surround"], skips=skips,
    )  # fmt: skip
    reference = case.expected(
        queries, current, problem["bias"], problem["surround"], wanted, weights, penalty, skips
    )  # fmt: skip
    assert result.frames.tolist() == [found.frame for found in reference]


def test_equal_costs_go_to_the_lower_frame(schema_of):
    raw = np.tile(np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32), (8, 1))
    for kind in NAMES:
        case = build(FeatureSet.from_raw(schema_of([3, 3]), raw), [0], [400], margin=0, kind=kind)
        index = case.index
        assert index.search(raw[250:300]).frames.tolist() == list(range(50))


def test_going_on_wins_a_tie(schema_of):
    raw = np.zeros((100, 3), np.float32)
    raw[:, 0] = np.arange(100) % 10
    case = build(FeatureSet.from_raw(schema_of([3]), raw), [0], [100], margin=0)
    index = case.index
    result = index.search(raw[[57]], current=[57], surround_frames=1)
    assert result.frames.tolist() == [57] and result.current_costs.tolist() == [0.0]
    assert index.search(raw[[57]], current=[57], surround_frames=1, bias=-1.0).frames.tolist() == [7]


def test_a_current_frame_that_may_not_be_played_never_wins(motion_features):
    valid = np.ones(3000, bool)
    valid[500:600] = False
    case = build(motion_features, [0], [3000], valid)
    index = case.index
    result = index.search(motion_features.raw[[550]], current=[550])
    assert valid[result.frames[0]] and result.current_costs[0] == 0.0
    outside = index.mask(np.arange(3000) >= 1000)
    assert index.search(motion_features.raw[[10]], current=[10], mask=outside).frames[0] >= 1000


def test_the_end_of_a_clip_can_go_on_but_is_not_jumped_to(motion_features):
    case = build(motion_features, [0, 1000], [1000, 3000])
    index = case.index
    near_end = motion_features.raw[990]
    assert index.search(near_end, current=[990]).frames.tolist() == [990]
    assert not 980 <= index.search(near_end).frames[0] < 1000


def test_nothing_allowed_gives_minus_one(motion_features):
    case = build(motion_features, [0], [3000])
    index = case.index
    result = index.search(motion_features.raw[:3], mask=index.mask(np.zeros(3000, bool)), current=[-1, 5, -1])
    assert result.frames.tolist() == [-1, -1, -1] and np.isinf(result.costs).all()


def test_many_queries_are_the_queries_one_by_one(motion_features):
    case = build(motion_features, [0], [3000])
    index = case.index
    queries, current = typical_queries(motion_features, np.arange(3000, dtype=np.int32), 50)
    together = index.search(queries, current=current)
    for n in range(50):
        alone = index.search(queries[n], current=current[n : n + 1])
        assert alone.frames[0] == together.frames[n] and alone.costs[0] == together.costs[n]


def test_no_queries_no_answers(motion_features):
    assert build(motion_features, [0], [3000]).index.search(np.empty((0, 27), np.float32)).frames.shape == (0,)


def test_refuses_what_it_cannot_search(motion_features):
    case = build(motion_features, [0], [3000])
    index = case.index
    good = motion_features.raw[:2].copy()
    bad = good.copy()
    bad[1, 4] = np.nan
    with pytest.raises(QueryError, match="'group 1 y' of query 1 is nan"):
        index.search(bad)
    bad[1, 4] = np.inf
    with pytest.raises(QueryError, match="is inf"):
        index.search(bad)
    with pytest.raises(QueryError, match=r"\[N, 27\]"):
        index.search(good[:, :26])
    with pytest.raises(QueryError, match="current frame 3000 of query 1"):
        index.search(good, current=[5, 3000])
    with pytest.raises(QueryError, match="current frame -2 of query 0"):
        index.search(good, current=[-2, 5])
    with pytest.raises(QueryError, match="one frame a query"):
        index.search(good, current=[5])
    with pytest.raises(QueryError, match="one a feature group"):
        index.search(good, weights=[1.0])
    with pytest.raises(QueryError, match="'group 2' is -1"):
        index.search(good, weights=[1, 1, -1, 1, 1, 1, 1])
    with pytest.raises(QueryError, match="bool"):
        index.mask(np.ones(3000))
    with pytest.raises(QueryError, match="bool"):
        index.mask(np.ones(2999, bool))
    with pytest.raises(QueryError, match="did you mean 'tree'"):
        build(motion_features, [0], [3000], kind="tre")
    with pytest.raises(QueryError, match="ascending ranges"):
        build(motion_features, [0, 10], [20, 3000])
    with pytest.raises(QueryError, match="outside the database"):
        index.explain(good[0], 3000)


def test_arguments_of_other_kinds_are_taken(motion_features):
    case = build(motion_features, [0], [3000])
    index = case.index
    frozen = motion_features.raw[100:104].copy()
    frozen.flags.writeable = False
    reference = index.search(motion_features.raw[100:104]).frames.tolist()
    assert index.search(frozen).frames.tolist() == reference
    assert index.search(frozen.astype(np.float64).tolist()).frames.tolist() == reference
    assert index.search(np.asfortranarray(frozen)).frames.tolist() == reference
    assert index.search(motion_features.raw[100:104], current=[-1, -1, -1, -1], bias=0).frames.tolist() == reference


def test_explanation_adds_up_to_the_cost(motion_features):
    case = build(motion_features, [0], [3000])
    index = case.index
    query = motion_features.raw[1234] + 0.1
    result = index.search(query)
    costs = index.explain(query, int(result.frames[0]))
    assert list(costs) == [group.name for group in motion_features.schema.groups]
    assert sum(costs.values()) == pytest.approx(float(result.costs[0]), rel=1e-6)


def test_top_lists_the_best_in_order(motion_features):
    case = build(motion_features, [0, 1500], [1500, 3000])
    index = case.index
    query = motion_features.raw[700] + 0.05
    rivals = index.top(query, 8)
    assert rivals[0].frame == index.search(query).frames[0]
    costs = [rival.cost for rival in rivals]
    assert costs == sorted(costs) and len({rival.frame for rival in rivals}) == 8
    spread = [rival.frame for rival in index.top(query, 8, separation_frames=30)]
    assert all(abs(a - b) >= 30 or (a < 1500) != (b < 1500) for a in spread for b in spread if a != b)
    current = rivals[0].frame
    assert all(abs(rival.frame - current) >= 20 for rival in index.top(query, 8, current=current))


@pytest.mark.parametrize("kind", NAMES)
def test_stored_and_read_back_it_is_the_same(motion_features, kind):
    case = build(motion_features, [0, 1000], [1000, 3000], kind=kind)
    index = case.index
    arrays = index.to_arrays()
    again = SearchIndex.from_arrays(motion_features, arrays)
    assert again.kind == kind
    queries, current = typical_queries(motion_features, np.arange(3000, dtype=np.int32), 40)
    assert (
        again.search(queries, current=current).frames.tolist() == index.search(queries, current=current).frames.tolist()
    )
    second = build(motion_features, [0, 1000], [1000, 3000], kind=kind).index.to_arrays()
    assert {name: array.tobytes() for name, array in second.items()} == {
        name: array.tobytes() for name, array in arrays.items()
    }


def test_a_damaged_store_is_refused(motion_features):
    arrays = build(motion_features, [0], [3000]).index.to_arrays()
    del arrays["method.boxes"]
    with pytest.raises(DatabaseError, match=r"method.boxes|'boxes'"):
        SearchIndex.from_arrays(motion_features, arrays)
    other = FeatureSet.from_raw(motion_features.schema, motion_features.raw[:100])
    with pytest.raises(DatabaseError, match="3000 frames"):
        SearchIndex.from_arrays(other, build(motion_features, [0], [3000]).index.to_arrays())

"""The exact cost is one number, wherever it is computed."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.matching.binding import NO_PENALTY
from ambulo.matching.cost_kernels import candidate_costs, exact_cost
from ambulo.matching.search_brute import SearchBlas, exact_costs


@pytest.mark.parametrize("dimension_count", [1, 2, 3, 4, 5, 7, 12, 27, 31])
def test_compiled_and_numpy_costs_agree_to_the_last_bit(dimension_count):
    random = np.random.default_rng(dimension_count)
    raw = random.normal(size=(400, dimension_count)).astype(np.float32) * 7.0
    query = random.normal(size=dimension_count).astype(np.float32)
    coefficients = random.random(dimension_count) / 0.7
    reference = exact_costs(raw, query, coefficients)
    inlined = np.empty(400)
    candidate_costs(raw, np.arange(400, dtype=np.int32), query, coefficients, NO_PENALTY, inlined)
    assert inlined.tobytes() == reference.tobytes()
    assert np.array([exact_cost(raw, frame, query, coefficients) for frame in range(400)]).tobytes() == (
        reference.tobytes()
    )


def test_a_penalty_is_added_to_the_cost():
    random = np.random.default_rng(3)
    raw, query = random.normal(size=(50, 6)).astype(np.float32), np.zeros(6, np.float32)
    penalty = random.random(50).astype(np.float32)
    costs = np.empty(50)
    candidate_costs(raw, np.arange(50, dtype=np.int32), query, np.ones(6), penalty, costs)
    assert costs.tobytes() == (exact_costs(raw, query, np.ones(6)) + penalty).tobytes()


def test_cost_is_the_squared_weighted_distance():
    raw = np.array([[1.0, 2.0, -3.0]], np.float32)
    cost = exact_costs(raw, np.array([0.0, 0.5, 0.0], np.float32), np.array([1.0, 2.0, 0.5]))
    assert cost.tolist() == [1.0 + 9.0 + 2.25]


def test_blas_finds_the_same_frame(motion_features):
    mean, coefficients = motion_features.mean.astype(np.float64), motion_features.coefficients()
    blas = SearchBlas(motion_features.raw, mean, coefficients)
    random = np.random.default_rng(0)
    for _ in range(50):
        query = motion_features.raw[random.integers(3000)] + random.normal(0.0, 0.1, 27).astype(np.float32)
        costs = exact_costs(motion_features.raw, query, coefficients)
        found = blas.search(query)
        assert found.frame == int(np.argmin(costs)) and found.cost == costs.min()

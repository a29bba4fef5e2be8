"""Small feature sets for the tests of matching."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from ambulo.matching.features import FeatureSet
from ambulo.matching.schema import FeatureGroup, FeatureSchema


def _schema_of(sizes: list[int], weights: list[float] | None = None, trajectory: int = 0) -> FeatureSchema:
    """A schema of groups of the given sizes; the last ``trajectory`` groups count as the root's trajectory."""
    groups, start = [], 0
    for number, size in enumerate(sizes):
        future = number >= len(sizes) - trajectory
        groups.append(
            FeatureGroup(
                name=f"group {number}",
                kind="trajectory_height" if future else "position",
                start=start,
                stop=start + size,
                weight=1.0 if weights is None else weights[number],
                joint=-1 if future else 0,
                times=tuple(range(size)) if future else (),
                frames=tuple(range(size)) if future else (),
            )
        )
        start += size
    return FeatureSchema(tuple(groups), 60.0)


def _wandering(frame_count: int, dimension_count: int, seed: int = 0) -> NDArray[np.float32]:
    """Smooth features of low intrinsic dimension, as those of motion are."""
    random = np.random.default_rng(seed)
    steps = random.normal(size=(frame_count, 5)).cumsum(axis=0) * 0.1
    mixed = np.sin(steps @ random.normal(size=(5, dimension_count))) + 0.02 * random.normal(
        size=(frame_count, dimension_count)
    )
    return mixed.astype(np.float32)


@pytest.fixture(scope="session")
def schema_of() -> Callable[..., FeatureSchema]:
    """Makes schemas: ``schema_of(sizes, weights, trajectory)``."""
    return _schema_of


@pytest.fixture(scope="session")
def wandering() -> Callable[..., NDArray[np.float32]]:
    """Makes features: ``wandering(frame_count, dimension_count, seed)``."""
    return _wandering


@pytest.fixture(scope="session")
def motion_features() -> FeatureSet:
    """3,000 frames of 27 dimensions in the default grouping."""
    sizes, weights = [3, 3, 3, 3, 3, 6, 6], [0.75, 0.75, 1.0, 1.0, 1.0, 1.0, 1.5]
    return FeatureSet.from_raw(_schema_of(sizes, weights, trajectory=2), _wandering(3000, 27))

"""What a search is told of how far features may lie apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ambulo.control.create import create_controller
from ambulo.control.motion_matching import MotionMatching
from ambulo.control.scripts import create_script
from ambulo.control.settings import ControlSettings, SearchSettings
from ambulo.control.simulation import simulate
from ambulo.database.database import Database
from ambulo.errors import ControlError
from ambulo.evaluation.measures import measure
from ambulo.matching.features import compute_features
from ambulo.matching.index import SearchIndex
from ambulo.matching.schema import FeatureSchema
from ambulo.prepare.pipeline import prepare_take
from ambulo.synthesis.performance import perform
from ambulo.synthesis.programme import Take, direct
from ambulo.synthesis.script import Script


def index_of(database: Database) -> SearchIndex:
    """The default features of a database."""
    schema = FeatureSchema.compile(skeleton=database.skeleton, rate=database.rate)
    return SearchIndex.build(
        compute_features(database, schema), database.clip_starts, database.clip_stops, database.valid
    )


@pytest.fixture(scope="module")
def straight() -> tuple[Database, SearchIndex]:
    """Five takes of six seconds, each straight on from a stand and back to one: no turn is in them."""
    clips = []
    for number, speed in enumerate((0.8, 1.0, 1.2, 1.35, 1.5)):

        def walk(script: Script, seconds: float, speed: float = speed) -> None:
            script.stand(0.5)
            script.go(seconds, speed)

        directions = direct(Take("walk", "walk", 5.5, walk), number, np.random.default_rng(number), 60.0)
        clips.append(prepare_take(perform(directions, np.random.default_rng(number), 60.0).motion))
    database = Database.from_clips(clips)
    return database, index_of(database)


def spread(index: SearchIndex, kind: str) -> float:
    """What the features of a kind are divided by."""
    group = next(group for group in index.feature_set.schema.groups if group.kind == kind)
    return float(index.feature_set.scale[group.start])


def test_rich_data_is_compared_as_it_was(bare: MotionMatching) -> None:
    settings = SearchSettings(direction_spread=0.0, position_spread=0.0)
    assert spread(bare.index, "trajectory_direction") > bare.settings.search.direction_spread
    before = MotionMatching(bare.database, bare.index, replace(bare.settings, search=settings))
    for eager in (False, True):
        assert_array_equal(before.frame_search.weights_for(eager, ()), bare.frame_search.weights_for(eager, ()))


def test_a_spread_that_is_nearly_nothing_counts_as_more(straight: tuple[Database, SearchIndex]) -> None:
    database, index = straight
    assert spread(index, "trajectory_direction") < 0.15
    search = MotionMatching(database, index).frame_search
    weights, own = search.weights_for(False, ()), index.feature_set.schema.weights
    assert weights is not None
    for group, weight, usual in zip(index.feature_set.schema.groups, weights, own, strict=True):
        if group.kind == "trajectory_direction":
            assert_allclose(weight / spread(index, group.kind), usual / SearchSettings().direction_spread, rtol=1e-5)
        elif group.kind in ("position", "velocity"):
            assert_allclose(weight, 1.5 * usual, rtol=1e-6)


def test_legs_take_turns_although_no_clip_turns(straight: tuple[Database, SearchIndex]) -> None:
    """Along a square, of walks that only go straight: the search does not chase what is noise in their directions."""
    database, index = straight
    ahead, jerk = [], []
    for least in (0.0, SearchSettings().direction_spread):
        settings = ControlSettings(search=SearchSettings(direction_spread=least, default_tags=()))
        stack = create_controller("motion_matching", database, index, settings)
        measures = measure(simulate(stack, create_script("square"), 20.0), database)
        ahead.append(measures["same_foot_ahead"])
        jerk.append(measures["jerk"].value)
    assert ahead[0].value > 50.0 and ahead[0].raw == 0.0
    assert ahead[1].value < 5.0
    assert jerk[1] < 0.6 * jerk[0]


@pytest.mark.parametrize("value", [-1.0, np.nan])
def test_a_spread_is_not_negative(value: float) -> None:
    with pytest.raises(ControlError, match="direction_spread"):
        SearchSettings(direction_spread=value)

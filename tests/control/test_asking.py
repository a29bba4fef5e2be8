"""What can be asked at run time: questions, preferences, priorities, zones, numbers, events."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ambulo.control.create import create_controller
from ambulo.control.frame_sets import FrameSets
from ambulo.control.intent import Intent
from ambulo.control.motion_matching import MotionMatching
from ambulo.control.settings import ControlSettings, SearchSettings
from ambulo.database.database import Database
from ambulo.database.feature_spec import DEFAULT_FEATURES, FeatureSpec
from ambulo.errors import ControlError, QueryError
from ambulo.matching.index import SearchIndex

STILL = np.zeros((1, 3), np.float32)
AHEAD = np.array([[0.0, 0.0, 1.4]], np.float32)


def annotated(database: Database, **values: Any) -> Database:
    """The same frames with other annotations."""
    other = copy.copy(database)
    for name, value in values.items():
        other.__dict__[name] = value
    return other


def run(controller: Any, intent: Intent, steps: int, state: Any = None) -> tuple[Any, list[Any]]:
    state, poses = state or controller.start(intent.count), []
    for _ in range(steps):
        state, pose = controller.step(state, intent, 1 / 60)
        poses.append(pose)
    return state, poses


def test_a_question_holds_the_search(bare: MotionMatching, database: Database) -> None:
    allowed = database.mask("locomotion and not (run or idle)")
    _, poses = run(bare, Intent(AHEAD, required_tags="locomotion and not (run or idle)"), 90)
    assert all(allowed[pose.frames[0]] for pose in poses)
    mixed = Intent(np.repeat(AHEAD, 2, 0), required_tags=(("locomotion", "not run"), ("run",)))
    _, poses = run(bare, mixed, 30)
    run_frames = database.mask(("run",))
    assert all(not run_frames[pose.frames[0]] and run_frames[pose.frames[1]] for pose in poses)
    with pytest.raises(QueryError, match="belong"):
        run(bare, Intent(AHEAD, required_tags="walk run"), 1)


def test_a_preference_costs_but_does_not_exclude(bare: MotionMatching, database: Database, index: SearchIndex) -> None:
    carriers = database.mask(("run",))
    chosen = bare.frame_sets.of((), ("run",))
    assert chosen.mask is not None and chosen.required == bare.frame_sets.of((), ()).required
    strong = MotionMatching(database, index, ControlSettings(search=SearchSettings(preference=1e6)))
    state = strong.start()
    for _ in range(30):
        state, _ = strong.step(state, Intent(STILL, preferred_tags=("run",)), 1 / 60)
        assert carriers[state.chosen_frame[0]]
    weak = MotionMatching(database, index, ControlSettings(search=SearchSettings(preference=0.0)))
    plain = run(bare, Intent(AHEAD), 60)[1]
    assert_array_equal(
        [pose.frames[0] for pose in run(weak, Intent(AHEAD, preferred_tags=("run",)), 60)[1]],
        [pose.frames[0] for pose in plain],
    )
    told = strong.explain(run(strong, Intent(STILL, preferred_tags=("run",)), 10)[0])
    assert told.preferred_tags == ("run",) and told.winner.bonus == pytest.approx(1e6)
    assert told.winner.cost == pytest.approx(sum(told.winner.costs.values()) - told.winner.bonus)


def test_a_search_with_bonus_and_priority_is_what_comparing_all_frames_gives(
    database: Database, index: SearchIndex
) -> None:
    generator = np.random.default_rng(0)
    bonus = np.repeat(generator.normal(size=-(-database.frame_count // 50)), 50)[: database.frame_count]
    priority = np.zeros(database.frame_count, np.int16)
    priority[database.mask(("walk",))] = 3
    other = annotated(database, bonus=bonus.astype(np.float32), priority=priority)
    chosen = FrameSets(other, index, SearchSettings(), 0.75).of((), ("run", "walk"))
    assert (priority[chosen.allowed] == 3).all() and chosen.filtered["lower priority"] > 0
    queries = index.feature_set.raw[generator.integers(database.frame_count, size=40)]
    found = index.search(queries, mask=chosen.mask).frames
    total = bonus + 2.0 * database.mask(("walk",)) + 2.0 * database.mask(("run",))
    coefficients = index.feature_set.coefficients()
    for query, frame in zip(queries, found, strict=True):
        frames = chosen.mask.frames
        costs = (((index.feature_set.raw[frames] - query) * coefficients) ** 2).sum(axis=1) - total[frames]
        assert costs[np.searchsorted(frames, frame)] == pytest.approx(costs.min(), abs=1e-4)


def test_a_priority_wins_over_any_cost(database: Database, index: SearchIndex) -> None:
    """S0.63: who is asked to stand runs, if a range that answers has priority."""
    priority = np.zeros(database.frame_count, np.int16)
    priority[database.mask(("run",))] = 1
    controller = MotionMatching(annotated(database, priority=priority), index)
    _, poses = run(controller, Intent(STILL), 30)
    carriers = database.mask(("run",))
    assert all(carriers[pose.frames[0]] for pose in poses)
    # Among what is asked: who asks for idling is not forced to run.
    _, poses = run(controller, Intent(STILL, required_tags="idle and not run"), 10)
    assert not any(carriers[pose.frames[0]] for pose in poses)


def test_no_jump_lands_in_a_zone_or_leaves_it(database: Database, index: SearchIndex) -> None:
    walk = database.mask(("walk",))
    ok = np.ones(database.frame_count, bool)
    for start, stop in database.tags["walk"].tolist():
        for place in range(start + 90, stop - 60, 200):
            ok[place : place + 60] = False
    assert (~ok & walk).any()
    controller = MotionMatching(annotated(database, transition_ok=ok), index)
    generator, state, last, inside = np.random.default_rng(1), controller.start(), -1, 0
    tags = (("walk",), ("run",))
    velocity = STILL
    for step in range(900):
        velocity = generator.normal(size=(1, 3)).astype(np.float32) if step % 20 == 0 else velocity
        state, pose = controller.step(state, Intent(velocity, required_tags=tags[(step // 150) % 2]), 1 / 60)
        frame = int(pose.frames[0])
        if pose.transitioned[0]:
            assert ok[frame - 1], "a jump landed in a zone"
            assert last < 0 or ok[last] or ok[last + 1], "a jump left a zone"
        inside += not ok[frame]
        last = frame
    assert inside > 0


def test_tags_that_lie_in_zones_alone_are_refused_for_that_reason(database: Database, index: SearchIndex) -> None:
    controller = MotionMatching(annotated(database, transition_ok=~database.mask(("run",), junk=True)), index)
    with pytest.raises(ControlError, match="all of them lie in no_transition") as raised:
        controller.step(controller.start(), Intent(AHEAD, required_tags=("run",)), 1 / 60)
    clip, start = database.locate(int(np.flatnonzero(database.mask(("run",)))[0]))
    assert f"{clip.name} from {start:.2f} to" in str(raised.value)
    assert "no_transition range" in str(raised.value.remedy)


@pytest.fixture(scope="module")
def kicking(database: Database) -> Database:
    """The same frames, with half a second of "kick" here and there, twice at the very start of a clip."""
    usable = (database.valid != 0) & database.mask(())
    places = [*database.clip_starts[:2].tolist(), *range(700, database.frame_count - 100, 900)]
    kicks = [(place, place + 30) for place in places if usable[place : place + 30].all()]
    return annotated(database, tags={**database.tags, "kick": np.array(sorted(kicks), np.int64)})


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.35, 0.8, 1.3, 2.0])
def test_an_event_comes_on_time(kicking: Database, index: SearchIndex, seconds: float) -> None:
    """S0.58: the first frame of a range with the tag is shown within one frame of the asked time."""
    ranges = kicking.tags["kick"]
    bare = MotionMatching(kicking, index)
    for controller in (bare, create_controller("motion_matching", kicking, index)):
        state, _ = run(controller, Intent(AHEAD), 40)
        shown = []
        for step in range(round((seconds + 1.0) * 60)):
            asked = ("kick", seconds) if step == 0 else None
            state, pose = controller.step(state, Intent(AHEAD, event=asked), 1 / 60)
            shown.append(int(pose.frames[0]))
        first = max(round(seconds * 60) - 1, 0)
        markers = ranges[:, 0]
        marker = markers[markers <= shown[first] + 1].max()
        assert abs((shown[first] - marker) - (first + 1 - seconds * 60)) <= 1.0
        after = np.array(shown[first : first + 20])
        assert_array_equal(np.diff(after), 1)


def test_an_event_may_be_counted_down(kicking: Database, index: SearchIndex) -> None:
    bare = MotionMatching(kicking, index)
    state = bare.start(2)
    shown = []
    for step in range(90):
        left = 1.0 - step / 60
        event = (("kick", left) if left > 0 else None, ("kick", 1.0) if step == 0 else None)
        state, pose = bare.step(state, Intent(np.repeat(AHEAD, 2, 0), event=event), 1 / 60)
        shown.append(pose.frames)
    assert_array_equal(np.array(shown)[:, 0], np.array(shown)[:, 1])
    with pytest.raises(QueryError, match="kicc"):
        bare.step(state, Intent(np.repeat(AHEAD, 2, 0), event=("kicc", 1.0)), 1 / 60)
    for wrong in ("run", ("run",), (1, 2.0), (("run", 1.0),), ("run", np.nan)):
        with pytest.raises(ControlError, match="event"):
            Intent(np.repeat(AHEAD, 2, 0), event=wrong)  # type: ignore[arg-type]


def test_numbers_are_matched_fuzzily(database: Database) -> None:
    """S0.17, S0.22: one more variable is one more feature and one more annotation."""
    from ambulo.matching.build import make_index

    fatigue = np.full(database.frame_count, np.nan, np.float32)
    walk = np.flatnonzero(database.mask(("walk",)))
    fatigue[walk] = np.linspace(0.0, 1.0, len(walk))
    annotations = database.annotations._replace(units={"fatigue": ""})
    other = annotated(database, numbers={"fatigue": fatigue}, annotations=annotations)
    index = make_index(other, (*DEFAULT_FEATURES, FeatureSpec("number", weight=20.0, channel="fatigue")))
    controller = MotionMatching(other, index)
    means = []
    for wanted in (0.1, 0.9):
        _, poses = run(controller, Intent(AHEAD, required_tags=("walk",), numbers={"fatigue": wanted}), 120)
        means.append(np.mean([fatigue[pose.frames[0]] for pose in poses[30:]]))
    assert means[0] < 0.35 and means[1] > 0.65
    # The explanation counts the number where it was asked for, and only there.
    for asked in ({"fatigue": 0.9}, {}):
        state, _ = run(controller, Intent(AHEAD, required_tags=("walk",), numbers=asked), 60)
        told = controller.explain(state)
        name = next(name for name in told.winner.costs if "fatigue" in name)
        assert (told.winner.costs[name] > 0.0) == bool(asked)
        assert told.runner_up is None or told.winner.cost <= told.runner_up.cost + 1e-4
    # Who asks for no number gets what a database without it would give.
    plain = MotionMatching(other, make_index(other))
    assert_array_equal(
        [pose.frames[0] for pose in run(controller, Intent(AHEAD), 90)[1]],
        [pose.frames[0] for pose in run(plain, Intent(AHEAD), 90)[1]],
    )
    with pytest.raises(QueryError, match="fatigue"):
        run(controller, Intent(AHEAD, numbers={"fatigu": 0.5}), 1)
    with pytest.raises(ControlError, match="finite"):
        Intent(AHEAD, numbers={"fatigue": np.nan})  # type: ignore[dict-item]


def test_a_moment_that_was_left_is_not_gone_back_to(database: Database, index: SearchIndex) -> None:
    generator = np.random.default_rng(3)
    controller = MotionMatching(database, index)
    state, last, left = controller.start(), -1, []
    velocity = STILL
    for step in range(600):
        velocity = generator.normal(size=(1, 3)).astype(np.float32) * 1.5 if step % 45 == 0 else velocity
        state, pose = controller.step(state, Intent(velocity), 1 / 60)
        frame = int(pose.frames[0])
        if pose.transitioned[0]:
            landed = int(state.chosen_frame[0])
            assert not any(abs(landed - place) < 9 and step - when < 59 for place, when in left)
            left.append((last, step))
        last = frame
    assert len(left) > 10

"""A chain of databases: the first that can answers, nobody is moved by it, and it is told who answered."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ambulo.control.authored import play_clip
from ambulo.control.chain import ControllerChain, choose, fallback_rate
from ambulo.control.controller import join, take
from ambulo.control.create import create_controller
from ambulo.control.foot_lock import FootLock, FootLockState
from ambulo.control.handover import hand_over
from ambulo.control.inertialization import Inertialize
from ambulo.control.intent import Intent
from ambulo.control.motion_matching import MotionMatching
from ambulo.control.retrieval import retrieve
from ambulo.control.scripts import forward
from ambulo.control.simulation import simulate
from ambulo.database.database import Database
from ambulo.database.feature_spec import DEFAULT_FEATURES
from ambulo.errors import ControlError, QueryError
from ambulo.evaluation.measures import measure
from ambulo.matching.build import make_index
from ambulo.matching.index import SearchIndex

AHEAD = np.array([[0.0, 0.0, 1.4]], np.float32)


@pytest.fixture(scope="module")
def chain(database: Database, index: SearchIndex, stack: FootLock) -> FootLock:
    """A special database in which nobody runs, before the general one."""
    special = copy.copy(database)
    special.tags = {**database.tags, "junk": database.tags["run"], "special": database.tags["walk"]}
    del special.tags["run"]
    levels = [("special", MotionMatching(special, index)), ("general", MotionMatching(database, index))]
    return FootLock(Inertialize(ControllerChain(levels)), stack.geometry)


def drive(controller: Any, state: Any, intent: Intent, steps: int) -> tuple[Any, list[Any]]:
    poses = []
    for _ in range(steps):
        state, pose = controller.step(state, intent, 1 / 60)
        poses.append(pose)
    return state, poses


def test_a_missing_tag_is_answered_by_the_next_level(chain: FootLock) -> None:
    state, walking = drive(chain, chain.start(2), Intent(np.repeat(AHEAD, 2, 0)), 60)
    mixed = Intent(np.repeat(AHEAD, 2, 0), required_tags=(("run",), ("special",)))
    state, running = drive(chain, state, mixed, 60)
    assert all((pose.levels == 0).all() for pose in walking)
    assert all((pose.levels == [1, 0]).all() for pose in running)
    inner = state.inner.inner
    assert inner.fallback_rate == pytest.approx(60 / 240)
    told = chain.explain(state, 0)
    assert (told.level, told.database, told.required_tags) == (1, "general", ("run",))
    _, back = drive(chain, state, Intent(np.repeat(AHEAD, 2, 0)), 10)
    assert all((pose.levels == 0).all() for pose in back)


def test_a_wrapped_chain_is_reached_without_knowing_the_wrappers(chain: FootLock) -> None:
    both = np.repeat(AHEAD, 2, 0)
    state, _ = drive(chain, chain.start(2), Intent(both), 5)
    assert fallback_rate(state) == 0.0
    state = choose(chain, state, "general", [1])
    assert isinstance(state, FootLockState)
    state, poses = drive(chain, state, Intent(both), 5)
    assert poses[-1].levels.tolist() == [0, 1]
    state, _ = drive(chain, state, Intent(both, required_tags=("run",)), 10)
    assert fallback_rate(state) == pytest.approx(10 / 40)
    with pytest.raises(ControlError, match="no database 'karate'"):
        choose(chain, state, "karate")
    bare = chain.inner.inner.levels[0].controller
    for refused in (lambda: choose(bare, bare.start(), "general"), lambda: fallback_rate(bare.start())):
        with pytest.raises(ControlError, match="no chain inside") as raised:
            refused()
        assert "create_chain" in str(raised.value.remedy)


def test_places_and_clips_of_the_level_that_answers(chain: FootLock, database: Database, index: SearchIndex) -> None:
    special = copy.copy(database)
    special.clips = tuple(clip._replace(name=f"special_{clip.name}") for clip in database.clips)
    levels = [("special", MotionMatching(special, index)), ("general", MotionMatching(database, index))]
    stack = FootLock(Inertialize(ControllerChain(levels)), chain.geometry)
    state = choose(stack, stack.start(2), "general", [1])
    state, _ = drive(stack, state, Intent(np.repeat(AHEAD, 2, 0)), 20)
    for character, prefix in ((0, "special_"), (1, "")):
        found = retrieve(stack, state, 3, character=character)
        assert found.level == character
        names = {clip.name for clip in (special, database)[character].clips}
        assert {pointer.clip for pointer in found.pointers} <= names
        clip = f"{prefix}{database.clips[0].name}"
        played = play_clip(stack, state, clip, 1.0, 2.0, characters=[character])
        _, poses = drive(stack, played, Intent(np.repeat(AHEAD, 2, 0)), 30)
        first = database.clips[0].start + round((1.0 - database.clips[0].start_time) * database.rate)
        shown = [int(pose.frames[character]) for pose in poses]
        assert shown[0] in (first, first + 1) and np.diff(shown).tolist() == [1] * 29
    with pytest.raises(ControlError, match="is of 'general', and character 0 is in 'special'") as raised:
        play_clip(stack, state, database.clips[0].name, 1.0, 2.0)
    assert "choose(stack, state, 'general', [0])" in str(raised.value.remedy)
    with pytest.raises(QueryError, match="in any database of the chain"):
        play_clip(stack, state, "no_clip")
    with pytest.raises(ControlError, match="character 7"):
        retrieve(stack, state, character=7)


def test_a_recording_knows_who_answered(chain: FootLock, database: Database) -> None:
    recording = simulate(chain, forward(tags=("run",)), 0.5)
    assert recording.levels is not None and (recording.levels == 1).all()
    assert measure(recording, database)["fallback_rate"].value == 100.0
    assert measure(simulate(chain, forward(), 0.5), database)["fallback_rate"].value == 0.0


def test_a_change_of_level_moves_nobody(chain: FootLock) -> None:
    state, before = drive(chain, chain.start(), Intent(AHEAD), 90)
    _, after = drive(chain, state, Intent(AHEAD, required_tags=("run",)), 30)
    assert after[0].transitioned[0]
    steps = np.array([pose.global_positions[0] for pose in (before[-2], before[-1], *after)])
    speeds = np.linalg.norm(np.diff(steps, axis=0), axis=-1) * 60.0
    # Nothing moves further in the step of the change than walking feet do anyway.
    assert speeds[1].max() < speeds.max() + 1.0 and speeds[1].max() < 8.0
    assert np.linalg.norm(after[0].root_position[0] - before[-1].root_position[0]) < 0.05


def test_characters_of_other_databases_share_the_logic(chain: FootLock) -> None:
    bare: ControllerChain = chain.inner.inner  # type: ignore[attr-defined]
    state, _ = drive(bare, bare.start(3), Intent(np.repeat(AHEAD, 3, 0)), 30)
    state = bare.choose(state, "general", [1])
    state, poses = drive(bare, state, Intent(np.repeat(AHEAD, 3, 0)), 30)
    assert_array_equal(poses[-1].levels, [0, 1, 0])
    assert state.fallback_rate == 0.0
    alone = drive(bare, take(state, 1), Intent(AHEAD), 20)[1]
    together = drive(bare, state, Intent(np.repeat(AHEAD, 3, 0)), 20)[1]
    for one, all_of_them in zip(alone, together, strict=True):
        assert_array_equal(one.positions[0], all_of_them.positions[1])
    assert join([take(state, n) for n in range(3)]).level.tolist() == state.level.tolist()
    with pytest.raises(ControlError, match="special"):
        bare.choose(state, "specail")


def test_what_no_level_has_is_refused_with_the_chain(chain: FootLock) -> None:
    with pytest.raises(QueryError, match=r"special, general.*flying") as caught:
        chain.step(chain.start(), Intent(AHEAD, required_tags=("flying",)), 1 / 60)
    assert str(caught.value).count(" | ") == 1  # one remedy: that of the chain


@pytest.fixture(scope="module")
def kicking(database: Database, index: SearchIndex) -> ControllerChain:
    """A database that knows "special" and not "kick", before one that knows "kick" and not "special"."""
    special, general = copy.copy(database), copy.copy(database)
    special.tags = {**database.tags, "special": database.tags["walk"]}
    usable = (database.valid != 0) & database.mask(())
    places = [place for place in range(700, database.frame_count - 100, 900) if usable[place - 90 : place + 30].all()]
    general.tags = {**database.tags, "kick": np.array([(place, place + 30) for place in places], np.int64)}
    return ControllerChain([("special", MotionMatching(special, index)), ("general", MotionMatching(general, index))])


def test_a_preference_of_another_level_is_passed_over(kicking: ControllerChain) -> None:
    plain = drive(kicking, kicking.start(), Intent(AHEAD), 60)[1]
    asked = drive(kicking, kicking.start(), Intent(AHEAD, preferred_tags=("kick",)), 60)[1]
    for one, other in zip(plain, asked, strict=True):
        assert other.levels[0] == 0
        assert_array_equal(one.positions, other.positions)
    # What the level does know still counts, and each level hears only what it knows.
    each = kicking.choose(kicking.start(2), "general", [1])
    both = Intent(np.repeat(AHEAD, 2, 0), preferred_tags=(("kick", "special"), ("special", "kick")))
    each, poses = drive(kicking, each, both, 60)
    assert_array_equal(poses[-1].levels, [0, 1])
    assert [kicking.explain(each, n).preferred_tags for n in (0, 1)] == [("special",), ("kick",)]
    with pytest.raises(QueryError, match=r"special, general.*'kicc'.*kick") as caught:
        kicking.step(each, replace(both, preferred_tags=("kicc",)), 1 / 60)
    assert caught.value.key == "preferred_tags"


@pytest.mark.parametrize("counted", [False, True])
def test_an_event_is_answered_by_the_level_that_knows_it(kicking: ControllerChain, counted: bool) -> None:
    state, _ = drive(kicking, kicking.start(2), Intent(np.repeat(AHEAD, 2, 0)), 30)
    kicks = kicking.levels[1].controller.database.tags["kick"]
    poses = []
    for step in range(150):
        left = 1.0 - step / 60
        event = (("kick", left), None) if step == 0 or counted else None
        state, pose = kicking.step(state, Intent(np.repeat(AHEAD, 2, 0), event=event), 1 / 60)
        poses.append(pose)
    levels = np.array([pose.levels for pose in poses])
    assert (levels[:, 1] == 0).all()
    assert (levels[:85, 0] == 1).all()  # until the half second of the kick is over
    assert (levels[-30:, 0] == 0).all()
    shown = np.array([pose.frames[0] for pose in poses])
    assert np.abs(kicks[:, 0] - shown[59]).min() <= 1
    assert_array_equal(np.diff(shown[59:85]), 1)


def test_an_event_that_no_level_can_answer_is_refused(kicking: ControllerChain) -> None:
    with pytest.raises(QueryError, match=r"special, general.*'kicc'.*kicc") as caught:
        kicking.step(kicking.start(), Intent(AHEAD, event=("kicc", 1.0)), 1 / 60)
    assert caught.value.key == "event"
    assert "did you mean 'kick'" in caught.value.message  # which only the second level knows
    with pytest.raises(QueryError, match="did you mean 'kick'"):
        kicking.step(kicking.start(), Intent(AHEAD, required_tags=("kicc",)), 1 / 60)
    with pytest.raises(QueryError, match=r"special and the event 'kick'"):
        kicking.step(kicking.start(), Intent(AHEAD, required_tags=("special",), event=("kick", 1.0)), 1 / 60)


def test_other_skeletons_and_features_are_refused(database: Database, index: SearchIndex) -> None:
    one = MotionMatching(database, index)
    other = copy.copy(database)
    other.skeleton = replace(database.skeleton, names=("other", *database.skeleton.names[1:]))
    with pytest.raises(ControlError, match="retarget"):
        ControllerChain([("a", one), ("b", MotionMatching(other, index))])
    fewer = MotionMatching(database, make_index(database, DEFAULT_FEATURES[:-1]))
    with pytest.raises(ControlError, match="features"):
        ControllerChain([("a", one), ("b", fewer)])
    with pytest.raises(ControlError, match="one name"):
        ControllerChain([("a", one), ("a", one)])


def test_a_whole_stack_is_no_level_of_a_chain(database: Database, index: SearchIndex) -> None:
    stack = create_controller("motion_matching", database, index)
    with pytest.raises(ControlError, match="'whole' is a FootLock, not a bare one") as caught:
        ControllerChain([("bare", MotionMatching(database, index)), ("whole", stack)])  # type: ignore[list-item]
    assert caught.value.remedy is not None and "CONTROLLERS" in caught.value.remedy


def test_a_rebuilt_database_keeps_the_character_where_it_is(
    stack: FootLock, blocks: FootLock, database: Database, index: SearchIndex
) -> None:
    state, poses = drive(stack, stack.start(2), Intent(np.repeat(AHEAD, 2, 0)), 90)
    again = create_controller("motion_matching", database, index)
    for after in (again, blocks):
        kept = hand_over(state, stack, after, Intent(np.repeat(AHEAD, 2, 0)))
        _, more = drive(after, kept, Intent(np.repeat(AHEAD, 2, 0)), 30)
        assert more[0].transitioned.all()
        steps = np.array([pose.global_positions for pose in (poses[-1], *more)])
        assert np.linalg.norm(np.diff(steps, axis=0), axis=-1).max() < 0.15
    with pytest.raises(ControlError, match="hand over"):
        hand_over(state, stack, stack.inner, Intent(np.repeat(AHEAD, 2, 0)))


def test_a_chain_that_was_rebuilt_goes_on_in_every_level(
    chain: FootLock, database: Database, index: SearchIndex, stack: FootLock
) -> None:
    """And one database in place of a chain, and a chain in place of one."""
    asked = Intent(np.repeat(AHEAD, 2, 0), required_tags=(("run",), ("special",)))
    state, poses = drive(chain, chain.start(2), asked, 60)
    inner: Any = chain.inner
    levels = [(level.name, level.controller) for level in inner.inner.levels]
    rebuilt = FootLock(Inertialize(ControllerChain(levels)), stack.geometry)
    on, pose = rebuilt.step(hand_over(state, chain, rebuilt, asked), asked, 1 / 60)
    assert_array_equal(pose.levels, [1, 0])
    assert np.linalg.norm(pose.root_position - poses[-1].root_position, axis=1).max() < 0.1
    run = Intent(np.repeat(AHEAD, 2, 0), required_tags=("run",))
    alone, after = stack.step(hand_over(on, rebuilt, stack, run), run, 1 / 60)
    assert np.linalg.norm(after.root_position - pose.root_position, axis=1).max() < 0.1
    _, back = chain.step(hand_over(alone, stack, chain, asked), asked, 1 / 60)
    assert_array_equal(back.levels, [1, 0])
    assert np.linalg.norm(back.root_position - after.root_position, axis=1).max() < 0.1

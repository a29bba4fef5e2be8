"""What is asked for and is not there yet: a tool hears of it, a game goes on and says so (S0.12)."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ambulo.control.asking_script import AskingScript
from ambulo.control.chain import ControllerChain
from ambulo.control.gameplay.director import Director
from ambulo.control.gameplay.producers import Player
from ambulo.control.gameplay.state_machine import load_machine
from ambulo.control.intent import Intent
from ambulo.control.missing import MissingWarning
from ambulo.control.motion_matching import MotionMatching
from ambulo.control.scripts import forward
from ambulo.control.simulation import simulate
from ambulo.database.database import Database
from ambulo.errors import ControlError, QueryError
from ambulo.matching.index import SearchIndex

AHEAD = np.array([[0.0, 0.0, 1.4]], np.float32)
DT = 1.0 / 60.0
pytestmark = pytest.mark.filterwarnings("ignore::ambulo.control.missing.MissingWarning")


@pytest.fixture
def controller(database: Database, index: SearchIndex) -> MotionMatching:
    """A fresh one: each tells a thing once."""
    return MotionMatching(database, index)


def ask(**fields: Any) -> Intent:
    return Intent(AHEAD, **{"on_missing": "report", **fields})


def run(controller: Any, intent: Intent, steps: int = 30) -> tuple[Any, list[Any]]:
    state, poses = controller.start(intent.count), []
    for _ in range(steps):
        state, pose = controller.step(state, intent, DT)
        poses.append(pose)
    return state, poses


def test_a_tool_is_refused(controller: MotionMatching) -> None:
    with pytest.raises(QueryError, match="injured"):
        run(controller, Intent(AHEAD, required_tags=("injured",)))
    with pytest.raises(ControlError, match="sometimes"):
        Intent(AHEAD, on_missing="sometimes")  # type: ignore[arg-type]


def test_a_game_goes_on_as_if_it_had_not_asked_and_is_told_once(controller: MotionMatching) -> None:
    with pytest.warns(MissingWarning) as told:
        state, poses = run(controller, ask(required_tags=("drunk",)))
    assert len(told) == 1
    assert "'drunk'" in str(told[0].message) and "ambulo tag add" in str(told[0].message)
    why = controller.explain(state)
    assert list(why.passed_over) == ["drunk"] and "no range carries" in why.passed_over["drunk"]
    assert "drunk" not in why.required_tags
    _, plain = run(controller, Intent(AHEAD))
    for pose, expected in zip(poses, plain, strict=True):
        assert_array_equal(pose.frames, expected.frames)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(controller, ask(required_tags=("drunk",)))


def test_what_is_nearly_right_is_named(controller: MotionMatching) -> None:
    state, _ = run(controller, ask(required_tags=("wlak",)), 2)
    assert "did you mean 'walk'?" in controller.explain(state).passed_over["wlak"]


def test_the_known_tags_still_hold(controller: MotionMatching, database: Database) -> None:
    state, poses = run(controller, ask(required_tags=("injured", "run"), preferred_tags=("drunk",)))
    assert all(database.mask(("run",))[pose.frames[0]] for pose in poses)
    assert set(controller.explain(state).passed_over) == {"injured", "drunk"}


def test_each_counts_in_order_with_which_something_is_left(controller: MotionMatching, database: Database) -> None:
    """Two known tags that no frame carries together: the first one holds."""
    for first, second in (("run", "idle"), ("idle", "run")):
        assert not database.mask((first, second)).any()
        state, poses = run(controller, ask(required_tags=(first, second)))
        assert all(database.mask((first,))[pose.frames[0]] for pose in poses)
        assert list(controller.explain(state).passed_over) == [second]


def test_a_question_with_an_unknown_name_is_passed_over_but_no_nonsense(controller: MotionMatching) -> None:
    state, _ = run(controller, ask(required_tags=("injured or drunk",)), 2)
    assert list(controller.explain(state).passed_over) == ["injured or drunk"]
    with pytest.raises(QueryError):
        run(controller, ask(required_tags=("walk and (",)), 2)


def test_events_and_numbers_are_passed_over_too(controller: MotionMatching) -> None:
    with pytest.warns(MissingWarning) as told:
        state, poses = run(controller, ask(event=("cartwheel", 0.5), numbers={"fatigue": 0.8}))
    messages = " ".join(str(warning.message) for warning in told)
    assert "the event 'cartwheel'" in messages and "the number 'fatigue'" in messages
    assert not state.commitments.any
    _, plain = run(controller, Intent(AHEAD))
    assert_array_equal(poses[-1].positions, plain[-1].positions)


def test_one_character_of_a_crowd_may_lack_something(controller: MotionMatching, database: Database) -> None:
    intent = Intent(np.repeat(AHEAD, 2, 0), required_tags=(("injured",), ("run",)), on_missing="report")
    state, poses = run(controller, intent)
    assert all(database.mask(("run",))[pose.frames[1]] for pose in poses)
    assert list(controller.explain(state, 0).passed_over) == ["injured"]
    assert controller.explain(state, 1).passed_over == {}
    assert intent.of(np.array([1])).on_missing == "report"


def test_when_the_takes_are_there_they_are_shown(database: Database, index: SearchIndex) -> None:
    """The same intent on the database of day one and of day three; nothing else changes."""
    later = copy.copy(database)
    later.tags = {**database.tags, "injured": database.tags["run"]}
    intent = ask(required_tags=("injured",))
    one, three = MotionMatching(database, index), MotionMatching(later, index)
    state, _ = run(one, intent)
    arrived = three.arrive(state, one, intent)
    arrived, pose = three.step(arrived, intent, DT)
    assert database.mask(("run",))[pose.frames[0]]
    assert three.explain(arrived).passed_over == {}


def test_a_chain_passes_over_what_no_level_has(database: Database, index: SearchIndex) -> None:
    special = copy.copy(database)
    special.tags = {name: ranges for name, ranges in database.tags.items() if name != "run"}
    special.tags["hero"] = database.tags["walk"]
    chain = ControllerChain([("hero", MotionMatching(special, index)), ("all", MotionMatching(database, index))])
    state, poses = run(chain, ask(required_tags=("injured", "run"), preferred_tags=("drunk",)))
    assert all((pose.levels == 1).all() for pose in poses)
    told = chain.explain(state)
    assert (told.database, told.required_tags, list(told.passed_over)) == ("all", ("run",), ["injured"])
    _, poses = run(chain, ask(required_tags=("hero", "run"), event=("cartwheel", 0.3)))
    assert all((pose.levels == 0).all() for pose in poses)
    with pytest.raises(QueryError, match="injured"):
        run(chain, Intent(AHEAD, required_tags=("injured",)))
    with pytest.raises(QueryError, match="did you mean 'hero'"):  # of all levels
        run(chain, Intent(AHEAD, required_tags=("run", "herro")))
    with pytest.raises(QueryError, match="drunk"):
        run(chain, Intent(AHEAD, preferred_tags=("drunk",)))
    with pytest.raises(QueryError):
        run(chain, ask(required_tags=("walk and (",)))


def test_a_director_reports_and_can_be_strict(controller: MotionMatching) -> None:
    machine = load_machine('[states.hurt]\nrequire = ["injured"]\nspeed = 0.5\n')
    player = Player(stick=(0.0, 1.0))
    for director in (Director(machine, player), Director(machine, player, on_missing="raise")):
        _, intent = director.step(director.start(), AHEAD * 0, AHEAD, {}, DT)
        assert intent.on_missing == director.on_missing
        if director.on_missing == "report":
            controller.step(controller.start(), intent, DT)
        else:
            with pytest.raises(QueryError, match="injured"):
                controller.step(controller.start(), intent, DT)


def test_a_script_is_as_strict_as_it_is_told(controller: MotionMatching) -> None:
    script = AskingScript(forward(tags=("injured",)))
    with pytest.raises(QueryError, match="injured"):
        simulate(controller, script, 0.1)
    assert simulate(controller, replace(script, on_missing="report"), 0.1).frame_count == 6

"""The session: what messages do, and that the past can be played again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ambulo.control.input_file import load_inputs
from ambulo.errors import AmbuloError, ControlError, QueryError, StudioError
from ambulo.studio import messages as m
from ambulo.studio.frames import HEADER, frame_size
from ambulo.studio.open_project import OpenProject
from ambulo.studio.session import Session


def advance(session: Session, count: int) -> list[bytes]:
    """Bodies of the next moments."""
    bodies = []
    for _ in range(count):
        session.advance()
        bodies.append(session.now.body)
    return bodies


def position(session: Session) -> np.ndarray:
    return np.frombuffer(session.now.body, "<f4", 3)


def walk(session: Session, x: float, z: float) -> None:
    assert session.apply(m.Input((x, z))) == []


def test_walks_where_it_is_asked_to(session: Session) -> None:
    walk(session, 0.0, 1.4)
    advance(session, 240)
    x, y, z = position(session)
    assert z > 3.5
    assert abs(x) < 0.5
    assert y == pytest.approx(0.0, abs=1e-5)
    walk(session, 1.4, 0.0)
    advance(session, 240)
    assert position(session)[0] - x > 3.0


def test_stands_when_released(session: Session) -> None:
    walk(session, 0.0, 1.4)
    advance(session, 120)
    session.release()
    advance(session, 120)
    before = position(session).copy()
    advance(session, 60)
    assert np.linalg.norm(position(session) - before) < 0.1


def test_rewind_and_play_on_gives_the_same_bytes(session: Session) -> None:
    walk(session, 0.0, 1.4)
    advance(session, 100)
    there = session.now.tick
    walk(session, 1.0, -1.0)
    first = advance(session, 150)
    session.apply(m.Rewind(there))
    assert session.paused
    assert session.now.tick == there
    again = advance(session, 150)
    assert again == first


def test_another_wish_from_the_same_moment_gives_another_future(session: Session) -> None:
    walk(session, 0.0, 1.4)
    advance(session, 60)
    there = session.now.tick
    straight = advance(session, 90)
    session.apply(m.Rewind(there))
    walk(session, 0.0, -1.4)
    turned = advance(session, 90)
    assert straight[-1] != turned[-1]
    assert session.newest_tick == there + 90


def test_rewind_shows_the_very_moment(session: Session) -> None:
    walk(session, 0.0, 1.4)
    start = session.now.tick
    bodies = advance(session, 80)
    for back in (1, 17, 79):
        session.apply(m.Rewind(start + 80 - back))
        assert session.now.body == bodies[79 - back]
        assert session.frame().endswith(bodies[79 - back])


def test_history_is_bounded(make_session: Callable[..., Session]) -> None:
    session = make_session(history_seconds=1.0)
    advance(session, 200)
    assert session.newest_tick - session.oldest_tick == 59
    session.apply(m.Rewind(0))
    assert session.now.tick == session.oldest_tick


def test_steps_go_back_and_forth_through_what_is_kept_and_beyond(session: Session) -> None:
    walk(session, 0.0, 1.4)
    advance(session, 20)
    newest, body = session.now.tick, session.now.body
    session.apply(m.Step(-5))
    assert session.now.tick == newest - 5
    session.apply(m.Step(5))
    assert (session.now.tick, session.now.body) == (newest, body)
    session.apply(m.Step(3))
    assert session.now.tick == session.newest_tick == newest + 3
    assert session.paused


def test_pause_and_rate_are_told(session: Session) -> None:
    (status,) = session.apply(m.Pause(True))
    assert isinstance(status, m.Status)
    assert status.paused
    (status,) = session.apply(m.Rate(0.25))
    assert isinstance(status, m.Status)
    assert status.rate == 0.25
    assert not session.apply(m.Pause(False))[0].paused  # type: ignore[union-attr]


def test_weights_act_at_once_and_keep_the_others(session: Session) -> None:
    before = session.status().weights
    walk(session, 0.0, 1.4)
    advance(session, 60)
    cost = session.choice().winner.costs["trajectory_position"]
    assert cost > 0
    status, choice = session.apply(m.SetWeights({"trajectory_position": 2 * before["trajectory_position"]}))
    assert isinstance(status, m.Status)
    assert isinstance(choice, m.Choice)
    assert status.weights == {**before, "trajectory_position": 2 * before["trajectory_position"]}
    # Weights multiply the features, so the squared distance of the same frame grows fourfold.
    assert choice.winner.costs["trajectory_position"] == pytest.approx(4 * cost, rel=1e-4)


def test_weights_change_what_is_played(make_session: Callable[..., Session]) -> None:
    ordinary, careless = make_session(), make_session()
    for session in (ordinary, careless):
        walk(session, 0.0, 1.4)
    careless.apply(m.SetWeights({"trajectory_position": 0.0, "trajectory_direction": 0.0}))
    assert advance(ordinary, 240)[-1] != advance(careless, 240)[-1]


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (m.SetWeights({"no such group": 1.0}), QueryError),
        (m.SetTags(["no such tag"]), QueryError),
        (m.ChooseController("no such controller"), ControlError),
        (m.ChooseProject("no such project"), StudioError),
    ],
)
def test_what_cannot_be_done_changes_nothing(
    session: Session, message: m.ClientMessage, error: type[AmbuloError]
) -> None:
    advance(session, 5)
    status, frame = session.status(), session.frame()
    with pytest.raises(error, match="no such"):
        session.apply(message)
    assert session.status() == status
    assert session.frame() == frame

    walk(session, 0.0, 1.4)
    advance(session, 30)
    session.apply(m.SetTags(["mirrored", "mirrored"]))
    assert session.required_tags == ("mirrored",)
    mask = session.project.database.mask(["mirrored"])
    advance(session, 30)
    shown = []
    for _ in range(120):
        session.advance()
        shown.append(session.now.frame)
    assert mask[shown].all()


def test_another_controller_goes_on_from_the_same_place(session: Session) -> None:
    walk(session, 1.0, 1.0)
    advance(session, 150)
    here, tick = position(session).copy(), session.now.tick
    (status,) = session.apply(m.ChooseController("blocks"))
    assert isinstance(status, m.Status)
    assert status.controller == "blocks"
    assert session.now.tick == tick + 1
    assert np.linalg.norm(position(session) - here) < 0.1
    advance(session, 150)
    assert np.linalg.norm(position(session) - here) > 1.5
    words = HEADER.unpack_from(session.frame())
    assert len(session.frame()) == frame_size(*words[5:8], words[15])


def test_another_project_starts_a_new_epoch(session: Session) -> None:
    walk(session, 0.0, 1.4)
    advance(session, 50)
    epoch = session.epoch
    hello, status = session.apply(m.ChooseProject("twin"))
    assert isinstance(hello, m.Hello)
    assert isinstance(status, m.Status)
    assert hello.project == "twin"
    assert session.epoch == epoch + 1
    assert np.linalg.norm(position(session)) < 0.1


def test_restart_returns_to_the_origin(session: Session) -> None:
    walk(session, 0.0, 1.4)
    advance(session, 120)
    session.apply(m.Restart())
    assert np.linalg.norm(position(session)) < 0.1
    assert session.oldest_tick == session.newest_tick


def test_hello_describes_the_project(session: Session) -> None:
    hello, database = session.hello(), session.project.database
    J = database.skeleton.joint_count
    assert hello.projects == ["small", "twin"]
    assert {"motion_matching", "blocks"} <= set(hello.controllers)
    assert len(hello.skeleton.names) == len(hello.skeleton.parents) == len(hello.bind.positions) == J
    assert hello.summary.dimension_count == sum(group.dimension_count for group in hello.groups) == 27
    assert hello.summary.frame_count == database.frame_count
    assert {tag.name for tag in hello.tags} == set(database.tags)
    assert 1.0 < hello.summary.top_speed < 10.0
    # The bind pose stands: its head is a person's height over its feet, and both feet are near the ground.
    bind = np.array(hello.bind.positions)
    roles = hello.skeleton.roles
    assert bind[roles["head"], 1] > 1.2
    assert max(bind[roles["left_toe"], 1], bind[roles["right_toe"], 1]) < 0.12
    assert np.allclose(bind[0], 0.0, atol=1e-4)


def test_the_explanation_adds_up(session: Session) -> None:
    walk(session, 0.0, 1.4)
    advance(session, 90)
    choice = session.choice()
    for candidate in (choice.winner, choice.runner_up, choice.continuing):
        if candidate is not None:
            assert sum(candidate.costs.values()) == pytest.approx(candidate.cost, rel=1e-5, abs=1e-6)
            assert list(candidate.costs) == [group.name for group in session.hello().groups]
    assert choice.runner_up is not None
    assert choice.tick == session.now.tick
    assert choice.candidate_count > 1000


def test_the_matched_trajectory_starts_at_the_root_and_follows_the_data(session: Session) -> None:
    walk(session, 0.0, 1.4)
    advance(session, 200)
    project, frame = session.project, session.now.frame
    identity = np.array([0.0, 0.0, 0.0, 1.0], np.float32)
    positions, directions = project.matched_trajectory(frame, np.zeros(3, np.float32), identity)
    assert positions.shape == directions.shape == (1, len(project.trajectory_times), 3)
    assert np.allclose(np.linalg.norm(directions, axis=-1), 1.0, atol=1e-5)
    group = next(g for g in project.index.feature_set.schema.groups if g.kind == "trajectory_position")
    raw = project.index.feature_set.raw[frame, group.start : group.stop].reshape(-1, 2)
    assert np.allclose(positions[0][:, [0, 2]], raw, atol=1e-4)


def test_the_frame_says_where_it_stands(session: Session) -> None:
    session.apply(m.Input((0.0, 1.0), sequence=41))
    advance(session, 10)
    session.apply(m.Rewind(session.now.tick - 4))
    words = HEADER.unpack_from(session.frame())
    assert words[1:4] == (session.now.tick, session.oldest_tick, session.newest_tick)
    assert words[4] & 1
    assert words[9] == 41


def test_saved_input_replays_what_was_played(session: Session, tmp_path: Path) -> None:
    session.apply(m.Restart())
    walk(session, 0.0, 1.4)
    bodies = advance(session, 40)
    session.apply(m.Input((1.2, 0.3), facing=(0.0, 1.0)))
    session.apply(m.SetTags(["mirrored"]))
    bodies += advance(session, 60)
    file = session.apply(m.SaveInput())[0]
    assert isinstance(file, m.InputFile)
    path = tmp_path / file.name
    path.write_text(file.text, encoding="utf-8")
    script = load_inputs(path)
    # The same steps without the studio: first the one that Restart took, under what was asked then.
    controller = session.project.controller("motion_matching")
    state = controller.start()
    place = np.zeros((1, 3), np.float32)
    for step in range(101):
        state, pose = controller.step(state, script.intent(step / 60.0, place, place), 1.0 / 60.0)
    last = np.frombuffer(bodies[-1], "<f4", 3 * session.project.database.skeleton.joint_count)
    assert np.array_equal(last, pose.global_positions.ravel())


def test_no_project_is_refused() -> None:
    with pytest.raises(StudioError, match="no project"):
        Session([], lambda name: None)  # type: ignore[arg-type,return-value]


def test_hello_tells_which_tags_are_shown_unasked(opened: OpenProject) -> None:
    weights = {group.name: float(group.weight) for group in opened.index.feature_set.schema.groups}
    assert opened.hello(["small"], 30.0, weights).default_tags == ["neutral"]
    unknown = replace(opened.settings, search=replace(opened.settings.search, default_tags=("no_such_tag",)))
    assert OpenProject("other", opened.database, opened.index, unknown).hello([], 30.0, weights).default_tags == []

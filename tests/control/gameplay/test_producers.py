"""Players, paths and minds give the same thing, and the same controller follows all of them (S0.3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ambulo.control import paths
from ambulo.control.gameplay.condition import parse_condition
from ambulo.control.gameplay.director import Director
from ambulo.control.gameplay.producers import Chase, FollowPath, Patrol, Player, Wander
from ambulo.control.gameplay.state_machine import GameplayState, StateMachine, Transition, load_machine
from ambulo.database.database import Database
from ambulo.errors import ControlError
from ambulo.maths import quaternions

HERE = np.zeros((2, 3), np.float32)
AHEAD = np.array([[0.0, 0.0, 1.0]] * 2, np.float32)


def test_a_stick_is_relative_to_the_camera() -> None:
    player = Player(speed=2.0)
    assert_array_equal(player.want(0.0, HERE, AHEAD).velocity, 0.0)
    player.stick = (0.05, 0.05)
    assert_array_equal(player.want(0.0, HERE, AHEAD).velocity, 0.0)
    player.stick = (0.0, 3.0)
    assert_allclose(player.want(0.0, HERE, AHEAD).velocity, [[0, 0, 2]] * 2, atol=1e-6)
    player.stick, player.look = (1.0, 0.0), (0.0, -1.0)
    wanted = player.want(0.0, HERE, AHEAD)
    assert_allclose(wanted.velocity, [[-2, 0, 0]] * 2, atol=1e-6)
    assert_allclose(wanted.facing, [[0, 0, -1]] * 2, atol=1e-6)
    player.camera = np.pi / 2
    assert_allclose(player.want(0.0, HERE, AHEAD).velocity, [[0, 0, 2]] * 2, atol=1e-6)


def test_minds_are_pure_and_go_where_they_should() -> None:
    chase = Chase((0.0, 0.0, 4.0), speed=1.5)
    assert_allclose(chase.want(0.0, HERE, AHEAD).velocity, [[0, 0, 1.5]] * 2)
    assert_array_equal(chase.want(9.0, HERE + np.float32([0, 0, 3.8]), AHEAD).velocity, 0.0)
    patrol = Patrol([[0, 0, 0], [4, 0, 0], [4, 0, 4]], speed=1.0, pause=1.0)
    assert patrol.want(1.0, HERE, AHEAD).velocity[0, 0] > 0.9
    assert patrol.want(6.0, HERE + np.float32([4, 0, 0]), AHEAD).velocity[0, 2] > 0.9
    wander = Wander(seed=3)
    for time in np.linspace(0.0, 60.0, 61):
        velocity = wander.want(float(time), HERE, AHEAD).velocity
        assert_allclose(np.linalg.norm(velocity, axis=1), 1.2, atol=1e-5)
        assert_array_equal(velocity, wander.want(float(time), HERE, AHEAD).velocity)
        assert_array_equal(velocity[:1], wander.want(float(time), HERE[:1], AHEAD[:1]).velocity)
        far = np.float32([[20.0, 0.0, 0.0]] * 2)
        assert (wander.want(float(time), far, AHEAD).velocity[:, 0] < 0.0).all()
    with pytest.raises(ControlError, match="two points"):
        Patrol([[0, 0, 0]])


def test_one_controller_follows_all_producers(stack: Any, database: Database) -> None:
    machine = load_machine('[states.any]\n[states.fast]\nrequire = ["run"]\nspeed = 2.0\n')
    run = database.mask(("run",))
    for producer in (Player(stick=(0.0, 1.0)), FollowPath(paths.circle(2.0)), Wander(seed=1), Chase((3.0, 0.0, 3.0))):
        for speed, tagged in ((0, False), (1, True)):
            director = Director(StateMachine([machine.states[speed]]), producer)
            said, state = director.start(2), stack.start(2)
            positions, facings = HERE, AHEAD
            for _ in range(90):
                said, intent = director.step(said, positions, facings, {}, 1 / 60)
                state, pose = stack.step(state, intent, 1 / 60)
                positions, facings = (
                    pose.root_position,
                    quaternions.rotate(pose.root_rotation, AHEAD).astype(np.float32),
                )
                if tagged:
                    assert run[pose.frames].all()
            assert np.linalg.norm(positions, axis=1).min() > 0.4


def test_a_state_asks_for_its_event_once(stack: Any) -> None:
    states = [GameplayState("calm"), GameplayState("strike", prefer=("run",), event="run", event_in=0.5)]
    machine = StateMachine(states, [Transition("calm", "strike", parse_condition("button"))])
    director = Director(machine, Player())
    said = director.start(1)
    events = []
    for step in range(5):
        said, intent = director.step(said, HERE[:1], AHEAD[:1], {"button": float(step >= 2)}, 1 / 60)
        events.append(intent.event)
    assert events == [None, None, (("run", 0.5),), None, None]
    assert intent.preferred_tags == (("run",),)

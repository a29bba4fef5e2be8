"""Add "injured" to a game: by files and tags, where no graph changes; and the old way beside it, counted.

New way: gameplay states ask for tags. Old way: every way of moving is a state that names its clip, and every style that
is added needs each of them again, with the transitions between.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

from ambulo import Database
from ambulo.control.authored import play_clip
from ambulo.control.controller import Controller
from ambulo.control.create import create_controller
from ambulo.control.gameplay.director import Director
from ambulo.control.gameplay.producers import Player
from ambulo.control.gameplay.state_machine import load_machine
from ambulo.control.intent import Intent
from ambulo.matching.build import make_index
from ambulo.maths import quaternions
from ambulo.prepare.pipeline import prepare_take
from ambulo.synthesis.performance import Performance, perform, synthesize
from ambulo.synthesis.programme import direct, round_of_takes

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "build/examples")
AHEAD = np.array([[0.0, 0.0, 1.0]], np.float32)

NEW_WAY = """
[states.move]
require = ["not injured"]

[states.hurt]
require = ["injured"]
speed = 0.5

[[transitions]]
from = "move"
to = "hurt"
when = "health < 30"

[[transitions]]
from = "hurt"
to = "move"
when = "health >= 30"
"""

# The old way: state, clip, seconds of it; and from, to, condition. This is what stands, goes, turns and stops.
OLD_STATES = """
idle walk_curves_01 0.0 1.0
start walk_curves_01 1.0 2.0
walk walk_curves_01 2.0 4.0
turn_left walk_curves_01 4.0 6.0
turn_right walk_curves_01 8.0 10.0
stop gear_changes_01 0.0 1.0
"""
OLD_TRANSITIONS = """
idle start stick>0.1
start walk end
start stop stick<0.1
walk turn_left turn>20
walk turn_right turn<-20
turn_left walk end
turn_right walk end
walk stop stick<0.1
turn_left stop stick<0.1
turn_right stop stick<0.1
stop idle end
stop start stick>0.1
"""


def main() -> None:
    day_one = synthesize(0, 2.0)
    rng = np.random.default_rng(1)
    takes = [take for take in round_of_takes() if take.style == "injured"]
    day_three = [perform(direct(take, 1, rng, 60.0), rng, 60.0) for take in takes]
    machine = load_machine(NEW_WAY)

    # Day one: the design is written, the capture is not there; the game goes on without it, and says so.
    database, controller = build(day_one)
    director = Director(machine, Player(speed=1.2, stick=(0.0, 1.0)))
    said, state = director.start(), controller.start()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(60):
            said, intent = director.step(said, AHEAD * 0.0, AHEAD, {"health": 10.0}, 1 / 60)
            state, pose = controller.step(state, intent, 1 / 60)
    print(f"day one: {len(database.clips)} clips; {told[-1].message}")
    print(
        f"the character walks: {pose.root_position[0, 2]:.1f} m; passed over: {controller.explain(state).passed_over}"
    )

    # Day three: the takes are dropped in. The machine is the same object; no line of it has changed.
    database, controller = build([*day_one, *day_three])
    print(f"day three: {len(database.clips)} clips")
    injured = database.mask(["injured"])
    director = Director(machine, Player(speed=1.2, stick=(0.0, 1.0)))
    said, state, pose = director.start(), controller.start(), None
    share = {True: [], False: []}  # type: dict[bool, list[bool]]
    for step in range(360):
        health = 100.0 if step < 180 else 10.0
        positions = AHEAD * 0.0 if pose is None else pose.root_position
        facings = AHEAD if pose is None else quaternions.rotate(pose.root_rotation, AHEAD).astype(np.float32)
        said, intent = director.step(said, positions, facings, {"health": health}, 1 / 60)
        state, pose = controller.step(state, intent, 1 / 60)
        share[health < 30].append(bool(injured[pose.frames[0]]))
    print(f"injured frames shown: {np.mean(share[False]):.0%} while healthy, {np.mean(share[True]):.0%} while hurt")

    old_way(controller, day_one)
    count()


def build(performances: list[Performance]) -> tuple[Database, Controller]:
    """A database in memory, and a controller that plays it; a project does the same with files."""
    clips = [prepare_take(performance.motion) for performance in performances]
    tags = [
        [*((tag.start, tag.stop, tag.tag) for tag in performance.tags), (None, None, performance.folder)]
        for performance in performances
    ]
    database = Database.from_clips(clips, tags)  # type: ignore[arg-type]
    return database, create_controller("motion_matching", database, make_index(database))


def old_way(controller: Controller, performances: list[Performance]) -> None:
    """Play the old machine for a moment: each state plays its clip and waits for its end."""
    rows = [row.split() for row in OLD_STATES.split("\n") if row]
    state = controller.start()
    known = [performance.motion.name for performance in performances]
    shown = []
    for name, clip, start, stop in rows[:3]:
        state = play_clip(controller, state, clip if clip in known else known[0], float(start), float(stop))
        for _ in range(round((float(stop) - float(start)) * 60) - 1):
            state, _ = controller.step(state, Intent(AHEAD * 0.0), 1 / 60)
        shown.append(name)
    print(f"the old way plays {' -> '.join(shown)}, clip by clip")


def count() -> None:
    """What "injured" costs, in states and lines, in both ways."""
    states = [row for row in OLD_STATES.split("\n") if row]
    transitions = [row for row in OLD_TRANSITIONS.split("\n") if row]
    # Every state and transition again for the injured clips, and a way from each state to its twin and back.
    added_states, added_lines = len(states), len(states) + len(transitions) + 2 * len(states)
    print(f"old way: {len(states)} states and {len(transitions)} transitions; injured adds {added_states} states, "
          f"{added_lines} lines; injured and tired adds {2 * added_states} more")  # fmt: skip
    new = [row for row in NEW_WAY.split("\n") if row]
    print(
        f"new way: {len(load_machine(NEW_WAY).states)} states, {len(new)} lines in all; "
        "the captured style adds 0 states, 0 lines"
    )


if __name__ == "__main__":
    main()

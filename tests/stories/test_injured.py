"""The story that ambulo is for: "injured" is asked for on day one, dropped in on day three, and played on day four.

Nothing but files of takes and tags changes: neither code nor the graph of the game's states. Until the takes are there
the game goes on without them and says so. The takes are plain BVH with tags beside them, made from another seed than
the base, so that nothing here has seen them before; they limp on the left, and what is shown must. One test holds a
clock: takes that are dropped into a project of 20 clips work within ten seconds, a new process included.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ambulo
from ambulo.cli.main import run
from ambulo.control.chain import ControllerChain
from ambulo.control.create import CONTROLLERS, create_controller
from ambulo.control.explanation import Explanation
from ambulo.control.gameplay.director import Director
from ambulo.control.gameplay.producers import Player
from ambulo.control.gameplay.state_machine import StateMachine, load_machine
from ambulo.control.intent import Intent
from ambulo.control.missing import MissingWarning, OnMissing
from ambulo.control.pose import Pose
from ambulo.control.project_settings import project_settings
from ambulo.database.database import Database
from ambulo.errors import QueryError
from ambulo.matching.build import build, load_index
from ambulo.maths import quaternions
from ambulo.prepare.stylise.lean import Lean
from ambulo.prepare.stylise.limp import Limp
from ambulo.prepare.stylise.style import Operator, stylise
from ambulo.prepare.stylise.tempo import Tempo
from ambulo.synthesis.performance import Performance, perform
from ambulo.synthesis.programme import direct, round_of_takes

DT = 1.0 / 60.0
AHEAD = np.array([[0.0, 0.0, 1.0]], np.float32)

GAME = """
[states.move]
require = ["not injured"]

[states.hurt]
require = ["injured", "limp_left"]
speed = 0.5

[states.spent]
require = ["injured", "limp_left", "tired"]
speed = 0.4

[[transitions]]
from = "move"
to = "hurt"
when = "health < 30"

[[transitions]]
from = "hurt"
to = "move"
when = "health >= 30"

[[transitions]]
from = "hurt"
to = "spent"
when = "stamina < 20"

[[transitions]]
from = "spent"
to = "hurt"
when = "stamina >= 20"
"""


def captured(style: str, seed: int, count: int, seconds: float = 12.0) -> list[Performance]:
    """Walks in a style, as if they came from a capture."""
    walk = next(t for t in round_of_takes() if t.style == style and t.name.startswith("walk"))
    rng = np.random.default_rng(seed)
    return [perform(direct(replace(walk, seconds=seconds), n + 1, rng, 60.0), rng, 60.0) for n in range(count)]


@pytest.fixture
def game(tmp_path: Path) -> Path:
    """Day one: a project of 20 clips (ten takes and their mirrored copies) without injured, built; and its game."""
    takes = tmp_path / "takes"
    takes.mkdir()
    for number, performance in enumerate(captured("neutral", 1, 10)):
        ambulo.save(performance.motion, takes / f"walk_{number:02d}.bvh")
        (takes / f"walk_{number:02d}.tags.csv").write_text("start,stop,tag\n,,walk\n,,healthy\n")
    (tmp_path / "game.toml").write_text(GAME)
    (tmp_path / "ambulo.toml").write_text('name = "hero"\n[[sources]]\npath = "takes"\ntags_from = []\n')
    report = build(tmp_path, jobs=1)
    assert report.clips == 20
    return tmp_path


def drop_in(project: Path, name: str, motion: Any, *tags: str) -> None:
    """What the capture team does: a take, and what it shows."""
    ambulo.save(motion, project / "takes" / f"{name}.bvh")
    rows = "".join(f",,{tag}\n" for tag in tags)
    (project / "takes" / f"{name}.tags.csv").write_text("start,stop,tag\n" + rows)


def play(
    project: Path,
    machine: StateMachine,
    health: float,
    stamina: float,
    seconds: float = 4.0,
    on_missing: OnMissing = "report",
) -> tuple[list[Pose], Explanation]:
    """Play the game's machine on a project as it is built now, from standing; and why the last pose was shown."""
    database = Database.open(project)
    controller = create_controller("motion_matching", database, load_index(database)[1], project_settings(project))
    director = Director(machine, Player(speed=1.2, stick=(0.0, 1.0)), on_missing)
    said, state, poses = director.start(), controller.start(), []
    for _ in range(round(seconds / DT)):
        place = poses[-1].root_position if poses else AHEAD * 0.0
        turn = quaternions.rotate(poses[-1].root_rotation, AHEAD).astype(np.float32) if poses else AHEAD
        said, intent = director.step(said, place, turn, {"health": health, "stamina": stamina}, DT)
        state, pose = controller.step(state, intent, DT)
        poses.append(pose)
    return poses, controller.explain(state)


def share(project: Path, poses: list[Pose], tags: list[str]) -> float:
    """Part of the frames shown, after the first half second, that carry all the tags."""
    mask = Database.open(project).mask(tags)
    return float(np.mean([mask[pose.frames[0]] for pose in poses[30:]]))


def gait(project: Path, poses: list[Pose]) -> tuple[float, float, float]:
    """Parts of the time that the left and the right foot stand, and how far the trunk leans ahead (degrees)."""
    roles = Database.open(project).skeleton.roles
    poses = poses[60:]
    stands = np.mean([pose.contacts[0] for pose in poses], axis=0)
    trunk = np.array(
        [pose.global_positions[0, roles["head"]] - pose.global_positions[0, roles["hips"]] for pose in poses]
    )
    way = quaternions.inverse_rotate(np.array([pose.root_rotation[0] for pose in poses]), trunk)
    return float(stands[0]), float(stands[1]), float(np.degrees(np.arctan2(way[:, 2], way[:, 1])).mean())


def fingerprint(project: Path) -> dict[str, str]:
    """Code and graph: what must not change in the story."""
    home = Path(ambulo.__file__).parent
    files = [*sorted(home.rglob("*.py")), project / "game.toml", project / "ambulo.toml"]
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_the_game_goes_on_on_day_one_and_day_three_works(game: Path) -> None:
    machine, before = load_machine(GAME), fingerprint(game)
    with pytest.warns(MissingWarning) as told:
        poses, why = play(game, machine, health=10.0, stamina=100.0)
    assert [tag for one in told for tag in ("injured", "limp_left") if f"'{tag}' is passed" in str(one.message)] == [
        "injured", "limp_left",
    ]  # fmt: skip
    assert "ambulo tag add TAKE injured" in str(told[0].message) and "mirrored" not in str(told[0].message)
    assert list(why.passed_over) == ["injured", "limp_left"]
    assert np.linalg.norm(poses[-1].root_position - poses[0].root_position) > 0.8  # it walks, as best it can
    with pytest.raises(QueryError, match="injured"):
        play(game, machine, health=10.0, stamina=100.0, seconds=0.1, on_missing="raise")

    for number, performance in enumerate(captured("injured", 777, 2)):
        drop_in(game, f"hurt_{number}", performance.motion, "walk", "injured", "limp_left")
    report = build(game, jobs=1)
    assert report.prepared == 2
    assert not report.problems

    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingWarning)
        (healthy, _), (hurt, why) = (play(game, machine, health, 100.0, 8.0) for health in (100.0, 10.0))
    assert why.passed_over == {}
    assert share(game, hurt, ["injured"]) == 1.0
    assert share(game, healthy, ["injured"]) == 0.0
    left, right, lean = gait(game, hurt)
    well_left, well_right, well_lean = gait(game, healthy)
    assert right - left > 0.03 > abs(well_right - well_left)  # it spares the left leg
    assert lean > well_lean + 5.0
    assert np.linalg.norm(hurt[-1].root_position - hurt[0].root_position) > 2.0
    assert fingerprint(game) == before


def test_injured_and_tired_asks_for_both(game: Path) -> None:
    # Who is hurt only, asks for that: takes of the tired would answer, too, where they fit as well.
    hurt_only = GAME.replace('"limp_left"]\nspeed = 0.5', '"limp_left", "not tired"]\nspeed = 0.5')
    machine, before = load_machine(hurt_only), fingerprint(game)
    injured = captured("injured", 778, 3)
    drop_in(game, "hurt_only", injured[0].motion, "walk", "injured", "limp_left")
    build(game, jobs=1)
    with pytest.warns(MissingWarning, match="'tired' is passed over"):  # half of it is there: that half is shown
        poses, why = play(game, machine, health=10.0, stamina=5.0)
    assert share(game, poses, ["injured", "limp_left"]) == 1.0 and list(why.passed_over) == ["tired"]
    lean = gait(game, poses)[2]

    tired = [Operator(lean=Lean(forward=0.2)), Operator(tempo=Tempo(amount=-0.2))]
    drop_in(game, "hurt_and_tired", stylise(injured[1].motion, tired)[0], "walk", "injured", "limp_left", "tired")
    base = ambulo.load(game / "takes" / "walk_00.bvh")
    drop_in(game, "tired_only", stylise(base, tired)[0], "walk", "tired")
    build(game, jobs=1)
    spent, _ = play(game, machine, health=10.0, stamina=5.0)
    assert share(game, spent, ["injured", "tired"]) == 1.0
    hurt, _ = play(game, machine, health=10.0, stamina=90.0)
    assert share(game, hurt, ["injured"]) == 1.0
    assert share(game, hurt, ["tired"]) == 0.0
    assert gait(game, spent)[2] > lean + 5.0  # it hangs its head
    assert fingerprint(game) == before


def test_a_fallback_answers_until_the_takes_come(game: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """On day one a limp that is made by an operator stands in; on day three the captured one answers."""
    understudy = tmp_path_factory.mktemp("understudy")
    base = ambulo.load(game / "takes" / "walk_00.bvh")
    (understudy / "takes").mkdir()
    drop_in(understudy, "limp", stylise(base, [Operator(limp=Limp(side="left", amount=0.8))])[0], "walk", "injured")
    (understudy / "ambulo.toml").write_text('name = "understudy"\n[[sources]]\npath = "takes"\ntags_from = []\n')
    build(understudy, jobs=1)

    def answer() -> tuple[int, float]:
        levels = []
        for name, project in (("hero", game), ("understudy", understudy)):
            database = Database.open(project)
            index = load_index(database)[1]
            levels.append((name, CONTROLLERS["motion_matching"](database, index, project_settings(project))))
        chain = ControllerChain(levels)  # type: ignore[arg-type]
        state = chain.start()
        for _ in range(60):
            state, pose = chain.step(state, Intent(AHEAD, required_tags=("injured",)), DT)
        return int(pose.levels[0]), state.fallback_rate

    assert answer() == (1, 1.0)
    drop_in(game, "hurt", captured("injured", 779, 1)[0].motion, "walk", "injured")
    build(game, jobs=1)
    assert answer() == (0, 0.0)


def test_dropped_in_and_working_within_ten_seconds(game: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The clock runs from the moment that the files are there to a character, in a new process, that limps."""
    assert run(["simulate", str(game), "--path", "forward", "--seconds", "0.5", "--json"]) == 0  # kernels are compiled
    capsys.readouterr()
    drop_in(game, "hurt", captured("injured", 780, 1)[0].motion, "walk", "injured")
    script = (
        "import sys, numpy as np\n"
        "from ambulo.control.create import create_controller\n"
        "from ambulo.control.intent import Intent\n"
        "from ambulo.database.database import Database\n"
        "from ambulo.matching.build import build, load_index\n"
        "build(sys.argv[1])\n"
        "database = Database.open(sys.argv[1])\n"
        "controller = create_controller('motion_matching', database, load_index(database)[1])\n"
        "state = controller.start()\n"
        "ask = Intent(np.array([[0.0, 0.0, 0.8]], np.float32), required_tags=('injured',))\n"
        "state, pose = controller.step(state, ask, 1 / 60)\n"
        "print(database.locate(int(pose.frames[0]))[0].name)\n"
    )
    began, before = time.perf_counter(), os.times()
    done = subprocess.run([sys.executable, "-c", script, str(game)], capture_output=True, text=True, check=True)
    seconds, after = time.perf_counter() - began, os.times()
    worked = after.children_user + after.children_system - before.children_user - before.children_system
    assert done.stdout.strip() in ("hurt", "hurt_mirrored")
    # A machine that does other work at the same time is slower by the wall's clock, not by its own.
    assert min(seconds, worked) < 10.0, f"{seconds:.1f} s, {worked:.1f} s of them the processor's"
    assert run(["query", str(game), "injured", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ranges"]

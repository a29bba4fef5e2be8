"""A salsa couple's, a karate and a locomotion database behind one controller, on one skeleton, with fallback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ambulo.control.chain import ControllerChain
from ambulo.control.create import CONTROLLERS
from ambulo.control.foot_lock import FootLock, foot_geometry
from ambulo.control.inertialization import Inertialize
from ambulo.control.intent import Intent
from ambulo.control.pose import Pose
from ambulo.control.project_settings import project_settings
from ambulo.database.database import Database
from ambulo.errors import ControlError
from ambulo.matching.build import build, load_index

LEVELS = {
    "salsa": ("cmu_salsa_pairs", "6*_01.bvh", "skip_first = 1\nrate = 60.0"),
    "karate": ("cmu_karate", "135_03.bvh", "skip_first = 1"),
    "locomotion": ("cmu_loco", "train_walking_0*.bvh", ""),
}
DT = 1.0 / 60.0


def project(folder: Path, capture: Path, name: str, target: bool) -> Path:
    place, glob, rest = LEVELS[name]
    skeleton = f'[skeleton]\ntarget = "{capture / "cmu_loco/train_walking_02.bvh"}"\n' if target else ""
    folder.mkdir()
    (folder / "ambulo.toml").write_text(
        f'name = "{name}"\nmirror = false\n{skeleton}'
        f'[[sources]]\npath = "{capture / place}"\nglob = "{glob}"\ntags = ["{name}"]\n{rest}\n'
    )
    build(folder)
    return folder


def level(folder: Path) -> tuple[Database, Any]:
    database = Database.open(folder)
    _, index = load_index(database)
    return database, CONTROLLERS["motion_matching"](database, index, project_settings(folder))


@pytest.fixture(scope="module")
def chain(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> FootLock:
    """The stack; the salsa couple's database is asked first."""
    folder, capture = tmp_path_factory.mktemp("chain"), real_data / "free"
    made = {name: level(project(folder / name, capture, name, True)) for name in LEVELS}
    chained = ControllerChain([(name, controller) for name, (_, controller) in made.items()])
    return FootLock(Inertialize(chained), foot_geometry(made["locomotion"][0]))


def drive(controller: Any, state: Any, intent: Intent, seconds: float) -> tuple[Any, list[Pose]]:
    poses = []
    for _ in range(round(seconds / DT)):
        state, pose = controller.step(state, intent, DT)
        poses.append(pose)
    return state, poses


def test_each_database_answers_what_only_it_has(chain: FootLock) -> None:
    couple = Intent(np.zeros((2, 3)), facing=np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]))
    state = chain.start(2, position=np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), facing=couple.facing)
    shown: list[Pose] = []
    for tags in (("salsa",), ("karate",), ("locomotion",), (("salsa",), ("karate",))):
        velocity = np.array([[0.0, 0.0, 1.2], [0.0, 0.0, -1.2]]) if tags == ("locomotion",) else couple.velocity
        asked = Intent(velocity, couple.facing, required_tags=tags)
        state, poses = drive(chain, state, asked, 2.0)
        names = tags * 2 if isinstance(tags[0], str) else [tag for (tag,) in tags]
        wanted = [list(LEVELS).index(name) for name in names[:2]]
        for pose in poses:
            assert_array_equal(pose.levels, wanted)
        shown += poses
        told = chain.explain(state, 1)
        assert (told.level, told.database) == (wanted[1], names[1])
        assert told.winner.clip.startswith({"salsa": "6", "karate": "135", "locomotion": "train"}[names[1]])
    # Two characters, four quarters: nobody fell back in the first, both in the second and third, one in the last.
    assert state.inner.inner.fallback_rate == pytest.approx(5 / 8)
    # Whoever goes to another database stays where he is, and moves on from the pose he is in.
    roots = np.array([pose.root_position for pose in shown])
    assert np.linalg.norm(np.diff(roots, axis=0), axis=-1).max() < 0.08
    joints = np.array([pose.global_positions for pose in shown])
    change = np.arange(119, len(shown) - 1, 120)
    steps = np.linalg.norm(np.diff(joints, axis=0), axis=-1)
    assert steps[change].max() < 0.15


def test_what_nobody_is_asked_for_is_answered_by_the_first(chain: FootLock) -> None:
    state, poses = drive(chain, chain.start(), Intent(np.zeros((1, 3))), 0.5)
    assert all((pose.levels == 0).all() for pose in poses)
    state = chain_choose(chain, state, "locomotion")
    _, poses = drive(chain, state, Intent(np.array([[0.0, 0.0, 1.2]])), 2.0)
    assert all((pose.levels == 2).all() for pose in poses)
    assert poses[-1].root_position[0, 2] > 1.0


def test_other_skeletons_are_refused_with_the_remedy(chain: FootLock, real_data: Path, tmp_path: Path) -> None:
    _, own = level(project(tmp_path / "salsa", real_data / "free", "salsa", False))
    bare: Any = chain.inner.inner  # type: ignore[attr-defined]
    with pytest.raises(ControlError, match="retarget"):
        ControllerChain([("salsa", own), ("locomotion", bare.levels[2].controller)])


def chain_choose(stack: FootLock, state: Any, name: str) -> Any:
    """The state in which everybody asks that database first."""
    from dataclasses import replace

    bare: Any = stack.inner.inner  # type: ignore[attr-defined]
    chosen = bare.choose(state.inner.inner, name)
    return replace(state, inner=replace(state.inner, inner=chosen))

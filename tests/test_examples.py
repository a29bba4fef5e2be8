"""Every example runs from nothing and prints what it promises."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
EXPECTED = {
    "01_load_a_take.py": ["left_foot is LeftFoot", "mirrored, at 30 a second"],
    "02_build_a_database.py": ["27 features a frame", "walk:"],
    "03_walk_a_circle.py": ["path_error", "contact_slide", "look at"],
    "04_ask_why.py": ["winner", "continuing", "with "],
    "05_direct_a_crowd.py": ["runners show only running: True"],
    "06_search_by_hand.py": ["all answers are tagged so: True"],
    "07_ask_the_database.py": ["injured: 2 stretches, 4.00 s", 'before("injured", 0.5): 2 stretches, 1.00 s'],
    "08_learn_to_move.py": ["joints are", "all joints finite: True"],
    "09_retarget.py": ["% as long", "contacts kept: "],
    "10_injured.py": ["100% while hurt", "the captured style adds 0 states, 0 lines"],
    "12_pose_from_points.py": ["held within 0.", "out of reach: left_wrist", "120 poses from head and hands"],
    "13_export.py": ["verify.py: agrees", "m there: True"],
    "14_stylise_and_tag.py": ["standing toes slide", "injured: F1", "a take that is injured"],
    "11_check_a_take.py": ["frames 200 to 200, pop", "clean now: True"],
}


def _run(name: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONWARNINGS": "error::DeprecationWarning:ambulo"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("examples")
    return folder, _run("02_build_a_database.py", folder)


def test_every_example_is_listed_here_and_in_the_readme() -> None:
    scripts = sorted(path.name for path in EXAMPLES.glob("*.py"))
    assert scripts == sorted(EXPECTED)
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [name for name in scripts if f"`{name}`" not in readme] == []


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_example(name: str, built: tuple[Path, str]) -> None:
    folder, shown = built
    if name != "02_build_a_database.py":
        shown = _run(name, folder)
    for phrase in EXPECTED[name]:
        assert phrase in shown

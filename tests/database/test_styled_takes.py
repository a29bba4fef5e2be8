"""Takes that a project makes of others: found, tagged, built, and built again only where need be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ambulo.database.database import Database
from ambulo.database.project import load_project
from ambulo.database.staleness import staleness
from ambulo.database.status import project_status
from ambulo.database.styled_takes import find_all_takes
from ambulo.errors import ProjectError
from ambulo.matching.build import build

from .conftest import write_take

STYLE = """
[[stylise]]
name = "limp"
takes = ["takes/a*"]
operators = [{limp = {side = "left", amount = 0.7}}, {tempo = {amount = -0.2}}]
tags = ["injured"]
without = ["healthy"]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for seed, name in enumerate(("a_one", "a_two", "b")):
        write_take(tmp_path / "takes" / f"{name}.bvh", seed, seconds=2.0)
    (tmp_path / "takes" / "a_one.tags.csv").write_text("start,stop,tag\n0.5,1.0,turn_left\n,,healthy\n")
    (tmp_path / "ambulo.toml").write_text('name = "p"\n[[sources]]\npath = "takes"\n' + STYLE)
    return tmp_path


def edit(project: Path, old: str, new: str) -> None:
    file = project / "ambulo.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_takes_are_made_with_tags_and_times(project: Path) -> None:
    report = build(project, jobs=1)
    assert report.used == 5
    database = Database.open(project)
    clips = {clip.name: clip for clip in database.clips}
    assert {"a_one", "a_one@limp", "a_two@limp", "b", "a_one@limp_mirrored"} <= set(clips)
    assert "b@limp" not in clips
    made, base = clips["a_one@limp"], clips["a_one"]
    assert {"injured", "stylised", "turn_left"} <= set(made.tags)
    assert "healthy" not in made.tags
    assert "healthy" in base.tags
    assert "stylised" not in base.tags
    assert made.stop - made.start == pytest.approx((base.stop - base.start) / 0.8, abs=2)
    turn = np.flatnonzero(database.mask(["turn_left", "injured"]))
    turn = turn[(turn >= made.start) & (turn < made.stop)]
    assert (turn[0] - made.start) / database.rate == pytest.approx(0.5 / 0.8, abs=0.02)
    assert (turn[-1] + 1 - made.start) / database.rate == pytest.approx(1.0 / 0.8, abs=0.02)
    assert "turn_right" in clips["a_one@limp_mirrored"].tags


def test_only_what_an_edit_touches_is_made_again(project: Path) -> None:
    build(project, jobs=1)
    assert build(project, jobs=1).up_to_date
    edit(project, "amount = 0.7", "amount = 0.5")
    assert "stylise" in staleness(load_project(project)).settings
    assert build(project, jobs=1).prepared == 2
    write_take(project / "takes" / "a_one.bvh", 9, seconds=2.0)
    changed = {entry.file for entry in project_status(load_project(project)).files}
    assert changed == {"takes/a_one.bvh", "takes/a_one.bvh@limp"}
    assert build(project, jobs=1).prepared == 2
    edit(project, '["injured"]', '["hurt"]')
    assert build(project, jobs=1).prepared == 0
    assert "hurt" in Database.open(project).tags
    (project / "ambulo.toml").write_text('name = "p"\n[[sources]]\npath = "takes"\n')
    report = build(project, jobs=1)
    assert report.used == 3
    assert report.prepared == 0


def test_the_same_bytes_from_scratch(project: Path) -> None:
    build(project, jobs=1)
    edit(project, "amount = 0.7", "amount = 0.5")
    build(project, jobs=1)
    step = (project / "database" / "manifest.json").read_bytes()
    build(project, jobs=1, force=True)
    assert (project / "database" / "manifest.json").read_bytes() == step


def test_takes_are_chosen_by_tags(project: Path) -> None:
    edit(project, 'takes = ["takes/a*"]', 'of_tags = ["healthy"]')
    made = [take.label for take in find_all_takes(load_project(project)) if take.style is not None]
    assert made == ["takes/a_one.bvh@limp"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('takes = ["takes/a*"]', 'takes = ["takes/none*"]', "applies to no take"),
        ("amount = 0.7", "amount = 7.0", "from 0 to 1"),
        ("{limp = {side", "{limb = {side", "limb"),
        ('side = "left"', 'side = "middle"', "middle"),
        ('name = "limp"', 'name = "a b"', "a b"),
        ("{tempo = {amount = -0.2}}", "{}", "none are given"),
    ],
)
def test_a_style_that_makes_no_sense_is_refused(project: Path, old: str, new: str, words: str) -> None:
    edit(project, old, new)
    with pytest.raises(ProjectError, match=words):
        build(project, jobs=1)


def test_a_style_of_no_take_names_those_that_there_are(project: Path) -> None:
    edit(project, 'takes = ["takes/a*"]', 'takes = ["a*"]')
    with pytest.raises(ProjectError, match=r"none is called a\*") as raised:
        build(project, jobs=1)
    assert "'takes/*'" in str(raised.value.remedy) and "ambulo status --takes" in str(raised.value.remedy)
    assert raised.value.line is not None
    assert "a*" in (project / "ambulo.toml").read_text().splitlines()[raised.value.line - 1]
    # What lists the names must not die of the same fault.
    status = project_status(load_project(project))
    assert status.names == ("takes/a_one.bvh", "takes/a_two.bvh", "takes/b.bvh")
    wrong = [entry for entry in status.files if entry.state == "wrong"]
    assert [(entry.file, entry.line) for entry in wrong] == [("ambulo.toml", raised.value.line)]
    # The pattern is right, the tags are not.
    edit(project, 'takes = ["a*"]', 'takes = ["takes/a*"]\nof_tags = ["hopping"]')
    with pytest.raises(ProjectError, match="none of the 2 takes of the style 'limp' carries hopping") as raised:
        build(project, jobs=1)
    assert "ambulo tag add takes/a_one.bvh hopping" in str(raised.value.remedy)


def test_an_exclusive_tag_must_go_before_the_other_comes(project: Path) -> None:
    with (project / "ambulo.toml").open("a") as file:
        file.write('[tags]\nexclusive = [["injured", "healthy"]]\n')
    build(project, jobs=1)
    edit(project, 'without = ["healthy"]\n', "")
    with pytest.raises(ProjectError, match="its style"):
        build(project, jobs=1)

"""What is said about takes, from files to frames: numbers, priorities, contradictions, and what holds nowhere."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from ambulo.database.build import build_frames
from ambulo.database.database import Database
from ambulo.database.project import load_project
from ambulo.database.takes import find_orphans
from ambulo.errors import ProjectError, QueryError

from .conftest import PROJECT

Make = Callable[..., Path]

CHANNELS = """
numbers = { age = 35.0 }
[channels.age]
unit = "years"
minimum = 0.0
[channels.lean]
unit = "m"
minimum = -1.0
maximum = 1.0
mirrored = "negated"
"""


def say(project: Path, take: str, tags: str = "", channels: str = "") -> None:
    """Write what is said about a take: rows without the header."""
    for ending, header, rows in (
        (".tags.csv", "start,stop,tag,priority,bonus", tags),
        (".channels.csv", "start,stop,channel,value,end_value", channels),
    ):
        if rows:
            (project / "takes" / f"{take}{ending}").write_text(f"{header}\n{rows}\n")


def test_numbers_become_rows_a_frame_and_a_mirrored_clip_negates_what_speaks_of_sides(make_project: Make) -> None:
    project = make_project("walk_a.bvh", "walk_b.bvh", text=PROJECT + CHANNELS)
    say(project, "walk_a", channels="0.25,0.75,lean,0,0.5\n0.5,,age,60")
    build_frames(project)
    database = Database.open(project)
    assert database.number_units == {"age": "years", "lean": "m", "speed": "m/s", "turn_rate": "rad/s"}
    plain, mirrored = database.clips[0], database.clips[1]
    assert mirrored.mirrored and plain.name == "walk_a"
    lean = database.numbers["lean"]
    times = np.arange(plain.frame_count) / 60.0
    inside = (times >= 0.25) & (times < 0.75)
    expected = np.where(inside, times - 0.25, np.nan)
    np.testing.assert_allclose(lean[plain.start : plain.stop], expected, atol=1e-6)
    np.testing.assert_allclose(lean[mirrored.start : mirrored.stop], -expected, atol=1e-6)
    age = database.numbers["age"]
    np.testing.assert_array_equal(
        age[plain.start : plain.stop], np.where(times >= 0.5, 60, 35)
    )  # the file over the source
    assert (age[mirrored.stop :] == 35).all()
    assert np.array_equal(database.mask("age > 40 and not mirrored")[: plain.stop], times >= 0.5)
    with pytest.raises(QueryError, match="did you mean 'lean'"):
        database.number("leen")


def test_priority_and_bonus_of_ranges_reach_their_frames(make_project: Make) -> None:
    project = make_project("walk_a.bvh", text=PROJECT + "\n")
    say(
        project,
        "walk_a",
        "0.1,0.3,cut_scene,5,0\n0.2,0.4,pretty,-1,0.5\n0.2,0.3,prettier,0,0.25\n0.5,0.6,no_transition",
    )
    build_frames(project)
    database = Database.open(project)
    for clip in database.clips:
        rows = slice(clip.start, clip.stop)
        priority, bonus = database.priority[rows], database.bonus[rows]
        assert priority.dtype == np.int16 and bonus.dtype == np.float32
        assert (priority[6:18] == 5).all() and (priority[18:24] == -1).all() and (priority[24:] == 0).all()
        assert np.array_equal(bonus[10:26], np.float32([0, 0] + [0.75] * 6 + [0.5] * 6 + [0, 0]))
        assert np.array_equal(~database.transition_ok[rows], [30 <= f < 36 for f in range(clip.frame_count)])
    assert Database.open(project).mask("no_transition").sum() == 12


def test_an_edit_of_annotations_prepares_no_take_again(make_project: Make) -> None:
    project = make_project("walk_a.bvh", "walk_b.bvh", text=PROJECT + CHANNELS)
    build_frames(project)
    say(project, "walk_a", "0,0.5,injured", "0,0.5,lean,0.1")
    report = build_frames(project)
    assert not report.up_to_date and report.prepared == 0
    assert Database.open(project).mask("injured and lean > 0").any()


@pytest.mark.parametrize(
    ("tags", "channels", "line", "words"),
    [
        ("", "0,0.5,leen,1", 2, "no channel 'leen'; did you mean 'lean'"),
        ("", "0,0.5,lean,0.5\n0.5,1,lean,3", 3, "3 m where the project allows at least -1 and at most 1"),
        ("", "0,0.5,lean,0.5,2", 2, "2 m where the project allows"),
        ("", "0,0.5,lean,0.5\n0.4,1,lean,0.6", 3, "two values from 0.4 s on"),
        ("0,0.5,run\n0.4,1,stand\n", "", 3, "'run' (line 2) and 'stand' (line 3) both hold from 0.4 s to 0.5 s"),
        ("0.25,0.5,crawl", "", 2, "'walk' (the file's name) and 'crawl' (line 2) both hold from 0.25 s"),
        ("0,1,good\n<<<<<<< mine\n0,1,bad\n=======\n>>>>>>> theirs", "", 3, "merge conflict"),
    ],
)
def test_contradictions_are_refused_with_their_line_and_a_remedy(
    make_project: Make, tags: str, channels: str, line: int, words: str
) -> None:
    exclusive = '[tags]\nexclusive = [["run", "stand"], ["walk", "crawl"]]\n'
    project = make_project("walk_a.bvh", text=PROJECT + CHANNELS + exclusive)
    say(project, "walk_a", tags, channels)
    with pytest.raises(ProjectError) as caught:
        build_frames(project)
    assert caught.value.path is not None and caught.value.path.parent == project / "takes"
    assert caught.value.line == line
    assert words in caught.value.message
    assert caught.value.remedy or "allows" in caught.value.message
    assert not (project / "database").exists()


def test_a_range_beyond_its_take_is_reported(make_project: Make) -> None:
    project = make_project("walk_a.bvh", text=PROJECT + CHANNELS)
    say(project, "walk_a", "0,0.5,injured\n7,9,injured", "5,,lean,0.5")
    for report in (build_frames(project), build_frames(project)):  # also where nothing was to do
        found = {(w.take, w.code): w.message for w in report.warnings}
        assert "'injured' from 7 s to 9 s lies outside" in found["takes/walk_a.bvh", "tag_outside"]
        assert "'lean' from 5 s to its end" in found["takes/walk_a.bvh", "number_outside"]
    with closing(sqlite3.connect(project / "database" / "catalog.sqlite")) as catalog:
        assert catalog.execute("SELECT line FROM notes WHERE code = 'tag_outside'").fetchall() == [(3,)]


def test_annotations_of_a_missing_take_are_reported(make_project: Make) -> None:
    project = make_project("walk_a.bvh", "deep/run_b.bvh")
    say(project, "walk_a", "0,0.5,injured")
    say(project, "walk_z", "0,0.5,injured")
    say(project, "deep/gone", channels="0,1,lean,1")
    assert [(o.label, "'walk_a'" in o.remedy) for o in find_orphans(load_project(project))] == [
        ("takes/deep/gone.channels.csv", False),
        ("takes/walk_z.tags.csv", True),
    ]
    warnings = {w.take: w for w in build_frames(project).warnings}
    assert warnings["takes/walk_z.tags.csv"].code == "no_take"
    (project / "takes" / "walk_z.fbx").write_text("not in the project, but there")
    assert [o.label for o in find_orphans(load_project(project))] == ["takes/deep/gone.channels.csv"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[channels.speed]\n", "computed from the motion"),
        ('[channels."a b"]\n', "cannot be the name"),
        ("[channels.age]\nminimum = 2.0\nmaximum = 1.0\n", "limits"),
        ("[channels.age]\nunits = 'm'\n", "unknown key 'units'"),
        ("numbers = { age = 1.0 }\n", "not declared"),
        ("numbers = { age = 9.0 }\n[channels.age]\nmaximum = 2.0\n", "9 where the project allows at most 2"),
        ('[tags]\nexclusive = [["a/b"]]\n', "cannot be a tag"),
    ],
)
def test_a_project_that_declares_wrongly_is_refused(make_project: Make, text: str, words: str) -> None:
    with pytest.raises(ProjectError, match=words) as caught:
        load_project(make_project("walk_a.bvh", text=PROJECT + text))
    assert caught.value.line

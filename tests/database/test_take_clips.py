"""A file of several motions: corrections and tags of one of them, by its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import ambulo
from ambulo.database.build import build_frames
from ambulo.database.checking import check
from ambulo.database.database import Database
from ambulo.database.fixes import with_takes
from ambulo.database.project import load_project
from ambulo.errors import ProjectError

from .conftest import PROJECT, walker

Make = Callable[..., Path]


@pytest.fixture
def project(make_project: Make) -> Path:
    root = make_project("walk_a.bvh", text="mirror = false\n" + PROJECT)
    clips = [replace(walker(seed, seconds=2.0), name=name) for seed, name in ((1, "Idle"), (2, "Walk_Loop"))]
    ambulo.save(clips, root / "takes" / "hero.glb")
    return root


def say(root: Path, text: str) -> None:
    file = root / "ambulo.toml"
    file.write_text(file.read_text() + "\n[[takes]]\n" + text)


def lengths(root: Path) -> dict[str, int]:
    return {clip.name: clip.frame_count for clip in Database.open(root).clips}


def test_a_correction_of_one_clip_leaves_the_others(project: Path) -> None:
    build_frames(project)
    whole = lengths(project)
    assert set(whole) == {"hero/Idle", "hero/Walk_Loop", "walk_a"}
    say(project, 'file = "takes/hero.glb"\nclip = "Walk_Loop"\nstart_frame = 15\n')
    assert build_frames(project).prepared == 1
    cut = lengths(project)
    assert cut["hero/Walk_Loop"] == whole["hero/Walk_Loop"] - 30 and cut["hero/Idle"] == whole["hero/Idle"]
    say(project, 'file = "takes/hero.glb"\nstop_frame = 30\n')  # what no other entry speaks of
    build_frames(project)
    both = lengths(project)
    assert both["hero/Walk_Loop"] == cut["hero/Walk_Loop"] and both["hero/Idle"] < cut["hero/Idle"]
    assert both["walk_a"] == whole["walk_a"]


def test_a_clip_that_the_file_does_not_have_is_named_with_the_nearest(project: Path) -> None:
    say(project, 'file = "takes/hero.glb"\nclip = "Walk_Lop"\nlift = 0.1\n')
    report = build_frames(project)
    (problem,) = report.problems
    assert problem.take == "takes/hero.glb" and "no clip 'Walk_Lop'" in problem.reason
    assert "did you mean 'Walk_Loop'" in problem.reason and "ambulo.toml" in problem.reason
    assert "Walk_Loop" in check(project).broken[0].reason


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ('file = "takes/hero.glb"\nclip = "Idle"\nrate = 30.0\n', "the whole file's"),
        ('file = "a"\nclip = "b"\n\n[[takes]]\nfile = "a"\nclip = "b"\n', "the clip 'b' of 'a' has two"),
    ],
)
def test_entries_that_cannot_be_are_refused(project: Path, text: str, match: str) -> None:
    say(project, text)
    with pytest.raises(ProjectError, match=match) as caught:
        load_project(project)
    assert caught.value.line and caught.value.remedy


def test_tags_of_one_clip(project: Path) -> None:
    file = project / "takes" / "hero.tags.csv"
    file.write_text("start,stop,tag,clip\n0,0.5,slow,Walk_Loop\n,,hero\n,,odd,Wolk\n")
    report = build_frames(project)
    tags = {clip.name: set(clip.tags) & {"slow", "hero"} for clip in Database.open(project).clips}
    assert tags == {"hero/Idle": {"hero"}, "hero/Walk_Loop": {"slow", "hero"}, "walk_a": set()}
    (warning,) = [w for w in report.warnings if w.code == "tag_clip"]
    assert warning.take == "takes/hero.glb" and "'Wolk'" in warning.message and "Walk_Loop" in warning.message


def test_clips_may_carry_tags_that_exclude_each_other(project: Path) -> None:
    file = project / "ambulo.toml"
    file.write_text(file.read_text() + '\n[tags]\nexclusive = [["slow", "fast"]]\n')
    tags = project / "takes" / "hero.tags.csv"
    tags.write_text("start,stop,tag,clip\n,,slow,Walk_Loop\n,,fast,Idle\n")
    assert build_frames(project).used == 2
    tags.write_text("start,stop,tag,clip\n,,slow,Walk_Loop\n,,fast\n")
    with pytest.raises(ProjectError, match="exclusive"):
        build_frames(project)


def test_a_fix_of_the_file_leaves_the_entry_of_a_clip_as_it_is() -> None:
    text = '[[takes]]\nfile = "a.glb"\nclip = "Idle"\nlift = 0.2\n'
    changed = with_takes(text, {"a.glb": {"lift": 0.1}}, Path("ambulo.toml"))
    assert changed == text + '\n[[takes]]\nfile = "a.glb"\nlift = 0.1\n'

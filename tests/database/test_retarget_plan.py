"""Motion on several skeletons in one project."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.database.build import build_frames
from ambulo.database.database import Database
from ambulo.database.project import load_project
from ambulo.database.project_text import project_text
from ambulo.errors import ProjectError

from .conftest import PROJECT, other_skeleton, walker, write_take

Make = Callable[..., Path]


def content(folder: Path) -> dict[str, bytes]:
    """Every file of a database but the stamps, which speak of this machine's clock."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "stamps.json")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_motion_on_another_skeleton_is_put_on_that_of_most_motion(make_project: Make) -> None:
    project = make_project("walk_a.bvh", "run_b.bvh")
    odd = walker(7, skeleton=other_skeleton())
    ambulo.save(odd, project / "takes" / "odd.bvh")
    report = build_frames(project)
    assert (report.takes, report.used, report.problems) == (3, 3, ())
    (summary,) = report.retargeted
    assert (summary.takes, summary.joints) == (1, odd.skeleton.joint_count)
    assert summary.target == "takes/run_b.bvh"
    assert summary.contact_f1 > 0.98
    assert summary.slide_cm_s[1] == pytest.approx(summary.slide_cm_s[0], abs=0.2)
    again = build_frames(project)
    assert again.up_to_date and again.retargeted == report.retargeted
    # The bodies are the same but for one name, so the frames are those of the take on its own skeleton.
    database = Database.open(project)
    clip = database.clips_by_name["odd"]
    assert "Head" in database.skeleton.names and clip.frame_count > 10
    alone = make_project(folder="alone")
    (alone / "takes").mkdir(exist_ok=True)
    ambulo.save(odd, alone / "takes" / "odd.bvh")
    build_frames(alone)
    own = Database.open(alone)
    first = own.clips_by_name["odd"]
    turns = database.rotations[clip.start : clip.stop] - own.rotations[first.start : first.stop]
    assert np.abs(turns).max() < 0.02


def test_only_what_depends_on_a_change_is_prepared_again(make_project: Make) -> None:
    project = make_project("walk_a.bvh", "run_b.bvh")
    ambulo.save(walker(7, skeleton=other_skeleton()), project / "takes" / "odd.bvh")
    build_frames(project)
    write_take(project / "takes" / "walk_a.bvh", seed=9)
    assert build_frames(project).prepared == 1  # the odd one and its target are as they were
    write_take(project / "takes" / "run_b.bvh", seed=10)
    assert build_frames(project).prepared == 2  # the target changed, and what was put on it
    incremental = content(project / "database")
    build_frames(project, force=True)
    assert content(project / "database") == incremental


def test_the_majority_may_turn_and_takes_go_home(make_project: Make) -> None:
    project = make_project("walk_a.bvh", "run_b.bvh")
    ambulo.save(walker(7, skeleton=other_skeleton()), project / "takes" / "odd.bvh")
    build_frames(project)
    ambulo.save(walker(8, seconds=4.0, skeleton=other_skeleton()), project / "takes" / "odd_long.bvh")
    report = build_frames(project)
    assert report.used == 4 and report.retargeted[0].takes == 2
    assert "Skull" in Database.open(project).skeleton.names
    incremental = content(project / "database")
    build_frames(project, force=True)
    assert content(project / "database") == incremental


@pytest.mark.parametrize("target", ["body.bvh", "more"])
def test_a_target_can_be_named(make_project: Make, target: str) -> None:
    text = PROJECT + f'[[sources]]\npath = "more"\n[skeleton]\ntarget = "{target}"\n'
    project = make_project("walk_a.bvh", "run_b.bvh", text=text)
    (project / "more").mkdir()
    ambulo.save(walker(7, skeleton=other_skeleton()), project / "more" / "odd.bvh")
    ambulo.save(walker(3, skeleton=other_skeleton()), project / "body.bvh")
    report = build_frames(project)
    assert (report.used, report.retargeted[0].takes) == (3, 2)
    assert "Skull" in Database.open(project).skeleton.names
    assert build_frames(project).up_to_date
    if target == "body.bvh":
        ambulo.save(walker(4, skeleton=other_skeleton()), project / "body.bvh")
        assert not build_frames(project).up_to_date


def test_a_mapping_file_is_followed_and_watched(make_project: Make) -> None:
    text = PROJECT + '[[sources]]\npath = "more"\nmapping = "map.toml"\n'
    project = make_project("walk_a.bvh", "run_b.bvh", text=text)
    (project / "more").mkdir()
    ambulo.save(walker(7, skeleton=other_skeleton()), project / "more" / "odd.bvh")
    with pytest.raises(ProjectError, match=r"map\.toml"):
        build_frames(project)
    (project / "map.toml").write_text('[joints]\n"LeftArm" = ""\n')
    build_frames(project)
    first = np.array(Database.open(project).rotations)
    (project / "map.toml").write_text('[joints]\n"LeftArm" = "LeftArm"\n')
    assert build_frames(project).prepared == 1
    assert np.abs(np.array(Database.open(project).rotations) - first).max() > 0.1


def test_a_wrong_target_is_refused_with_the_nearest(make_project: Make) -> None:
    project = make_project("walk_a.bvh", text=PROJECT + '[skeleton]\ntarget = "taks"\n')
    with pytest.raises(ProjectError, match="takes"):
        build_frames(project)


def test_the_project_file_keeps_what_it_says_of_skeletons(make_project: Make) -> None:
    text = PROJECT + 'retarget = false\nmapping = "m.toml"\ntravel = "from_feet"\n[skeleton]\ntarget = "b.bvh"\n'
    project = load_project(make_project(text=text))
    (project.folder / "ambulo.toml").write_text(project_text(project))
    assert load_project(project.folder) == project


def test_clips_of_one_file_keep_their_names_and_the_tags_in_them(make_project: Make) -> None:
    text = PROJECT + 'glob = "**/*.glb"\n'
    project = make_project(text=text)
    (project / "takes").mkdir(exist_ok=True)
    clips = [replace(walker(seed), name=name) for seed, name in ((1, "Walk_Loop"), (2, "Jump_Start"))]
    brief = replace(walker(3).slice(0, 4), name="T_Pose")
    ambulo.save([*clips, brief], project / "takes" / "hero.glb")
    report = build_frames(project)
    assert (report.used, report.problems) == (1, ())
    assert [w.code for w in report.warnings if "T_Pose" in w.message] == ["clip_left_out"]
    database = Database.open(project)
    assert [c.name for c in database.clips if not c.mirrored] == ["hero/Walk_Loop", "hero/Jump_Start"]
    assert "jump" in database.clips_by_name["hero/Jump_Start"].tags
    assert "jump" not in database.clips_by_name["hero/Walk_Loop"].tags

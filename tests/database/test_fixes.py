"""Proposals are written into the project, every other character of it stays, and the build takes them up."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.database.checking import check
from ambulo.database.fixes import with_takes, write_fixes
from ambulo.database.project import load_project
from ambulo.errors import ProjectError
from ambulo.matching.build import build
from ambulo.motion.kinematics import forward
from ambulo.motion.motion import Motion
from ambulo.synthesis.performance import synthesize

HEADER = """# my project: mind the spaces
name   =  "fix me"   # and this comment

rate = 60.0
mirror = false

[[sources]]
path = "takes"   # captured in May
tags_from = []
"""


@pytest.fixture(scope="module")
def stroll() -> Motion:
    return max((p.motion for p in synthesize(seed=3, minutes=1.0)), key=lambda m: m.frame_count).slice(0, 900)


@pytest.fixture
def project(tmp_path: Path, stroll: Motion) -> Path:
    """A good take, one 12 cm too low, and one that says twice its rate."""
    takes = tmp_path / "takes"
    takes.mkdir()
    ambulo.save(stroll, takes / "good.bvh")
    positions = stroll.positions.copy()
    positions[:, 0, 1] -= 0.12
    ambulo.save(replace(stroll, positions=positions), takes / "low.bvh")
    ambulo.save(replace(stroll, rate=2 * stroll.rate), takes / "fast.bvh")
    (tmp_path / "ambulo.toml").write_text(HEADER)
    return tmp_path


def test_proposals_are_added_and_all_else_stays(project):
    before = {file: file.read_bytes() for file in (project / "takes").iterdir()}
    fixes = write_fixes(check(project), project)
    text = (project / "ambulo.toml").read_text()
    assert text.startswith(HEADER)
    assert set(fixes.written) == {"takes/fast.bvh", "takes/low.bvh"}
    entries = {entry.pop("file"): entry for entry in tomllib.loads(text)["takes"]}
    assert entries["takes/fast.bvh"] == {"rate": 60.0}
    assert entries["takes/low.bvh"] == {"lift": pytest.approx(0.12, abs=0.02)}
    assert {file: file.read_bytes() for file in (project / "takes").iterdir()} == before


def test_after_it_the_check_is_clean_and_writes_nothing_more(project):
    write_fixes(check(project), project)
    text = (project / "ambulo.toml").read_text()
    report = check(project)
    assert report.clean
    assert write_fixes(report, project).written == {}
    assert (project / "ambulo.toml").read_text() == text


def test_the_build_takes_them_up(project, stroll):
    write_fixes(check(project), project)
    build(project)
    database = ambulo.Database.open(project)
    clips = {clip.name: clip for clip in database.clips}
    good, low, fast = (clips[name] for name in ("good", "low", "fast"))
    assert good.frame_count == low.frame_count == fast.frame_count == stroll.frame_count
    pose = forward(database.positions, database.rotations, database.skeleton.parents).positions
    a, b, c = (pose[clip.start : clip.stop, 1:] for clip in (good, low, fast))
    assert np.abs(a - b).max() < 0.02
    assert np.abs(a - c).max() < 1e-3


def test_what_one_clip_of_a_file_needs_is_not_done_to_the_others(project, stroll):
    """One entry corrects a whole file: only what all its clips need alike may be written."""
    for file in (project / "takes").iterdir():
        file.unlink()
    sunk = stroll.positions.copy()
    sunk[:, 0, 1] -= 0.12
    low, jumpy = replace(stroll, positions=sunk, name="low"), sunk.copy()
    jumpy[:4, 0, 0] += 3.0
    ambulo.save([replace(stroll, name="good"), low], project / "takes" / "one_low.glb")
    ambulo.save([low, replace(low, positions=jumpy, name="jumpy")], project / "takes" / "both_low.glb")
    fixes = write_fixes(check(project), project)
    assert set(fixes.written) == {"takes/both_low.glb"}
    assert set(fixes.written["takes/both_low.glb"]) == {"lift"}
    assert fixes.written["takes/both_low.glb"]["lift"] == pytest.approx(0.12, abs=0.02)
    assert sorted(fixes.split) == ["takes/both_low.glb", "takes/one_low.glb"]


def test_a_folder_is_matched_with_the_takes_of_a_project(project, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "stray.bvh").write_bytes((project / "takes" / "low.bvh").read_bytes())
    fixes = write_fixes(check(project / "takes"), project)
    assert set(fixes.written) == {"takes/fast.bvh", "takes/low.bvh"}
    assert write_fixes(check(other), project).outside == ["stray.bvh"]


def test_frames_to_skip_are_joined_with_those_listed(project, stroll):
    rotations = stroll.rotations.copy()
    joint = stroll.skeleton.role("head")
    rotations[200, joint] = [0.0, 0.8, 0.0, 0.6]
    ambulo.save(replace(stroll, rotations=rotations), project / "takes" / "good.bvh")
    (project / "ambulo.toml").write_text(
        HEADER + '\n[[takes]]  # hers\nfile = "takes/good.bvh"\nskip_frames = [[10, 20]]  # she coughs\n\n# the end\n'
    )
    write_fixes(check(project / "takes" / "good.bvh"), project)
    text = (project / "ambulo.toml").read_text()
    assert "skip_frames = [[10, 20], [200, 201]]  # she coughs\n" in text
    assert "[[takes]]  # hers\n" in text and text.endswith("# the end\n")
    assert load_project(project).take_spec("takes/good.bvh").skip_frames == ((10, 20), (200, 201))


def test_what_the_project_says_already_stays(project):
    (project / "ambulo.toml").write_text(HEADER + '\n[[takes]]\nfile = "takes/low.bvh"\nlift = 0.05\n')
    fixes = write_fixes(check(project), project)
    assert fixes.kept == {"takes/low.bvh": ["lift"]}
    assert load_project(project).take_spec("takes/low.bvh").lift == 0.05


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_ends_are_kept(newline):
    text = newline.join(["name = 'x'", "[[takes]]", "file = 'a'", "", "[play]", "default_tags = []"])
    made = with_takes(text, {"a": {"lift": 0.1}, "b": {"rate": 60.0}}, Path("p"))
    assert made.count(newline) == made.count("\n")
    assert tomllib.loads(made)["takes"] == [{"file": "a", "lift": 0.1}, {"file": "b", "rate": 60.0}]


def test_takes_in_an_array_are_refused_and_nothing_is_written(project):
    text = 'takes = [{ file = "takes/good.bvh" }]\n' + HEADER
    (project / "ambulo.toml").write_text(text)
    with pytest.raises(ProjectError, match="one array"):
        write_fixes(check(project), project)
    assert (project / "ambulo.toml").read_text() == text


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('file = "a"\nrate = 0', "rate of 0"),
        ('file = "a"\nunit = "furlong"', "furlong"),
        ('file = "a"\nstart_frame = 9\nstop_frame = 9', "stop_frame"),
        ('file = "a"\nskip_frames = [[5, 5]]', "no range"),
        ('file = "a"\nlift = inf', "lift"),
        ('file = "a"\nraise = 1', "unknown key 'raise'"),
        ('file = "a"\n[[takes]]\nfile = "a"', "two"),
    ],
)
def test_corrections_that_are_not_possible_are_refused(project, entry, message):
    (project / "ambulo.toml").write_text(HEADER + f"\n[[takes]]\n{entry}\n")
    with pytest.raises(ProjectError, match=message):
        load_project(project)


def test_ends_and_skipped_frames_reach_the_database(project, stroll):
    (project / "ambulo.toml").write_text(
        HEADER
        + '\n[[takes]]\nfile = "takes/good.bvh"\nstart_frame = 30\nstop_frame = 800\nskip_frames = [[100, 110]]\n'
    )
    build(project)
    database = ambulo.Database.open(project)
    clip = next(clip for clip in database.clips if clip.name == "good")
    assert clip.frame_count == 770
    valid = database.valid[clip.start : clip.stop].astype(bool)
    assert np.flatnonzero(~valid).tolist() == list(range(70, 80))

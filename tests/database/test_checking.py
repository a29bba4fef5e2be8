"""A check follows paths, files, folders and projects; broken files are listed and the rest completes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.database.checking import check, settled
from ambulo.database.take_spec import TakeSpec
from ambulo.errors import FormatError, ProjectError
from ambulo.motion.kinematics import forward_motion
from ambulo.motion.motion import Motion
from ambulo.prepare.quality.check import check_motion
from ambulo.synthesis.performance import synthesize


@pytest.fixture(scope="module")
def stroll() -> Motion:
    return max((p.motion for p in synthesize(seed=3, minutes=0.5)), key=lambda m: m.frame_count).slice(0, 400)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, stroll: Motion) -> Path:
    """Two good takes, a sunk one, and two that cannot be read."""
    folder = tmp_path_factory.mktemp("takes")
    ambulo.save(stroll, folder / "a.bvh")
    (folder / "deep").mkdir()
    ambulo.save(stroll, folder / "deep" / "b.bvh")
    positions = stroll.positions.copy()
    positions[:, 0, 1] -= 0.2
    ambulo.save(replace(stroll, positions=positions), folder / "c.bvh")
    (folder / "broken.bvh").write_text("HIERARCHY\nROOT Hips\n{\n")
    (folder / "empty.bvh").write_bytes(b"")
    (folder / "notes.txt").write_text("no motion")
    return folder


@pytest.fixture
def cycle_in_place() -> Motion:
    """A loop of a walk whose body stays where it is."""
    take = max((p.motion for p in synthesize(minutes=1.5)), key=lambda m: float(np.ptp(m.positions[:, 0, [0, 2]])))
    pose = forward_motion(take).positions.astype(np.float64)
    body = pose - pose[:, :1] * [1.0, 0.0, 1.0]
    best, found = np.inf, take
    for start in range(0, take.frame_count - 150, 10):
        for length in range(50, 140, 2):
            speed = np.linalg.norm(pose[start + length, 0] - pose[start, 0]) / (length / take.rate)
            apart = np.linalg.norm(body[start + length] - body[start], axis=-1).mean()
            if abs(speed - 1.3) < 0.3 and apart < best:
                best, found = apart, take.slice(start, start + length + 1)
    positions = found.positions.copy()
    line = np.linspace(positions[0, 0], positions[-1, 0], len(positions)) * [1.0, 0.0, 1.0]
    positions[:, 0] -= line.astype(np.float32)
    return replace(found, positions=positions)


def project_of(folder: Path, home: Path, more: str = "") -> Path:
    home.mkdir(exist_ok=True)
    text = f'name = "p"\n\n[[sources]]\npath = {str(folder)!r}\n'.replace("'", '"') + more
    (home / "ambulo.toml").write_text(text)
    return home


def test_a_folder_is_checked_whole_and_broken_files_are_listed(folder):
    report = check(folder)
    assert [take.file for take in report.takes] == ["a.bvh", "c.bvh", "deep/b.bvh"]
    assert [broken.file for broken in report.broken] == ["broken.bvh", "empty.bvh"]
    assert all(broken.reason for broken in report.broken)
    assert report.counts() == {"sunk": 1}
    assert report.frame_count == 1200
    assert not report.clean


def test_strict_refuses_broken_files(folder):
    with pytest.raises(ProjectError, match=r"2 of 5 files cannot be read; broken\.bvh"):
        check(folder, strict=True)


def test_two_processes_say_the_same_as_one(folder, monkeypatch):
    from ambulo.database import checking

    monkeypatch.setattr(checking, "_BYTES_PER_WORKER", 1)
    one, two = check(folder, jobs=1), check(folder, jobs=2)
    assert one.takes == two.takes and one.broken == two.broken


def test_a_file_a_motion_and_the_package_say_the_same(folder, stroll):
    of_file = ambulo.check(folder / "c.bvh")
    (take,) = of_file.takes
    of_motion = ambulo.check(ambulo.load(folder / "c.bvh"))
    assert of_motion.takes[0].findings == take.findings == tuple(check_motion(ambulo.load(folder / "c.bvh")))
    assert ambulo.check(stroll).clean


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(FormatError, match="no such file"):
        check(tmp_path / "nothing.bvh")
    with pytest.raises(FormatError, match="no motion file"):
        check(tmp_path)
    with pytest.raises(ProjectError, match="0 jobs"):
        (tmp_path / "a.bvh").write_bytes(b"")
        check(tmp_path, jobs=0)


def test_a_project_says_which_files_and_rates(folder, tmp_path):
    home = project_of(folder, tmp_path / "p", 'exclude = ["broken.bvh", "empty.bvh"]\nrate = 30\n')
    report = check(home)
    assert [Path(take.file).name for take in report.takes] == ["a.bvh", "c.bvh", "b.bvh"]
    assert {take.rate for take in report.takes} == {30.0}
    assert check(home / "ambulo.toml").takes == report.takes


def test_a_take_that_the_project_corrects_has_nothing_left(folder, tmp_path):
    label = next(take.file for take in check(project_of(folder, tmp_path / "p")).takes if take.file.endswith("c.bvh"))
    home = project_of(folder, tmp_path / "q", f'\n[[takes]]\nfile = "{label}"\nlift = 0.2\n')
    take = next(take for take in check(home).takes if take.file == label)
    assert take.worst in (None, "note") and take.corrected == 1


def test_settled_follows_the_corrections(stroll):
    rotations = stroll.rotations.copy()
    rotations[60:61, stroll.skeleton.role("chest")] = [0.0, 0.7071, 0.0, 0.7071]
    pop = next(f for f in check_motion(replace(stroll, rotations=np.array(rotations))) if f.code == "pop")
    assert settled(pop, TakeSpec(file="a", skip_frames=((50, 70),)))
    assert settled(pop, TakeSpec(file="a", start_frame=61))
    assert settled(pop, TakeSpec(file="a", stop_frame=60))
    assert not settled(pop, TakeSpec(file="a", skip_frames=((61, 70),), start_frame=10, stop_frame=61))


def test_a_project_that_moves_takes_by_their_feet_is_not_told_that_they_walk_in_place(tmp_path, cycle_in_place):
    takes = tmp_path / "takes"
    takes.mkdir()
    ambulo.save(cycle_in_place, takes / "walk.bvh")
    as_is = check(project_of(takes, tmp_path / "as_is"))
    assert "in_place" in as_is.counts()
    moved = check(project_of(takes, tmp_path / "moved", 'travel = "from_feet"\n'))
    assert "in_place" not in moved.counts()
    assert moved.counts() == {code: n for code, n in as_is.counts().items() if code != "in_place"}

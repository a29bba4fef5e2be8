"""A project whose takes come in several formats, with files among them that cannot be used or hold no motion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo.database.discover import discover
from ambulo.database.project import Project, SourceSpec, load_project
from ambulo.database.staleness import staleness
from ambulo.database.takes import Hasher, find_takes, hash_takes
from ambulo.errors import ProjectError
from ambulo.formats.smpl_skeleton import default_joints, family_skeleton
from ambulo.matching.build import build
from ambulo.maths import quaternions
from ambulo.motion.motion import Motion

ASF = """:units
  length 0.45
  angle deg
:root
   order TX TY TZ RX RY RZ
   axis XYZ
:bonedata
  begin
     name spine
     direction 0 1 0
     length {length}
     axis 0 0 0 XYZ
    dof rx
  end
:hierarchy
  begin
    root spine
  end
"""


def walker(frames: int = 90) -> Motion:
    """A body of the SMPL family that swings its legs."""
    skeleton = family_skeleton(default_joints(22))
    time = np.arange(frames) / 30.0
    vectors = np.zeros((frames, 22, 3))
    for side, phase in (("left", 0.0), ("right", np.pi)):
        vectors[:, skeleton.index(f"{side}_hip"), 0] = 0.5 * np.sin(6.0 * time + phase)
        vectors[:, skeleton.index(f"{side}_knee"), 0] = 0.4 + 0.4 * np.cos(6.0 * time + phase)
    positions = np.tile(skeleton.offsets, (frames, 1, 1))
    positions[:, 0] = np.stack([np.zeros(frames), np.full(frames, 0.95), time], axis=1)
    return Motion(skeleton, positions, quaternions.from_scaled_angle_axis(vectors), 30.0, "walk")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    takes = tmp_path / "takes"
    takes.mkdir()
    ambulo.save(walker(), takes / "walk_a.npz")
    ambulo.save(walker(120), takes / "walk_b.bvh")
    np.savez(takes / "shape.npz", betas=np.zeros(10), gender="female")
    np.savez(takes / "walk_b.truth.npz", contacts=np.zeros(3))
    (takes / "notes.txt").write_text("no motion")
    (tmp_path / "ambulo.toml").write_text('name = "mixed"\nrate = 30\nmirror = false\n[[sources]]\npath = "takes"\n')
    return tmp_path


def test_every_format_is_taken_and_what_is_none_is_not(project: Path) -> None:
    labels = [take.label for take in find_takes(load_project(project))]
    assert labels == ["takes/shape.npz", "takes/walk_a.npz", "takes/walk_b.bvh"]
    (project / "ambulo.toml").write_text('name = "mixed"\n[[sources]]\npath = "takes"\nglob = "**/*.txt"\n')
    assert [take.label for take in find_takes(load_project(project))] == ["takes/notes.txt"]
    found = discover(project / "takes")
    assert found.files == 3
    assert list(found.errors) == ["shape.npz"]
    (project / "none").mkdir()
    with pytest.raises(ProjectError, match=r"accepted: .*\.amc.*\.bvh.*\.npz"):
        discover(project / "none")


def test_broken_takes_are_listed_and_the_rest_is_built(project: Path) -> None:
    (project / "takes" / "broken.bvh").write_text("HIERARCHY\nROOT Hips\n{\n")
    (project / "takes" / "cut.npz").write_bytes((project / "takes" / "walk_a.npz").read_bytes()[:500])
    report = build(project)
    assert report.used == 2
    assert {(problem.take, problem.kind) for problem in report.problems} == {
        ("takes/broken.bvh", "failed"),
        ("takes/cut.npz", "failed"),
        ("takes/shape.npz", "skipped"),
    }
    assert all(problem.reason for problem in report.problems)
    with pytest.raises(ProjectError, match="2 of its takes cannot be used"):
        build(project, strict=True)
    for name in ("broken.bvh", "cut.npz"):
        (project / "takes" / name).unlink()
    assert build(project, strict=True).used == 2


def test_a_skeleton_beside_a_take_counts_as_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "01.asf").write_text(ASF.format(length=5))
    (tmp_path / "01_01.amc").write_text(":DEGREES\n1\nroot 0 0 0 0 0 0\nspine 4\n2\nroot 0 0 1 0 0 0\nspine 5\n")
    project = Project(sources=(SourceSpec(path="."),), folder=tmp_path)
    takes = find_takes(project)
    assert [take.label for take in takes] == ["01_01.amc"]
    (before,) = hash_takes(takes, Hasher({}))
    (tmp_path / "01.asf").write_text(ASF.format(length=7))
    (after,) = hash_takes(takes, Hasher({}))
    assert before.sha256 == after.sha256
    assert before.companions_sha256 != after.companions_sha256


def test_a_changed_take_of_any_format_makes_the_database_stale(project: Path) -> None:
    build(project)
    assert not staleness(load_project(project)).stale
    ambulo.save(walker(100), project / "takes" / "walk_a.npz")
    assert staleness(load_project(project)).changed == ("takes/walk_a.npz",)
